package harness

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// Dialect is how request keys are spelled.
type Dialect string

// Auto sends every key in both spellings and the known aliases, so that one
// body is understood by every daemon; Snake and Camel send one spelling.
const (
	Auto  Dialect = "auto"
	Snake Dialect = "snake"
	Camel Dialect = "camel"
)

// body is a request under construction, keyed in snake_case.
type body map[string]any

// encode spells the keys. aliases maps a key to further names that Auto adds.
func (d Dialect) encode(b body, aliases map[string][]string) []byte {
	out := make(object, 0, 3*len(b))
	for k, v := range b {
		value, err := json.Marshal(v)
		if err != nil {
			panic(fmt.Sprintf("encode request body: %v", err)) // strings and numbers only
		}
		if d != Camel {
			out = append(out, member{k, value})
		}
		if camel := camelCase(k); d == Camel || d == Auto && camel != k {
			out = append(out, member{camel, value})
		}
		if d == Auto {
			for _, a := range aliases[k] {
				out = append(out, member{a, value})
			}
		}
	}
	slices.SortFunc(out, func(a, b member) int { return strings.Compare(a.key, b.key) })
	return out.encode()
}

func camelCase(s string) string {
	if !strings.Contains(s, "_") {
		return s
	}
	parts := strings.Split(s, "_")
	for i, p := range parts[1:] {
		parts[i+1] = strings.ToUpper(p[:1]) + p[1:]
	}
	return strings.Join(parts, "")
}

// effectiveMode is the retrieval mode that the daemon says it ran, or empty.
func (o object) effectiveMode() string {
	if m := o.text("effective_mode", "effectiveMode"); m != "" {
		return m
	}
	return o.object("trace").text("effective_mode", "effectiveMode", "mode")
}

// Chunk is one retrieved passage, in the order the daemon ranked it. Fields
// that a daemon does not send are empty.
type Chunk struct {
	ChunkID    string  `json:"chunk_id,omitempty"`
	DocumentID string  `json:"document_id,omitempty"`
	Path       string  `json:"path,omitempty"`
	Title      string  `json:"title,omitempty"`
	Score      float64 `json:"score"`
	Text       string  `json:"text,omitempty"`
	// Duplicates name the documents of chunks with the very same text that the
	// daemon left out: by path, or by an id where it sends none.
	Duplicates []string `json:"duplicates,omitempty"`
}

// chunks reads a list of chunks under any of the keys; null is an empty list.
func (o object) chunks(keys ...string) ([]Chunk, error) {
	for _, k := range keys {
		raw := o.get(k)
		if raw == nil {
			continue
		}
		list, ok := objects(raw)
		if !ok {
			return nil, fmt.Errorf("%q is not a list of chunks", k)
		}
		out := make([]Chunk, len(list))
		for i, c := range list {
			out[i] = Chunk{
				ChunkID:    c.text("chunk_id", "chunkId"),
				DocumentID: c.text("document_id", "documentId"),
				Path:       c.text("path"),
				Title:      c.text("title"),
				Score:      c.number("score"),
				Text:       c.text("text", "preview", "content", "summary"),
				Duplicates: c.duplicates(),
			}
		}
		return out, nil
	}
	return []Chunk{}, nil
}

// duplicates reads the member of a chunk, a list of objects or of ids.
func (o object) duplicates() []string {
	raw := o.get("duplicates")
	if len(raw) == 0 || raw[0] != '[' {
		return nil
	}
	var names []string
	for element := range elements(raw) {
		name := ""
		switch element[0] {
		case '"':
			name = stringValue(element)
		case '{':
			d, _ := objectIn(element) // it is one
			name = d.text("path", "document_id", "documentId", "chunk_id", "chunkId")
		}
		if name != "" {
			names = append(names, name)
		}
	}
	return names
}
