package project

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/alecthomas/kong"
)

// Commands are the commands that a file can have flags of.
var Commands = []string{"run", "replay", "sweep", "compare", "conformance", "plan", "bench"}

// Forbidden are the flags that a file must not set, with the reasons.
var Forbidden = map[string]string{
	"resume":       "it names one run: give it on the command line",
	"retry-errors": "it belongs to --resume: give both on the command line",
	"config":       "it names the file",
	"help":         "it prints help",
}

// FlagsOf returns the flags of Commands in a grammar.
func FlagsOf(grammar *kong.Node) map[string][]Flag {
	commands := map[string][]Flag{}
	for _, c := range grammar.Children {
		if !slices.Contains(Commands, c.Name) {
			continue
		}
		for _, f := range c.Flags {
			commands[c.Name] = append(commands[c.Name], FlagOf(f))
		}
	}
	return commands
}

// FlagOf returns a flag as a project file sets it. A type with a method Allows(string) error says
// itself which values it has.
func FlagOf(f *kong.Flag) Flag {
	out := Flag{
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
		if t, ok := f.Target.Interface().(interface{ Allows(value string) error }); ok {
			return t.Allows(value)
		}
		return nil
	}
	out.Decode = func(value any) error {
		scan := kong.Scan().PushTyped(value, kong.FlagValueToken)
		return f.Mapper.Decode(&kong.DecodeContext{Value: f.Value, Scan: scan}, reflect.New(f.Target.Type()).Elem())
	}
	return out
}

// Text returns a flag's value as on a command line: a string, a []string for a flag that may be
// repeated, or nil for a flag without a value.
func Text(v reflect.Value) any {
	switch v.Kind() {
	case reflect.Pointer:
		if v.IsNil() {
			return nil
		}
		return Text(v.Elem())
	case reflect.Slice:
		if v.Len() == 0 {
			return nil
		}
		var list []string
		for i := range v.Len() {
			list = append(list, fmt.Sprint(v.Index(i)))
		}
		return list
	}
	return fmt.Sprint(v)
}
