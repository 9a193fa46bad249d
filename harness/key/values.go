package key

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"evalctl/harness/result"
	"evalctl/scorer"
)

// of reads a setting from a result. JSON lines do not record it.
func of(value func(*result.Result) string) func(*File) string {
	return func(f *File) string {
		if f.Result == nil {
			return ""
		}
		return value(f.Result)
	}
}

func number(value func(*result.Result) int) func(*File) string {
	return of(func(r *result.Result) string { return fmt.Sprint(value(r)) })
}

func orNone(text string) string { return cmp.Or(text, None) }

// benchmark returns the dataset. For answers imported without one, it is the benchmark stated in
// their files.
func benchmark(r *result.Result) string {
	if id := r.Identity.Imported; id != nil && slices.Contains(id.SHA256, r.Identity.Dataset.SHA256) {
		return id.Benchmark
	}
	return r.Identity.Dataset.SHA256
}

func complete(r *result.Result) string {
	if r.Stopped == "" {
		return "yes"
	}
	return fmt.Sprintf("no, %d of %d: %s", r.Counts.Finished(), r.Planned, r.Stopped)
}

// asked reads a setting from the questions. JSON lines have only their ids.
func asked(value func(*File) string) func(*File) string {
	return func(f *File) string {
		switch {
		case f.Asked == nil:
			return unread
		case f.Result == nil:
			return ""
		}
		return value(f)
	}
}

func questions(f *File) string {
	if f.Asked == nil {
		return unread
	}
	return f.Asked.Questions
}

func dates(f *File) string {
	text := f.Asked.Dates
	if id := f.Result.Identity.Replay; text != None && id != nil && !id.Actor.QuestionDate {
		text += ", not given to the reader"
	}
	return text
}

// answered reports whether the run has any answer.
func answered(r *result.Result) bool {
	return r.Counts.Total > r.Counts.Errors || len(r.EffectiveModes) > 0 || r.ModesUnknown > 0
}

// modes is the key of MappedService.NotMeasurable for the retrieval mode.
const modes = "modes"

// effectiveModes returns the modes used. A mapped service may have none.
func effectiveModes(r *result.Result) string {
	switch {
	case r.Mapped != nil && r.Mapped.NotMeasurable[modes] != "":
		return itsOwn
	case !answered(r):
		return noAnswer
	case r.ModesUnknown > 0:
		return ""
	}
	return keysOf(r.EffectiveModes)
}

// fusions returns how rankings were fused. The protocol does not require a daemon to report it.
func fusions(r *result.Result) string { return cmp.Or(keysOf(r.Fusions), itsOwn) }

func maxPerDocument(r *result.Result) string {
	if n := r.Identity.MaxPerDocument; n != nil {
		return fmt.Sprint(*n)
	}
	return "the daemon's default"
}

func depth(r *result.Result) string {
	switch {
	case r.Retrieval == nil:
		return None
	case r.Retrieval.Depth == nil:
		return ""
	}
	return r.Retrieval.Depth.String()
}

// scoredBy returns the scorer. Verdicts from other harnesses come from their own judges.
func scoredBy(r *result.Result) string {
	if id := r.Identity.Imported; id != nil && r.Identity.Scorer == scorer.Imported {
		return r.Identity.Scorer + " with the answers: " + strings.Join(id.Formats, ", ")
	}
	return r.Identity.Scorer
}

// goldKind returns the kind of gold for scoring, None for other scorers.
func goldKind(r *result.Result) string {
	switch {
	case r.Identity.Scorer != byRetrieval:
		return None
	case r.GoldBy() == "":
		return noAnswer
	}
	return string(r.GoldBy())
}

// byRetrieval is the scorer that scores by gold.
const byRetrieval = "retrieval"

// external returns the program or service that scored. A service is known only by its own
// description.
func external(r *result.Result) string {
	e := r.Identity.External
	if e == nil {
		return None
	}
	text := e.Name + " " + e.Version
	if e.CommandSHA256 != "" {
		text += ", command " + e.CommandSHA256
	}
	if e.FilesSHA256 != "" {
		text += ", files " + e.FilesSHA256
	}
	return text
}

// exactCase returns how the exact scorer treated case.
func exactCase(r *result.Result) string {
	switch c := r.Identity.ExactCase; {
	case c != nil && *c:
		return "matters"
	case c != nil:
		return "ignored"
	case r.Identity.Scorer == "exact":
		return "as an older evalctl compared texts" // which had no such setting
	}
	return None
}

// importedVerdicts returns the identity of answers with another harness's verdicts, nil for others.
func importedVerdicts(r *result.Result) *result.ImportedID {
	if r.Identity.Scorer != scorer.Imported {
		return nil
	}
	return r.Identity.Imported
}

func judge(r *result.Result) string {
	if id := importedVerdicts(r); id != nil {
		return strings.Join(slices.DeleteFunc(append([]string{id.JudgeID}, id.JudgeModels...), func(s string) bool { return s == "" }), ", ")
	}
	j := r.Identity.Judge
	if j == nil {
		return None
	}
	text := strings.TrimSpace(j.Provider + " " + j.Model)
	if j.BaseURL != "" {
		text += " at " + j.BaseURL
	}
	if j.Temperature != nil {
		text += fmt.Sprintf(", temperature %g", *j.Temperature)
	}
	if j.Options != "" {
		text += ", " + j.Options
	}
	return text
}

func judgePrompt(r *result.Result) string {
	if id := importedVerdicts(r); id != nil {
		if id.JudgePrompt == "" && id.JudgeID != "" {
			return "prompt of " + id.JudgeID
		}
		return id.JudgePrompt
	}
	if j := r.Identity.Judge; j != nil {
		return strings.TrimSpace(j.PromptVersion + " " + j.PromptSHA256)
	}
	return None
}

// votes returns how many verdicts decide on an answer, and how. Judges of evalctl give one.
func votes(r *result.Result) string {
	if id := importedVerdicts(r); id != nil {
		return id.Votes
	}
	if r.Identity.Judge == nil {
		return None
	}
	return "1"
}

func panel(r *result.Result) string { return orNone(recipesOf(r.Identity)) }

// recipesOf lists the recipes with the beginnings of their digests.
func recipesOf(id result.Identity) string {
	var out []string
	for _, r := range id.Panel {
		out = append(out, fmt.Sprintf("%s %.8s", r.Name, r.SHA256))
	}
	return strings.Join(out, ", ")
}

// reader returns the models that wrote the answers: the reported ones, else the configured one.
func reader(r *result.Result) string {
	if id := r.Identity.Imported; id != nil {
		return cmp.Or(keysOf(r.ReaderModels), id.Reader)
	}
	if id := r.Identity.Replay; id != nil && id.Actor.Model != "" {
		return strings.TrimSpace(id.Actor.Provider + " " + id.Actor.Model)
	}
	switch configured := r.Identity.Reader; {
	case !r.Identity.Scenario.Reads():
		return None
	case !answered(r):
		return noAnswer
	case len(r.ReaderModels) == 0 && configured != nil:
		return configured.Model
	}
	return keysOf(r.ReaderModels)
}

// readerPrompt returns the readers' prompts. A daemon that does not report its model has its own
// prompt.
func readerPrompt(r *result.Result) string {
	if id := r.Identity.Replay; id != nil && id.Actor.PromptSHA256 != "" {
		return strings.TrimSpace(id.Actor.Prompt + " " + id.Actor.PromptSHA256)
	}
	switch {
	case !r.Identity.Scenario.Reads():
		return None
	case !answered(r):
		return noAnswer
	case len(r.ReaderModels) == 0:
		return itsOwn
	}
	return keysOf(r.ReaderPrompts)
}

func corpus(r *result.Result) string {
	if c := r.Identity.Corpus; c != nil {
		return c.SHA256
	}
	return None
}

func ingest(r *result.Result) string {
	id := r.Identity.Replay
	if id == nil || id.Ingest == "" {
		return None
	}
	if id.Shared {
		return id.Ingest + ", one brain"
	}
	return id.Ingest
}

func isolated(r *result.Result) string {
	if r.Identity.Isolated {
		return "yes"
	}
	return "no"
}

func machine(r *result.Result) string {
	t := r.Identity.Tool
	if t.OS == "" {
		return ""
	}
	return fmt.Sprintf("%s/%s, %d CPUs", t.OS, t.Arch, t.CPUs)
}

// query returns how questions were sent. Results of protocol daemons do not record it.
func query(r *result.Result) string {
	if r.Mapped == nil {
		return "question"
	}
	return r.Mapped.Query
}

func daemonBuild(r *result.Result) string {
	d := r.Identity.Daemon
	parts := []string{r.SDK, d.Program, d.Endpoint, d.Version}
	return strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), " ")
}

func tool(r *result.Result) string {
	return strings.TrimSpace(r.Identity.Tool.Version + " " + r.Identity.Tool.Commit)
}

func kind(r *result.Result) string {
	if r.Replay != nil {
		return "replay"
	}
	return "run"
}

func keysOf(counts map[string]int) string {
	return strings.Join(slices.Sorted(maps.Keys(counts)), ", ")
}
