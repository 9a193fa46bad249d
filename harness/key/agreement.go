package key

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// State says how files agree in a setting.
type State string

// The states.
const (
	Same        State = "same"
	Differs     State = "differs"
	NotRecorded State = "not_recorded" // a file does not record it, and no others differ
)

// Agreement is how files agree in a setting.
type Agreement struct {
	Name string `json:"key"`
	// Values has the text of each file's value, empty if the file does not record it.
	Values []string `json:"values"`
	State  State    `json:"state"`
	// Matters is set if files that do not agree in it measured different things.
	Matters bool `json:"matters"`
	// Accepted is set if it matters, and that they do not agree was accepted by its name.
	Accepted bool `json:"accepted"`
	// Note explains a difference, empty for none.
	Note string `json:"note,omitempty"`
}

func agreements(p Purpose, files []*File, accept []string) (out []Agreement) {
	for i := range table {
		s := &table[i]
		if s.Role(p) == Ignored {
			continue
		}
		a := Agreement{Name: s.Name, Matters: s.Role(p) != Compared, Values: make([]string, len(files))}
		for i, f := range files {
			a.Values[i] = s.Value(f)
		}
		if a.State = s.stateOf(a.Values); a.State == Differs {
			a.Note = s.Note
		}
		a.Accepted = a.State != Same && s.Role(p) == Named && slices.Contains(accept, s.Name)
		out = append(out, a)
	}
	return out
}

func (s *Setting) stateOf(values []string) State {
	values = slices.DeleteFunc(slices.Clone(values), func(v string) bool { return !applies(v) })
	known := slices.DeleteFunc(slices.Clone(values), func(v string) bool { return v == "" })
	switch distinct := slices.Compact(slices.Sorted(slices.Values(known))); {
	case len(distinct) > 1, s.only != "" && len(distinct) > 0 && distinct[0] != s.only:
		return Differs
	case len(values) > 1 && len(known) < len(values):
		return NotRecorded
	}
	return Same
}

// Common returns the value that the files have in common which have a part in the setting, empty if
// they do not agree or none has.
func (a *Agreement) Common() string {
	for _, v := range a.Values {
		if v != "" && applies(v) && a.State == Same {
			return v
		}
	}
	return ""
}

// Text says how the files of these names do not agree: "mode differs (go bm25, py hybrid)", or
// "judge is not recorded by go, py".
func (a *Agreement) Text(names []string) string {
	var lacking, values []string
	for i, v := range a.Values {
		values = append(values, names[i]+" "+ValueText(v))
		if v == "" || strings.HasPrefix(v, unrecorded+" / ") {
			lacking = append(lacking, names[i])
		}
	}
	if a.State == NotRecorded {
		return fmt.Sprintf("%s is not recorded by %s", a.Name, strings.Join(lacking, ", "))
	}
	return fmt.Sprintf("%s differs (%s)", a.Name, strings.Join(values, ", "))
}

// unrecorded is how people read the value of a file that does not record a setting.
const unrecorded = "not recorded"

// Join returns what several files of one side record.
func Join(values []string) string {
	distinct := slices.Compact(slices.Sorted(slices.Values(values)))
	if len(distinct) > 1 && distinct[0] == "" {
		distinct[0] = unrecorded
	}
	return strings.Join(distinct, " / ")
}

// ValueText returns a value for people, with hashes shortened.
func ValueText(value string) string {
	if value == "" {
		return unrecorded
	}
	return digest.ReplaceAllString(value, "$1…")
}

var digest = regexp.MustCompile(`\b([0-9a-f]{8})[0-9a-f]{56}\b`)

// ErrIncomparable is wrapped by the errors for files that did not measure the same thing.
var ErrIncomparable = errors.New("the results are not comparable")

// IncomparableError says in what files do not agree that matters and was not accepted.
type IncomparableError struct {
	// Names are those of the files, in the order of the values of Keys.
	Names []string `json:"runs"`
	// Keys are all settings, Differing the names of those in which the files do not agree.
	Keys      []Agreement `json:"comparability"`
	Differing []string    `json:"differing"`
	// Common is the number of questions that all files have.
	Common int `json:"common"`

	purpose Purpose
}

// Check compares the files in all settings that matter to a purpose or are shown. The settings with
// the names of accept are accepted. The error is nil unless the files do not agree in a setting that
// matters and was not accepted.
func Check(p Purpose, files []*File, accept []string) ([]Agreement, *IncomparableError) {
	e := &IncomparableError{Keys: agreements(p, files, accept), purpose: p}
	for _, f := range files {
		e.Names = append(e.Names, f.Name)
	}
	for _, k := range e.Keys {
		if k.State != Same && k.Matters && !k.Accepted {
			e.Differing = append(e.Differing, k.Name)
		}
	}
	if len(e.Differing) == 0 {
		return e.Keys, nil
	}
	return e.Keys, e
}

func (e *IncomparableError) Error() string {
	text := fmt.Sprintf("%v: %s", ErrIncomparable, e.Reasons())
	if accept := e.Accept(); accept != "" {
		text += "; with " + accept + " they are compared all the same"
	}
	return text
}

// Unwrap returns ErrIncomparable.
func (e *IncomparableError) Unwrap() error { return ErrIncomparable }

// Reasons says in what the files do not agree, with their values.
func (e *IncomparableError) Reasons() string {
	var parts []string
	for _, k := range e.Keys {
		if slices.Contains(e.Differing, k.Name) {
			parts = append(parts, k.Text(e.Names))
		}
	}
	return strings.Join(parts, "; ")
}

// Final returns the settings of Differing that cannot be accepted by their names.
func (e *IncomparableError) Final() []string {
	named := Names(e.purpose)
	return slices.DeleteFunc(slices.Clone(e.Differing), func(name string) bool { return slices.Contains(named, name) })
}

// Accept returns the flag that accepts all that differs, empty if something of it cannot be accepted
// by its name.
func (e *IncomparableError) Accept() string {
	if len(e.Final()) > 0 {
		return ""
	}
	return "--accept " + strings.Join(e.Differing, ",")
}

// Accepted says in what the files of these names do not agree and was accepted, empty for nothing.
func Accepted(names []string, keys []Agreement) string {
	var parts []string
	for _, k := range keys {
		if k.Accepted {
			parts = append(parts, k.Text(names))
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return fmt.Sprintf("Accepted, and what follows may come from it: %s.", strings.Join(parts, "; "))
}
