package nightly

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"evalctl/harness/result"
	"evalctl/internal/markdown"
)

// inputs writes the manifest: everything that affected the outcome.
func (m *measured) inputs(w io.Writer) {
	fmt.Fprint(w, "### What was measured\n\n")
	t := markdown.NewTable("ll", "input", "value")
	m.benchmark(t)
	m.system(t)
	t.Write(w)
	if r := m.res.Replay; r != nil {
		traps(w, r.Load)
	}
}

// benchmark adds the rows of the dataset, the sample and the haystacks.
func (m *measured) benchmark(t *markdown.Table) {
	id, r := m.res.Identity, m.res.Replay
	t.Row("dataset", markdown.Cell(id.Dataset.Path)+", sha256 "+markdown.Cell(id.Dataset.SHA256))
	if c := id.Corpus; c != nil {
		t.Row("corpus", fmt.Sprintf("%s, %s, sha256 %s", markdown.Cell(c.Path), markdown.Count(c.Documents, "document"), markdown.Cell(c.SHA256)))
	}
	if r == nil {
		return
	}
	t.Row("contents", fmt.Sprintf("%s: %s, %s, %s, %s", markdown.Cell(r.Load.Format), markdown.Count(r.Load.Questions, "question"),
		markdown.Count(r.Load.Haystacks, "haystack"), markdown.Count(r.Load.Sessions, "session"), markdown.Count(r.Load.Turns, "turn")))
	t.Row("sample", sampleText(r.Sample)+", signature "+markdown.Cell(r.Sample.Signature))
	t.Row("drawn", drawn(r.Sample.Strata))
	if e := r.Errata; e != nil {
		t.Row("errata", markdown.Cell(e.Path)+", sha256 "+markdown.Cell(e.SHA256)+": "+names(e.IDs))
	}
	if i := r.Ingest; i != nil {
		t.Row("ingest", ingestText(i))
	}
}

func sampleText(s result.Sample) string {
	text := fmt.Sprintf("%d of %s, seed %d", s.Size, markdown.Count(s.Population, "question"), s.Seed)
	if s.Listed {
		text = fmt.Sprintf("%d of %s, by a list of ids", s.Size, markdown.Count(s.Population, "question"))
	}
	if s.MinPerStratum > 0 {
		text += fmt.Sprintf(", at least %d of each type", s.MinPerStratum)
	}
	if s.Excluded > 0 {
		text += fmt.Sprintf(", %d excluded", s.Excluded)
	}
	return text
}

func drawn(strata []result.Drawn) string {
	var parts []string
	for _, s := range strata {
		parts = append(parts, fmt.Sprintf("%s %d of %d", markdown.Cell(s.Name), s.Sampled, s.Population))
	}
	return strings.Join(parts, ", ")
}

// names lists the first of some ids.
func names(ids []string) string {
	var parts []string
	for _, id := range ids[:min(len(ids), maxShown)] {
		parts = append(parts, markdown.Cell(id))
	}
	if more := len(ids) - len(parts); more > 0 {
		parts = append(parts, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(parts, ", ")
}

func ingestText(i *result.Ingest) string {
	brains := markdown.Count(i.Brains, "brain")
	if i.Shared {
		brains += ", shared by all haystacks"
	}
	return fmt.Sprintf("%s: %s (%d filled by an earlier replay), %s, %s, %s, %.1f s, signature %s",
		markdown.Cell(i.Mode), brains, i.Reused, markdown.Count(i.Sessions, "session"), markdown.Count(i.Messages, "message"),
		markdown.Count(i.Documents, "document"), i.Seconds, markdown.Cell(i.Signature))
}

// system adds the rows of the daemon, the models and evalctl.
func (m *measured) system(t *markdown.Table) {
	id, r := m.res.Identity, m.res.Replay
	scenario := fmt.Sprintf("%s, top-k %d, mode %s, which ran as %s", markdown.Cell(string(id.Scenario)), id.TopK,
		markdown.Cell(id.Mode), tally(m.res.EffectiveModes))
	if len(m.res.Fusions) > 0 {
		scenario += ", fusion " + tally(m.res.Fusions)
	}
	t.Row("scenario", scenario)
	if d := id.Daemon; d != (result.DaemonID{}) {
		t.Row("daemon", daemonText(d))
	}
	if text := m.res.Settings.DaemonEnv.Text(); text != "" {
		t.Row("environment of the daemon", markdown.Cell(text))
	}
	if id.Reader != nil {
		t.Row("reader of the daemon", markdown.Cell(id.Reader.Provider)+" "+markdown.Cell(id.Reader.Model))
	}
	if r != nil {
		t.Row("actor", actorText(r.Actor))
		if r.ModelRequests != nil {
			t.Row("requests of the daemon to its models", r.ModelRequests.Text())
		}
		t.Row("cache of replies", markdown.Cell(r.Cache.Mode))
	}
	if j := id.Judge; j != nil {
		temperature := "default"
		if j.Temperature != nil {
			temperature = fmt.Sprint(*j.Temperature)
		}
		t.Row("judge", fmt.Sprintf("%s %s, prompt %s %s, temperature %s", markdown.Cell(j.Provider), markdown.Cell(j.Model),
			markdown.Cell(j.PromptVersion), markdown.Cell(j.PromptSHA256), temperature))
	}
	t.Row("evalctl", fmt.Sprintf("%s %s, %s, %s/%s, %s", markdown.Cell(id.Tool.Version), markdown.Cell(id.Tool.Commit),
		markdown.Cell(id.Tool.Go), markdown.Cell(id.Tool.OS), markdown.Cell(id.Tool.Arch), markdown.Count(id.Tool.CPUs, "CPU")))
	t.Row("time", fmt.Sprintf("%s to %s UTC, concurrency %d, timeout %.0f s",
		m.res.StartedAt.UTC().Format("2006-01-02 15:04:05"), m.res.FinishedAt.UTC().Format("15:04:05"),
		m.res.Settings.Concurrency, m.res.Settings.TimeoutSeconds))
}

func daemonText(d result.DaemonID) string {
	text := "version " + markdown.Cell(d.Version)
	if d.Endpoint != "" {
		return text + " at " + markdown.Cell(d.Endpoint)
	}
	return fmt.Sprintf("%s, %s, command sha256 %s", markdown.Cell(d.Program), text, markdown.Cell(d.CommandSHA256))
}

func actorText(a result.Actor) string {
	text := markdown.Cell(a.Style)
	if a.Model != "" {
		text += fmt.Sprintf(", %s %s, prompt %s %s", markdown.Cell(a.Provider), markdown.Cell(a.Model), markdown.Cell(a.Prompt), markdown.Cell(a.PromptSHA256))
	}
	if a.QuestionDate {
		return text + ", with the date of the question"
	}
	return text + ", without the date of the question"
}

// tally lists how often each name occurred.
func tally(counts map[string]int) string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(counts)) {
		parts = append(parts, fmt.Sprintf("%s in %s", markdown.Cell(name), markdown.Count(counts[name], "question")))
	}
	if len(parts) == 0 {
		return "is not known"
	}
	return strings.Join(parts, ", ")
}

// traps writes the irregularities of the benchmark file.
func traps(w io.Writer, load result.LoadReport) {
	if len(load.Traps) == 0 {
		return
	}
	fmt.Fprintf(w, "<details><summary>Kinds of irregularities of the dataset file: %d</summary>\n\n", len(load.Traps))
	t := markdown.NewTable("lrll", "kind", "count", "handling", "examples")
	for _, trap := range load.Traps {
		t.Row(markdown.Cell(trap.Kind), fmt.Sprint(trap.Count), markdown.Cell(trap.Handling), names(trap.Examples))
	}
	t.Write(w)
	fmt.Fprint(w, "</details>\n\n")
}
