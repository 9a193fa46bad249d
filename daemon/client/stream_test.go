package client_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"evalctl/daemon/client"
	"evalctl/daemon/protocol"
	"evalctl/internal/awaittest"
)

func TestAsk(t *testing.T) {
	c, _ := start(t)
	ctx, b := t.Context(), c.Brain("eval")
	check(t, b.Write(ctx, "pets.md", []byte("# Pets\n\nAna keeps two grey cats.\n")))
	var kinds []string
	answer := ""
	done, err := b.Ask(ctx, protocol.AskRequest{Question: "What does Ana keep?"}, func(event any) error {
		switch e := event.(type) {
		case protocol.RetrieveEvent:
			kinds = append(kinds, fmt.Sprintf("retrieve %d", len(e.Chunks)))
		case protocol.DeltaEvent:
			answer += e.Delta
		case protocol.CitationEvent:
			kinds = append(kinds, "citation "+e.DocumentID)
		}
		return nil
	})
	if err != nil || !done.OK || done.Answer != answer || !strings.Contains(answer, "grey cats") {
		t.Errorf("%+v, deltas %q, %v", done, answer, err)
	}
	if diff := cmp.Diff([]string{"retrieve 1", "citation pets.md"}, kinds); diff != "" {
		t.Error(diff)
	}
	stop := errors.New("enough")
	_, err = b.Ask(ctx, protocol.AskRequest{Question: "cats"}, func(any) error { return stop })
	if !errors.Is(err, stop) {
		t.Errorf("got %v", err)
	}
	found, err := b.Search(ctx, protocol.SearchRequest{Query: "cats", TopK: 3})
	if err != nil || len(found.Chunks) != 1 {
		t.Errorf("%+v, %v", found, err)
	}
}

// TestAskHalves checks that a character whose halves are in two deltas is one.
func TestAskHalves(t *testing.T) {
	delta := func(text string) string { return "event: answer_delta\ndata: {\"delta\":\"" + text + "\"}\n\n" }
	stream := delta(`a\ud83d`) + delta(`\ude00b`) + delta(`\ud83d`) + "event: done\ndata: {\"ok\":true}\n\n"
	c := stub(t, nil, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, stream) })
	var got []string
	_, err := c.Brain("b").Ask(t.Context(), protocol.AskRequest{Question: "q"}, func(event any) error {
		got = append(got, event.(protocol.DeltaEvent).Delta)
		return nil
	})
	if diff := cmp.Diff([]string{"a", "😀b", "\ufffd"}, got); diff != "" || err != nil {
		t.Error(diff, err)
	}
}

func TestAskEndings(t *testing.T) {
	const delta = "event: answer_delta\ndata: {\"delta\":\"x\"}\n\n"
	for stream, says := range map[string]string{
		delta: "ended without done: unexpected EOF",
		delta + "event: done\ndata: {\"ok\":true":                                    "ended inside an event: unexpected EOF",
		delta + "event: done\ndata: {\"ok\":false}\n\n":                              "done has ok false",
		delta + "event: done\ndata: true\n\n":                                        "event done: json",
		"event: answer_delta\ndata: []\n\n":                                          "event answer_delta: json",
		"event: error\ndata: {\"code\":\"busy\",\"message\":\"no\\u001b time\"}\n\n": "ask: busy: no\ufffd time",
	} {
		c := stub(t, nil, func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, stream) })
		done, err := c.Brain("eval").Ask(t.Context(), protocol.AskRequest{}, nil)
		if err == nil || !strings.Contains(err.Error(), says) || done.OK {
			t.Errorf("%q: %+v, %v", stream, done, err)
		}
		e, ok := errors.AsType[*client.AskError](err)
		if ok != strings.Contains(stream, "error") || ok && e.Code != "busy" {
			t.Errorf("%q: %+v", stream, e)
		}
	}
}

// TestAskTakesItsTime: Options.Timeout does not apply to Ask.
func TestAskTakesItsTime(t *testing.T) {
	const limit = 20 * time.Millisecond
	c := stub(t, &client.Options{Timeout: limit}, func(w http.ResponseWriter, _ *http.Request) {
		time.Sleep(3 * limit) // the test needs real time to pass
		io.WriteString(w, "event: done\ndata: {\"ok\":true}\n\n")
	})
	if _, err := c.Brain("eval").Ask(t.Context(), protocol.AskRequest{}, nil); err != nil {
		t.Error(err)
	}
}

func TestEvents(t *testing.T) {
	c, api := start(t)
	ctx, b := t.Context(), c.Brain("eval")
	changes := make(chan protocol.ChangeEvent, 10)
	attached, ended := make(chan struct{}), make(chan error)
	go func() {
		ended <- b.Events(ctx, func() { close(attached) }, func(e protocol.ChangeEvent) error {
			changes <- e
			return nil
		})
	}()
	awaittest.Receive(t, "attached", attached)
	check(t, b.Write(ctx, "a", nil))
	check(t, b.Rename(ctx, "a", "b"))
	const when = "2024-05-01T12:00:00.123Z"
	for _, want := range []protocol.ChangeEvent{
		{Kind: "created", Path: "a", When: when},
		{Kind: "renamed", Path: "b", OldPath: "a", When: when},
	} {
		if diff := cmp.Diff(want, awaittest.Receive(t, "changes", changes)); diff != "" {
			t.Error(diff)
		}
	}
	api.Stop()
	if err := awaittest.Receive(t, "ended", ended); !errors.Is(err, io.EOF) {
		t.Errorf("ended with %v", err)
	}
	err := b.Events(ctx, func() { t.Error("attached to a daemon that is stopping") }, nil)
	if e, ok := errors.AsType[*client.Error](err); !ok || e.Status != http.StatusServiceUnavailable {
		t.Errorf("got %v", err)
	}
}

func TestEventEndings(t *testing.T) {
	const ready = "event: ready\ndata: ok\n\n"
	for stream, says := range map[string]string{
		ready + "event: change\ndata: {\"kind\":\"cre": "unexpected EOF",
		ready + "event: change\ndata: 1\n\n":           "event change: json",
		ready + "event: change\ndata: {}\n\n":          "enough",
		ready + ": comment\n\nevent: new\ndata: 1\n\n": "events: EOF",
	} {
		c := stub(t, nil, func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, stream) })
		enough := func(protocol.ChangeEvent) error { return errors.New("enough") }
		err := c.Brain("eval").Events(t.Context(), nil, enough)
		if err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%q: %v", stream, err)
		}
	}
}

// answering is a transport with one response.
type answering []byte

func (a answering) RoundTrip(r *http.Request) (*http.Response, error) {
	body := io.NopCloser(bytes.NewReader(a))
	return &http.Response{StatusCode: 200, Header: http.Header{}, Body: body, Request: r}, nil
}

// FuzzStreams: no bytes that a daemon may send break the reader of a stream, and only a complete
// event done is an answer.
func FuzzStreams(f *testing.F) {
	f.Add([]byte("event: retrieve\ndata: {\"chunks\":null}\n\nevent: done\ndata: {\"ok\":true,\"answer\":\"x\"}\n\n"))
	f.Add([]byte("event: ready\ndata: ok\n\nid: 2\nevent: change\ndata: {\"kind\":\"renamed\",\"path\":\"a\"}\n\n"))
	f.Add([]byte("event: error\r\ndata: {\"message\":\"\\u001b[2J\"}\r\n\r\n"))
	f.Fuzz(func(t *testing.T, body []byte) {
		c, err := client.New("http://daemon", &client.Options{
			HTTPClient: &http.Client{Transport: answering(body)},
		})
		if err != nil {
			t.Fatal(err)
		}
		done, err := c.Brain("eval").Ask(t.Context(), protocol.AskRequest{}, nil)
		if err == nil && (!done.OK || !bytes.Contains(body, []byte("done"))) {
			t.Errorf("%q has the answer %+v", body, done)
		}
		err = c.Brain("eval").Events(t.Context(), nil, func(protocol.ChangeEvent) error { return nil })
		if err == nil {
			t.Error("Events returned nil")
		} else if strings.ContainsAny(err.Error(), "\x1b\n") {
			t.Errorf("a terminal could interpret %q", err)
		}
	})
}
