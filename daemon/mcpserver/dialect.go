package mcpserver

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"mime"
	"net/http"
	"path"
	"strconv"
	"strings"

	"evalctl/daemon/protocol"
	"evalctl/internal/jsonobj"
)

// maxForeign limits a JSON response that is translated, in bytes.
const maxForeign = 64 << 20

// Translate returns a transport to a daemon that may speak another dialect of the protocol: with
// keys in camelCase, with hits where the protocol has chunks, or with other names of the events of
// an answer. Requests have the names of both dialects. Responses get the names of the protocol.
// Metadata is unchanged, and so are the results of consolidations, which have no form, additional
// keys of the responses to ingests, and all that is neither JSON nor an event stream.
func Translate(transport http.RoundTripper) http.RoundTripper { return translator{transport} }

type translator struct{ next http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (t translator) RoundTrip(req *http.Request) (*http.Response, error) {
	translated, err := translateRequest(req)
	if err != nil {
		return nil, err
	}
	res, err := t.next.RoundTrip(translated)
	if err != nil || res.StatusCode/100 != 2 {
		return res, err
	}
	switch kind, _, _ := mime.ParseMediaType(res.Header.Get("Content-Type")); kind {
	case protocol.TypeJSON:
		return translateJSON(res)
	case protocol.TypeEvents:
		res.Body = translateEvents(res.Body)
	}
	return res, nil
}

// translateRequest adds to a JSON object its keys in camelCase, and the other names of question and
// of the id of a new brain.
func translateRequest(req *http.Request) (*http.Request, error) {
	kind, _, _ := mime.ParseMediaType(req.Header.Get("Content-Type"))
	if kind != protocol.TypeJSON || req.Body == nil {
		return req, nil
	}
	data, err := io.ReadAll(req.Body)
	req.Body.Close()
	if err != nil {
		return nil, err
	}
	var body map[string]json.RawMessage
	if json.Unmarshal(data, &body) == nil {
		for key, value := range body {
			if other := camel(key); other != key {
				body[other] = value
			}
		}
		if question, ok := body["question"]; ok {
			body["query"] = question
		}
		if id, ok := body["id"]; ok && path.Base(req.URL.Path) == "brains" {
			body["brainId"] = id
		}
		if data, err = json.Marshal(body); err != nil {
			return nil, err
		}
	}
	r := req.Clone(req.Context())
	r.ContentLength = int64(len(data))
	// With GetBody, a request on a connection that the daemon has just closed is sent again.
	r.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(data)), nil }
	r.Body, err = r.GetBody()
	return r, err
}

// camel returns topK for top_k.
func camel(key string) string {
	first, rest, found := strings.Cut(key, "_")
	if !found {
		return key
	}
	for word := range strings.SplitSeq(rest, "_") {
		if word != "" {
			first += strings.ToUpper(word[:1]) + word[1:]
		}
	}
	return first
}

// snake returns top_k for topK, and document_id for DocumentID.
func snake(key string) string {
	upper := func(i int) bool { return i < len(key) && key[i] >= 'A' && key[i] <= 'Z' }
	var b strings.Builder
	for i := range len(key) {
		if !upper(i) {
			b.WriteByte(key[i])
			continue
		}
		if i > 0 && key[i-1] != '_' && (!upper(i-1) || i+1 < len(key) && !upper(i+1)) {
			b.WriteByte('_')
		}
		b.WriteByte(key[i] - 'A' + 'a')
	}
	return b.String()
}

func translateJSON(res *http.Response) (*http.Response, error) {
	data, err := io.ReadAll(io.LimitReader(res.Body, maxForeign+1))
	res.Body.Close()
	if err != nil {
		return nil, err
	}
	endpoint := path.Base(res.Request.URL.Path)
	// The result of a consolidation has no form, and is passed on unchanged. Brains and sessions
	// may have these names too.
	free := res.Request.Method == http.MethodPost && (endpoint == "consolidate" || endpoint == "compile")
	switch {
	case len(data) > maxForeign || free: // the client rejects one that is too large
	case isIngest(res.Request):
		data = translateIngest(data)
	default:
		data = translateValue(endpoint, data)
	}
	res.Body, res.ContentLength = io.NopCloser(bytes.NewReader(data)), int64(len(data))
	res.Header.Set("Content-Length", strconv.Itoa(len(data)))
	return res, nil
}

func isIngest(req *http.Request) bool {
	return req.Method == http.MethodPost && strings.HasSuffix(path.Dir(req.URL.Path), "/documents/ingest")
}

// translateIngest gives the fields of an IngestResponse their names. Its other keys must be
// preserved (spec 2).
func translateIngest(data []byte) []byte {
	var body map[string]json.RawMessage
	if json.Unmarshal(data, &body) != nil {
		return data // the client reports it
	}
	for key, value := range body {
		name := snake(key)
		if _, taken := body[name]; name != key && !taken && isIngestField(name) {
			delete(body, key)
			body[name] = value
		}
	}
	translated, err := jsonobj.Marshal(body)
	if err != nil {
		return data
	}
	return translated
}

func isIngestField(name string) bool {
	var r protocol.IngestResponse
	err := json.Unmarshal(fmt.Appendf(nil, "{%s:null}", jsonobj.Quote(name)), &r)
	return err == nil && r.Extra == nil
}

// translateValue returns JSON with the names of the protocol. The endpoint is the last segment of
// the path.
func translateValue(endpoint string, data []byte) []byte {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	var value any
	if dec.Decode(&value) != nil {
		return data // the client reports the malformed JSON
	}
	changed := rename(value)
	if body, ok := value.(map[string]any); ok {
		switch endpoint {
		case "search", "recall":
			changed = chunksOf(body) || changed
		case "brains":
			changed = brainsOf(body) || changed
		}
	}
	if !changed {
		return data
	}
	translated, err := json.Marshal(value)
	if err != nil {
		return data
	}
	return translated
}

// rename gives the keys of all objects in value their names in snake_case, and reports whether
// there were others. It does not replace an existing key.
func rename(value any) bool {
	changed := false
	switch v := value.(type) {
	case []any:
		for _, item := range v {
			changed = rename(item) || changed
		}
	case map[string]any:
		for key, item := range v {
			name := snake(key)
			if name != "metadata" {
				changed = rename(item) || changed
			}
			if _, taken := v[name]; name != key && !taken {
				delete(v, key)
				v[name] = item
				changed = true
			}
		}
	}
	return changed
}

// chunksOf gives the hits of a search their protocol names.
func chunksOf(body map[string]any) bool {
	changed := false
	if hits, ok := body["hits"]; ok && body["chunks"] == nil {
		body["chunks"] = hits
		delete(body, "hits")
		changed = true
	}
	chunks, _ := body["chunks"].([]any)
	for _, item := range chunks {
		chunk, ok := item.(map[string]any)
		if !ok {
			continue
		}
		for _, name := range []string{"content", "summary"} {
			text, _ := chunk["text"].(string)
			if other, _ := chunk[name].(string); text == "" && other != "" {
				chunk["text"] = other
				changed = true
			}
		}
	}
	return changed
}

// brainsOf gives a created brain, or the brains of a list, the fields that every brain has.
func brainsOf(body map[string]any) bool {
	items, ok := body["items"].([]any)
	if !ok {
		items = []any{body}
	}
	changed := false
	for _, item := range items {
		b, ok := item.(map[string]any)
		if !ok {
			continue
		}
		for _, from := range [][2]string{{"id", "brain_id"}, {"slug", "id"}, {"name", "id"}} {
			given, _ := b[from[0]].(string)
			if other, _ := b[from[1]].(string); given == "" && other != "" {
				b[from[0]] = other
				changed = true
			}
		}
	}
	return changed
}
