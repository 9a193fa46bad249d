package requirements

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"

	"evalctl/daemon/protocol"
)

// evaluableChecks cover what an evaluation needs from a daemon. They send requests as an evaluation
// does, with each key in both spellings, and are equally tolerant.
func evaluableChecks() []check {
	note := put(kettle, kettleNote)
	found := setup(note, awaitTolerantly)
	return []check{
		must("evaluable-health", "4.4", "GET /healthz returns 200, and does not say that ok is false.",
			expect(daemonRequest("GET", "/healthz"), 200, notUnhealthy)),
		must("evaluable-create", "4.4", "POST /v1/brains creates a brain to which documents can be written.", createsLikeSeeder),
		must("evaluable-put", "4.4", "PUT stores a document below raw/documents/.",
			expect2xx(putOf(kettle, kettleNote).withHeader("Accept", protocol.TypeJSON))),
		must("evaluable-batch", "4.4", "A batch of writes returns the number of its ops, unless there is no such endpoint.",
			expect(brainRequest("POST", "/documents/batch-ops").withJSON(object{
				"reason": "conformance", "ops": []object{writeOp(kettle, kettleNote), writeOp(parrot, "The parrot likes nuts.")},
			}), 0, countsTwo)),
		must("evaluable-search", "4.4", "A search returns a JSON object whose chunks or hits are an array of objects or null.",
			note, expect(tolerantSearch, 0, isSuccess, func(r *response) error {
				_, err := r.tolerantChunks()
				return err
			})),
		must("evaluable-found", "4.4", "A search finds a document that was written, by its path or id.", note, awaitTolerantly),
		must("evaluable-text", "4.4", "A chunk that a search found has text, preview, content or summary.",
			found, expect(asSent(tolerantSearch), 0, given2xx, hasTolerantText)),
		must("evaluable-ask", "4.4", "An ask streams events, one of which is done.", found, expectTolerantAsk(nil)),
		must("evaluable-answer", "4.4", "An ask returns the answer in answer_delta or token, or in the answer of done.",
			found, expectTolerantAsk(hasTolerantAnswer)),
	}
}

func notUnhealthy(r *response) error {
	var o object
	if json.Unmarshal(r.body, &o) == nil && o["ok"] == false { // any other body means a healthy daemon
		return because(`says "ok": false`, "want no ok that is false, got %s", excerpt(r.body))
	}
	return nil
}

// createsLikeSeeder creates a brain with the only request that an evaluation uses for it.
func createsLikeSeeder(ctx context.Context, c *client) error {
	name := newBrainName() // ids need not be valid slugs
	var o object
	isObject := func(r *response) (err error) {
		if len(strings.TrimSpace(string(r.body))) > 0 {
			o, err = r.object()
		}
		return err
	}
	if _, err := c.get(ctx, daemonRequest(http.MethodPost, "/v1/brains").withJSON(object{
		"name": name, "brain_id": name, "brainId": name, "id": name, "slug": name,
	}), 0, isSuccess, isObject); err != nil {
		return err
	}
	created := cmp.Or(firstText(o, "id", "brain_id", "brainId"), name)
	if err := c.target.notOld(created); err != nil {
		return err
	}
	defer c.target.deleteBrain(ctx, created)
	return c.runIn(ctx, created, expect2xx(putOf(kettle, kettleNote)))
}

// countsTwo requires the response to a batch of two ops. Without the endpoint, documents are
// written one by one.
func countsTwo(r *response) error {
	if slices.Contains([]int{404, 405}, r.status) {
		return nil
	}
	if err := isSuccess(r); err != nil {
		return err
	}
	return jsonField("committed", equals(2.0))(r)
}

var tolerantSearch = asSent(searchOf(object{"query": "kettle", "top_k": 10, "topK": 10, "mode": protocol.ModeAuto}))

// tolerantChunks returns the chunks found by a search. A response without chunks and hits has found
// nothing, unless it has something in their place.
func (r *response) tolerantChunks() ([]object, error) {
	o, err := r.object()
	if err != nil {
		return nil, err
	}
	for _, key := range []string{"chunks", "hits"} {
		if v, ok := o[key]; ok {
			return tolerantList(key, v)
		}
	}
	for _, key := range []string{"results", "data", "documents", "items", "matches", "passages", "result", "memories"} {
		switch o[key].(type) {
		case []any, object:
			return nil, because("has neither chunks nor hits", "want chunks or hits, got %s", excerpt(r.body))
		}
	}
	return nil, nil
}

func tolerantList(key string, v any) ([]object, error) {
	list, ok := v.([]any)
	if !ok && v != nil {
		return nil, because(fmt.Sprintf("has %s that are not an array", key), "want an array of %s, or null, got %s", key, excerpt(encode(v)))
	}
	return objects(list)
}

// awaitTolerantly waits until a search finds the kettle.
func awaitTolerantly(ctx context.Context, c *client) error {
	var chunks []object
	limit := 3 * c.target.within(indexedWithin) // as long as an evaluation waits
	done, err := poll(ctx, c.target.patience(limit), func() (bool, error) {
		_, err := c.get(ctx, tolerantSearch, 0, given2xx, func(r *response) (err error) {
			if chunks, err = r.tolerantChunks(); err != nil {
				err = unjudgedError{ReasonObserve, err}
			}
			return err
		})
		return slices.ContainsFunc(chunks, isKettle), err
	})
	if err == nil && !done {
		err = contradiction{c.trail().last.about(inResult("does not find a document",
			"want %s among the chunks, got %s: %w", kettle, excerpt(encode(chunks)), errSilence))}
	}
	return err
}

// isKettle reports whether a chunk is from the kettle's document, which a daemon may have moved
// into another folder.
func isKettle(chunk object) bool {
	named := func(o object) bool {
		for _, key := range []string{"path", "document_id", "documentId"} {
			if name, _ := o[key].(string); name == "kettle.md" || strings.HasSuffix(name, "/kettle.md") {
				return true
			}
		}
		return false
	}
	twins, _ := chunk["duplicates"].([]any)
	return named(chunk) || slices.ContainsFunc(twins, func(twin any) bool {
		o, _ := twin.(object)
		return named(o) || named(object{"path": twin})
	})
}

// firstText returns the text under the first of keys that has one.
func firstText(o object, keys ...string) string {
	for _, key := range keys {
		if s, _ := o[key].(string); s != "" {
			return s
		}
	}
	return ""
}

func hasTolerantText(r *response) error {
	chunks, err := r.tolerantChunks()
	if err != nil {
		return unjudgedError{ReasonObserve, err}
	}
	for _, chunk := range chunks {
		if isKettle(chunk) && firstText(chunk, "text", "preview", "content", "summary") == "" {
			return because("has chunks without a text", "want text, preview, content or summary, got %s", excerpt(encode(chunk)))
		}
	}
	return nil
}

// expectTolerantAsk asks a question, reads the stream to its done event, and judges it. A nil judge
// only requires that the stream can be read.
func expectTolerantAsk(judge func([]frame) error) step {
	fields := object{"mode": protocol.ModeAuto, "top_k": 5, "topK": 5, "reader_mode": protocol.ReaderBasic, "readerMode": protocol.ReaderBasic}
	return withStream(askOf(question, fields), func(ctx context.Context, c *client, s *stream) error {
		frames, err := s.untilDone(ctx)
		x := s.with(frames)
		c.remember(x)
		switch {
		case judge == nil:
			return err
		case err != nil:
			return setup(func(context.Context, *client) error { return err })(ctx, c)
		}
		return x.about(against(judge(frames)))
	})
}

// untilDone reads an ask stream as an evaluation does: to its done event, whatever follows it.
func (s *stream) untilDone(ctx context.Context) (frames []frame, err error) {
	isEvents := func(r *response) error {
		if got := r.header.Get("Content-Type"); !protocol.IsEvents(got) {
			return because("returns no event stream", "want Content-Type %s, got %q", protocol.TypeEvents, got)
		}
		return nil
	}
	if err := s.verify(0, isSuccess, isEvents); err != nil {
		return nil, err
	}
	for {
		f, err := s.next(ctx)
		if errors.Is(err, io.EOF) {
			return frames, contradiction{s.with(frames).about(because("has no done", "want done, got %q", summaries(frames)))}
		}
		if err != nil {
			return frames, err
		}
		frames = append(frames, f)
		o, malformed := f.object()
		switch f.name {
		case protocol.EventError:
			return frames, optional("an answer: the daemon sent an error event: " + f.data)
		case protocol.EventRetrieve, protocol.EventDelta, "token", protocol.EventCitation, protocol.EventDone:
			if malformed != nil {
				return frames, contradiction{s.with(frames).about(malformed)}
			}
		}
		if f.name == protocol.EventRetrieve {
			if _, err := tolerantList("chunks", o["chunks"]); err != nil {
				return frames, contradiction{s.with(frames).about(err)}
			}
		}
		if f.name == protocol.EventDone {
			if o["ok"] == false {
				return frames, optional("an answer: the daemon sent done with ok false: " + f.data)
			}
			return frames, nil
		}
	}
}

func hasTolerantAnswer(frames []frame) error {
	var names []string
	for _, f := range frames {
		o, _ := f.object()
		switch {
		case f.name == protocol.EventDone && firstText(o, "answer") != "",
			(f.name == protocol.EventDelta || f.name == "token") && firstText(o, "delta", "text", "content", "token") != "":
			return nil
		}
		names = append(names, f.name)
	}
	return because("has no answer", "want a text in answer_delta or token, or in the answer of done, got %q", names)
}
