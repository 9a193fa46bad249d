// Package audit answers ten disputed questions about result files, such as whether a judge passes
// wrong answers, whether a rate depends on the prompt, the key or one category, or whether a memory
// was needed at all. It uses no model, and says which questions the files cannot answer.
package audit

import (
	"fmt"
	"slices"

	"evalctl/harness/dataset"
	"evalctl/harness/result"
)

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

	clusters []int // of each record, nil if records are independent
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
