package clientconfig

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"text/tabwriter"
	"unicode/utf8"

	"evalctl/internal/terminal"
)

// goRun matches the path of a program that go run has built.
var goRun = regexp.MustCompile(`/go-build\d+/`)

// checkCommand returns an error for a command that a client could not start later.
func checkCommand(program string, args []string) error {
	if goRun.MatchString(filepath.ToSlash(program)) {
		return errors.New("go run deletes the program when it ends: " +
			"install it with go install ./cmd/evalctl, and run that one")
	}
	for _, word := range append(slices.Clone(args), program) {
		if !utf8.ValidString(word) {
			return fmt.Errorf("%q is not valid UTF-8, which the files of clients must be", word)
		}
	}
	return nil
}

// list prints the clients, their files, and whether they have the entry.
func list(w io.Writer, where Places, name, program string, args []string) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "CLIENT\tENTRY\tFILE")
	for _, client := range clients {
		path := client.File(where)
		state := client.State(path, name, client.Entry(program, args, nil))
		fmt.Fprintf(table, "%s\t%s\t%s\n", client.ID, state, terminal.Line(path))
	}
	return table.Flush()
}

// show prints the configuration to stdout, and how to add it to the file at path to stderr.
func (c Client) show(stdout, stderr io.Writer, path, name string, entry Entry) {
	fmt.Fprintf(stderr, "%s reads %s:\n\n", c.Name, terminal.Line(path))
	fmt.Fprint(stdout, c.Snippet(name, entry))
	fmt.Fprintf(stderr, "\n--write adds this entry to the file.")
	if add := c.Command(name, entry); add != "" {
		fmt.Fprintf(stderr, " For all projects:\n\n  %s\n", add)
	} else {
		fmt.Fprintln(stderr)
	}
}

// print prints what a change did to the entry of a name.
func (c Change) print(w io.Writer, name string) error {
	file := terminal.Line(c.Path)
	if len(c.Lines) == 0 {
		_, err := fmt.Fprintf(w, "%s is unchanged: it has the entry %q\n", file, name)
		return err
	}
	fmt.Fprintf(w, "%s\n", file)
	for _, line := range c.Lines {
		fmt.Fprintf(w, "  %s\n", terminal.Line(line))
	}
	if c.Backup != "" {
		fmt.Fprintf(w, "copy of the old file: %s\n", terminal.Line(c.Backup))
	}
	return nil
}

// remind names the variables that the client must pass on.
func (c Client) remind(w io.Writer, variables []string) {
	if len(variables) == 0 {
		return
	}
	or := ""
	if c.section != "" { // an entry may have variables and their values
		or = `, or in the "env" of the entry if only you can read the file`
	}
	fmt.Fprintf(w, "%s must pass these variables on: %s. Set them in its environment%s.\n",
		c.Name, strings.Join(variables, ", "), or)
}
