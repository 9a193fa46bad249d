package target

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"evalctl/harness/result"
	"evalctl/internal/jsonobj"
)

// body is a request under construction, keyed in snake_case.
type body map[string]any

// encode spells the keys. aliases maps a key to further names that Auto adds.
func encode(d result.Dialect, b body, aliases map[string][]string) []byte {
	out := make(jsonobj.Object, 0, 3*len(b))
	for k, v := range b {
		value, err := json.Marshal(v)
		if err != nil {
			panic(fmt.Sprintf("encode request body: %v", err)) // strings and numbers only
		}
		if d != result.Camel {
			out = append(out, jsonobj.Member{Key: k, Value: value})
		}
		if camel := camelCase(k); d == result.Camel || d == result.Auto && camel != k {
			out = append(out, jsonobj.Member{Key: camel, Value: value})
		}
		if d == result.Auto {
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

// chunks reads a list of chunks under any of the keys; null is an empty list.
func chunksOf(o jsonobj.Object, keys ...string) ([]result.Chunk, error) {
	for _, k := range keys {
		raw := o.Get(k)
		if raw == nil {
			continue
		}
		list, ok := jsonobj.Objects(raw)
		if !ok {
			return nil, fmt.Errorf("%q is not a list of chunks", k)
		}
		out := make([]result.Chunk, len(list))
		for i, c := range list {
			out[i] = result.Chunk{
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
	return []result.Chunk{}, nil
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

// tokens returns a count of tokens, limited to what one call can use.
func tokens(o jsonobj.Object, keys ...string) int {
	return int(min(max(o.Number(keys...), 0), 1e9))
}

// errorText returns what a daemon's error object says, on one line.
func errorText(o jsonobj.Object) string {
	return Clip([]byte(strings.Join(nonEmpty(o.Text("code"), o.Text("message", "error", "detail")), ": ")))
}
