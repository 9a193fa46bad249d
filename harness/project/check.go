package project

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/alecthomas/kong"

	"evalctl/harness/dataset"
	"evalctl/harness/judging"
	"evalctl/internal/spelling"
)

// named reports whether key is the name or a former name of a flag. In defaults, a former name that
// another flag has now means that other flag.
func (p *File) named(section string, f *kong.Flag, key string) bool {
	return f.Name == key || slices.Contains(f.Aliases, key) && (section != Defaults || !p.names[key])
}

// Check returns an error for the first unknown section, unknown setting or invalid value. forbidden
// has reasons by the names of flags that a file must not set.
func (p *File) Check(commands map[string][]*kong.Flag, forbidden map[string]string) error {
	p.names = map[string]bool{}
	for _, flags := range commands {
		for _, f := range flags {
			p.names[f.Name] = true
		}
	}
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

// checkSetting checks a setting of one command, or a setting of defaults for each command that has
// the flag.
func (p *File) checkSetting(section string, s Setting, commands map[string][]*kong.Flag) error {
	found, names := false, []string(nil)
	for _, name := range slices.Sorted(maps.Keys(commands)) {
		if section != Defaults && section != name {
			continue
		}
		for _, f := range commands[name] {
			names = append(names, f.Name)
			if !p.named(section, f, s.Key) {
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

// Find returns the setting for a flag of a command, nil if the file has none.
func (p *File) Find(command string, f *kong.Flag) *Setting {
	for _, section := range []string{command, Defaults} {
		for _, s := range p.Sections[section] {
			if p.named(section, f, s.Key) {
				return &s
			}
		}
	}
	return nil
}

// Value returns a setting as a string, or for a repeatable flag as a []any of strings or ints.
// Paths are relative to the current directory. An error for an invalid value names the line.
func (p *File) Value(f *kong.Flag, s Setting) (any, error) {
	values, repeated := slices.Clone(s.Values), isList(f)
	if !s.List && repeated && f.Tag.Sep != -1 {
		values = kong.SplitEscaped(values[0], f.Tag.Sep)
	}
	for i, v := range values {
		values[i] = p.Rebased(f, v)
		if err := allows(f, v); err != nil {
			return nil, p.Errorf(s.Line, "%s %q: %w", s.Key, v, err)
		}
	}
	var value any
	switch {
	case repeated:
		list, err := p.list(f, s, values)
		if err != nil {
			return nil, err
		}
		value = list
	case s.List:
		return nil, p.Errorf(s.Line, "%s: takes a single value, not a list", s.Key)
	case f.Target.Kind() == reflect.Bool && s.Kind != "!!bool":
		return nil, p.Errorf(s.Line, "%s %q: must be true or false", s.Key, s.Values[0])
	default:
		value = values[0]
	}
	if err := decode(f, value); err != nil {
		return nil, p.Errorf(s.Line, "%w", Plain(fmt.Errorf("%s: %w", s.Key, err)))
	}
	return value, nil
}

// list returns the values of a repeatable flag.
func (p *File) list(f *kong.Flag, s Setting, values []string) ([]any, error) {
	out := make([]any, len(values))
	for i, v := range values {
		out[i] = v
		if f.Target.Type().Elem().Kind() == reflect.Int {
			n, err := strconv.Atoi(v)
			if err != nil {
				return nil, p.Errorf(s.Line, "%s %q: must be a whole number", s.Key, v)
			}
			out[i] = n
		}
	}
	return out, nil
}

// Rebased returns the value of a flag. If it contains a path, the path is made relative to the
// current directory.
func (p *File) Rebased(f *kong.Flag, value string) string {
	switch {
	case f.Name == "ids" && strings.HasPrefix(value, "@"):
		return "@" + p.Rebase(value[1:])
	case f.Name == "corpus" && value == dataset.NoCorpus:
		return value
	case isPath(f) || f.Name == "judge-panel" && judging.IsRecipeFile(value):
		return p.Rebase(value)
	}
	return value
}

// nearest suggests the name most similar to key, "" for none.
func nearest(key string, names []string) string {
	if best := spelling.Nearest(key, names); best != "" {
		return fmt.Sprintf(": did you mean %q?", best)
	}
	return ""
}
