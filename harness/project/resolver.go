package project

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"github.com/alecthomas/kong"
)

// NoFile is the value of --config that disables the project file.
const NoFile = "none"

// targetCommands is the group of commands that use only the targets of a file.
const targetCommands = "target"

// Resolver sets flags from the project file. The command line has precedence over the environment,
// the environment over the file, and the file's section of a command over defaults. The file is
// loaded when the first flag is resolved. It implements kong.Resolver.
type Resolver struct {
	// Grammar returns the grammar of Commands.
	Grammar func() *kong.Node
	// Set reports whether an environment variable is set, possibly to "".
	Set func(variable string) bool

	// File is nil without a project file. Err is the error of an invalid one. Resolve does not
	// return Err, because kong would blame a flag.
	File *File
	Err  error

	done    bool
	resumed bool // the command has --resume: its flags come from its journal or ledger
	used    bool // by a flag
}

// Validate implements kong.Resolver.
func (r *Resolver) Validate(*kong.Application) error { return nil }

// Resolve implements kong.Resolver.
func (r *Resolver) Resolve(k *kong.Context, parent *kong.Path, f *kong.Flag) (any, error) {
	if parent.Command == nil {
		return nil, nil
	}
	group, sets := parent.Command.Parent, slices.Contains(Commands, parent.Command.Name)
	if !sets && (group == nil || group.Name != targetCommands) {
		return nil, nil
	}
	if !r.done {
		r.done, r.Err = true, r.load(k)
	}
	if !sets || r.Err != nil || slices.ContainsFunc(f.Envs, r.Set) {
		return nil, nil
	}
	s, _ := r.find(k, parent.Command, f)
	if s == nil {
		return nil, nil
	}
	r.used = true
	return r.File.Value(f, *s)
}

// load finds and checks the file.
func (r *Resolver) load(k *kong.Context) (err error) {
	path := Name
	for _, step := range k.Path {
		if step.Flag == nil || step.Resolved {
			continue
		}
		switch step.Flag.Name {
		case "resume":
			r.resumed = fmt.Sprint(k.FlagValue(step.Flag)) != ""
		case "config":
			path = fmt.Sprint(k.FlagValue(step.Flag))
		}
	}
	if path == NoFile {
		return nil
	}
	given := path != Name
	file, err := Read(path)
	if errors.Is(err, fs.ErrNotExist) && !given {
		return nil
	}
	r.File = file
	if err == nil {
		err = file.Check(FlagsOf(r.Grammar()), Forbidden)
	}
	if err != nil && given && r.File == nil {
		err = fmt.Errorf("--config: %w", err)
	}
	return err
}

// InUse returns the path of the file if it set anything for the command, else "".
func (r *Resolver) InUse() string {
	if r.used || r.File != nil && len(r.File.Targets) > 0 {
		return r.File.Path
	}
	return ""
}

// Targets returns the targets defined by the file, by name.
func (r *Resolver) Targets() map[string]string {
	if r.File == nil {
		return nil
	}
	return r.File.Targets
}

// InForce returns the flags of a parsed command line in the order of the help.
func (r *Resolver) InForce(k *kong.Context) (flags []InForce) {
	given := map[*kong.Flag]bool{}
	for _, step := range k.Path {
		if step.Flag != nil && !step.Resolved {
			given[step.Flag] = true
		}
	}
	command := k.Selected()
	for _, f := range command.Flags {
		out := InForce{Flag: f.Name, Value: Masked(f.Name, Text(f.Target)), From: FromDefault}
		variable := slices.IndexFunc(f.Envs, r.Set) // kong takes the first that is set
		s, unused := r.find(k, command, f)
		switch {
		case given[f]:
			out.From = FromFlag
		case variable >= 0:
			out.From, out.Variable = FromEnvironment, f.Envs[variable]
		case s != nil:
			out.From, out.File, out.Line = FromFile, r.File.Path, s.Line
		default:
			out.Unused = unused
		}
		flags = append(flags, out)
	}
	return flags
}
