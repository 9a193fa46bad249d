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

// input is something that affected the outcome. Its value is Markdown.
type input struct{ name, value string }

// list returns the manifest: everything that affected the outcome.
func (m *measured) list() []input { return append(m.benchmark(), m.system()...) }

// commonInputs returns the inputs that all of several arms have.
func commonInputs(arms []*measured) map[input]bool {
	seen, common := map[input]int{}, map[input]bool{}
	for _, m := range arms {
		for _, in := range m.list() {
			if seen[in]++; seen[in] == len(arms) && len(arms) > 1 {
				common[in] = true
			}
		}
	}
	return common
}

// inputs writes the inputs of the arm that are not common to all.
func (m *measured) inputs(w io.Writer, common map[input]bool) {
	fmt.Fprint(w, "### What was measured\n\n")
	t := markdown.NewTable("ll", "input", "value")
	for _, in := range m.list() {
		if !common[in] {
			t.Row(in.name, in.value)
		}
	}
	t.Write(w)
	if r := m.res.Replay; r != nil && len(common) == 0 {
		traps(w, r.Load)
	}
}

// inputsOfAll writes the inputs that all arms have.
func inputsOfAll(w io.Writer, arms []*measured, common map[input]bool) {
	if len(common) == 0 {
		return
	}
	fmt.Fprint(w, "## What was measured with all arms\n\n")
	t := markdown.NewTable("ll", "input", "value")
	for _, in := range arms[0].list() {
		if common[in] {
			t.Row(in.name, in.value)
		}
	}
	t.Write(w)
	if r := arms[0].res.Replay; r != nil {
		traps(w, r.Load)
	}
}

// benchmark returns the inputs of the dataset, the sample and the haystacks.
func (m *measured) benchmark() (list []input) {
	id, r := m.res.Identity, m.res.Replay
	add := func(name, value string) { list = append(list, input{name, value}) }
	add("dataset", markdown.Cell(id.Dataset.Path)+", sha256 "+markdown.Cell(id.Dataset.SHA256))
	if c := id.Corpus; c != nil {
		add("corpus", fmt.Sprintf("%s, %s, sha256 %s", markdown.Cell(c.Path), markdown.Count(c.Documents, "document"), markdown.Cell(c.SHA256)))
	}
	if r == nil {
		return list
	}
	add("contents", fmt.Sprintf("%s: %s, %s, %s, %s", markdown.Cell(r.Load.Format), markdown.Count(r.Load.Questions, "question"),
		markdown.Count(r.Load.Haystacks, "haystack"), markdown.Count(r.Load.Sessions, "session"), markdown.Count(r.Load.Turns, "turn")))
	add("sample", sampleText(r.Sample)+", signature "+markdown.Cell(r.Sample.Signature))
	add("drawn", drawn(r.Sample.Strata))
	if e := r.Errata; e != nil {
		add("errata", markdown.Cell(e.Path)+", sha256 "+markdown.Cell(e.SHA256)+": "+names(e.IDs))
	}
	if i := r.Ingest; i != nil {
		add("ingest", ingestText(i))
	}
	return list
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

// system returns the inputs of the daemon, the models and evalctl.
func (m *measured) system() (list []input) {
	id, r := m.res.Identity, m.res.Replay
	add := func(name, value string) { list = append(list, input{name, value}) }
	scenario := fmt.Sprintf("%s, top-k %d, mode %s, which ran as %s", markdown.Cell(string(id.Scenario)), id.TopK,
		markdown.Cell(id.Mode), tally(m.res.EffectiveModes))
	if len(m.res.Fusions) > 0 {
		scenario += ", fusion " + tally(m.res.Fusions)
	}
	add("scenario", scenario)
	if d := id.Daemon; d != (result.DaemonID{}) {
		add("daemon", daemonText(d))
	}
	if text := m.res.Settings.DaemonEnv.Text(markdown.Cell); text != "" {
		add("environment of the daemon", text)
	}
	if id.Reader != nil {
		add("reader of the daemon", markdown.Cell(id.Reader.Provider)+" "+markdown.Cell(id.Reader.Model))
	}
	if r != nil {
		add("actor", actorText(r.Actor))
		if r.ModelRequests != nil {
			add("requests of the daemon to its models", r.ModelRequests.Text())
		}
		add("cache of replies", markdown.Cell(r.Cache.Mode))
	}
	if j := id.Judge; j != nil {
		temperature := "default"
		if j.Temperature != nil {
			temperature = fmt.Sprint(*j.Temperature)
		}
		add("judge", fmt.Sprintf("%s %s, prompt %s %s, temperature %s", markdown.Cell(j.Provider), markdown.Cell(j.Model),
			markdown.Cell(j.PromptVersion), markdown.Cell(j.PromptSHA256), temperature))
	}
	add("evalctl", fmt.Sprintf("%s %s, %s, %s/%s, %s", markdown.Cell(id.Tool.Version), markdown.Cell(id.Tool.Commit),
		markdown.Cell(id.Tool.Go), markdown.Cell(id.Tool.OS), markdown.Cell(id.Tool.Arch), markdown.Count(id.Tool.CPUs, "CPU")))
	add("time", fmt.Sprintf("%s to %s UTC, concurrency %d, timeout %.0f s",
		m.res.StartedAt.UTC().Format("2006-01-02 15:04:05"), m.res.FinishedAt.UTC().Format("15:04:05"),
		m.res.Settings.Concurrency, m.res.Settings.TimeoutSeconds))
	return list
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
