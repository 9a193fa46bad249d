package main

import (
	"context"
	"io"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
)

// TestNames checks that the help is short: at most 14 commands in evalctl --help, and at most 30
// besides those about this program in evalctl --help=all.
func TestNames(t *testing.T) {
	var top, all []string
	app := grammar(nil)
	fold(app)
	for _, c := range app.Children {
		if !c.Hidden {
			top = append(top, c.Name)
		}
	}
	for _, c := range grammar(nil).Children {
		if c.Hidden || c.Group.Key == "program" {
			continue
		}
		all = append(all, leaves(c)...)
	}
	if len(top) > 14 || len(all) > 30 {
		t.Errorf("%d commands at the top: %q\n%d in all: %q", len(top), top, len(all), all)
	}
}

// leaves returns the names of the commands that can be run, of a node and those below it.
func leaves(n *kong.Node) (names []string) {
	if n.Leaf() {
		return []string{n.Path()}
	}
	for _, c := range n.Children {
		names = append(names, leaves(c)...)
	}
	return names
}

// TestRenamedCommands checks that each old name is the new one with a note, without a note with
// --quiet, and the name of nothing else.
func TestRenamedCommands(t *testing.T) {
	current := commandNames(grammar(nil))
	for _, old := range slices.Sorted(maps.Keys(renamedCommands)) {
		name := renamedCommands[old]
		var notes strings.Builder
		p := &process{args: append(strings.Fields("--config none "+old), "x"), stderr: &notes}
		p.renameCommand()
		if got, want := strings.Join(p.args, " "), "--config none "+name+" x"; got != want {
			t.Errorf("%s: got %s, want %s", old, got, want)
		}
		if want := "evalctl " + old + " is now evalctl " + name + ";"; !strings.Contains(notes.String(), want) {
			t.Errorf("%s: the note is %q", old, notes.String())
		}
		quiet := &process{args: append(strings.Fields(old), "--quiet"), stderr: io.Discard}
		if quiet.renameCommand(); quiet.args[0] == old {
			t.Errorf("%s --quiet keeps the old name", old)
		}
		if slices.Contains(current, old) {
			t.Errorf("%s is also the name of a command", old)
		}
		command, _, _ := strings.Cut(name, " --")
		if command != "--version" && !slices.Contains(current, command) {
			t.Errorf("%s is now %s, which is no command", old, command)
		}
	}
	// The words of an old name are arguments elsewhere.
	p := &process{args: []string{"help", "run", "sweep"}, stderr: io.Discard}
	if p.renameCommand(); !slices.Equal(p.args, []string{"help", "run", "sweep"}) {
		t.Errorf("got %q", p.args)
	}
	var c cli
	k, err := parse(context.Background(), &process{args: strings.Fields("--config none compare run sweep"), stdout: io.Discard, stderr: io.Discard}, &c)
	if err != nil || k.Selected().Path() != "compare" || !slices.Equal(c.Compare.Files, []string{"run", "sweep"}) {
		t.Errorf("files named run and sweep: %v, %q", err, c.Compare.Files)
	}
}
