package completion

import (
	"slices"
	"strings"

	"github.com/alecthomas/kong"
)

// paths lists the flags whose value is a file or folder.
var paths = []string{"dataset", "corpus", "output", "resume", "keys", "file", "home", "cache-dir"}

// Of returns the commands below a node of a grammar. choices returns the values of a flag or argument
// that has no enum, nil if they are not listed.
func Of(parent *kong.Node, choices func(*kong.Value) []string) (out []Command) {
	for _, n := range parent.Children {
		if n.Hidden {
			continue
		}
		c := Command{Name: n.Name, Help: n.Help}
		for _, a := range n.Positional {
			c.Args = append(c.Args, valuesOf(a, choices)...)
		}
		for _, f := range n.Flags {
			if f.Name == "help" || f.Hidden {
				continue
			}
			completed := Flag{
				Name: f.Name, Help: f.Help, Values: valuesOf(f.Value, choices),
				TakesValue: !f.IsBool(), Path: slices.Contains(paths, f.Name),
			}
			if c.Flags = append(c.Flags, completed); slices.Contains(f.Aliases, "sdk") { // not an old name
				completed.Name = "sdk"
				c.Flags = append(c.Flags, completed)
			}
		}
		for _, sub := range Of(n, choices) {
			c.add(sub.Name, sub)
		}
		first, second, two := strings.Cut(n.Name, " ")
		if i := slices.IndexFunc(out, func(c Command) bool { return c.Name == first }); two && i >= 0 {
			out[i].add(second, c)
			continue
		}
		out = append(out, c)
	}
	return out
}

// add adds a command below c, with its arguments and the flags that c does not have.
func (c *Command) add(name string, below Command) {
	c.Args = append(append(c.Args, name), below.Args...)
	for _, f := range below.Flags {
		if !slices.ContainsFunc(c.Flags, func(own Flag) bool { return own.Name == f.Name }) {
			c.Flags = append(c.Flags, f)
		}
	}
}

func valuesOf(v *kong.Value, choices func(*kong.Value) []string) []string {
	if listed := choices(v); listed != nil {
		return listed
	}
	return slices.DeleteFunc(v.EnumSlice(), func(e string) bool { return e == "" })
}
