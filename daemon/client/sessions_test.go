package client_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"evalctl/daemon/client"
	"evalctl/daemon/protocol"
)

func TestSessions(t *testing.T) {
	c, _ := start(t)
	ctx, b := t.Context(), c.Brain("eval")
	for _, id := range []string{"trip", "..", "a/b?c#d", "ü", "_x", "%2e"} {
		first, err := b.AddMessage(ctx, id, protocol.SessionMessage{
			Role: protocol.RoleTool, Content: "42", Name: "sum",
			Metadata: map[string]any{"actor_id": "anna", "skip_extract": true}, CreatedAt: "2023-05-08T13:00:00+02:00",
		})
		want := protocol.SessionMessageRecord{
			ID: first.ID, SessionID: id, Role: "tool", Content: "42", Name: "sum", CreatedAt: "2023-05-08T11:00:00.000Z",
		}
		if diff := cmp.Diff(want, first); diff != "" || err != nil || first.ID == "" {
			t.Error(id, diff, err)
		}
		skip := map[string]any{protocol.MetadataSkipExtract: true}
		more, err := b.AddMessages(ctx, id, []protocol.SessionMessage{
			{Role: "user", Content: "a", Metadata: skip}, {Role: "user", Content: "b", Metadata: skip},
		})
		if err != nil || len(more) != 2 || more[0].Content != "a" || more[1].Content != "b" {
			t.Errorf("%s: %+v, %v", id, more, err)
		}
		got, err := b.Session(ctx, id)
		wantSession := protocol.Session{ID: id, Status: "open", Messages: 3, CreatedAt: "2024-05-01T12:00:00.123Z"}
		if diff := cmp.Diff(wantSession, got); diff != "" || err != nil {
			t.Error(diff, err)
		}
	}
	check(t, b.Write(ctx, "lamp.md", []byte("The lamp cost 40 euros.")))
	found, err := b.Recall(ctx, "..", protocol.RecallRequest{Query: "lamp", TopK: 1, Scope: protocol.ScopeAll})
	if err != nil || len(found.Chunks) != 1 || found.Chunks[0].Path != "lamp.md" {
		t.Errorf("recall: %+v, %v", found, err)
	}
	first, err := b.Reflect(ctx, "..")
	again, err2 := b.Reflect(ctx, "..")
	if diff := cmp.Diff(first, again); diff != "" || err != nil || err2 != nil || first.EndedAt == "" || first.SessionID != ".." {
		t.Error(first, diff, err, err2)
	}
	_, err = b.AddMessage(ctx, "..", protocol.SessionMessage{Role: "user", Content: "x"})
	if client.Code(err) != protocol.CodeConflict {
		t.Errorf("an ended session: %v", err)
	}
	if _, err := b.Session(ctx, "none"); !client.IsNotFound(err) {
		t.Errorf("no session: %v", err)
	}
	if _, err := b.AddMessage(ctx, "trip", protocol.SessionMessage{Role: "root", Content: "x"}); client.Code(err) != protocol.CodeValidation {
		t.Errorf("bad role: %v", err)
	}
}

// TestSessionMetadataIsDropped: metadata that a daemon sends with a message is not surfaced, in no
// field of the record.
func TestSessionMetadataIsDropped(t *testing.T) {
	const record = `{"id":"1","session_id":"s","role":"user","content":"x","created_at":"2024-05-01T12:00:00Z","metadata":{"secret":1},"Metadata":2}`
	c := stub(t, nil, func(w http.ResponseWriter, r *http.Request) {
		body := record
		if strings.HasSuffix(r.URL.Path, "/batch") {
			body = `{"messages":[` + record + `],"metadata":{}}`
		}
		w.Write([]byte(body))
	})
	want := protocol.SessionMessageRecord{ID: "1", SessionID: "s", Role: "user", Content: "x", CreatedAt: "2024-05-01T12:00:00Z"}
	m := protocol.SessionMessage{Role: "user", Content: "x"}
	one, err := c.Brain("eval").AddMessage(t.Context(), "s", m)
	if diff := cmp.Diff(want, one); diff != "" || err != nil {
		t.Error(diff, err)
	}
	list, err := c.Brain("eval").AddMessages(t.Context(), "s", []protocol.SessionMessage{m})
	if diff := cmp.Diff([]protocol.SessionMessageRecord{want}, list); diff != "" || err != nil {
		t.Error(diff, err)
	}
	// The daemon must answer for every message.
	if _, err := c.Brain("eval").AddMessages(t.Context(), "s", []protocol.SessionMessage{m, m}); err == nil {
		t.Error("one record for two messages")
	}
}

func TestSessionsNotSent(t *testing.T) {
	c := stub(t, nil, func(http.ResponseWriter, *http.Request) { t.Error("a request was sent") })
	ctx, b := t.Context(), c.Brain("eval")
	long := func(n int) string { return strings.Repeat("ä", n) }
	for name, call := range map[string]func() error{
		"no id":      func() error { _, err := b.Session(ctx, ""); return err },
		"long id":    func() error { _, err := b.Session(ctx, long(2000)); return err },
		"long brain": func() error { _, err := c.Brain(long(2000)).Info(ctx); return err },
		"bad id":     func() error { _, err := b.Session(ctx, "\xff"); return err },
		"content":    func() error { return add(t, b, protocol.SessionMessage{Role: "user", Content: long(1_000_001)}) },
		"bytes":      func() error { return add(t, b, protocol.SessionMessage{Role: "user", Content: "\xff"}) },
		"name":       func() error { return add(t, b, protocol.SessionMessage{Role: "user", Content: "x", Name: long(129)}) },
		"metadata": func() error {
			return add(t, b, protocol.SessionMessage{Role: "user", Content: "x", Metadata: map[string]any{long(129): 1}})
		},
		"no messages": func() error { _, err := b.AddMessages(ctx, "s", nil); return err },
		"many messages": func() error {
			return add(t, b, slices.Repeat([]protocol.SessionMessage{{Role: "user", Content: "x"}}, 501)...)
		},
	} {
		if err := call(); client.Code(err) != protocol.CodeValidation && client.Code(err) != protocol.CodePayloadTooLarge {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func add(t *testing.T, b *client.Brain, m ...protocol.SessionMessage) error {
	t.Helper()
	_, err := b.AddMessages(t.Context(), "s", m)
	if len(m) == 1 {
		_, err = b.AddMessage(t.Context(), "s", m[0])
	}
	return err
}

// TestMessagesWithoutRecords: a message that a daemon takes without a word is added.
func TestMessagesWithoutRecords(t *testing.T) {
	c := stub(t, nil, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })
	m := protocol.SessionMessage{Role: "user", Content: "x", Name: "Ana"}
	want := protocol.SessionMessageRecord{SessionID: "s", Role: "user", Content: "x", Name: "Ana"}
	one, err := c.Brain("b").AddMessage(t.Context(), "s", m)
	if diff := cmp.Diff(want, one); diff != "" || err != nil {
		t.Error(diff, err)
	}
	all, err := c.Brain("b").AddMessages(t.Context(), "s", []protocol.SessionMessage{m, m})
	if diff := cmp.Diff([]protocol.SessionMessageRecord{want, want}, all); diff != "" || err != nil {
		t.Error(diff, err)
	}
}
