package target

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf16"

	"evalctl/daemon/protocol"
	"evalctl/harness/result"
	"evalctl/internal/decimal"
	"evalctl/internal/jsonobj"
	"evalctl/internal/spelling"
)

// Encode returns body as a JSON object with its keys in order. The keys are in snake_case and are
// spelled according to d. With result.Auto, each key is sent in every spelling and under its names
// in aliases. It panics if a value cannot be encoded.
func Encode(d result.Dialect, body map[string]any, aliases map[string][]string) []byte {
	type member struct {
		key   string
		value []byte
	}
	out := make([]member, 0, 16)
	size := len("{}")
	for k, v := range body {
		value, err := json.Marshal(v)
		if err != nil {
			panic(fmt.Sprintf("encode request body: %v", err))
		}
		spelled := len(out)
		if d != result.Camel {
			out = append(out, member{k, value})
		}
		if camel := spelling.Camel(k); d == result.Camel || d == result.Auto && camel != k {
			out = append(out, member{camel, value})
		}
		if d == result.Auto {
			for _, a := range aliases[k] {
				out = append(out, member{a, value})
			}
		}
		for _, m := range out[spelled:] {
			size += len(m.key) + len(m.value) + len(`"":,`)
		}
	}
	slices.SortFunc(out, func(a, b member) int { return strings.Compare(a.key, b.key) })
	text := append(make([]byte, 0, size), '{')
	for i, m := range out {
		if i > 0 {
			text = append(text, ',')
		}
		text = append(append(append(text, '"'), m.key...), `":`...) // keys have only letters and _
		text = append(text, m.value...)
	}
	return append(text, '}')
}

// effectiveMode returns the reported retrieval mode, or "".
func effectiveMode(o jsonobj.Object) string {
	if m := o.Text("effective_mode", "effectiveMode"); m != "" {
		return m
	}
	return o.Object("trace").Text("effective_mode", "effectiveMode", "mode")
}

// fusion returns how the daemon says it combined its rankings: "score 0.2", or only the method if
// decimal.Parse rejects the weight. It is empty without a method.
func fusion(o jsonobj.Object) string {
	f := o.Object("fusion")
	method := f.Text("method")
	if method == "" {
		return ""
	}
	weight, err := decimal.Parse(string(f.Get("weight"))) // strings and null are not numbers
	if err != nil {
		return method
	}
	return fmt.Sprintf("%s %g", method, weight)
}

const (
	// maxChunks limits the chunks of an answer, and the duplicates of a chunk.
	maxChunks = 10_000
	// maxChunkName limits each id, path, title and date of a chunk, in bytes.
	maxChunkName = 16 << 10
)

// Chunks returns the list of chunks under the first of keys present in o, empty if none is present
// or the value is null. Chunks may use either key spelling; missing fields and fields of another
// type are empty. Too many chunks, a name that is too long and a score that is too large are
// errors.
func Chunks(o jsonobj.Object, keys ...string) ([]result.Chunk, error) {
	for _, k := range keys {
		raw := o.Get(k)
		if raw == nil {
			continue
		}
		list, err := jsonobj.Objects(raw, maxChunks)
		if errors.Is(err, jsonobj.ErrNotObjects) {
			return nil, fmt.Errorf("%q is not a list of chunks", k)
		}
		if err != nil {
			return nil, fmt.Errorf("%q: %w", k, err)
		}
		out := make([]result.Chunk, len(list))
		for i, c := range list {
			score, err := c.Number("score")
			if err != nil {
				return nil, fmt.Errorf("chunk %d: %w", i+1, err)
			}
			out[i] = result.Chunk{
				ChunkID:    c.Text("chunk_id", "chunkId"),
				DocumentID: c.Text("document_id", "documentId"),
				Path:       c.Text("path"),
				Title:      c.Text("title"),
				Date:       dateOf(c),
				Score:      score,
				Text:       c.Text("text", "preview", "content", "summary"),
				Cut:        c.Text("text") == "" && isCut(c.Text("preview")),
				SessionID:  sessionOf(c),
				Duplicates: duplicatesOf(c),
			}
			if err := checkNames(out[i]); err != nil {
				return nil, fmt.Errorf("chunk %d: %w", i+1, err)
			}
		}
		return out, nil
	}
	return []result.Chunk{}, nil
}

// isCut reports whether a preview may be the beginning of a longer text. Some services count its
// characters in UTF-16.
func isCut(preview string) bool {
	return len(utf16.Encode([]rune(preview))) >= protocol.MaxPreviewChars
}

// checkNames returns an error for a chunk with too many names or one that is too long.
func checkNames(c result.Chunk) error {
	names := []string{"chunk_id", c.ChunkID, "document_id", c.DocumentID, "path", c.Path, "title", c.Title, "date", c.Date, "session_id", c.SessionID}
	for i := 0; i < len(names); i += 2 {
		if n := len(names[i+1]); n > maxChunkName {
			return fmt.Errorf("%q has %d bytes, the limit is %d", names[i], n, maxChunkName)
		}
	}
	if len(c.Duplicates) > maxChunks {
		return fmt.Errorf("it has more than %d duplicates", maxChunks)
	}
	return nil
}

// dateOf returns the date of a chunk's document, ignoring other times such as the last change.
func dateOf(o jsonobj.Object) string {
	if d := o.Text("date"); d != "" {
		return d
	}
	return o.Object("metadata").Text("date")
}

// sessionOf returns the chunk's session id, from the chunk or its metadata.
func sessionOf(o jsonobj.Object) string {
	if id := o.Text("session_id", "sessionId"); id != "" {
		return id
	}
	return o.Object("metadata").Text("session_id", "sessionId", "session")
}

// duplicatesOf returns the names in a chunk's list of duplicates, given as objects or ids.
func duplicatesOf(o jsonobj.Object) []string {
	var names []string
	for element := range jsonobj.Elements(o.Get("duplicates")) {
		name, ok := jsonobj.String(element)
		if !ok {
			d, _ := jsonobj.Parse(element) // anything else has no name
			name = d.Text("path", "document_id", "documentId", "chunk_id", "chunkId")
		}
		if name != "" {
			names = append(names, name)
		}
		if len(names) > maxChunks {
			break // which is an error
		}
	}
	return names
}

// mostTokens is more than a call can use.
const mostTokens = 1e9

// usageOf returns the daemon's token count, nil if one of its two counts is missing or
// impossible.
func usageOf(o jsonobj.Object) *protocol.Usage {
	in := tokens(o, "input_tokens", "inputTokens", "prompt_tokens", "promptTokens")
	out := tokens(o, "output_tokens", "outputTokens", "completion_tokens", "completionTokens")
	if min(in, out) < 0 || max(in, out) > mostTokens {
		return nil
	}
	return &protocol.Usage{InputTokens: int(in), OutputTokens: int(out)}
}

// tokens returns the number under the first of keys that has one, -1 if none has.
func tokens(o jsonobj.Object, keys ...string) float64 {
	for _, k := range keys {
		if n, err := decimal.Parse(string(o.Get(k))); err == nil { // strings and null are not numbers
			return n
		}
	}
	return -1
}

// errorText returns a daemon's error object as one line.
func errorText(o jsonobj.Object) string {
	parts := nonEmpty(o.Text("code"), o.Text("message", "error", "detail"))
	return clip([]byte(strings.Join(parts, ": ")))
}
