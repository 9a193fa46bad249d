package dataset

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	"go.yaml.in/yaml/v3"

	"evalctl/internal/jsonobj"
	"evalctl/internal/yamlfile"
)

// readYAML reads the mappings of a sequence, of the only sequence inside a mapping, or of the
// documents of a stream.
func readYAML(name string, data []byte) ([]record, error) {
	var records []record
	dec := yaml.NewDecoder(bytes.NewReader(data))
	for {
		var doc yaml.Node
		err := dec.Decode(&doc)
		if errors.Is(err, io.EOF) {
			return records, nil
		}
		if err != nil {
			return nil, yamlfile.Syntax(name, err)
		}
		if len(doc.Content) == 0 {
			continue
		}
		for _, n := range mappings(doc.Content[0]) {
			r, err := yamlRecord(n)
			if err != nil {
				return nil, &LineError{File: name, Line: n.Line, Err: err}
			}
			records = append(records, r)
		}
	}
}

// mappings returns the record nodes of a document.
func mappings(n *yaml.Node) []*yaml.Node {
	if n.Kind == yaml.SequenceNode {
		return n.Content
	}
	var lists []*yaml.Node
	var list string // the key of the last one
	var others []string
	for i := 1; i < len(n.Content) && n.Kind == yaml.MappingNode; i += 2 {
		if v := n.Content[i]; v.Kind == yaml.SequenceNode && len(v.Content) > 0 && v.Content[0].Kind == yaml.MappingNode {
			lists, list = append(lists, v), n.Content[i-1].Value
		} else {
			others = append(others, n.Content[i-1].Value)
		}
	}
	if len(lists) == 1 && !isRecord(list, others) {
		return lists[0].Content
	}
	return []*yaml.Node{n}
}

// yamlRecord converts a mapping to a record. Scalars keep their text, so 2025-03-14 is not
// converted to a time.
func yamlRecord(n *yaml.Node) (record, error) {
	if n.Kind != yaml.MappingNode {
		return record{}, errors.New("expected a mapping of fields to values")
	}
	r := record{line: n.Line}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Tag == "!!merge" {
			return record{}, errors.New("merge keys (<<) are not read; write the fields out")
		}
		value, err := yamlValue(n.Content[i+1])
		if err != nil {
			return record{}, fmt.Errorf("field %q: %w", n.Content[i].Value, err)
		}
		r.cells = append(r.cells, cell{key: n.Content[i].Value, json: value})
	}
	return r, nil
}

// yamlValue converts a value to JSON.
func yamlValue(n *yaml.Node) (json.RawMessage, error) {
	switch {
	case n.Kind == yaml.ScalarNode && n.ShortTag() == "!!null":
		return json.RawMessage("null"), nil
	case n.Kind == yaml.ScalarNode:
		return jsonobj.Quote(n.Value), nil
	case n.Kind == yaml.SequenceNode && !hasNested(n):
		list := []json.RawMessage{}
		for _, element := range n.Content {
			v, err := yamlValue(element)
			if err != nil {
				return nil, err
			}
			list = append(list, v)
		}
		return joinList(list), nil
	}
	keepDates(n, map[*yaml.Node]bool{})
	var v any // it limits the expansion of aliases
	if err := n.Decode(&v); err != nil {
		return nil, err
	}
	return json.Marshal(v)
}

// hasNested reports whether a sequence contains anything but scalars.
func hasNested(n *yaml.Node) bool {
	return slices.ContainsFunc(n.Content, func(c *yaml.Node) bool { return c.Kind != yaml.ScalarNode })
}

// keepDates makes dates in a value decode as text.
func keepDates(n *yaml.Node, seen map[*yaml.Node]bool) {
	if n == nil || seen[n] {
		return
	}
	seen[n] = true
	if n.Kind == yaml.ScalarNode && n.ShortTag() == "!!timestamp" {
		n.Tag = "!!str"
	}
	keepDates(n.Alias, seen)
	for _, c := range n.Content {
		keepDates(c, seen)
	}
}
