// Package audit asks ten questions that the field argues about of result files: whether a judge passes
// wrong answers, whether a rate hangs on the prompt, the key or one category, whether a memory was
// needed at all. It answers what the files allow, without a model, and says what they do not allow.
package audit

import (
	"fmt"
	"slices"

	"evalctl/harness/dataset"
	"evalctl/harness/result"
	"evalctl/internal/figure"
	"evalctl/internal/stats"
)

// confidence is that of all intervals.
const confidence = 0.95

// Answer is what the files say about a claim.
type Answer string

// The answers.
const (
	Shown    Answer = "shown"     // the evidence supports it
	NotShown Answer = "not shown" // the evidence does not support it
	Unknown  Answer = "unknown"   // the files do not allow an answer
)

// Finding is one claim with its evidence. Its texts may have data of the files.
type Finding struct {
	// Number is that of the claim, from 1. Name is stable, for programs.
	Number int    `json:"number"`
	Name   string `json:"name"`
	Claim  string `json:"claim"`
	// Says is the strongest answer for any of the files.
	Says     Answer   `json:"says"`
	Evidence []string `json:"evidence"`
	// Header and Rows are a table, empty for none.
	Header []string   `json:"header,omitempty"`
	Rows   [][]string `json:"rows,omitempty"`
	// Command shows the same, or what is missing. Cannot is what the evidence does not say.
	Command string `json:"command"`
	Cannot  string `json:"cannot_say"`
}

// found adds a sentence about a file, with what it shows.
func (f *Finding) found(says Answer, format string, args ...any) {
	if f.Says == "" || f.Says == Unknown || says == Shown {
		f.Says = says
	}
	f.Evidence = append(f.Evidence, fmt.Sprintf(format, args...))
}

// Subject is a result file that is audited.
type Subject struct {
	Name    string
	Path    string
	Result  result.Result
	Records []result.Record
}

// Spec says what is audited.
type Spec struct {
	// Files are results.
	Files []string
	// Wrong is a result of answers that are wrong on purpose, by the judge of the files, empty for none.
	Wrong string
	// Public are the ids of the questions that the authors could see when they tuned, empty if not known.
	Public dataset.IDs
	// Claims are the names of those that are answered, empty for all.
	Claims []string
}

// Audit is what was found.
type Audit struct {
	Subjects []Subject `json:"-"`
	Findings []Finding `json:"findings"`

	wrong *Subject
	// public are the ids of Spec.Public, nil if they are not known.
	public map[string]bool
}

// Run reads the files and answers what they allow.
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

// claim is something that the field argues about.
type claim struct {
	name, text string
	ask        func(*Audit) Finding
}

// claims are in the order of reports.
var claims = []claim{
	{"judge-passes-wrong-answers", "The judge passes wrong answers", (*Audit).lenient},
	{"rate-hangs-on-the-prompt", "The same answers have another rate by another rule", (*Audit).prompts},
	{"key-is-wrong", "The key of the benchmark is wrong in places, and the verdicts were made on it", (*Audit).key},
	{"category-5", "The rate depends on whether adversarial questions count", (*Audit).adversarial},
	{"full-context-equals-memory", "The full context does as well as the memory", (*Audit).context},
	{"recall-sold-as-accuracy", "Recall is sold as accuracy", (*Audit).recall},
	{"long-answers-please-the-judge", "Long answers please the judge", (*Audit).length},
	{"tokens-and-latency", "What is published of tokens and latency cannot be checked", (*Audit).claims},
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
	r, err := result.Open(path)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	s := &Subject{Path: path, Result: r.Result()}
	s.Name = s.Result.SDK
	for rec, err := range r.Questions() {
		if err != nil {
			return nil, err
		}
		s.Records = append(s.Records, rec)
	}
	return s, nil
}

// split returns the shares of the records that count which passed, of those that are in a group and of
// the others.
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

// plus is the share of both.
func (s share) plus(o share) share { return share{s.hits + o.hits, s.n + o.n} }

func (s share) rate() float64 { return float64(s.hits) / float64(s.n) }

// String is "23/28 0.821 [0.644 0.921]".
func (s share) String() string {
	if s.n == 0 {
		return "none"
	}
	lo, hi := stats.Wilson(s.hits, s.n, confidence)
	return fmt.Sprintf("%d/%d %.3f [%.3f %.3f]", s.hits, s.n, s.rate(), lo, hi)
}

// less returns the difference of two independent shares with its interval. It is not known without
// items.
func (s share) less(o share) (d difference, ok bool) {
	if s.n == 0 || o.n == 0 {
		return d, false
	}
	lo, hi := stats.NewcombeUnpaired(s.hits, s.n, o.hits, o.n, confidence)
	return difference{s.rate() - o.rate(), lo, hi}, true
}

// difference is one of two shares with its 95% interval.
type difference struct{ value, low, high float64 }

// shown reports whether the interval excludes 0.
func (d difference) shown() bool { return d.low > 0 || d.high < 0 }

// String is in percentage points.
func (d difference) String() string {
	return fmt.Sprintf("%s pp [%s %s]", figure.Points(d.value), figure.Points(d.low), figure.Points(d.high))
}
