package main

import (
	"errors"
	"fmt"
	"io/fs"
	"reflect"
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	"evalctl/harness/project"
)

// configurable are the commands that a project file can have flags of.
var configurable = []string{"run", "replay", "sweep", "compare", "conformance", "plan", "bench"}

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
	file *project.File // nil without one
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
	s := p.find(parent.Command.Name, f)
	if s == nil {
		return nil, nil
	}
	p.used = true
	return p.file.Value(flagOf(f), *s)
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
	p.file = file
	if err == nil {
		err = file.Check(configured(), notConfigured)
	}
	if err != nil && given && p.file == nil {
		err = fmt.Errorf("--config: %w", err)
	}
	return err
}

// find returns the setting of a flag, nil if the file has none.
func (p *settings) find(command string, f *kong.Flag) *project.Setting {
	return p.file.Find(command, project.Flag{Name: f.Name, Aliases: f.Aliases})
}

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

// configured returns the flags of the commands that a project file can have flags of.
func configured() map[string][]project.Flag {
	commands := map[string][]project.Flag{}
	for _, c := range grammar(configurable).Children {
		if !slices.Contains(configurable, c.Name) {
			continue
		}
		for _, f := range c.Flags {
			commands[c.Name] = append(commands[c.Name], flagOf(f))
		}
	}
	return commands
}

// flagOf returns a flag as a project file sets it.
func flagOf(f *kong.Flag) project.Flag {
	out := project.Flag{
		Name: f.Name, Aliases: f.Aliases, List: f.Target.Kind() == reflect.Slice, Bool: f.Target.Kind() == reflect.Bool,
		Path: slices.Contains([]string{"FILE", "PATH", "DIR"}, f.PlaceHolder),
	}
	out.Numbers = out.List && f.Target.Type().Elem().Kind() == reflect.Int
	if out.List && f.Tag.Sep != -1 {
		out.Split = func(text string) []string { return kong.SplitEscaped(text, f.Tag.Sep) }
	}
	out.Allows = func(value string) error {
		if f.Enum != "" && !f.EnumMap()[value] {
			return fmt.Errorf("must be one of %s", strings.Join(f.EnumSlice(), ", "))
		}
		if t, ok := f.Target.Interface().(scorerText); ok && !t.allows(value) {
			return fmt.Errorf("must be one of %s, or cmd:COMMAND or a URL", strings.Join(t.choices(), ", "))
		}
		return nil
	}
	out.Decode = func(value any) error {
		scan := kong.Scan().PushTyped(value, kong.FlagValueToken)
		return f.Mapper.Decode(&kong.DecodeContext{Value: f.Value, Scan: scan}, reflect.New(f.Target.Type()).Elem())
	}
	return out
}
