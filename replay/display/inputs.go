package display

import (
	"slices"

	"evalctl/harness/report/form"
	"evalctl/harness/report/text"
	"evalctl/harness/result"
	"evalctl/harness/wording"
	"evalctl/internal/figure"
	"evalctl/internal/terminal"
	"evalctl/replay"
)

// Inputs prints the benchmark, the sample and the models.
func Inputs(t *terminal.Terminal, p *replay.Plan) {
	var s form.Section
	benchmark(&s, p)
	sample(&s, p.Drawn)
	if i := slices.IndexFunc(p.Arms, func(a replay.Arm) bool { return a.DaemonEnv != nil }); i >= 0 {
		s.Add(text.PassedOn(p.Arms[i].DaemonEnv).Blocks...) // all arms have the same
	}
	if p.Reader != nil {
		s.Fact("actor", "%s %s", p.Reader.Provider, form.Path(p.Reader.Model))
	}
	uses, err := p.Contexts()
	if err != nil {
		s.Fact("full-context", "%s", form.Path(err.Error()))
	}
	for _, use := range uses {
		s.Fact("full-context", "%s", wording.Context(use))
	}
	trivial(&s, p)
	s.Add(text.Recipes(p.Recipes()).Blocks...)
	if id := p.JudgeID(); id != nil && len(p.Panel) == 0 {
		s.Fact("judge", "%s %s  prompts %s %s", id.Provider, form.Path(id.Model), form.Path(id.PromptVersion), form.Digest(id.PromptSHA256))
	}
	s.Text(t)
}

// benchmark adds the benchmark's file, its irregularities and its errata.
func benchmark(s *form.Section, p *replay.Plan) {
	load := p.Benchmark.Report
	s.Fact("dataset", "%s  %s  %s in %s  %s  sha256 %s", form.Path(load.Path), load.Format,
		figure.Count(load.Questions, "question"), figure.Count(load.Haystacks, "haystack"), figure.Count(load.Sessions, "session"),
		form.Digest(load.SHA256))
	var traps []form.Text
	for _, trap := range load.Traps {
		traps = append(traps, form.F("%s %d", trap.Kind, trap.Count))
	}
	if len(traps) > 0 {
		s.Fact("handled", "%s", form.Parts(traps...))
	}
	if e := p.Benchmark.Errata; e != nil {
		s.Fact("errata", "%s  %d excluded  %d corrected  sha256 %s", form.Path(e.Path), e.Excluded, e.Corrected, form.Digest(e.SHA256))
	}
}

// sample adds how many questions are asked, how they were drawn, and their strata.
func sample(s *form.Section, drawn result.Sample) {
	how := form.F("seed %d", drawn.Seed)
	switch {
	case drawn.Listed:
		how = form.F("listed")
	case drawn.Size == drawn.Population:
		how = form.F("all")
	}
	parts := []form.Text{form.F("%d of %d (%s)", drawn.Size, drawn.Population, how)}
	for _, d := range drawn.Strata {
		parts = append(parts, form.F("%s %d", form.Name(d.Name), d.Sampled))
	}
	s.Fact("sample", "%s", form.Parts(parts...))
	if drawn.Excluded > 0 {
		s.Fact("", "%s left out by --exclude-ids", figure.Count(drawn.Excluded, "question"))
	}
}

// trivial adds once for all arms which questions need little retrieval.
func trivial(s *form.Section, p *replay.Plan) {
	said := text.ShownWarnings{}
	for _, a := range p.Arms {
		warnings, err := p.Trivial(a)
		if err != nil {
			s.Warn(form.Terminal, "%s", form.Path(err.Error()))
			return
		}
		for _, w := range said.Add(warnings) {
			s.Fact("trivial", "%s", form.Path(w.Message))
		}
	}
}
