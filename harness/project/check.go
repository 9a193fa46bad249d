package project

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"evalctl/harness/dataset"
	"evalctl/internal/spelling"
)

// Flag is a flag of a command, as a file sets it.
type Flag struct {
	Name    string
	Aliases []string // names that it had
	Bool    bool
	List    bool // it may be repeated
	Numbers bool // of a list, its values are whole numbers
	Path    bool // its values are paths
	// Split divides a text into the values of a list, as on a command line. Nil if it is not divided.
	Split func(text string) []string
	// Allows returns an error for a text that is none of the values, if these are listed.
	Allows func(text string) error
	// Decode returns an error for a value of Value that is not of the flag's type.
	Decode func(value any) error
}

// named reports whether key is the name of the flag, or one that it had.
func (f Flag) named(key string) bool { return f.Name == key || slices.Contains(f.Aliases, key) }

// Check returns an error for the first section, setting or value that the flags of the commands do not
// have. forbidden has reasons, by the names of the flags that a file must not set.
func (p *File) Check(commands map[string][]Flag, forbidden map[string]string) error {
	sections := append(slices.Sorted(maps.Keys(commands)), Defaults, Targets)
	byLine := slices.SortedFunc(maps.Keys(p.Lines), func(a, b string) int { return p.Lines[a] - p.Lines[b] })
	for _, section := range byLine {
		if _, known := commands[section]; !known && section != Defaults {
			return p.Errorf(p.Lines[section], "unknown section %q%s; the sections are %s",
				section, nearest(section, sections), strings.Join(sections, ", "))
		}
		for _, s := range p.Sections[section] {
			if why := forbidden[s.Key]; why != "" {
				return p.Errorf(s.Line, "--%s cannot be set in a file: %s", s.Key, why)
			}
			if err := p.checkSetting(section, s, commands); err != nil {
				return err
			}
		}
	}
	return nil
}

// checkSetting checks a setting of one command, or one of defaults for each command that has it.
func (p *File) checkSetting(section string, s Setting, commands map[string][]Flag) error {
	found, names := false, []string(nil)
	for _, name := range slices.Sorted(maps.Keys(commands)) {
		if section != Defaults && section != name {
			continue
		}
		for _, f := range commands[name] {
			names = append(names, f.Name)
			if !f.named(s.Key) {
				continue
			}
			found = true
			if _, err := p.Value(f, s); err != nil {
				return err
			}
		}
	}
	if found {
		return nil
	}
	return p.Errorf(s.Line, "unknown key %q in %s%s; the keys are the flags of the command without --", s.Key, section, nearest(s.Key, names))
}

// Find returns the setting of a flag of a command, nil if the file has none. Only the names of the flag
// are used.
func (p *File) Find(command string, f Flag) *Setting {
	for _, section := range []string{command, Defaults} {
		for _, s := range p.Sections[section] {
			if f.named(s.Key) {
				return &s
			}
		}
	}
	return nil
}

// Value returns a setting as a string, or for a flag that may be repeated as a []any of strings or
// ints, with paths relative to the current directory. The error names the line if it is no value of
// the flag.
func (p *File) Value(f Flag, s Setting) (any, error) {
	values := slices.Clone(s.Values)
	if !s.List && f.Split != nil {
		values = f.Split(values[0])
	}
	for i, v := range values {
		values[i] = p.rebased(f, v)
		if err := f.Allows(v); err != nil {
			return nil, p.Errorf(s.Line, "%s %q: %w", s.Key, v, err)
		}
	}
	var value any
	switch {
	case f.List:
		list, err := p.list(f, s, values)
		if err != nil {
			return nil, err
		}
		value = list
	case s.List:
		return nil, p.Errorf(s.Line, "%s: takes a single value, not a list", s.Key)
	case f.Bool && s.Kind != "!!bool":
		return nil, p.Errorf(s.Line, "%s %q: must be true or false", s.Key, s.Values[0])
	default:
		value = values[0]
	}
	if err := f.Decode(value); err != nil {
		return nil, p.Errorf(s.Line, "%s: %w", s.Key, err)
	}
	return value, nil
}

// list returns the values of a flag that may be repeated.
func (p *File) list(f Flag, s Setting, values []string) ([]any, error) {
	out := make([]any, len(values))
	for i, v := range values {
		out[i] = v
		if f.Numbers {
			n, err := strconv.Atoi(v)
			if err != nil {
				return nil, p.Errorf(s.Line, "%s %q: must be a whole number", s.Key, v)
			}
			out[i] = n
		}
	}
	return out, nil
}

// rebased returns a value of a flag with its path relative to the current directory.
func (p *File) rebased(f Flag, value string) string {
	switch {
	case f.Name == "ids" && strings.HasPrefix(value, "@"):
		return "@" + p.Rebase(value[1:])
	case f.Name == "corpus" && value == dataset.NoCorpus:
		return value
	case f.Path:
		return p.Rebase(value)
	}
	return value
}

// nearest returns a suggestion of the name that is most like key, "" if none is.
func nearest(key string, names []string) string {
	if best := spelling.Nearest(key, names); best != "" {
		return fmt.Sprintf(": did you mean %q?", best)
	}
	return ""
}
