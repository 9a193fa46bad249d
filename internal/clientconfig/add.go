package clientconfig

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
)

// validName is what every client accepts as the name of a server, up to maxName bytes.
var validName = regexp.MustCompile(`^[A-Za-z0-9_-]+$`)

const maxName = 64

// checkName returns an error for a name that some client does not accept.
func checkName(name string) error {
	if len(name) > maxName || !validName.MatchString(name) {
		return fmt.Errorf("%q: must be 1 to %d letters, digits, - and _", name, maxName)
	}
	return nil
}

// Change is what Add changed.
type Change struct {
	// Path is the file itself, behind symbolic links.
	Path string
	// Lines are the lines that differ, with - and + before them. There are none if the file had the
	// entry already.
	Lines []string
	// Backup is the path of a copy of the old file, empty if there was none.
	Backup string
}

// Add adds an entry to the configuration at path. An entry of the same name that differs is
// ErrDiffers. An error says what to add by hand.
func (c Client) Add(path, name string, entry Entry) (Change, error) {
	config, err := readFile(path)
	if err != nil {
		return Change{}, err
	}
	edited, err := c.withEntry(config.text, name, entry)
	switch {
	case errors.Is(err, ErrDiffers):
		return Change{}, fmt.Errorf("%s %w, %q: remove it, or set --entry. The new entry would be:\n\n%s",
			config.path, err, name, c.Snippet(name, entry))
	case err != nil:
		return Change{}, fmt.Errorf("%s: %w: correct the file, or add this by hand:\n\n%s",
			config.path, err, c.Snippet(name, entry))
	}
	change := Change{Path: config.path}
	if string(edited) == string(config.text) {
		return change, nil
	}
	change.Lines = changedLines(string(config.text), string(edited))
	change.Backup, err = config.replace(edited)
	return change, err
}

// State returns in one or two words whether the configuration at path has an entry.
func (c Client) State(path, name string, entry Entry) string {
	config, err := readFile(path)
	if err != nil {
		return "unreadable"
	}
	if config.noFolder {
		return "no folder"
	}
	edited, err := c.withEntry(config.text, name, entry)
	switch {
	case errors.Is(err, ErrDiffers):
		return "differs"
	case err != nil:
		return "unreadable"
	case string(edited) == string(config.text):
		return "yes"
	}
	return "no"
}

// Command returns the command line, for a POSIX shell, with which the client itself adds an entry
// for all projects. It is empty if the client has no such command.
func (c Client) Command(name string, entry Entry) string {
	if c.add == "" {
		return ""
	}
	words := append([]string{entry.Command}, entry.Args...)
	for i, w := range words {
		if !plainWord.MatchString(w) {
			words[i] = "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
		}
	}
	return fmt.Sprintf("%s %s -- %s", c.add, name, strings.Join(words, " "))
}

// plainWord needs no quotes in a shell.
var plainWord = regexp.MustCompile(`^[A-Za-z0-9_./:=@%+-]+$`)
