package project

import (
	"fmt"
	"reflect"
	"slices"

	"github.com/alecthomas/kong"
)

// Belongs says which flags a flag of a file belongs to: it is about their values in the file. If
// the command line or the environment has another value of one of these, the file's value of the
// flag is not used, and that of the program is.
var Belongs = map[string][]string{
	// What is in a dataset, or was measured with it.
	"baseline":        {"dataset"},
	"brain-tag":       {"dataset"},
	"cluster":         {"dataset"},
	"corpus":          {"dataset"},
	"errata":          {"dataset"},
	"exclude-ids":     {"dataset"},
	"expected-sha256": {"dataset"},
	"failed-of":       {"dataset"},
	"floor-tag":       {"dataset"},
	"grep":            {"dataset"},
	"ids":             {"dataset"},
	"input-format":    {"dataset"},
	"option-seed":     {"dataset"},
	"tags":            {"dataset"},

	// How a daemon is reached, and what it may get.
	"daemon-cmd":       {"target"},
	"daemon-env":       {"target", "daemon-cmd"},
	"start-timeout":    {"target", "daemon-cmd"},
	"dialect":          {"target", "endpoint", "daemon-cmd"},
	"endpoint":         {"target"},
	"mcp":              {"target", "endpoint"},
	"unmetered-daemon": {"target", "endpoint"},
	"use-brain":        {"target", "endpoint"},

	// How a scorer or a judge is used.
	"exact-case":     {"scorer"},
	"judge-panel":    {"scorer"},
	"judge-prompts":  {"scorer"},
	"judge-option":   {"judge"},
	"judge-patience": {"judge"},
	"judge-rps":      {"judge"},
	"scorer-env":     {"scorer"},
	"scorer-timeout": {"scorer"},

	"accept":       {"baseline"},
	"candidate-k":  {"scenario"},
	"only":         {"profile"},
	"rerank-top-n": {"scenario"},
	"require-mode": {"mode"},
	"seed":         {"shuffle"},
}

// Orphan is a setting that is not used, because it belongs to a flag with another value.
type Orphan struct {
	File string `json:"file"`
	Line int    `json:"line"`
	// Owner is the flag that the setting belongs to.
	Owner string `json:"belongs_to"`
}

// Text says why the setting is not used.
func (o *Orphan) Text() string {
	return fmt.Sprintf("%s:%d belongs to the file's --%s", o.File, o.Line, o.Owner)
}

// find returns the setting of a flag of a command, nil if no file sets it. unused is set instead if
// the file's setting is not used.
func (r *Resolver) find(k *kong.Context, command *kong.Node, f *kong.Flag) (s *Setting, unused *Orphan) {
	if r.File == nil || r.resumed {
		return nil, nil
	}
	if s = r.File.Find(Section(command.Name), f); s == nil {
		return nil, nil
	}
	for _, name := range Belongs[f.Name] {
		i := slices.IndexFunc(command.Flags, func(f *kong.Flag) bool { return f.Name == name })
		if i >= 0 && r.overridden(k, command, command.Flags[i]) {
			return nil, &Orphan{r.File.Path, s.Line, name}
		}
	}
	return s, nil
}

// overridden reports whether a flag that the file sets has another value.
func (r *Resolver) overridden(k *kong.Context, command *kong.Node, f *kong.Flag) bool {
	s, unused := r.find(k, command, f)
	if s == nil {
		return unused != nil
	}
	if slices.ContainsFunc(f.Envs, r.Set) {
		return true
	}
	if !slices.ContainsFunc(k.Path, func(step *kong.Path) bool { return step.Flag == f && !step.Resolved }) {
		return false
	}
	inFile, err := r.File.Value(f, *s)
	return err != nil || fmt.Sprint(inFile) != fmt.Sprint(Text(reflect.ValueOf(k.FlagValue(f))))
}

// Unused returns the settings that the command does not use, by flag, in the order of the help.
func (r *Resolver) Unused(k *kong.Context) (flags []string, settings []*Orphan) {
	command := k.Selected()
	if command == nil || !slices.Contains(Commands, command.Name) {
		return nil, nil
	}
	for _, f := range r.InForce(k) {
		if f.Unused != nil {
			flags, settings = append(flags, f.Flag), append(settings, f.Unused)
		}
	}
	return flags, settings
}
