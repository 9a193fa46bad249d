package clientconfig

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/kballard/go-shellquote"
)

// Entry is the entry of a server in a configuration. See Client.Entry.
type Entry struct {
	Type    string   `json:"type,omitempty"`
	Command string   `json:"command"`
	Args    []string `json:"args"`
	// EnvVars are the names of variables that the client passes on. Only Codex has them.
	EnvVars []string `json:"-"`
}

// Entry returns the entry of a server that is a program. variables are the names of the variables
// that it needs from the client.
func (c Client) Entry(program string, args, variables []string) Entry {
	e := Entry{Command: program, Args: args}
	if c.typed {
		e.Type = "stdio"
	}
	if c.section == "" {
		e.EnvVars = variables
	}
	return e
}

// Snippet returns a configuration with nothing but the entry.
func (c Client) Snippet(name string, entry Entry) string {
	if c.section == "" {
		return tomlTable(name, entry)
	}
	return encode(map[string]map[string]Entry{c.section: {name: entry}}, "  ")
}

// tomlTable returns the table of an entry. name must need no quotes. A JSON string is also a string
// of TOML, except that TOML requires an escape for U+007F.
func tomlTable(name string, entry Entry) string {
	text := fmt.Sprintf("[mcp_servers.%s]\ncommand = %sargs = %s", name, encode(entry.Command, ""), encode(entry.Args, ""))
	if len(entry.EnvVars) > 0 {
		text += "env_vars = " + encode(entry.EnvVars, "")
	}
	return strings.ReplaceAll(text, "\u007f", `\u007f`)
}

// encode returns a value as JSON without escaping <, > and &, and a line feed.
func encode(v any, indent string) string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", indent)
	if err := enc.Encode(v); err != nil {
		panic(err) // texts
	}
	return b.String()
}

// Command returns the command line, for a POSIX shell, with which the client itself adds an entry
// for all projects. It is empty if the client has no such command.
func (c Client) Command(name string, entry Entry) string {
	if c.add == "" {
		return ""
	}
	return c.add + " " + shellquote.Join(append([]string{name, "--", entry.Command}, entry.Args...)...)
}
