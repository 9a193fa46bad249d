package daemon_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"evalctl/daemon"
	daemonclient "evalctl/daemon/client"
	"evalctl/daemon/protocol"
	"evalctl/internal/awaittest"
	"evalctl/internal/llm"
)

// TestSessionOnEveryStore leads one session through its life, with a restart of the daemon after
// each step on the stores that keep documents.
func TestSessionOnEveryStore(t *testing.T) {
	t.Parallel()
	onEveryStore(t, func(t *testing.T, d running, again func() running) {
		b := d.brain(t)
		restart := func() { b = again().brain(t) }
		const session = "Trip/2024 ü"
		skip := map[string]any{protocol.MetadataSkipExtract: true}
		_, err := b.AddMessages(t.Context(), session, []protocol.SessionMessage{
			{Role: "user", Name: "Anna", Content: "I bought a blue kettle yesterday.", CreatedAt: "2024-03-02T10:00:00+01:00", Metadata: skip},
			{Role: "assistant", Content: "How much did you pay?", CreatedAt: "2024-03-02T10:00:05+01:00", Metadata: skip},
		})
		check(t, err)
		restart()
		_, err = b.AddMessage(t.Context(), session, protocol.SessionMessage{
			Role: "user", Name: "Anna", Content: "The blue kettle cost 40 euros.", CreatedAt: "2024-03-02T10:01:00+01:00",
		})
		check(t, err)
		restart()
		if got := awaitExtracted(t, b, session, 3); got.Messages != 3 || got.Status != protocol.SessionOpen {
			t.Errorf("%+v", got)
		}
		facts, err := b.List(t.Context(), "memory/agent/facts", daemonclient.ListOptions{})
		if err != nil || len(facts) != 1 {
			t.Fatalf("%+v, %v", facts, err)
		}
		text, err := b.Read(t.Context(), facts[0].Path)
		if err != nil || !strings.Contains(string(text), "40 euros") {
			t.Errorf("%v: %s", err, text)
		}
		check(t, b.Write(t.Context(), "shop.md", []byte("The kettle in the shop costs 50 euros.")))
		check(t, b.Write(t.Context(), "lamp.md", []byte("The lamp in the shop costs 50 euros.")))
		restart()
		found, err := b.Recall(t.Context(), session, protocol.RecallRequest{Query: "what does it cost in the shop", TopK: 1})
		if err != nil || len(found.Chunks) != 1 || found.Chunks[0].Path != "shop.md" {
			t.Errorf("%+v, %v", found, err)
		}
		first, err := b.Reflect(t.Context(), session)
		if err != nil || first.ReflectionStatus != protocol.ReflectionCompleted || first.SessionID != session {
			t.Errorf("%+v, %v", first, err)
		}
		restart()
		second, err := b.Reflect(t.Context(), session)
		if diff := cmp.Diff(first, second); diff != "" || err != nil {
			t.Error(diff, err)
		}
		_, err = b.AddMessage(t.Context(), session, protocol.SessionMessage{Role: "user", Content: "More."})
		if daemonclient.Code(err) != protocol.CodeConflict {
			t.Errorf("after the end: %v", err)
		}
		got, err := b.Session(t.Context(), session)
		if err != nil || got.EndedAt != first.EndedAt || got.Messages != 3 || got.ReflectionStatus != protocol.ReflectionCompleted {
			t.Errorf("%+v, %v", got, err)
		}
		if path := first.Reflection.Path; path != "" {
			record, err := b.Document(t.Context(), path)
			if err != nil || record.Source != protocol.SourceReflect || record.Metadata["session_id"] != session {
				t.Errorf("%+v, %v", record, err)
			}
		}
	})
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// awaitExtracted waits until the facts of a number of messages are extracted.
func awaitExtracted(t *testing.T, b *daemonclient.Brain, session string, messages int) (got protocol.Session) {
	t.Helper()
	awaittest.Until(t, "the facts", func() bool {
		var err error
		got, err = b.Session(t.Context(), session)
		check(t, err)
		return got.Extracted >= messages
	})
	return got
}

// TestTranscriptOf500Messages adds a whole transcript in one request, in one commit.
func TestTranscriptOf500Messages(t *testing.T) {
	d := serve(t, daemon.Config{Home: t.TempDir(), Store: daemon.StoreGit, Reader: llm.NewFake(), ReaderModel: llm.FakeModel})
	d.expect(t, 201, "POST", "/v1/brains", "application/json", `{"id":"eval"}`)
	c, err := daemonclient.New(d.url, nil)
	check(t, err)
	defer c.Close()
	messages := make([]protocol.SessionMessage, protocol.MaxSessionMessages)
	for i := range messages {
		messages[i] = protocol.SessionMessage{
			Role: protocol.RoleUser, Content: fmt.Sprintf("I paid %d euros for kettle number %d.", i, i),
			Metadata: map[string]any{protocol.MetadataSkipExtract: i < len(messages)-1},
		}
	}
	b := c.Brain("eval")
	records, err := b.AddMessages(t.Context(), "all", messages)
	if err != nil || len(records) != len(messages) || records[499].Content != messages[499].Content {
		t.Fatalf("%d records, %v", len(records), err)
	}
	awaitExtracted(t, b, "all", len(messages))
	found, err := b.Search(t.Context(), protocol.SearchRequest{Query: "kettle number 321", Scope: protocol.ScopeAgent})
	if err != nil || len(found.Chunks) == 0 || !strings.Contains(found.Chunks[0].Text, "number 321") {
		t.Errorf("%v: %+v", err, found.Chunks)
	}
}
