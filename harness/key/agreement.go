package key

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// State says whether files agree in a setting.
type State string

// The values of State.
const (
	Same        State = "same"
	Differs     State = "differs"
	NotRecorded State = "not_recorded" // a file does not record it, and the others agree
)

// Agreement is the agreement of files in one setting.
type Agreement struct {
	Name string `json:"key"`
	// Values has the text of each file's value, empty if not recorded.
	Values []string `json:"values"`
	State  State    `json:"state"`
	// Matters is set if files that disagree in it measured different things.
	Matters bool `json:"matters"`
	// Accepted is set if the setting matters and the disagreement was accepted by name.
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

// Common returns the common value of the files to which the setting applies, empty if they disagree
// or there are none.
func (a *Agreement) Common() string {
	for _, v := range a.Values {
		if v != "" && applies(v) && a.State == Same {
			return v
		}
	}
	return ""
}

// Text says how the named files disagree: "mode differs (go bm25, py hybrid)", or "judge is not
// recorded by go, py".
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

// unrecorded is displayed for a setting that a file does not record.
const unrecorded = "not recorded"

// Join joins the distinct values recorded by the files of one side.
func Join(values []string) string {
	distinct := slices.Compact(slices.Sorted(slices.Values(values)))
	if len(distinct) > 1 && distinct[0] == "" {
		distinct[0] = unrecorded
	}
	return strings.Join(distinct, " / ")
}

// ValueText formats a value for display, with hashes shortened.
func ValueText(value string) string {
	if value == "" {
		return unrecorded
	}
	return digest.ReplaceAllString(value, "$1…")
}

var digest = regexp.MustCompile(`\b([0-9a-f]{8})[0-9a-f]{56}\b`)

// ErrIncomparable is wrapped by errors for files that did not measure the same thing.
var ErrIncomparable = errors.New("the results are not comparable")

// IncomparableError lists disagreements that matter and were not accepted.
type IncomparableError struct {
	// Names are the files' names, in the order of the values in Keys.
	Names []string `json:"runs"`
	// Keys are all settings, and Differing the names of the disagreeing ones.
	Keys      []Agreement `json:"comparability"`
	Differing []string    `json:"differing"`
	// Common is the number of common questions.
	Common int `json:"common"`

	purpose Purpose
}

// Check compares the files in all settings that matter to a purpose or are shown. The settings
// named in accept are accepted. The error is nil unless the files disagree in another setting that
// matters.
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

// Reasons lists the disagreements with their values.
func (e *IncomparableError) Reasons() string {
	var parts []string
	for _, k := range e.Keys {
		if slices.Contains(e.Differing, k.Name) {
			parts = append(parts, k.Text(e.Names))
		}
	}
	return strings.Join(parts, "; ")
}

// Final returns the settings in Differing that cannot be accepted.
func (e *IncomparableError) Final() []string {
	named := Names(e.purpose)
	return slices.DeleteFunc(slices.Clone(e.Differing), func(name string) bool { return slices.Contains(named, name) })
}

// Accept returns the flag that accepts all disagreements, empty if one of them cannot be accepted.
func (e *IncomparableError) Accept() string {
	if len(e.Final()) > 0 {
		return ""
	}
	return "--accept " + strings.Join(e.Differing, ",")
}

// Accepted lists the accepted disagreements of the named files, empty if there are none.
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
