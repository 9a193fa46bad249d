// Package key has one table of what results must agree in: a row for each setting that a result or a
// bench records, with its role for each purpose for which files are put side by side.
//
// A setting is equal, different, or not recorded by a file. What is not recorded is never equal.
package key

import (
	"fmt"
	"slices"
	"strings"

	"evalctl/harness/result"
)

// Purpose is what files are put side by side for.
type Purpose int

// The purposes. The zero value is that of evalctl compare.
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

// Role is what a setting is to a purpose.
type Role int

// The roles. The zero value is none: each setting has a role for each purpose.
const (
	Equal    Role = iota + 1 // files that differ in it have nothing to do with each other
	Named                    // files may differ in it if that is accepted by its name
	Compared                 // it is what is compared: a difference is shown
	Ignored                  // a difference does not matter, and is not shown
)

// roles are written without names of fields, so that a row without one of them does not compile.
type roles struct{ compare, arms, board, gate, trend, resume, bench Role }

// File is what settings are read from: a result, a run in JSON lines if Result and Leaves are nil,
// or a bench. Only one goroutine may use it at a time.
type File struct {
	// Name is what messages call the file or the arm.
	Name   string
	Result *result.Result
	// Asked is what the questions say. It is nil where the questions are not read.
	Asked *QuestionKey
	// Leaves are the settings of a bench by their keys.
	Leaves map[string]string

	settings map[string]string // once they were needed: Leaves, or those of the identity of Result
}

// QuestionKey identifies the questions that are compared, and what is known of them.
type QuestionKey struct{ Questions, Dates, Gold, Documents string }

// Setting is a row of the table.
type Setting struct {
	// Name is what --accept takes.
	Name string
	// Note explains a difference, empty if it needs no words.
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
	ofMemory       // a system with a memory of which evalctl knows how it was used
	ofRun          // a run of evalctl, and not an import
	ofBench        // a bench, which has no other settings
)

// NoMemory is the value of a baseline in what only a system with a memory has. A baseline is compared
// in what it shares with these, which is the questions, the reader and the scorer.
const NoMemory = "none, a baseline"

// The values of other files that have no part in a setting. They differ from no other value.
const (
	noAnswer = "none, no answer"
	itsOwn   = "the system's own"
	ofOthers = "none, a file of another kind"
	unread   = "not read" // what only the questions say
	besides  = "not recorded, as is "
)

// None is the value of a file that records that it has none.
const None = "none"

// applies reports whether a file with this value has a part in a setting.
func applies(value string) bool {
	return !slices.Contains([]string{NoMemory, noAnswer, itsOwn, ofOthers, unread}, value) && !strings.HasPrefix(value, besides)
}

// Role returns the role of the setting for a purpose.
func (s *Setting) Role(p Purpose) Role {
	r := s.roles
	return [purposes]Role{r.compare, r.arms, r.board, r.gate, r.trend, r.resume, r.bench}[p]
}

// Value returns the text of what a file records, empty if it does not.
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

// Names returns the settings that can be accepted by their names.
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

// OfQuestions returns the settings in which files may differ if only the questions are compared that
// all of them have.
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

// Measure returns what a file must have in common with another for a purpose, by the names of the
// settings.
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
