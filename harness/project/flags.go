package project

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/alecthomas/kong"
)

// Commands are the commands that a file can have flags of, as the grammar names them. A file has a
// Section for each.
var Commands = []string{"run", "replay", "run sweep", "compare", "conformance", "run plan", "bench"}

// Section returns the name of a command's section in a file: its last word.
func Section(command string) string { return command[strings.LastIndexByte(command, ' ')+1:] }

// Forbidden lists flags that a file must not set, with the reasons.
var Forbidden = map[string]string{
	"resume":       "it names one run: give it on the command line",
	"retry-errors": "it belongs to --resume: give both on the command line",
	"config":       "it names the file",
	"help":         "it prints help",
}

// FlagsOf returns the flags of Commands in a grammar.
func FlagsOf(grammar *kong.Node) map[string][]*kong.Flag {
	commands := map[string][]*kong.Flag{}
	for _, c := range grammar.Children {
		if slices.Contains(Commands, c.Name) {
			commands[Section(c.Name)] = c.Flags
		}
	}
	return commands
}

// isList reports whether a flag is repeatable.
func isList(f *kong.Flag) bool { return f.Target.Kind() == reflect.Slice }

// isPath reports whether the value of a flag is a path.
func isPath(f *kong.Flag) bool {
	return slices.Contains([]string{"FILE", "PATH", "DIR"}, f.PlaceHolder)
}

// allows returns an error for a text outside the listed values of a flag. A type with a method
// Allows(string) error checks its values itself.
func allows(f *kong.Flag, value string) error {
	if f.Enum != "" && !f.EnumMap()[value] {
		return fmt.Errorf("must be one of %s", strings.Join(f.EnumSlice(), ", "))
	}
	if t, ok := f.Target.Interface().(interface{ Allows(value string) error }); ok {
		return t.Allows(value)
	}
	return nil
}

// decode returns an error if a value of File.Value does not have the flag's type.
func decode(f *kong.Flag, value any) error {
	scan := kong.Scan().PushTyped(value, kong.FlagValueToken)
	return f.Mapper.Decode(&kong.DecodeContext{Value: f.Value, Scan: scan}, reflect.New(f.Target.Type()).Elem())
}

// CheckTyped returns an error for a flag that a command line gives without a value, as a shell does
// from a variable that is not set. Flags with the tag empty, and of except, may be empty.
func CheckTyped(k *kong.Context, except ...string) error {
	for _, step := range k.Path {
		f := step.Flag
		if f == nil || step.Resolved || f.IsBool() {
			continue
		}
		empty := f.Tag.Has("empty") || slices.Contains(except, f.Name)
		if value := Text(f.Target); !empty && (value == nil || value == "") {
			return fmt.Errorf("--%s is empty: give a value, or leave it out", f.Name)
		}
	}
	return nil
}

// Text returns a flag's value as written on a command line: a string, a []string for a repeatable
// flag, or nil for an unset flag.
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
