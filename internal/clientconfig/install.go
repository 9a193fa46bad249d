package clientconfig

import (
	"errors"
	"fmt"
	"io"
)

// Install says which server is added to which client.
type Install struct {
	Client string // its id, empty to list the clients
	Name   string // of the entry
	File   string // empty for the file of the user, or that of a project for a client with files of these
	Write  bool   // edit the file; without it, the entry is printed
	// Program and Args start the server, which needs the values of Variables.
	Program   string
	Args      []string
	Variables []string
	// GOOS and Env say where the files of clients are.
	GOOS string
	Env  func(string) string
}

// Run edits the file of the client, prints the entry, or lists the clients.
func (i Install) Run(stdout, stderr io.Writer) error {
	if err := checkName(i.Name); err != nil {
		return fmt.Errorf("--entry %w", err)
	}
	if err := checkCommand(i.Program, i.Args); err != nil {
		return err
	}
	if i.Client == "" && (i.Write || i.File != "") {
		return errors.New("the client is missing; evalctl mcp install lists the clients")
	}
	path := i.File
	var where Places
	if path == "" {
		var err error
		if where, err = FindPlaces(i.GOOS, i.Env); err != nil {
			return err
		}
	}
	if i.Client == "" {
		return list(stdout, where, i.Name, i.Program, i.Args)
	}
	client, err := Find(i.Client)
	if err != nil {
		return err
	}
	if path == "" {
		path = client.File(where)
	}
	entry := client.Entry(i.Program, i.Args, i.Variables)
	if !i.Write {
		client.show(stdout, stderr, path, i.Name, entry)
		client.remind(stderr, i.Variables)
		return nil
	}
	change, err := client.Add(path, i.Name, entry)
	if err != nil {
		return err
	}
	if err := change.print(stdout, i.Name); err != nil || len(change.Lines) == 0 {
		return err
	}
	fmt.Fprintln(stderr, client.Then)
	client.remind(stderr, i.Variables)
	return nil
}
