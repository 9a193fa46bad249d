package project

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"

	"github.com/alecthomas/kong"
)

// Belongs lists, for a flag, the flags that it belongs to: its value in the file only makes sense
// with their values in the file. If the command line or the environment overrides one of these, the
// file's value is ignored and the default is used.
var Belongs = map[string][]string{
	// Contents of a dataset, or figures measured with it.
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

	// How to connect to a daemon, and what to send.
	"daemon-cmd":       {"target"},
	"daemon-env":       {"target", "daemon-cmd"},
	"home-of-user":     {"target", "daemon-cmd"},
	"start-timeout":    {"target", "daemon-cmd"},
	"dialect":          {"target", "endpoint", "daemon-cmd"},
	"endpoint":         {"target"},
	"mcp":              {"target", "endpoint"},
	"unmetered-daemon": {"target", "endpoint"},
	"use-brain":        {"target", "endpoint"},

	// Options of a scorer or a judge.
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

// Orphan is a setting that is ignored because a flag that it belongs to was overridden.
type Orphan struct {
	File string `json:"file"`
	Line int    `json:"line"`
	// Owner is the overridden flag.
	Owner string `json:"belongs_to"`
}

// Text says why the setting is ignored.
func (o *Orphan) Text() string {
	return fmt.Sprintf("%s:%d belongs to the file's --%s", o.File, o.Line, o.Owner)
}

// find returns the setting for a flag of a command, nil if the file has none. If the file's setting
// is ignored, unused is set instead.
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

// overridden reports whether a flag in the file has another value on the command line or in the
// environment.
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
	value, given := fmt.Sprint(inFile), fmt.Sprint(Text(reflect.ValueOf(k.FlagValue(f))))
	return err != nil || value != given && (!isPath(f) || !samePath(value, given))
}

// samePath reports whether two paths name the same file, which need not exist.
func samePath(a, b string) bool {
	fullA, errA := filepath.Abs(a)
	fullB, errB := filepath.Abs(b)
	if errA == nil && errB == nil && fullA == fullB {
		return true
	}
	infoA, errA := os.Stat(a)
	infoB, errB := os.Stat(b)
	return errA == nil && errB == nil && os.SameFile(infoA, infoB)
}

// Unused returns the ignored settings of the command, by flag, in the order of the help.
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
