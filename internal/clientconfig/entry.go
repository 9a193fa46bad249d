package clientconfig

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"strings"

	"github.com/pelletier/go-toml/v2"

	"evalctl/internal/jsonedit"
)

// ErrDiffers is returned for a configuration that has another entry of the name.
var ErrDiffers = errors.New("has another entry of that name")

// withEntry returns the text of a client's configuration with an entry added. It returns text
// itself if the entry is there already, and ErrDiffers if there is another one of the name.
func (c Client) withEntry(text []byte, name string, entry Entry) ([]byte, error) {
	if c.section == "" {
		return tomlWithEntry(text, name, entry)
	}
	wanted := jsonedit.Text(entry)
	existing, err := jsonedit.Lookup(text, c.section, name)
	switch {
	case err != nil:
		return nil, err
	case existing == nil:
		return jsonedit.Insert(text, c.section, name, wanted)
	}
	var is, want map[string]any
	if json.Unmarshal(existing, &is) != nil || json.Unmarshal(wanted, &want) != nil || !includes(is, want) {
		return nil, ErrDiffers
	}
	return text, nil
}

// includes reports whether an entry has everything that is wanted. It may have more, such as
// variables that its user has added.
func includes(is, want map[string]any) bool {
	for key, value := range want {
		if !reflect.DeepEqual(is[key], value) {
			return false
		}
	}
	return true
}

// Snippet returns a configuration with nothing but the entry.
func (c Client) Snippet(name string, entry Entry) string {
	text, err := c.withEntry(nil, name, entry)
	if err != nil {
		panic(err) // an empty file takes any entry
	}
	return string(text)
}

// codexServers is the key of the table of servers in Codex's configuration.
const codexServers = "mcp_servers"

// tomlWithEntry appends a table. A table at the end of a file belongs to no other one, and changes
// nothing before it.
func tomlWithEntry(text []byte, name string, entry Entry) ([]byte, error) {
	before, err := parseTOML(text)
	if err != nil {
		return nil, err
	}
	block := tomlTable(name, entry)
	added, err := parseTOML([]byte(block))
	if err != nil {
		return nil, fmt.Errorf("the entry: %w", err)
	}
	want := added[codexServers].(map[string]any)[name].(map[string]any)
	servers, isTable := before[codexServers].(map[string]any)
	if before[codexServers] != nil && !isTable {
		return nil, fmt.Errorf("%s is not a table", codexServers)
	}
	if existing := servers[name]; existing != nil {
		if is, _ := existing.(map[string]any); !includes(is, want) {
			return nil, ErrDiffers
		}
		return text, nil
	}
	newline := "\n"
	if bytes.Contains(text, []byte("\r\n")) {
		newline = "\r\n"
	}
	edited := bytes.Clone(text)
	if len(text) > 0 {
		if !bytes.HasSuffix(edited, []byte("\n")) {
			edited = append(edited, newline...)
		}
		edited = append(edited, newline...)
	}
	edited = append(edited, strings.ReplaceAll(block, "\n", newline)...)
	// A table cannot be added to an inline table.
	after, err := parseTOML(edited)
	if err != nil {
		return nil, fmt.Errorf("a table cannot be appended: %w", err)
	}
	servers = maps.Clone(servers)
	if servers == nil {
		servers = map[string]any{}
	}
	servers[name] = want
	before[codexServers] = servers
	if !reflect.DeepEqual(before, after) {
		return nil, errors.New("appending a table would change other values")
	}
	return edited, nil
}

func parseTOML(text []byte) (map[string]any, error) {
	values := map[string]any{}
	if err := toml.Unmarshal(text, &values); err != nil {
		if e, ok := errors.AsType[*toml.DecodeError](err); ok {
			line, _ := e.Position()
			return nil, fmt.Errorf("line %d: not valid TOML: %w", line, err)
		}
		return nil, fmt.Errorf("not valid TOML: %w", err)
	}
	return values, nil
}

// tomlTable returns the table of an entry. name must need no quotes. A JSON string is also a string
// of TOML, except that TOML requires an escape for U+007F.
func tomlTable(name string, entry Entry) string {
	text := fmt.Sprintf("[%s.%s]\ncommand = %s\nargs = %s\n",
		codexServers, name, jsonedit.Text(entry.Command), jsonedit.Text(entry.Args))
	if len(entry.EnvVars) > 0 {
		text += fmt.Sprintf("env_vars = %s\n", jsonedit.Text(entry.EnvVars))
	}
	return strings.ReplaceAll(text, "\u007f", `\u007f`)
}

// changedLines returns the lines that differ between two texts, with - and + before them.
func changedLines(before, after string) []string {
	a, b := splitLines(before), splitLines(after)
	for len(a) > 0 && len(b) > 0 && a[0] == b[0] {
		a, b = a[1:], b[1:]
	}
	for len(a) > 0 && len(b) > 0 && a[len(a)-1] == b[len(b)-1] {
		a, b = a[:len(a)-1], b[:len(b)-1]
	}
	var lines []string
	for _, l := range a {
		lines = append(lines, "- "+l)
	}
	for _, l := range b {
		lines = append(lines, "+ "+l)
	}
	return lines
}

func splitLines(s string) []string {
	if s == "" {
		return nil
	}
	return strings.Split(strings.TrimSuffix(s, "\n"), "\n")
}
