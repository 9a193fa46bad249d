package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/alecthomas/kong"
)

// noteRenamed says which flags of the command line have other names now, unless --quiet is given.
// The old names are aliases of the new ones until the next version. --sdk is none of them: it is
// short for --target.
func (p *process) noteRenamed(k *kong.Context) {
	if slices.Contains(p.args, "--quiet") || k.Selected() == nil {
		return
	}
	for _, f := range k.Selected().Flags {
		for _, old := range f.Aliases {
			given := func(arg string) bool { return arg == "--"+old || strings.HasPrefix(arg, "--"+old+"=") }
			if old != "sdk" && slices.ContainsFunc(p.args, given) {
				fmt.Fprintf(p.stderr, "evalctl: note: --%s is now --%s; the next version does not accept the old name\n", old, f.Name)
			}
		}
	}
}
