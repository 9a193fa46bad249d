// Package key defines, in one table, which settings results must agree in. It has a row for each
// setting recorded by a result or a bench, with its role for each purpose of putting files side by
// side.
//
// A setting is equal, different, or not recorded by a file. An unrecorded setting never counts as
// equal.
package key

import (
	"fmt"
	"slices"
	"strings"

	"evalctl/harness/result"
)

// Purpose is the purpose of putting files side by side.
type Purpose int

// The purposes. The zero value is evalctl compare.
const (
	Compare Purpose = iota
	Arms            // the arms of a replay
	Board           // a ranking
	Gate            // a run with its --baseline
	Trend           // results over time: trend, list, the report of a replay
	Resume          // a run with its journal
	Bench           // a bench with its --baseline
	purposes
)

// Role is the role of a setting for a purpose.
type Role int

// The roles. The zero value is invalid: each setting has a role for each purpose.
const (
	Equal    Role = iota + 1 // files that differ in it have nothing to do with each other
	Named                    // files may differ in it if that is accepted by its name
	Compared                 // it is under comparison: a difference is shown
	Ignored                  // a difference does not matter, and is not shown
)

// roles is written without field names, so that an incomplete row does not compile.
type roles struct{ compare, arms, board, gate, trend, resume, bench Role }

// File is the source of settings: a result, a bench, or a run in JSON lines if Result and Leaves
// are nil. It is not safe for concurrent use.
type File struct {
	// Name names the file or the arm in messages.
	Name   string
	Result *result.Result
	// Asked describes the questions, nil if they were not read.
	Asked *QuestionKey
	// Leaves are the settings of a bench by key.
	Leaves map[string]string

	settings map[string]string // built on demand from Leaves or the identity of Result
}

// QuestionKey identifies the compared questions and their recorded properties.
type QuestionKey struct{ Questions, Dates, Gold, Documents string }

// Setting is a row of the table.
type Setting struct {
	// Name is the name for --accept.
	Name string
	// Note explains a difference, empty if no explanation is needed.
	Note string

	leaves string // keys of the identity or of a bench; one that ends in a dot has all below it
	scope  scope
	within string             // the setting that this one is a part of: it is not missed where that is not recorded
	only   string             // the value without which files never agree, empty for none
	asked  bool               // it is accepted by comparing only the questions that all files have
	value  func(*File) string // nil for what the file has at the leaves
	roles  roles
}

// scope says which files have a setting.
type scope int

const (
	anywhere scope = iota
	ofMemory       // a system with a memory that evalctl asked itself
	ofRun          // a run of evalctl, and not an import
	ofBench        // a bench, which has no other settings
)

// NoMemory is a baseline's value for settings that only systems with a memory have. A baseline is
// compared only in the shared settings: the questions, the reader and the scorer.
const NoMemory = "none, a baseline"

// The values of other files to which a setting does not apply. They differ from no other value.
const (
	noAnswer = "none, no answer"
	itsOwn   = "the system's own"
	ofOthers = "none, a file of another kind"
	unread   = "not read" // what only the questions say
	besides  = "not recorded, as is "
)

// None is the value of a file that records that it has none.
const None = "none"

// applies reports whether the setting applies to a file with this value.
func applies(value string) bool {
	return !slices.Contains([]string{NoMemory, noAnswer, itsOwn, ofOthers, unread}, value) && !strings.HasPrefix(value, besides)
}

// Role returns the role of the setting for a purpose.
func (s *Setting) Role(p Purpose) Role {
	r := s.roles
	return [purposes]Role{r.compare, r.arms, r.board, r.gate, r.trend, r.resume, r.bench}[p]
}

// Value returns the text of the recorded value, empty if not recorded.
func (s *Setting) Value(f *File) string {
	if v := s.recorded(f); v != "" || s.within == "" {
		return v
	}
	if whole := settingOf(s.within); whole.Value(f) == "" || strings.HasPrefix(whole.Value(f), besides) {
		return besides + whole.Name
	}
	return ""
}

func (s *Setting) recorded(f *File) string {
	switch r := f.Result; {
	case (f.Leaves != nil) != (s.scope == ofBench):
		return ofOthers
	case (s.scope == ofMemory || s.scope == ofRun) && (r == nil || r.Identity.Imported != nil):
		return itsOwn
	case s.scope == ofMemory && r.Identity.Scenario.Baseline():
		return NoMemory
	case s.value == nil:
		return f.set(s)
	}
	return s.value(f)
}

func settingOf(name string) *Setting {
	return &table[slices.IndexFunc(table, func(s Setting) bool { return s.Name == name })]
}

// Names returns the settings that can be accepted by name.
func Names(p Purpose) []string { return namesOf(func(s *Setting) bool { return s.Role(p) == Named }) }

// CheckNames returns an error for a name that is not one of Names.
func CheckNames(p Purpose, accept []string) error {
	for _, name := range accept {
		if all := Names(p); !slices.Contains(all, name) {
			return fmt.Errorf("no difference is called %q; there are %s", name, strings.Join(all, ", "))
		}
	}
	return nil
}

// OfQuestions returns the settings in which files may differ if only common questions are compared.
func OfQuestions() []string { return namesOf(func(s *Setting) bool { return s.asked }) }

func namesOf(is func(*Setting) bool) (names []string) {
	for i := range table {
		if is(&table[i]) {
			names = append(names, table[i].Name)
		}
	}
	return names
}

// Missing returns the settings that matter to a purpose and that a file does not record.
func Missing(p Purpose, f *File) []string {
	return namesOf(func(s *Setting) bool { return s.Role(p) <= Named && s.Value(f) == "" })
}

// Measure returns the settings, by name, that a file must share with another for a purpose.
func Measure(p Purpose, f *File) map[string]string {
	values := map[string]string{}
	for i := range table {
		s := &table[i]
		if v := s.Value(f); s.Role(p) == Equal && v != "" && v != None && applies(v) {
			values[s.Name] = v
		}
	}
	return values
}
