package nightly

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"evalctl/harness/result"
)

// inputs writes the manifest: everything that affected the outcome.
func (m *measured) inputs(w io.Writer) {
	fmt.Fprint(w, "### What was measured\n\n")
	t := newTable("ll", "input", "value")
	m.benchmark(t)
	m.system(t)
	t.write(w)
	if r := m.res.Replay; r != nil {
		traps(w, r.Load)
	}
}

// benchmark adds the rows of the dataset, the sample and the haystacks.
func (m *measured) benchmark(t *table) {
	id, r := m.res.Identity, m.res.Replay
	t.row("dataset", cell(id.Dataset.Path)+", sha256 "+cell(id.Dataset.SHA256))
	if c := id.Corpus; c != nil {
		t.row("corpus", fmt.Sprintf("%s, %s, sha256 %s", cell(c.Path), count(c.Documents, "document"), cell(c.SHA256)))
	}
	if r == nil {
		return
	}
	t.row("contents", fmt.Sprintf("%s: %s, %s, %s, %s", cell(r.Load.Format), count(r.Load.Questions, "question"),
		count(r.Load.Haystacks, "haystack"), count(r.Load.Sessions, "session"), count(r.Load.Turns, "turn")))
	t.row("sample", sampleText(r.Sample)+", signature "+cell(r.Sample.Signature))
	t.row("drawn", drawn(r.Sample.Strata))
	if e := r.Errata; e != nil {
		t.row("errata", cell(e.Path)+", sha256 "+cell(e.SHA256)+": "+names(e.IDs))
	}
	if i := r.Ingest; i != nil {
		t.row("ingest", ingestText(i))
	}
}

func sampleText(s result.Sample) string {
	text := fmt.Sprintf("%d of %s, seed %d", s.Size, count(s.Population, "question"), s.Seed)
	if s.Listed {
		text = fmt.Sprintf("%d of %s, by a list of ids", s.Size, count(s.Population, "question"))
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
		parts = append(parts, fmt.Sprintf("%s %d of %d", cell(s.Name), s.Sampled, s.Population))
	}
	return strings.Join(parts, ", ")
}

// names lists the first of some ids.
func names(ids []string) string {
	var parts []string
	for _, id := range ids[:min(len(ids), maxShown)] {
		parts = append(parts, cell(id))
	}
	if more := len(ids) - len(parts); more > 0 {
		parts = append(parts, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(parts, ", ")
}

func ingestText(i *result.Ingest) string {
	brains := count(i.Brains, "brain")
	if i.Shared {
		brains += ", shared by all haystacks"
	}
	return fmt.Sprintf("%s: %s (%d filled by an earlier replay), %s, %s, %s, %.1f s, signature %s",
		cell(i.Mode), brains, i.Reused, count(i.Sessions, "session"), count(i.Messages, "message"),
		count(i.Documents, "document"), i.Seconds, cell(i.Signature))
}

// system adds the rows of the daemon, the models and evalctl.
func (m *measured) system(t *table) {
	id, r := m.res.Identity, m.res.Replay
	t.row("scenario", fmt.Sprintf("%s, top-k %d, mode %s, which ran as %s", cell(string(id.Scenario)), id.TopK,
		cell(id.Mode), tally(m.res.EffectiveModes)))
	if d := id.Daemon; d != (result.DaemonID{}) {
		t.row("daemon", daemonText(d))
	}
	if id.Reader != nil {
		t.row("reader of the daemon", cell(id.Reader.Provider)+" "+cell(id.Reader.Model))
	}
	if r != nil {
		t.row("actor", actorText(r.Actor))
		t.row("cache of replies", cell(r.Cache.Mode))
	}
	if j := id.Judge; j != nil {
		temperature := "default"
		if j.Temperature != nil {
			temperature = fmt.Sprint(*j.Temperature)
		}
		t.row("judge", fmt.Sprintf("%s %s, prompt %s %s, temperature %s", cell(j.Provider), cell(j.Model),
			cell(j.PromptVersion), cell(j.PromptSHA256), temperature))
	}
	t.row("evalctl", fmt.Sprintf("%s %s, %s, %s/%s, %s", cell(id.Tool.Version), cell(id.Tool.Commit),
		cell(id.Tool.Go), cell(id.Tool.OS), cell(id.Tool.Arch), count(id.Tool.CPUs, "CPU")))
	t.row("time", fmt.Sprintf("%s to %s UTC, concurrency %d, timeout %.0f s",
		m.res.StartedAt.UTC().Format("2006-01-02 15:04:05"), m.res.FinishedAt.UTC().Format("15:04:05"),
		m.res.Settings.Concurrency, m.res.Settings.TimeoutSeconds))
}

func daemonText(d result.DaemonID) string {
	text := "version " + cell(d.Version)
	if d.Endpoint != "" {
		return text + " at " + cell(d.Endpoint)
	}
	return fmt.Sprintf("%s, %s, command sha256 %s", cell(d.Program), text, cell(d.CommandSHA256))
}

func actorText(a result.Actor) string {
	text := cell(a.Style)
	if a.Model != "" {
		text += fmt.Sprintf(", %s %s, prompt %s %s", cell(a.Provider), cell(a.Model), cell(a.Prompt), cell(a.PromptSHA256))
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
		parts = append(parts, fmt.Sprintf("%s in %s", cell(name), count(counts[name], "question")))
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
	t := newTable("lrll", "kind", "count", "handling", "examples")
	for _, trap := range load.Traps {
		t.row(cell(trap.Kind), fmt.Sprint(trap.Count), cell(trap.Handling), names(trap.Examples))
	}
	t.write(w)
	fmt.Fprint(w, "</details>\n\n")
}
