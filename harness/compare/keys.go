package compare

import (
	"cmp"
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"evalctl/harness/result"
)

// ErrIncomparable is wrapped by the error of Compare for runs that did not measure the same thing.
var ErrIncomparable = errors.New("the results are not comparable")

// IncomparableError says in what the runs differ that matters and was not accepted.
type IncomparableError struct {
	// Names are those of the runs, in the order of the values of Keys.
	Names []string `json:"runs"`
	// Keys are all keys, Differing the names of those that differ, matter and were not accepted.
	Keys      []Key    `json:"comparability"`
	Differing []string `json:"differing"`
	// Common is the number of questions that all runs have.
	Common int `json:"common"`
}

func (e *IncomparableError) Error() string {
	return fmt.Sprintf("%v: they differ in %s", ErrIncomparable, strings.Join(e.Differing, ", "))
}

// Unwrap returns ErrIncomparable.
func (e *IncomparableError) Unwrap() error { return ErrIncomparable }

// The keys whose values depend on which questions are compared.
const (
	keyQuestions = "questions"
	keyDate      = "question_date"
	keyGold      = "gold"
	keyGoldDocs  = "gold_documents"
	keySelection = "selection"
	keyComplete  = "complete"
	keyDataset   = "dataset"
)

// intersected are the keys that comparing only the common questions accepts.
var intersected = []string{keyDataset, keyQuestions, keySelection, keyComplete}

// none is the value of a run that records that it has none.
const none = "none"

// noMemory is the value of a baseline in what only a daemon has. It differs from no other value: a
// baseline is compared in what it shares with daemons, which is the questions and the reader.
const noMemory = "none, a baseline"

// ofOwnRuns are the keys, besides those of a memory, that a result of imported answers does not
// record.
var ofOwnRuns = []string{"reader", "reader_prompt", "corpus", "repeats", "concurrency", "machine"}

// rule is how the value of a key is read from a result.
type rule struct {
	name    string
	matters bool
	note    string // on a difference
	// value is nil for a key that is read from the questions.
	value func(*result.Result) string
	// memory is set for what only a run with a memory has.
	memory bool
}

var rules = []rule{
	{name: keyDataset, matters: true, value: func(r *result.Result) string { return r.Identity.Dataset.SHA256 }},
	{name: keyQuestions, matters: true},
	{name: keySelection, value: func(r *result.Result) string { return r.Identity.Dataset.Selection.String() }},
	{name: keyComplete, matters: true, value: complete},
	{name: keyGold, matters: true, note: "the same questions were compared with other answers"},
	{name: keyGoldDocs, matters: true, memory: true, note: "the same questions were compared with other documents"},
	{name: keyDate, matters: true},
	{name: "scenario", matters: true, memory: true,
		value: func(r *result.Result) string { return string(r.Identity.Scenario) }},
	{name: "mode", matters: true, memory: true,
		value: func(r *result.Result) string { return cmp.Or(r.Identity.Mode, none) }},
	{name: "effective_modes", matters: true, memory: true,
		value: func(r *result.Result) string { return keysOf(r.EffectiveModes) }},
	{name: "fusions", matters: true, memory: true,
		value: func(r *result.Result) string { return keysOf(r.Fusions) }},
	{name: "top_k", matters: true, memory: true,
		value: func(r *result.Result) string { return fmt.Sprint(r.Identity.TopK) }},
	{name: "candidate_k", matters: true, memory: true,
		value: func(r *result.Result) string { return fmt.Sprint(r.Identity.CandidateK) }},
	{name: "rerank_top_n", matters: true, memory: true,
		value: func(r *result.Result) string { return fmt.Sprint(r.Identity.RerankTopN) }},
	{name: "max_per_document", matters: true, memory: true, value: maxPerDocument},
	{name: "depth", memory: true, note: "retrieval measures count what was not sent as not found", value: depth},
	{name: "scorer", matters: true, note: "rescore the results by one scorer", value: scoredBy},
	{name: "external_scorer", matters: true, value: external},
	{name: "exact_case", matters: true, value: exactCase},
	{name: "judge", matters: true, value: judge},
	{name: "judge_panel", note: "differences are compared under the recipes that both have",
		value: func(r *result.Result) string { return cmp.Or(r.Identity.RecipesText(), none) }},
	{name: "judge_prompt", matters: true, value: judgePrompt},
	{name: "reader", matters: true, value: reader},
	{name: "reader_prompt", matters: true, value: readerPrompt},
	{name: "corpus", matters: true, value: corpus},
	{name: "ingest", matters: true, memory: true, value: ingest},
	{name: "isolated", matters: true, memory: true,
		value: func(r *result.Result) string { return yesNo(r.Identity.Isolated) }},
	{name: "repeats", note: "means over the repeats are compared",
		value: func(r *result.Result) string { return fmt.Sprint(max(1, r.Identity.Dataset.Repeats)) }},
	{name: "concurrency", note: "latencies depend on it",
		value: func(r *result.Result) string { return fmt.Sprint(r.Settings.Concurrency) }},
	{name: "machine", note: "latencies depend on it", value: machine},
	{name: "query", memory: true, note: "how questions are phrased is part of what was measured", value: query},
	{name: "daemon", note: "expected", value: daemonBuild},
	{name: "tool", value: func(r *result.Result) string {
		return strings.TrimSpace(r.Identity.Tool.Version + " " + r.Identity.Tool.Commit)
	}},
}

// KeyNames returns the names of the keys that matter, which can be accepted.
func KeyNames() []string {
	var names []string
	for _, r := range rules {
		if r.matters {
			names = append(names, r.name)
		}
	}
	return names
}

// scoredBy returns the scorer. Verdicts of other harnesses are by judges of their own.
func scoredBy(r *result.Result) string {
	if id := r.Identity.Imported; id != nil && r.ScorerName == result.ScorerImported {
		return r.ScorerName + " with the answers: " + strings.Join(id.Formats, ", ")
	}
	return r.ScorerName
}

func yesNo(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}

func complete(r *result.Result) string {
	if r.Stopped == "" {
		return "yes"
	}
	return fmt.Sprintf("no, %d of %d: %s", r.Counts.Finished(), r.Planned, r.Stopped)
}

// query returns how questions were sent. Results of daemons that speak the protocol do not say it.
func query(r *result.Result) string {
	if r.Mapped == nil {
		return "question"
	}
	return r.Mapped.Query
}

func maxPerDocument(r *result.Result) string {
	if n := r.Identity.MaxPerDocument; n != nil {
		return fmt.Sprint(*n)
	}
	return "the daemon's default"
}

// exactCase returns how the exact scorer treated case. Older results do not say it.
func exactCase(r *result.Result) string {
	switch c := r.Identity.ExactCase; {
	case c != nil && *c:
		return "matters"
	case c != nil:
		return "ignored"
	case r.Identity.Scorer == "exact":
		return ""
	}
	return none
}

// external returns the program or service that scored. A service is known only by what it says of
// itself.
func external(r *result.Result) string {
	e := r.Identity.External
	if e == nil {
		return none
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

func depth(r *result.Result) string {
	switch {
	case r.Retrieval == nil:
		return none
	case r.Retrieval.Depth == nil:
		return ""
	}
	return r.Retrieval.Depth.String()
}

func keysOf(counts map[string]int) string {
	return strings.Join(slices.Sorted(maps.Keys(counts)), ", ")
}

func judge(r *result.Result) string {
	j := r.Identity.Judge
	if j == nil {
		return none
	}
	text := strings.TrimSpace(j.Provider + " " + j.Model)
	if j.BaseURL != "" {
		text += " at " + j.BaseURL
	}
	if j.Temperature != nil {
		text += fmt.Sprintf(", temperature %g", *j.Temperature)
	}
	return text
}

func judgePrompt(r *result.Result) string {
	if j := r.Identity.Judge; j != nil {
		return strings.TrimSpace(j.PromptVersion + " " + j.PromptSHA256)
	}
	return none
}

// reader returns the models that wrote the answers. They are what ran, not what was configured.
func reader(r *result.Result) string {
	if id := r.Identity.Replay; id != nil && id.Actor.Model != "" {
		return strings.TrimSpace(id.Actor.Provider + " " + id.Actor.Model)
	}
	if !r.Identity.Scenario.Reads() {
		return none
	}
	return keysOf(r.ReaderModels)
}

func readerPrompt(r *result.Result) string {
	if id := r.Identity.Replay; id != nil && id.Actor.PromptSHA256 != "" {
		return strings.TrimSpace(id.Actor.Prompt + " " + id.Actor.PromptSHA256)
	}
	if !r.Identity.Scenario.Reads() {
		return none
	}
	return keysOf(r.ReaderPrompts)
}

func corpus(r *result.Result) string {
	if c := r.Identity.Corpus; c != nil {
		return c.SHA256
	}
	return none
}

func ingest(r *result.Result) string {
	id := r.Identity.Replay
	if id == nil || id.Ingest == "" {
		return none
	}
	if id.Shared {
		return id.Ingest + ", one brain"
	}
	return id.Ingest
}

func machine(r *result.Result) string {
	t := r.Identity.Tool
	if t.OS == "" {
		return ""
	}
	return fmt.Sprintf("%s/%s, %d CPUs", t.OS, t.Arch, t.CPUs)
}

func daemonBuild(r *result.Result) string {
	d := r.Identity.Daemon
	parts := []string{r.SDK, d.Program, d.Endpoint, d.Version}
	return strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), " ")
}

// keys compares what the runs measured. The questions are those of a.
func keys(runs []*Run, a *aligned, opts Options) []Key {
	var out []Key
	for _, rule := range rules {
		k := Key{Name: rule.name, Matters: rule.matters, Note: rule.note, Values: make([]string, len(runs))}
		for i, r := range runs {
			k.Values[i] = valueOf(rule, r, a, i)
		}
		k.State = stateOf(k.Values)
		switch k.Name {
		case keyQuestions:
			if k.State == Differs {
				k.Note = fmt.Sprintf("%d are in all runs", a.common)
			}
		case keySelection:
			k.Matters = k.State == Differs && a.leavesOut()
		case keyComplete:
			if slices.ContainsFunc(runs, func(r *Run) bool { return r.res != nil && r.res.Stopped != "" }) {
				k.State, k.Note = Differs, "a run that stopped has not asked all of its questions"
			}
		}
		if k.State != Differs {
			k.Note = ""
		}
		k.Accepted = k.State == Differs && k.Matters && (slices.Contains(opts.Accept, k.Name) ||
			opts.Intersect && slices.Contains(intersected, k.Name))
		out = append(out, k)
	}
	return out
}

func valueOf(rule rule, r *Run, a *aligned, run int) string {
	switch {
	case rule.name == keyQuestions:
		return fmt.Sprintf("%d, sha256 %s", len(a.ids[run]), result.IDsSHA256(slices.Values(a.ids[run])))
	case r.res == nil:
		return ""
	case rule.memory && r.res.Identity.Scenario.Baseline():
		return noMemory
	case r.res.Identity.Imported != nil && (rule.memory || slices.Contains(ofOwnRuns, rule.name)):
		return ""
	case rule.name == keyDate:
		return a.dates(run, r.res)
	case rule.name == keyGold:
		return a.gold(run, func(q *question) [sha256.Size]byte { return q.gold })
	case rule.name == keyGoldDocs:
		return a.gold(run, func(q *question) [sha256.Size]byte { return q.documents })
	}
	return rule.value(r.res)
}

func stateOf(values []string) KeyState {
	known := slices.DeleteFunc(slices.Clone(values), func(v string) bool { return v == "" })
	comparable := slices.DeleteFunc(slices.Clone(known), func(v string) bool { return v == noMemory })
	switch distinct := slices.Compact(slices.Sorted(slices.Values(comparable))); {
	case len(known) < 2:
		return Unknown
	case len(distinct) > 1:
		return Differs
	}
	return Same
}

// refuse returns an IncomparableError if a difference matters and was not accepted.
func refuse(names []string, keys []Key, common int) error {
	var differing []string
	for _, k := range keys {
		if k.State == Differs && k.Matters && !k.Accepted {
			differing = append(differing, k.Name)
		}
	}
	if len(differing) == 0 {
		return nil
	}
	return &IncomparableError{Names: names, Keys: keys, Differing: differing, Common: common}
}

// Intersected returns the keys that Options.Intersect accepts.
func Intersected() []string { return slices.Clone(intersected) }
