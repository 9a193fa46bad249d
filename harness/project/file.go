// Package project reads the project file, evalctl.yaml, which has flags of commands and the targets
// of a repository.
package project

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"regexp"
	"strings"

	"go.yaml.in/yaml/v3"

	"evalctl/harness/target"
	"evalctl/internal/inputfile"
	"evalctl/internal/yamlfile"
)

// Name is the name of the project file.
const Name = "evalctl.yaml"

// maxSize limits a project file, in bytes.
const maxSize = 1 << 20

// The sections of a project file that are not commands.
const (
	Defaults    = "defaults"
	Targets     = "targets"
	sectionSDKs = "sdks" // its name in an older version
)

// Setting is a setting of a project file. Values are written as on a command line; a list has
// several.
type Setting struct {
	Key    string
	Values []string
	List   bool
	Kind   string // of the YAML, such as !!bool, for a single value
	Line   int
}

// File is a parsed project file. Use Check to check its settings against the flags of commands.
type File struct {
	Path     string
	Sections map[string][]Setting // by command, and Defaults
	Lines    map[string]int       // of the sections
	Targets  map[string]string    // definitions of targets, by name

	names map[string]bool // of the flags of all commands, once they are checked
}

// Read reads a project file. Errors name the file and the line.
func Read(path string) (*File, error) {
	data, err := inputfile.ReadText(path, maxSize)
	if errors.Is(err, inputfile.ErrTooLarge) {
		return nil, fmt.Errorf("%s: is larger than %d bytes, so that it cannot be a project file", path, maxSize)
	}
	if err != nil {
		return nil, err
	}
	return Parse(path, data)
}

// Parse parses a project file: a mapping of sections, which are mappings of settings.
func Parse(path string, data []byte) (*File, error) {
	p := &File{Path: path, Sections: map[string][]Setting{}, Lines: map[string]int{}, Targets: map[string]string{}}
	dec := yaml.NewDecoder(bytes.NewReader(data))
	var doc, more yaml.Node
	if err := dec.Decode(&doc); errors.Is(err, io.EOF) {
		return p, nil // an empty file sets nothing
	} else if err != nil {
		return nil, yamlfile.Syntax(path, err)
	}
	if err := dec.Decode(&more); !errors.Is(err, io.EOF) {
		return nil, p.Errorf(more.Line, "the file has more than one document; write one")
	}
	if len(doc.Content) == 0 || doc.Content[0].Tag == "!!null" {
		return p, nil
	}
	return p, p.members(doc.Content[0], "the file", func(key string, keyNode, value *yaml.Node) error {
		if key == Targets || key == sectionSDKs {
			return p.define(key, value)
		}
		p.Lines[key] = keyNode.Line
		return p.members(value, key, func(name string, at, value *yaml.Node) error {
			s, err := p.setting(name, at.Line, value)
			p.Sections[key] = append(p.Sections[key], s)
			return err
		})
	})
}

// Errorf returns an error about a line.
func (p *File) Errorf(line int, format string, args ...any) error {
	return fmt.Errorf("%s:%d: %w", p.Path, line, fmt.Errorf(format, args...))
}

// members calls each for the members of a mapping. A null value counts as an empty mapping.
func (p *File) members(n *yaml.Node, what string, each func(key string, keyNode, value *yaml.Node) error) error {
	if n.Kind == yaml.ScalarNode && n.Tag == "!!null" {
		return nil
	}
	if n.Kind != yaml.MappingNode {
		return p.Errorf(n.Line, "%s must be a mapping, such as run: {sdk: go}", what)
	}
	seen := map[string]int{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		if key.Kind != yaml.ScalarNode || key.Tag == "!!merge" {
			return p.Errorf(key.Line, "a key must be a name; aliases and merged mappings are not read")
		}
		if first := seen[key.Value]; first > 0 {
			return p.Errorf(key.Line, "%q is set twice, first in line %d", key.Value, first)
		}
		seen[key.Value] = key.Line
		if err := each(key.Value, key, value); err != nil {
			return err
		}
	}
	return nil
}

// SecretKey matches the names of settings whose values are secrets, or may contain one as the URL of
// notify does.
var SecretKey = regexp.MustCompile(`(?i)(^|[-_])(token|api[-_]?key|password|secret)$|^notify$`)

// setting returns the value of a setting. A mapping is a list of KEY=VALUE.
func (p *File) setting(key string, line int, n *yaml.Node) (Setting, error) {
	s := Setting{Key: key, Line: line}
	if SecretKey.MatchString(key) {
		return s, p.Errorf(line, "%s is a secret, which does not belong in a file that is shared: set it in the environment", key)
	}
	switch n.Kind {
	case yaml.ScalarNode:
		text, err := p.scalar(key, n)
		s.Values, s.Kind = []string{text}, n.Tag
		return s, err
	case yaml.SequenceNode:
		s.List = true
		for _, item := range n.Content {
			text, err := p.scalar(key, item)
			if err != nil {
				return s, err
			}
			s.Values = append(s.Values, text)
		}
		return s, nil
	case yaml.MappingNode:
		s.List = true
		return s, p.members(n, key, func(name string, _, value *yaml.Node) error {
			text, err := p.scalar(key, value)
			s.Values = append(s.Values, name+"="+text)
			return err
		})
	}
	return s, p.Errorf(line, "%s: write the value itself; aliases are not read", key)
}

// scalar returns the text of a single value.
func (p *File) scalar(key string, n *yaml.Node) (string, error) {
	switch {
	case n.Kind != yaml.ScalarNode:
		return "", p.Errorf(n.Line, "%s: must be a single value, or a list of them", key)
	case n.Tag == "!!null":
		return "", p.Errorf(n.Line, "%s has no value; give one, or delete the line", key)
	}
	return n.Value, nil
}

// define reads definitions of targets, see target.Registry. The sdks of an older version may be
// mappings with the key cmd.
func (p *File) define(section string, n *yaml.Node) error {
	return p.members(n, section, func(name string, at, value *yaml.Node) error {
		if section == sectionSDKs && value.Kind == yaml.MappingNode && len(value.Content) == 2 && value.Content[0].Value == "cmd" {
			value = value.Content[1]
		}
		text, err := p.scalar(name, value)
		if err == nil && strings.TrimSpace(text) == "" {
			err = p.Errorf(at.Line, "the definition of %s is empty; give a command, a URL, or another target with settings", name)
		}
		if _, twice := p.Targets[name]; err == nil && twice {
			err = p.Errorf(at.Line, "target %s is defined twice, in targets and in sdks", name)
		}
		if err == nil {
			p.Targets[name] = text
			_, err = target.Registry{Env: noVariables, Defined: p.Targets}.Find(name + "=true")
		}
		if err != nil && !strings.HasPrefix(err.Error(), p.Path) {
			err = p.Errorf(at.Line, "%w", err)
		}
		return err
	})
}

func noVariables(string) string { return "" }

// Rebase makes a path in the file relative to the current directory.
func (p *File) Rebase(path string) string {
	dir := filepath.Dir(p.Path)
	if dir == "." || path == "" || filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(dir, path)
}
