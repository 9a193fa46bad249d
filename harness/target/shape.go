package target

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"sync"

	"evalctl/daemon/protocol"
	"evalctl/harness/result"
	"evalctl/internal/figure"
	"evalctl/internal/jsonobj"
	"evalctl/internal/printable"
	"evalctl/internal/sse"
)

const (
	// maxNames limits the keys or events listed in an error, maxName the length of each.
	maxNames = 8
	maxName  = 40
	// unnamed is the name of events without one (sse.Event).
	unnamed = "message"
	// maxShape limits how much of a body is read to describe it.
	maxShape = 16 << 10
)

// otherLists are the keys under which daemons with another protocol return search results.
var otherLists = []string{"results", "data", "documents", "items", "matches", "passages", "result", "memories"}

// SearchChunks returns the chunks in a search answer, like Chunks. An answer with results under
// another protocol's key is an error, because it would otherwise seem empty.
func SearchChunks(o jsonobj.Object) ([]result.Chunk, error) {
	if o.Get("chunks") == nil && o.Get("hits") == nil {
		for _, key := range otherLists {
			if v := o.Get(key); len(v) > 0 && (v[0] == '[' || v[0] == '{') {
				return nil, ShapeFailure(fmt.Sprintf("POST search: the answer has the keys %s, and neither "+
					`"chunks" nor "hits": this is another protocol, and no --dialect reads it`, namesOf(keysOf(o))))
			}
		}
	}
	chunks, err := Chunks(o, "chunks", "hits")
	if err != nil {
		return nil, ShapeFailure("POST search: " + err.Error())
	}
	for i := range chunks {
		chunks[i].Cut = false // only the previews of an answer have a longest length
	}
	return chunks, incomplete(o)
}

// incomplete returns a failure if the daemon reports that its index did not have all documents
// yet, or that it does not know how many there are. Such a retrieval is not measured.
func incomplete(o jsonobj.Object) error {
	var state *protocol.Indexing
	if json.Unmarshal(o.Get("indexing"), &state) != nil || state == nil {
		return nil
	}
	missing := state.DocumentsTotal - state.DocumentsDone
	if missing <= 0 && state.DocumentsTotal > 0 {
		return nil
	}
	f := TransientFailure(result.KindDaemon, fmt.Sprintf("the daemon answered from an index without %d of the "+
		"documents that were written before", missing), 0)
	f.pending = missing
	return f
}

// keysOf returns the distinct keys of an object in order.
func keysOf(o jsonobj.Object) []string {
	var keys []string
	seen := map[string]bool{}
	for _, m := range o {
		if k := string(m.Key); !seen[k] {
			keys, seen[k] = append(keys, k), true
		}
	}
	return keys
}

// namesOf quotes a daemon's names for an error.
func namesOf(names []string) string {
	return figure.List(names, maxNames, func(n string) string { return fmt.Sprintf("%q", printable.Line(n, maxName)) })
}

var (
	htmlStart = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?i)^\s*<(!doctype html|html|head|body)\b`)
	})
	htmlTitle = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?is)<title[^>]*>(.*?)</title>`)
	})
	sseStart = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^(event|data|id|retry): ?.*[\r\n]`)
	})
)

// bodyForm describes an unexpected body: its format and its keys or events.
func bodyForm(body []byte) string {
	body = bytes.TrimSpace(body)
	switch {
	case len(body) == 0:
		return "an empty body"
	case htmlStart().Match(body):
		page := "an HTML page"
		if m := htmlTitle().FindSubmatch(body); m != nil {
			page += fmt.Sprintf(" titled %q", printable.Line(string(bytes.TrimSpace(m[1])), 2*maxName))
		}
		return page + " (a login page or a proxy? check the endpoint and the token)"
	case sseStart().Match(body):
		return "an event stream"
	case body[0] == '[':
		return "a JSON list"
	case body[0] != '{':
		return "text"
	}
	keys, more := firstKeys(body)
	form := "a JSON object"
	if more {
		form = "lines of JSON objects (NDJSON)"
	}
	if len(keys) > 0 {
		form += " with the keys " + namesOf(keys)
	}
	return form
}

// firstKeys returns the keys of the JSON object at the start of body, which may be cut off. more
// reports whether another object follows.
func firstKeys(body []byte) (keys []string, more bool) {
	d := json.NewDecoder(bytes.NewReader(body))
	if _, err := d.Token(); err != nil {
		return nil, false
	}
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return keys, false
		}
		keys = append(keys, fmt.Sprint(key))
		if err := d.Decode(new(json.RawMessage)); err != nil {
			return keys, false
		}
	}
	if _, err := d.Token(); err != nil {
		return keys, false
	}
	rest := bytes.TrimSpace(body[d.InputOffset():])
	return keys, len(rest) > 0 && rest[0] == '{'
}

// notEvents returns the failure for an ask answered without an event stream.
func notEvents(contentType string, body []byte) *Failure {
	return ShapeFailure(fmt.Sprintf("POST ask answered %q instead of %s, with %s: %s; %s",
		printable.Line(contentType, 2*maxName), protocol.TypeEvents, bodyForm(body), clip(body), wantEvents))
}

// wantEvents describes the expected stream of an ask, and the alternative.
const wantEvents = "expected are the events retrieve, answer_delta, citation and done; " +
	"--scenario search-retrieve-only evaluates a daemon that has only the search"

// otherEvents are stream events outside the protocol.
type otherEvents struct {
	names  []string // each once, at most maxNames
	more   bool     // there were others
	keys   []string // of the first payload that is an object
	openAI bool     // payloads of an OpenAI chat completion
}

// add records an event. end is set if it ends a stream of OpenAI's API, after which a server may
// keep the connection open.
func (o *otherEvents) add(ev sse.Event) (end bool) {
	switch {
	case slices.Contains(o.names, ev.Name):
	case len(o.names) < maxNames:
		o.names = append(o.names, ev.Name)
	default:
		o.more = true
	}
	if o.keys == nil {
		if payload, err := jsonobj.Parse(ev.Data); err == nil {
			o.keys = keysOf(payload)
			o.openAI = payload.Get("choices") != nil
		}
	}
	return ev.Name == unnamed && string(bytes.TrimSpace(ev.Data)) == "[DONE]"
}

// failure returns the failure for a stream with events, but none of the protocol.
func (o *otherEvents) failure() *Failure {
	what := "the events " + namesOf(o.names)
	if o.more {
		what += " and others"
	}
	if len(o.keys) > 0 {
		what += ", the first payload with the keys " + namesOf(o.keys)
	}
	if o.openAI {
		what += " (the stream of an OpenAI chat completion)"
	}
	return ShapeFailure(fmt.Sprintf("POST ask: the stream has %s; %s", what, wantEvents))
}

// withoutDone returns the failure for a stream that ended before its done event. A stream that was
// cut off says nothing about the form of others.
func withoutDone(err error, got int, timeline result.Timeline, others otherEvents) *Failure {
	var known []string
	for _, e := range timeline {
		if e.Event != result.OtherEvent && !slices.Contains(known, e.Event) {
			known = append(known, e.Event)
		}
	}
	if len(known) == 0 && len(others.names) > 0 {
		return others.failure()
	}
	f := NewFailure(result.KindIncomplete, fmt.Sprintf("the stream ended without done, after %d bytes of answer", got))
	if all := append(known, others.names...); len(all) > 0 {
		f.Message += "; it had the events " + namesOf(all)
	}
	open := errors.Is(err, sse.ErrNoBlankLine)
	if open {
		f.Message += "; its last event was not ended by a blank line"
	}
	f.retry, f.shape = true, open || errors.Is(err, io.EOF)
	return f
}

// notObject returns the failure for an answer that is not a JSON object.
func notObject(r Request, body []byte, err error) *Failure {
	path, _, _ := strings.Cut(r.Path, "?")
	reason := ""
	if !errors.Is(err, jsonobj.ErrNotObject) {
		reason = fmt.Sprintf(" (%v)", err)
	}
	return ShapeFailure(fmt.Sprintf("%s %s did not answer with a JSON object but with %s%s: %s",
		r.Method, path, bodyForm(body[:min(len(body), maxShape)]), reason, clip(body)))
}
