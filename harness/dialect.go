package harness

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"evalctl/internal/jsonobj"
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
	out := make(jsonobj.Object, 0, 3*len(b))
	for k, v := range b {
		value, err := json.Marshal(v)
		if err != nil {
			panic(fmt.Sprintf("encode request body: %v", err)) // strings and numbers only
		}
		if d != Camel {
			out = append(out, jsonobj.Member{Key: k, Value: value})
		}
		if camel := camelCase(k); d == Camel || d == Auto && camel != k {
			out = append(out, jsonobj.Member{Key: camel, Value: value})
		}
		if d == Auto {
			for _, a := range aliases[k] {
				out = append(out, jsonobj.Member{Key: a, Value: value})
			}
		}
	}
	slices.SortFunc(out, func(a, b jsonobj.Member) int { return strings.Compare(a.Key, b.Key) })
	return out.Encode()
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
func effectiveMode(o jsonobj.Object) string {
	if m := o.Text("effective_mode", "effectiveMode"); m != "" {
		return m
	}
	return o.Object("trace").Text("effective_mode", "effectiveMode", "mode")
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
func chunksOf(o jsonobj.Object, keys ...string) ([]Chunk, error) {
	for _, k := range keys {
		raw := o.Get(k)
		if raw == nil {
			continue
		}
		list, ok := jsonobj.Objects(raw)
		if !ok {
			return nil, fmt.Errorf("%q is not a list of chunks", k)
		}
		out := make([]Chunk, len(list))
		for i, c := range list {
			out[i] = Chunk{
				ChunkID:    c.Text("chunk_id", "chunkId"),
				DocumentID: c.Text("document_id", "documentId"),
				Path:       c.Text("path"),
				Title:      c.Text("title"),
				Score:      c.Number("score"),
				Text:       c.Text("text", "preview", "content", "summary"),
				Duplicates: duplicatesOf(c),
			}
		}
		return out, nil
	}
	return []Chunk{}, nil
}

// duplicates reads the member of a chunk, a list of objects or of ids.
func duplicatesOf(o jsonobj.Object) []string {
	var names []string
	for element := range jsonobj.Elements(o.Get("duplicates")) {
		name, ok := jsonobj.String(element)
		if !ok {
			d, _ := jsonobj.Parse(element) // what is no object has no name
			name = d.Text("path", "document_id", "documentId", "chunk_id", "chunkId")
		}
		if name != "" {
			names = append(names, name)
		}
	}
	return names
}
