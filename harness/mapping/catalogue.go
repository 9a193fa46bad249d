package mapping

import (
	"embed"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"evalctl/internal/inputfile"
)

// maxFile limits the size of a mapping file, in bytes.
const maxFile = 1 << 20

//go:embed builtin/*.yaml
var builtin embed.FS

// Builtin returns the built-in mappings, sorted by name.
func Builtin() []*Mapping {
	entries, err := builtin.ReadDir("builtin")
	if err != nil {
		panic(err) // embedded
	}
	out := make([]*Mapping, len(entries))
	for i, e := range entries {
		if out[i], err = openBuiltin(e.Name()); err != nil {
			panic(err) // tested
		}
	}
	return out
}

func openBuiltin(file string) (*Mapping, error) {
	data, err := builtin.ReadFile(path.Join("builtin", file))
	if err != nil {
		return nil, err
	}
	return Parse("builtin/"+file, data)
}

// Source returns the file of a built-in mapping.
func (m *Mapping) Source() ([]byte, error) { return builtin.ReadFile(m.file) }

// Names returns the names of the built-in mappings.
func Names() []string {
	var names []string
	for _, m := range Builtin() {
		names = append(names, m.Name)
	}
	return names
}

// Load returns a built-in mapping by name, or reads a mapping file. A name contains neither a slash
// nor a dot.
func Load(name string) (*Mapping, error) {
	if !strings.ContainsAny(name, `/\.`) {
		for _, m := range Builtin() {
			if m.Name == name {
				return m, nil
			}
		}
		return nil, fmt.Errorf("no mapping is called %q: give one of %s, or a file such as ./%[1]s.yaml",
			name, strings.Join(Names(), ", "))
	}
	data, err := inputfile.ReadText(name, maxFile)
	if errors.Is(err, inputfile.ErrTooLarge) {
		return nil, fmt.Errorf("%s: is larger than %d bytes, so that it cannot be a mapping", name, maxFile)
	}
	if err != nil {
		return nil, fmt.Errorf("mapping: %w", err)
	}
	return Parse(name, data)
}

// ForCommand returns the built-in mapping for an MCP server by its start command, nil if there is
// none.
func ForCommand(words []string) *Mapping {
	for _, m := range Builtin() {
		for _, word := range words {
			if slices.Contains(m.Commands, unversioned(word)) || slices.Contains(m.Commands, path.Base(word)) {
				return m
			}
		}
	}
	return nil
}

// unversioned removes the version from a package name: name@1.2, @scope/name@1.2 or name==1.2.
func unversioned(word string) string {
	word, _, _ = strings.Cut(word, "==")
	if at := strings.LastIndex(word, "@"); at > 0 {
		return word[:at]
	}
	return word
}

// forServer returns the built-in mapping for an MCP server by its reported name and its tools, nil
// if there is none.
func forServer(name string, tools []string) *Mapping {
	for _, m := range Builtin() {
		if slices.Contains(m.Servers, name) {
			return m
		}
	}
	for _, m := range Builtin() {
		if m.Name == specification && slices.Contains(tools, m.search.tool) && slices.Contains(tools, m.remember.tool) {
			return m
		}
	}
	return nil
}

// specification is the name of the mapping for the tools in the specification.
const specification = "memory-tools"
