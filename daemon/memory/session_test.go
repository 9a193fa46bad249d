package memory

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"evalctl/daemon/brain"
	"evalctl/daemon/protocol"
	"evalctl/daemon/store"
	"evalctl/internal/awaittest"
)

// user returns a message that no facts are extracted from yet.
func user(content string) protocol.SessionMessage {
	return protocol.SessionMessage{
		Role: protocol.RoleUser, Content: content,
		Metadata: map[string]any{protocol.MetadataSkipExtract: true},
	}
}

func (f *fixture) say(t testing.TB, session string, messages ...protocol.SessionMessage) []protocol.SessionMessageRecord {
	t.Helper()
	records, err := f.AddMessages(context.Background(), f.brain, session, messages)
	if err != nil {
		t.Fatal(err)
	}
	return records
}

// stored returns the messages of a session from its files.
func (f *fixture) stored(t testing.TB, session string) []message {
	t.Helper()
	ctx := context.Background()
	state, err := readSession(ctx, f.store(t), session)
	if err != nil {
		t.Fatal(err)
	}
	var all []message
	for n := 1; n <= state.Segment; n++ {
		part, err := readSegment(ctx, f.store(t), session, n)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, part...)
	}
	if len(all) != state.Messages {
		t.Errorf("%d messages are stored, the state says %d", len(all), state.Messages)
	}
	for i, m := range all {
		if m.Index != i {
			t.Errorf("message %d has index %d", i, m.Index)
		}
	}
	return all
}

func (f *fixture) read(t testing.TB, path string) string {
	t.Helper()
	data, err := f.store(t).Read(context.Background(), path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func TestSessionMessages(t *testing.T) {
	s := open(t)
	got := s.say(t, "trip",
		protocol.SessionMessage{
			Role: "user", Name: "Anna", Content: "The kettle\n---\n# cost 40 euros.", CreatedAt: "2023-05-08T23:30:00.5-05:00",
			Metadata: map[string]any{"actor_id": "anna", "skip_extract": true, "mood": "gläd", "n": 1.5, "none": nil, "id": json.Number("1234567890123456789")},
		},
		protocol.SessionMessage{Role: "assistant", Content: "Noted.", CreatedAt: "2023-05-08T23:31:00-05:00", Metadata: map[string]any{"skip_extract": true}})
	want := []protocol.SessionMessageRecord{
		{ID: got[0].ID, SessionID: "trip", Role: "user", Name: "Anna", Content: "The kettle\n---\n# cost 40 euros.", CreatedAt: "2023-05-09T04:30:00.500Z"},
		{ID: got[1].ID, SessionID: "trip", Role: "assistant", Content: "Noted.", CreatedAt: "2023-05-09T04:31:00.000Z"},
	}
	if diff := cmp.Diff(want, got); diff != "" || got[0].ID == got[1].ID || got[0].ID == "" {
		t.Error(got, diff)
	}
	s.say(t, "trip", user("And today?"))
	session, err := s.Session(t.Context(), s.brain, "trip")
	wantSession := protocol.Session{ID: "trip", Status: "open", Messages: 3, CreatedAt: protocol.FormatTime(epoch)}
	if diff := cmp.Diff(wantSession, session); diff != "" || err != nil {
		t.Error(err, diff)
	}
	if got := s.stored(t, "trip")[0].Metadata; !maps.Equal(got, map[string]any{"actor_id": "anna", "skip_extract": true, "mood": "gläd", "n": 1.5, "none": nil, "id": json.Number("1234567890123456789")}) {
		t.Errorf("metadata became %v", got)
	}
	const transcript = `---
title: Session trip
date: "2023-05-08T23:30:00.5-05:00"
session_id: trip
created_at: "2024-05-01T12:00:00.123Z"
---

**user** (Anna):
> The kettle
> ---
> # cost 40 euros.

**assistant**:
> Noted.
`
	if diff := cmp.Diff(transcript, s.read(t, "sessions/trip/transcript-0001.md")); diff != "" {
		t.Error(diff)
	}
	if got := s.read(t, "sessions/trip/transcript-0002.md"); !strings.Contains(got, "\ndate: \"2024-05-01T12:00:00.123Z\"\n") || !strings.Contains(got, "> And today?") {
		t.Errorf("the next day's transcript:\n%s", got)
	}
	if _, err := s.Session(t.Context(), s.brain, "other"); !store.IsNotFound(err) {
		t.Errorf("unknown session: %v", err)
	}
}

// TestSessionsAreSearched finds what was said, in any session and in one.
func TestSessionsAreSearched(t *testing.T) {
	s := open(t)
	for _, id := range []string{"trip", "Trip", "../x y", "旅"} {
		s.say(t, id, user("The kettle of "+id+" cost 40 euros."))
	}
	for _, id := range []string{"trip", "Trip", "../x y", "旅"} {
		found, err := s.Search(t.Context(), s.brain, protocol.SearchRequest{
			Query: "what did the kettle cost", Filters: protocol.SearchFilters{SessionIDs: []string{id}},
		})
		if err != nil || len(found.Chunks) != 1 || found.Chunks[0].Metadata["session_id"] != id ||
			!strings.Contains(found.Chunks[0].Text, "> The kettle of "+id+" cost 40 euros.") {
			t.Errorf("%s: %v, %+v", id, err, found.Chunks)
		}
	}
}

func TestEndedSession(t *testing.T) {
	s := open(t)
	s.say(t, "s", user("one"))
	err := s.store(t).Batch(t.Context(), store.BatchOptions{}, func(b *store.Batch) error {
		state, err := readSession(t.Context(), b, "s")
		if err != nil {
			return err
		}
		state.EndedAt = epoch
		return state.write(t.Context(), b)
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.AddMessages(t.Context(), s.brain, "s", []protocol.SessionMessage{user("two")}); !errors.Is(err, store.ErrConflict) {
		t.Error(err)
	}
	if got := len(s.stored(t, "s")); got != 1 {
		t.Errorf("%d messages", got)
	}
}

func TestSessionRejects(t *testing.T) {
	s := open(t)
	text := func(n int) string { return strings.Repeat("ä", n) }
	many := func(n int) map[string]any {
		m := map[string]any{}
		for i := range n {
			m[fmt.Sprint(i)] = nil
		}
		return m
	}
	for name, tt := range map[string]struct {
		id   string
		m    protocol.SessionMessage
		want string // argument; "" is accepted; "large" is ErrTooLarge
	}{
		"longest id":        {text(128), user("x"), ""},
		"long id":           {text(129), user("x"), "session_id"},
		"no id":             {"", user("x"), "session_id"},
		"blank id":          {" ", user("x"), "session_id"},
		"newline in id":     {"a\nb", user("x"), "session_id"},
		"NUL in id":         {"a\x00", user("x"), "session_id"},
		"bad UTF-8 in id":   {"a\xff", user("x"), "session_id"},
		"longest content":   {"s1", user(text(1_000_000)), ""},
		"long content":      {"s", user(text(1_000_001)), "large"},
		"no content":        {"s", user(""), "content"},
		"space as content":  {"s2", user(" "), ""},
		"bad UTF-8":         {"s", user("a\xff"), "content"},
		"longest name":      {"s3", protocol.SessionMessage{Role: "tool", Content: "x", Name: text(128)}, ""},
		"long name":         {"s", protocol.SessionMessage{Role: "tool", Content: "x", Name: text(129)}, "name"},
		"no role":           {"s", protocol.SessionMessage{Content: "x"}, "role"},
		"other role":        {"s", protocol.SessionMessage{Role: "User", Content: "x"}, "role"},
		"date without time": {"s", protocol.SessionMessage{Role: "user", Content: "x", CreatedAt: "2024-05-01"}, "created_at"},
		"time without zone": {"s", protocol.SessionMessage{Role: "user", Content: "x", CreatedAt: "2024-05-01T10:00:00"}, "created_at"},
		"year 0 in UTC":     {"s", protocol.SessionMessage{Role: "user", Content: "x", CreatedAt: "0001-01-01T00:00:00+01:00"}, "created_at"},
		"year 10000 in UTC": {"s", protocol.SessionMessage{Role: "user", Content: "x", CreatedAt: "9999-12-31T23:59:59-01:00"}, "created_at"},
		"offset of 24 h":    {"s", protocol.SessionMessage{Role: "user", Content: "x", CreatedAt: "2024-03-01T10:00:00+24:00"}, "created_at"},
		"largest offset":    {"s7", protocol.SessionMessage{Role: "user", Content: "x", CreatedAt: "2024-03-01T10:00:00-23:59"}, ""},
		"most keys":         {"s4", protocol.SessionMessage{Role: "user", Content: "x", Metadata: many(64)}, ""},
		"many keys":         {"s", protocol.SessionMessage{Role: "user", Content: "x", Metadata: many(65)}, "metadata"},
		"longest key":       {"s5", protocol.SessionMessage{Role: "user", Content: "x", Metadata: map[string]any{text(128): true}}, ""},
		"long key":          {"s", protocol.SessionMessage{Role: "user", Content: "x", Metadata: map[string]any{text(129): true}}, "metadata"},
		"empty key":         {"s", protocol.SessionMessage{Role: "user", Content: "x", Metadata: map[string]any{"": true}}, "metadata"},
		"list":              {"s", protocol.SessionMessage{Role: "user", Content: "x", Metadata: map[string]any{"a": []any{}}}, "metadata"},
		"much metadata":     {"s", protocol.SessionMessage{Role: "user", Content: "x", Metadata: map[string]any{"a": text(33 << 10)}}, "metadata"},
		"skip is a text":    {"s", protocol.SessionMessage{Role: "user", Content: "x", Metadata: map[string]any{"skip_extract": "true"}}, "metadata"},
		"actor is a number": {"s", protocol.SessionMessage{Role: "user", Content: "x", Metadata: map[string]any{"actor_id": 1.0}}, "metadata"},
		"null":              {"s6", protocol.SessionMessage{Role: "user", Content: "x", Metadata: map[string]any{"actor_id": nil, "skip_extract": nil}}, ""},
	} {
		_, err := s.AddMessages(t.Context(), s.brain, tt.id, []protocol.SessionMessage{tt.m})
		switch {
		case tt.want == "" && err != nil, tt.want == "large" && !errors.Is(err, ErrTooLarge),
			tt.want != "" && tt.want != "large" && !isArgument(err, tt.want):
			t.Errorf("%s: %v", name, err)
		}
		if tt.want == "session_id" {
			if _, err := s.Session(t.Context(), s.brain, tt.id); !isArgument(err, "session_id") {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
	for n, want := range map[int]bool{0: false, 1: true, 500: true, 501: false} {
		id := fmt.Sprint("n", n)
		_, err := s.AddMessages(t.Context(), s.brain, id, slices.Repeat([]protocol.SessionMessage{user("x")}, n))
		if (err == nil) != want || err != nil && !isArgument(err, "messages") {
			t.Errorf("%d messages: %v", n, err)
		}
	}
	_, err := s.AddMessages(t.Context(), s.brain, "s", []protocol.SessionMessage{user("x"), user("")})
	if !isArgument(err, "messages[1].content") {
		t.Error(err)
	}
	if _, err := s.Session(t.Context(), s.brain, "s"); !store.IsNotFound(err) {
		t.Errorf("a rejected message opened the session: %v", err)
	}
}

// TestSegments adds messages of many sizes, and checks that each one is stored once, in order, and
// that no file grows beyond a segment unless one message does.
func TestSegments(t *testing.T) {
	s := open(t)
	var want []string
	for i := range 300 {
		size := []int{10, 500, 5000, 100_000}[i%4]
		if i%4 == 3 && i%40 != 3 {
			size = 1
		}
		want = append(want, fmt.Sprint(i, strings.Repeat("x", size)))
	}
	s.say(t, "s", user(want[0]))
	for i := 1; i < 150; i++ {
		s.say(t, "s", user(want[i]))
	}
	var batch []protocol.SessionMessage
	for _, text := range want[150:] {
		batch = append(batch, user(text))
	}
	s.say(t, "s", batch...)
	var got []string
	for _, m := range s.stored(t, "s") {
		got = append(got, m.Content)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	files, err := s.store(t).List(t.Context(), "sessions/s", store.ListOptions{IncludeGenerated: true})
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if n := strings.Count(s.read(t, f.Path), "\n"); f.Size > maxSegment+1024 && n > 20 {
			t.Errorf("%s has %d bytes in %d lines", f.Path, f.Size, n)
		}
	}
	if len(files) < 20 {
		t.Errorf("only %d files", len(files))
	}
}

// TestConcurrentMessages: every message is stored once, in the order of its own client, and batches
// are not interleaved.
func TestConcurrentMessages(t *testing.T) {
	s := open(t)
	const clients, rounds = 8, 20
	var wg sync.WaitGroup
	for c := range clients {
		wg.Go(func() {
			for i := range rounds {
				one := user(fmt.Sprintf("%d/%d", c, i))
				if _, err := s.AddMessages(t.Context(), s.brain, "s", []protocol.SessionMessage{one, one}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	awaittest.Wait(t, "the goroutines", wg.Wait)
	all := s.stored(t, "s")
	if len(all) != 2*clients*rounds {
		t.Fatalf("%d messages", len(all))
	}
	next := map[string]int{}
	for i := 0; i < len(all); i += 2 {
		client, round, _ := strings.Cut(all[i].Content, "/")
		if all[i].Content != all[i+1].Content || round != fmt.Sprint(next[client]) {
			t.Errorf("messages %d: %s, %s", i, all[i].Content, all[i+1].Content)
		}
		next[client]++
	}
}

// onDisk returns a configuration of brains in dir for each store that keeps them.
func onDisk(dir string) map[string]brain.Config {
	all := map[string]brain.Config{}
	for kind, openStore := range stores {
		all[kind] = brain.Config{Catalog: new(brain.MemoryCatalog), OpenStore: func(ctx context.Context, r brain.Record) (*store.Store, error) {
			return openStore(ctx, filepath.Join(dir, kind, r.Brain.ID))
		}}
	}
	return all
}

// TestSessionIDs: each id has a folder of its own, below sessions/, on every store.
func TestSessionIDs(t *testing.T) {
	t.Parallel()
	ids := []string{
		"a", "A", "a ", "ä", "a\u0308", "é", "..", ".", "../a", "a/b", "a/../b", `a\b`, "_x", "-x", ".git", "git~1",
		".gitmodules", "con", "a.", "a=b", "a:b", "%2e%2e", "?q#f", "\U0001F468\u200d\U0001F469", "\ufeff", "x.lock",
		strings.Repeat("a", 128), strings.Repeat("\U0001F600", 128), "true", "2024-05-01", "~", "[a]", "{}", "a: b", "- a",
		sessionKey("A"),
	}
	keys := map[string]string{}
	for _, id := range ids {
		key := sessionKey(id)
		if other, taken := keys[strings.ToLower(key)]; taken {
			t.Errorf("%q and %q share %s", id, other, key)
		}
		keys[strings.ToLower(key)] = id
	}
	for kind, cfg := range onDisk(t.TempDir()) {
		s := openWith(t, cfg, Config{})
		for _, id := range ids {
			s.say(t, id, user("I am "+id))
		}
		for _, id := range ids {
			if got := s.stored(t, id); len(got) != 1 || got[0].Content != "I am "+id {
				t.Errorf("%s, %q: %+v", kind, id, got)
			}
			record, err := s.Document(t.Context(), s.brain, transcriptPath(id, 1))
			if err != nil || record.Metadata["session_id"] != id {
				t.Errorf("%s, %q: %+v, %v", kind, id, record, err)
			}
		}
		files, err := s.store(t).List(t.Context(), "", store.ListOptions{Recursive: true, IncludeGenerated: true})
		if err != nil || len(files) != 3*len(ids) {
			t.Errorf("%s: %d files, %v", kind, len(files), err)
		}
		for _, f := range files {
			if path.Dir(path.Dir(f.Path)) != sessionsDir {
				t.Errorf("%s: %s", kind, f.Path)
			}
		}
	}
}

func TestDamagedSessionFiles(t *testing.T) {
	s := open(t)
	s.say(t, "s", user("x"))
	for path, text := range map[string]string{
		statePath("s"):           "{",
		statePath("a"):           s.read(t, statePath("s")),
		statePath("b"):           `{"version": 2, "id": "b"}`,
		messagesPath("s", 1):     "{}\nnonsense\n",
		statePath("c") + "/x.md": "a document where the state should be",
	} {
		s.put(t, path, text)
	}
	for id, want := range map[string]string{
		"s": "sessions/s/_session.json is damaged: restore the file, or delete its folder: unexpected end of JSON input",
		"a": `it belongs to session "s", not "a"`,
		"b": "written by a newer program: its state has version 2", "c": "sessions/c/_session.json",
	} {
		_, err := s.AddMessages(t.Context(), s.brain, id, []protocol.SessionMessage{user("y")})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", id, err)
		}
	}
	if _, err := readSegment(t.Context(), s.store(t), "s", 1); err == nil || !strings.Contains(err.Error(), "_messages-0001.jsonl:2: not a message") {
		t.Error(err)
	}
}

func TestDeletedTranscript(t *testing.T) {
	s := open(t)
	s.say(t, "s", user("one"))
	if err := s.DeleteDocument(t.Context(), s.brain, transcriptPath("s", 1)); err != nil {
		t.Fatal(err)
	}
	s.say(t, "s", user("two"))
	if got := s.read(t, transcriptPath("s", 1)); !strings.HasPrefix(got, "---\ntitle: Session s\n") || strings.Contains(got, "one") {
		t.Errorf("%s", got)
	}
	if got := len(s.stored(t, "s")); got != 2 {
		t.Errorf("%d messages", got)
	}
}
