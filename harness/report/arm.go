package report

import (
	"cmp"
	"strings"

	"evalctl/harness/report/form"
	"evalctl/harness/result"
	"evalctl/harness/wording"
	"evalctl/internal/figure"
)

// failuresAt is the index of the failures in a report.
const failuresAt = 1

// report returns the verdict on an arm, its figures, and its failures.
func (a *Arm) report() *form.Report {
	r := &form.Report{Verdict: a.verdict()}
	if a.Run == nil {
		return r
	}
	res := &a.Run.Result
	r.Tool = toolOf(res.Identity.Tool)
	r.Warnings = a.Run.warnings()
	r.Sections = []form.Section{
		a.Run.suspicions(), a.Run.failures(a.Name), a.Run.rate(), a.Run.groups(), a.Run.retrieval(), a.Run.latency(), a.Run.cost(), a.ran(), a.Run.methods(),
	}
	return r
}

// verdict returns the head of the page of an arm.
func (a *Arm) verdict() form.Verdict {
	v := form.Verdict{Tone: form.None, Mark: "–", Word: "No result", Title: form.F("%s", form.Name(a.Name))}
	if a.Run == nil {
		v.Sentences = dataOf([]string{cmp.Or(a.Problem, "it was not measured")})
		return v
	}
	res, g := &a.Run.Result, a.Run.Result.Gate
	v.Title = form.F("%s on %s: %d of %d passed", form.Name(res.SDK), form.Name(DatasetName(&res.Identity)), res.Passed, res.Total)
	v.About, v.Rate, v.Figure = a.Run.about(), figure.Rate(res.PassRate), "pass rate"
	if i := res.Believed(); i != nil {
		v.Figure += ", " + wording.Interval(i)
	}
	if g == nil {
		v.Word, v.Sentences = "No verdict", []form.Text{form.F("this result has no floor")}
		return v
	}
	switch g.Word() {
	case result.Pass:
		v.Tone, v.Mark, v.Word = form.Good, "✓", "Pass"
	case result.Fail:
		v.Tone, v.Mark, v.Word = form.Bad, "✗", "Fail"
	case result.Measured:
		v.Tone, v.Mark, v.Word = form.None, "–", "Measured"
		if res.GivenVerdicts() {
			v.Word = "Imported"
		}
	case result.Inconclusive:
		v.Tone, v.Mark, v.Word = form.Doubt, "‖", "Inconclusive"
	default:
		v.Tone, v.Mark, v.Word = form.Doubt, "!", "Invalid"
	}
	v.Headline = a.headline(v.Word)
	sentences := []string{g.Sentence}
	if proof := wording.Proof(g); proof != "" && !strings.Contains(g.Sentence, proof) {
		sentences = append(sentences, proof)
	}
	if a.Problem != "" {
		sentences = append(sentences, "Problem: "+a.Problem)
	}
	v.Sentences = dataOf(sentences)
	return v
}

// headline returns the verdict on a run in a few words. word is a string or a Text.
func (a *Arm) headline(word any) form.Text {
	res, g, name := &a.Run.Result, a.Run.Result.Gate, form.Name(a.Name)
	passed := form.F("%s passed %d of %s (%s)", name, g.Passed, figure.Count(g.Total, "question"), figure.Rate(res.PassRate))
	stopped := form.F("%s was stopped after %d of %s", name, res.Counts.Finished(), figure.Count(res.Planned, "question"))
	switch {
	case g.Verdict == result.Inconclusive:
		return form.F("%s: %s", word, stopped)
	case g.Verdict == result.Invalid:
		return form.F("%s: the result of %s is not a score", word, name)
	case g.Verdict == result.Fail && res.Stopped != "":
		return form.F("%s: %s, %d of them passed, %s", word, stopped, g.Passed, floorName(g))
	case g.Word() == result.Measured, g.FloorFrom == result.FloorDefault: // the reason names the default
		return form.F("%s: %s", word, passed)
	}
	return form.F("%s: %s, %s", word, passed, floorName(g))
}

// about describes the measurement in one line.
func (run *Run) about() form.Text {
	id := run.Result.Identity
	parts := []form.Text{form.F("dataset %s", form.Digest(id.Dataset.SHA256)), form.F("scenario %s", form.Name(id.Scenario)), form.F("scorer %s", form.Name(wording.ScoredBy(id)))}
	if id.Judge != nil {
		parts = append(parts, form.F("judge %s, prompt %s", form.Name(id.Judge.Model), form.Digest(id.Judge.PromptSHA256)))
	}
	return form.Join("  ", append(parts, form.F("%s", moment(run.Result.StartedAt)))...)
}

// warnings are the reasons why the figures are less than a result over the whole dataset.
func (run *Run) warnings() (out []form.Text) {
	res := &run.Result
	for _, s := range res.Suspect {
		out = append(out, form.F("suspect: %s", form.Data(s.Message)))
	}
	if id := res.Identity.Dataset; id.Selection.Partial(id.Questions()) {
		out = append(out, form.F("selection: %s: not comparable with a result over all questions", form.Data(wording.Selection(id))))
	}
	if res.Stopped != "" {
		out = append(out, form.F("stopped (%s) after %d of %s: this is not a score", form.Name(res.Stopped), res.Counts.Finished(), figure.Count(res.Planned, "question")))
	}
	if r := res.Replay; r != nil && r.Context != nil && r.Context.LeftOut > 0 {
		out = append(out, form.F("full-context is %s", wording.Context(r.Context)))
	}
	for _, w := range res.Trivial() {
		out = append(out, form.F("trivial: %s", form.Data(w.Message)))
	}
	if m := res.Cost.UnpricedModel; m != "" {
		out = append(out, form.F("the price of the judge %s is not known: its cost is missing", form.Name(m)))
	}
	return out
}

// suspicions are the first lines on a terminal: reasons why the result may say little or nothing.
func (run *Run) suspicions() form.Section {
	s := form.Section{ID: "suspect", Title: "Suspect"}
	for _, one := range run.Result.Suspect {
		s.FactIn(form.Terminal, "SUSPECT", "%s", form.Data(one.Message))
	}
	for _, w := range run.Result.Trivial() {
		s.FactIn(form.Terminal, "trivial", "%s", form.Data(w.Message))
	}
	return s
}

// scored reports whether the pass rate says something about the memory.
func (run *Run) scored() bool {
	g := run.Result.Gate
	return run.Result.Stopped == "" && g != nil && g.Verdict.Scores()
}

// ifScored returns the forms for a score. The summary of a job does not show a rate that is not a
// score.
func (run *Run) ifScored() form.Forms {
	if run.scored() {
		return form.Everywhere
	}
	return form.Everywhere &^ form.Markdown
}

// ran describes the measurement.
func (a *Arm) ran() form.Section {
	res, id := &a.Run.Result, &a.Run.Result.Identity
	s := form.Section{ID: "ran", Title: "What ran", Folded: true}
	page := func(name, format string, args ...any) { s.FactIn(form.Pages, name, format, args...) }
	page("result", "%s", form.Path(a.Run.Path))
	page("daemon", "%s", words(id.Daemon.Program, id.Daemon.Endpoint, id.Daemon.Version))
	page("asked", "%s, mode %s, top-k %d", form.Name(id.Scenario), form.Name(id.Mode), id.TopK)
	inputs(&s, id)
	if im := res.Imported; im != nil {
		page("imported", "%s", form.Data(importSummary(im)))
	}
	page("scorer", "%s", form.Name(wording.ScoredBy(*id)))
	if j := id.Judge; j != nil {
		page("judge", "%s", judgeOf(j))
	}
	if r := id.Reader; r != nil {
		page("reader asked for", "%s", words(r.Provider, r.Model))
	}
	if r := res.Replay; r != nil {
		a.Run.benchmark(&s)
	}
	if e := res.Settings.DaemonEnv; wording.DaemonEnv(e) != "" {
		s.Fact("daemon env", "%s", form.Data(wording.DaemonEnv(e)))
	}
	if left := res.Escaped; len(left) > 0 {
		s.Fact("left", wording.Escaped+": %s", form.Data(strings.Join(left, ", ")))
	}
	if ran := a.Run.modes(); len(ran) > 0 {
		s.FactIn(a.Run.unlessReplay(), "ran", "%s", form.Join("  ", ran...))
	}
	page("time", "%s to %s  %d at a time", stamp(res.StartedAt), stamp(res.FinishedAt), res.Settings.Concurrency)
	if res.Resumed > 0 {
		page("resumed", "%s came from the journal of an interrupted run", figure.Count(res.Resumed, "question"))
	}
	page("evalctl", "%s", words(id.Tool.Version, id.Tool.Commit))
	return s
}

// inputs adds the dataset and the corpus.
func inputs(s *form.Section, id *result.Identity) {
	s.FactIn(form.Pages, "dataset", "%s  %s  sha256 %s", form.Path(id.Dataset.Path), asked(id.Dataset), form.Name(id.Dataset.SHA256))
	if k := id.Corpus; k != nil {
		s.FactIn(form.Pages, "corpus", "%s  %s  sha256 %s", form.Path(k.Path), figure.Count(k.Documents, "document"), form.Name(k.SHA256))
	}
}

// benchmark adds the benchmark, its sample, and the daemon or reader.
func (run *Run) benchmark(s *form.Section) {
	r := run.Result.Replay
	page := func(name, format string, args ...any) { s.FactIn(form.Pages, name, format, args...) }
	l, sample := &r.Load, &r.Sample
	page("contents", "%s  %s  %s  %s  %s", form.Name(l.Format), figure.Count(l.Questions, "question"), figure.Count(l.Haystacks, "haystack"),
		figure.Count(l.Sessions, "session"), figure.Count(l.Turns, "turn"))
	how := form.F("seed %d", sample.Seed)
	if sample.Listed {
		how = form.F("by a list of ids")
	}
	if sample.MinPerStratum > 0 {
		how = form.F("%s, at least %d of each type", how, sample.MinPerStratum)
	}
	if sample.Excluded > 0 {
		how = form.F("%s, %d excluded", how, sample.Excluded)
	}
	page("sample", "%d of %d, %s  signature %s", sample.Size, sample.Population, how, form.Name(sample.Signature))
	var drawn []form.Text
	for _, d := range sample.Strata {
		drawn = append(drawn, form.F("%s %d of %d", form.Name(d.Name), d.Sampled, d.Population))
	}
	if len(drawn) > 0 {
		page("drawn", "%s", form.Parts(drawn...))
	}
	if e := r.Errata; e != nil {
		page("errata", "%s  sha256 %s  %s", form.Path(e.Path), form.Name(e.SHA256), someOf(e.IDs, maxChanged, ", "))
	}
	actor, date := words(r.Actor.Style, r.Actor.Provider, r.Actor.Model), "without"
	if r.Actor.Model != "" {
		actor = form.F("%s  prompt %s %s", actor, form.Name(r.Actor.Prompt), form.Name(r.Actor.PromptSHA256))
	}
	if r.Actor.QuestionDate {
		date = "with"
	}
	page("actor", "%s  %s the date of the question", actor, date)
	page("cache of replies", "%s", form.Name(r.Cache.Mode))
	for _, trap := range l.Traps {
		page("irregular", "%s ×%d: %s (%s)", form.Name(trap.Kind), trap.Count, form.Data(trap.Handling), someOf(trap.Examples, maxChanged, ", "))
	}
}

// unlessReplay returns the forms for a run: on a terminal, the report of a replay is longer.
func (run *Run) unlessReplay() form.Forms {
	if run.Result.Replay == nil {
		return form.Everywhere
	}
	return form.Pages
}

// modes lists how many questions ran with each mode, fusion and model.
func (run *Run) modes() (out []form.Text) {
	res := &run.Result
	add := func(what string, counts map[string]int) {
		for _, k := range sortedKeys(counts) {
			out = append(out, form.F("%s %s ×%d", what, form.Name(k), counts[k]))
		}
	}
	add("mode", res.EffectiveModes)
	if res.ModesUnknown > 0 {
		out = append(out, form.F("mode not reported ×%d", res.ModesUnknown))
	}
	add("fusion", res.Fusions)
	add("reader", res.ReaderModels)
	return out
}

// words joins the non-empty texts.
func words(texts ...string) form.Text {
	var list []form.Name
	for _, t := range texts {
		if strings.TrimSpace(t) != "" {
			list = append(list, form.Name(t))
		}
	}
	return form.Join(" ", list...)
}

func judgeOf(j *result.JudgeModel) form.Text {
	return form.F("%s %s  prompt %s %s  temperature %s", form.Name(j.Provider), form.Name(j.Model), form.Name(j.PromptVersion), form.Name(j.PromptSHA256), wording.Temperature(j))
}

func asked(d result.DatasetID) form.Text {
	text := form.F("%s", figure.Count(d.Questions(), "question"))
	if d.Selection.Partial(d.Questions()) {
		text = form.F("selection: %s", form.Data(wording.Selection(d)))
	}
	if d.Repeats > 1 {
		text = form.F("%s, %d times each", text, d.Repeats)
	}
	return text
}
