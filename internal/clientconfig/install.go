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

// Install configures the entry of a server for a client.
type Install struct {
	Client string // its id, empty to list the clients
	Name   string // of the entry
	// Program and Args start the server, which needs the values of Variables.
	Program   string
	Args      []string
	Variables []string
	// GOOS and Env determine where the files of clients are.
	GOOS string
	Env  func(string) string
}

// Run prints the entry to stdout and where it belongs to stderr, or lists the clients.
func (i Install) Run(stdout, stderr io.Writer) error {
	if err := checkName(i.Name); err != nil {
		return fmt.Errorf("--entry %w", err)
	}
	if err := checkCommand(i.Program, i.Args); err != nil {
		return err
	}
	where, err := FindPlaces(i.GOOS, i.Env)
	if err != nil {
		return err
	}
	if i.Client == "" {
		return list(stdout, where)
	}
	client, err := Find(i.Client)
	if err != nil {
		return err
	}
	return client.show(stdout, stderr, client.File(where), i)
}

// validName matches a name of a server that every client accepts, up to maxName bytes.
var validName = regexp.MustCompile(`^[A-Za-z0-9_-]+$`)

const maxName = 64

// checkName returns an error for a name that some client does not accept.
func checkName(name string) error {
	if len(name) > maxName || !validName.MatchString(name) {
		return fmt.Errorf("%q: must be 1 to %d letters, digits, - and _", name, maxName)
	}
	return nil
}

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

// list prints the clients and their files.
func list(w io.Writer, where Places) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "CLIENT\tFILE")
	for _, client := range clients {
		fmt.Fprintf(table, "%s\t%s\n", client.ID, terminal.Line(client.File(where)))
	}
	return table.Flush()
}

// show prints the entry, and instructions to stderr.
func (c Client) show(stdout, stderr io.Writer, path string, i Install) error {
	entry := c.Entry(i.Program, i.Args, i.Variables)
	fmt.Fprintf(stderr, "Add this entry to %s, which %s reads:\n\n", terminal.Line(path), c.Name)
	if _, err := io.WriteString(stdout, c.Snippet(i.Name, entry)); err != nil {
		return err
	}
	if add := c.Command(i.Name, entry); add != "" {
		fmt.Fprintf(stderr, "\nThis command adds it for all projects:\n\n  %s\n", terminal.Line(add))
	}
	fmt.Fprintf(stderr, "\n%s\n", c.Then)
	if len(i.Variables) > 0 {
		or := ""
		if c.section != "" { // an entry may have variables and their values
			or = `, or in the "env" of the entry if only you can read the file`
		}
		fmt.Fprintf(stderr, "%s must pass these variables on: %s. Set them in its environment%s.\n", c.Name, strings.Join(i.Variables, ", "), or)
	}
	return nil
}
