package main

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/alecthomas/kong"

	"evalctl/harness/dataset"
	"evalctl/harness/project"
	"evalctl/internal/spelling"
)

// configurable are the commands that a project file can have flags of.
var configurable = []string{"run", "replay", "sweep", "compare", "conformance", "plan"}

// noProject is the value of --config that reads no project file.
const noProject = "none"

// notConfigured are the flags that a project file must not set, with the reasons.
var notConfigured = map[string]string{
	"resume":       "it names one run: give it on the command line",
	"retry-errors": "it belongs to --resume: give both on the command line",
	"config":       "it names the file",
	"help":         "it prints help",
}

// settings resolves flags from the project file: a flag of the command line wins, then the
// environment, then the file, first its section of the command, then defaults. Its zero value has
// not looked for the file yet. It implements kong.Resolver.
type settings struct {
	file *projectFile // nil without one
	done bool
	// err is what is wrong with the file. Resolve does not return it, because kong would blame a
	// flag.
	err error
	// resumed is set if the command has --resume: its flags come from its journal or ledger.
	resumed bool
	used    bool // by a flag
}

// Validate implements kong.Resolver.
func (p *settings) Validate(*kong.Application) error { return nil }

// Resolve implements kong.Resolver.
func (p *settings) Resolve(k *kong.Context, parent *kong.Path, f *kong.Flag) (any, error) {
	if parent.Command == nil || !slices.Contains(configurable, parent.Command.Name) {
		return nil, nil
	}
	if !p.done {
		p.done, p.err = true, p.load(k)
	}
	if p.err != nil || p.file == nil || p.resumed || envSet(f) {
		return nil, nil
	}
	s, _ := p.find(parent.Command.Name, f)
	if s == nil {
		return nil, nil
	}
	p.used = true
	return p.file.value(f, *s)
}

// load looks for the file and checks all of it.
func (p *settings) load(k *kong.Context) (err error) {
	path := project.Name
	for _, step := range k.Path {
		if step.Flag == nil || step.Resolved {
			continue
		}
		switch step.Flag.Name {
		case "resume":
			p.resumed = fmt.Sprint(k.FlagValue(step.Flag)) != ""
		case "config":
			path = fmt.Sprint(k.FlagValue(step.Flag))
		}
	}
	if path == noProject {
		return nil
	}
	given := path != project.Name
	file, err := project.Read(path)
	if errors.Is(err, fs.ErrNotExist) && !given {
		return nil
	}
	if file != nil {
		p.file = &projectFile{file}
	}
	if err == nil {
		err = p.file.check(grammar(configurable))
	}
	if err != nil && given && p.file == nil {
		err = fmt.Errorf("--config: %w", err)
	}
	return err
}

// find returns the setting of a flag, nil if the file has none, and its section.
func (p *settings) find(command string, f *kong.Flag) (*project.Setting, string) {
	for _, section := range []string{command, project.Defaults} {
		for _, s := range p.file.Sections[section] {
			if named(f, s.Key) {
				return &s, section
			}
		}
	}
	return nil, ""
}

// named reports whether key is the name of a flag, or one that it had.
func named(f *kong.Flag, key string) bool { return f.Name == key || slices.Contains(f.Aliases, key) }

// inUse returns the path of the file if it set anything for the command, else "".
func (p *settings) inUse() string {
	if p.used || p.file != nil && len(p.file.Targets) > 0 {
		return p.file.Path
	}
	return ""
}

// defined returns the targets that the file defines, by name.
func (p *settings) defined() map[string]string {
	if p.file == nil {
		return nil
	}
	return p.file.Targets
}

// envSet reports whether a variable gives the flag a value. kong takes the first that is set.
func envSet(f *kong.Flag) bool {
	return slices.ContainsFunc(f.Envs, variableSet)
}

// projectFile is a project file, whose settings are flags of commands.
type projectFile struct{ *project.File }

// check returns an error for the first section, setting or value that is none of the program's.
func (p projectFile) check(app *kong.Node) error {
	commands := map[string]*kong.Node{}
	for _, c := range app.Children {
		if slices.Contains(configurable, c.Name) {
			commands[c.Name] = c
		}
	}
	sections := append(slices.Sorted(maps.Keys(commands)), project.Defaults, project.Targets)
	byLine := slices.SortedFunc(maps.Keys(p.Lines), func(a, b string) int { return p.Lines[a] - p.Lines[b] })
	for _, section := range byLine {
		if section != project.Defaults && commands[section] == nil {
			return p.Errorf(p.Lines[section], "unknown section %q%s; the sections are %s", section, nearest(section, sections), strings.Join(sections, ", "))
		}
		for _, s := range p.Sections[section] {
			if err := p.checkSetting(section, s, commands); err != nil {
				return err
			}
		}
	}
	return nil
}

// checkSetting checks a setting of one command, or one of defaults for each command that has it.
func (p projectFile) checkSetting(section string, s project.Setting, commands map[string]*kong.Node) error {
	if why := notConfigured[s.Key]; why != "" {
		return p.Errorf(s.Line, "--%s cannot be set in a file: %s", s.Key, why)
	}
	found, names := false, []string(nil)
	for _, name := range slices.Sorted(maps.Keys(commands)) {
		if section != project.Defaults && section != name {
			continue
		}
		for _, f := range commands[name].Flags {
			names = append(names, f.Name)
			if !named(f, s.Key) {
				continue
			}
			found = true
			if _, err := p.value(f, s); err != nil {
				return err
			}
		}
	}
	if found {
		return nil
	}
	return p.Errorf(s.Line, "unknown key %q in %s%s; the keys are the flags of the command without --", s.Key, section, nearest(s.Key, names))
}

// value returns a setting in the form that kong parses, with paths relative to the current
// directory. The error names the line if it is no value of the flag.
func (p projectFile) value(f *kong.Flag, s project.Setting) (any, error) {
	values := slices.Clone(s.Values)
	if !s.List && f.Target.Kind() == reflect.Slice && f.Tag.Sep != -1 {
		values = kong.SplitEscaped(values[0], f.Tag.Sep) // as on a command line
	}
	for i, v := range values {
		values[i] = p.rebased(f, v)
		if f.Enum != "" && !f.EnumMap()[v] {
			return nil, p.Errorf(s.Line, "%s %q: must be one of %s", s.Key, v, strings.Join(f.EnumSlice(), ", "))
		}
		if t, ok := f.Target.Interface().(scorerText); ok && !t.allows(v) {
			return nil, p.Errorf(s.Line, "%s %q: must be one of %s, or cmd:COMMAND or a URL", s.Key, v, strings.Join(t.choices(), ", "))
		}
	}
	kind := f.Target.Kind()
	if kind == reflect.Slice {
		return p.list(f, s, values)
	}
	if s.List {
		return nil, p.Errorf(s.Line, "%s: takes a single value, not a list", s.Key)
	}
	if kind == reflect.Bool && s.Kind != "!!bool" {
		return nil, p.Errorf(s.Line, "%s %q: must be true or false", s.Key, s.Values[0])
	}
	return values[0], p.decode(f, s, values[0])
}

// list returns the values of a flag that may be repeated.
func (p projectFile) list(f *kong.Flag, s project.Setting, values []string) (any, error) {
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
	return out, p.decode(f, s, out)
}

// decode returns an error with the line if a value is not of the flag's type.
func (p projectFile) decode(f *kong.Flag, s project.Setting, value any) error {
	target := reflect.New(f.Target.Type()).Elem()
	scan := kong.Scan().PushTyped(value, kong.FlagValueToken)
	if err := f.Mapper.Decode(&kong.DecodeContext{Value: f.Value, Scan: scan}, target); err != nil {
		return p.Errorf(s.Line, "%s: %w", s.Key, err)
	}
	return nil
}

// rebased returns a value of a flag with its path relative to the current directory.
func (p projectFile) rebased(f *kong.Flag, value string) string {
	switch {
	case f.Name == "ids" && strings.HasPrefix(value, "@"):
		return "@" + p.Rebase(value[1:])
	case f.Name == "corpus" && value == dataset.NoCorpus:
		return value
	case slices.Contains([]string{"FILE", "PATH", "DIR"}, f.PlaceHolder):
		return p.Rebase(value)
	}
	return value
}

// nearest returns a suggestion of the name that is most like key, "" if none is.
func nearest(key string, names []string) string {
	best, least := "", max(2, len(key)/3)+1
	for _, name := range names {
		if d := spelling.Distance(strings.ReplaceAll(strings.ToLower(key), "_", "-"), name); d < least {
			best, least = name, d
		}
	}
	if best == "" {
		return ""
	}
	return fmt.Sprintf(": did you mean %q?", best)
}
