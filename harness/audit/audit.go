// Package audit answers ten disputed questions about result files, such as whether a judge passes
// wrong answers, whether a rate depends on the prompt, the key or one category, or whether a memory
// was needed at all. It uses no model, and says which questions the files cannot answer.
package audit

import (
	"fmt"
	"slices"

	"evalctl/harness/dataset"
	"evalctl/harness/result"
	"evalctl/harness/resultfile"
	"evalctl/internal/figure"
	"evalctl/internal/stats"
)

// confidence is the confidence of all intervals.
const confidence = 0.95

// Answer is the answer of the files to a claim.
type Answer string

// The answers.
const (
	Shown    Answer = "shown"     // the evidence supports it
	NotShown Answer = "not shown" // the evidence does not support it
	Unknown  Answer = "unknown"   // the files do not allow an answer
)

// Finding is one claim with its evidence. Its texts may contain data of the files.
type Finding struct {
	// Number is the number of the claim, from 1. Name is its permanent name, for programs.
	Number int    `json:"number"`
	Name   string `json:"name"`
	Claim  string `json:"claim"`
	// Says is the strongest answer of any file.
	Says     Answer   `json:"says"`
	Evidence []string `json:"evidence"`
	// Header and Rows are a table, empty for none.
	Header []string   `json:"header,omitempty"`
	Rows   [][]string `json:"rows,omitempty"`
	// Command shows the same, or produces missing evidence. Cannot names the limits of the
	// evidence.
	Command string `json:"command"`
	Cannot  string `json:"cannot_say"`
}

// found adds a sentence about a file, with its answer.
func (f *Finding) found(says Answer, format string, args ...any) {
	if f.Says == "" || f.Says == Unknown || says == Shown {
		f.Says = says
	}
	f.Evidence = append(f.Evidence, fmt.Sprintf(format, args...))
}

// Subject is an audited result file.
type Subject struct {
	Name    string
	Path    string
	Result  result.Result
	Records []result.Record
}

// Spec selects the files and claims of an audit.
type Spec struct {
	// Files are result files.
	Files []string
	// Wrong is a result of deliberately wrong answers, judged like the files, empty for none.
	Wrong string
	// Public are the ids of questions that the authors could see during tuning, empty if unknown.
	Public dataset.IDs
	// Claims are the names of the claims to answer, empty for all.
	Claims []string
}

// Audit has the findings.
type Audit struct {
	Subjects []Subject `json:"-"`
	Findings []Finding `json:"findings"`

	wrong *Subject
	// public are the ids of Spec.Public, nil if unknown.
	public map[string]bool
}

// Run reads the files and answers the claims.
func Run(s Spec) (*Audit, error) {
	a := &Audit{}
	for _, id := range s.Public.List {
		if a.public == nil {
			a.public = map[string]bool{}
		}
		a.public[id] = true
	}
	for _, path := range s.Files {
		one, err := Open(path)
		if err != nil {
			return nil, err
		}
		a.Subjects = append(a.Subjects, *one)
	}
	if s.Wrong != "" {
		wrong, err := Open(s.Wrong)
		if err != nil {
			return nil, fmt.Errorf("--wrong: %w", err)
		}
		a.wrong = wrong
	}
	known := map[string]bool{}
	for _, one := range a.Subjects {
		for _, r := range one.Records {
			known[r.ID] = true
		}
	}
	if err := s.Public.Check(known, "the files"); err != nil {
		return nil, fmt.Errorf("--public: %w", err)
	}
	for i, c := range claims {
		if len(s.Claims) > 0 && !slices.Contains(s.Claims, c.name) {
			continue
		}
		f := c.ask(a)
		f.Number, f.Name, f.Claim = i+1, c.name, c.text
		if len(f.Rows) == 0 {
			f.Header = nil
		}
		if f.Says == "" {
			f.Says = Unknown
		}
		if f.Evidence == nil {
			f.Evidence = []string{}
		}
		a.Findings = append(a.Findings, f)
	}
	return a, nil
}

// claim is a disputed claim.
type claim struct {
	name, text string
	ask        func(*Audit) Finding
}

// claims are all claims in the order of reports.
var claims = []claim{
	{"judge-passes-wrong-answers", "The judge passes wrong answers", (*Audit).lenient},
	{"rate-hangs-on-the-prompt", "The same answers have another rate by another rule", (*Audit).prompts},
	{"key-is-wrong", "The key of the benchmark is wrong in places, and the verdicts were made on it", (*Audit).key},
	{"category-5", "The rate depends on whether adversarial questions count", (*Audit).adversarial},
	{"full-context-equals-memory", "The full context does as well as the memory", (*Audit).context},
	{"recall-sold-as-accuracy", "Recall is sold as accuracy", (*Audit).recall},
	{"long-answers-please-the-judge", "Long answers please the judge", (*Audit).length},
	{"tokens-and-latency", "Published tokens and latencies cannot be checked", (*Audit).claims},
	{"needs-no-memory", "Some questions are known, or trivial without a memory", (*Audit).trivial},
	{"key-in-memory-or-tuned", "The key was stored in the memory, or the system was tuned on its failures", (*Audit).tuned},
}

// Claims returns the names of all claims.
func Claims() (names []string) {
	for _, c := range claims {
		names = append(names, c.name)
	}
	return names
}

// Open reads a result file.
func Open(path string) (*Subject, error) {
	res, records, err := resultfile.ReadAll(path)
	if err != nil {
		return nil, err
	}
	return &Subject{Path: path, Name: res.SDK, Result: res, Records: records}, nil
}

// split returns the shares of passed records, among the records that count: one for the group given
// by in, and one for the others.
func (s *Subject) split(counts, in func(result.Record) bool) (group, others share) {
	for _, r := range s.Records {
		switch {
		case !counts(r):
		case in(r):
			group.add(r.Passed)
		default:
			others.add(r.Passed)
		}
	}
	return group, others
}

// share is a number of hits among n.
type share struct{ hits, n int }

func (s *share) add(hit bool) {
	s.n++
	if hit {
		s.hits++
	}
}

// plus returns the pooled share.
func (s share) plus(o share) share { return share{s.hits + o.hits, s.n + o.n} }

func (s share) rate() float64 { return float64(s.hits) / float64(s.n) }

// String formats a share like "23/28 0.821 [0.644 0.921]".
func (s share) String() string {
	if s.n == 0 {
		return "none"
	}
	lo, hi := stats.Wilson(s.hits, s.n, confidence)
	return fmt.Sprintf("%d/%d %.3f [%.3f %.3f]", s.hits, s.n, s.rate(), lo, hi)
}

// less returns the difference of two independent shares with its interval. It is unknown if either
// share has no items.
func (s share) less(o share) (d difference, ok bool) {
	if s.n == 0 || o.n == 0 {
		return d, false
	}
	lo, hi := stats.NewcombeUnpaired(s.hits, s.n, o.hits, o.n, confidence)
	return difference{s.rate() - o.rate(), lo, hi}, true
}

// difference is the difference of two shares with its 95% interval.
type difference struct{ value, low, high float64 }

// within returns the difference of two verdicts on the same questions.
func within(p stats.Pairs) difference {
	lo, hi := p.Newcombe(confidence)
	return difference{p.Difference(), lo, hi}
}

// shown reports whether the interval excludes 0.
func (d difference) shown() bool { return d.low > 0 || d.high < 0 }

// String formats a difference in percentage points.
func (d difference) String() string {
	return fmt.Sprintf("%s pp [%s %s]", figure.Points(d.value), figure.Points(d.low), figure.Points(d.high))
}
