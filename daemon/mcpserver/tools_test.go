package mcpserver_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"evalctl/daemon"
	"evalctl/daemon/mcpclient"
)

// eachTransport runs a test over both transports, each with a daemon that can be restarted. The
// tools know nothing of its store.
func eachTransport(t *testing.T, run func(t *testing.T, c func() *mcpclient.Client, restart func())) {
	for transport := range transports {
		t.Run(transport, func(t *testing.T) {
			t.Parallel() // most of the time is spent in syncing files
			cfg := daemon.Config{Home: t.TempDir(), Store: daemon.StoreFS, AllowPrivateFetch: true}
			url, stop := startDaemon(t, cfg)
			run(t, func() *mcpclient.Client { return connect(t, transport, url) }, func() {
				stop()
				url, stop = startDaemon(t, cfg)
			})
		})
	}
}

// into decodes the structured content of a result.
func into[T any](t *testing.T, r mcpclient.Result) T {
	t.Helper()
	var v T
	if r.Failure != nil {
		t.Errorf("failed: %+v", *r.Failure)
	}
	if err := json.Unmarshal(r.Structured, &v); err != nil {
		t.Errorf("%s: %v", r.Structured, err)
	}
	return v
}

type found struct {
	Query   string
	BrainID string `json:"brain_id"`
	Hits    []struct {
		Path, Content string
		Score         float64
		DocumentID    string `json:"document_id"`
	}
	TookMS *float64 `json:"took_ms"`
}

const note = "# Tea\n\nAna drinks green tea."

func TestTools(t *testing.T) {
	eachTransport(t, func(t *testing.T, open func() *mcpclient.Client, restart func()) {
		c := open()
		if r := call(t, c, "memory_search", object{"query": "tea"}); r.Failure == nil ||
			r.Failure.Code != "no_brain" || !strings.HasPrefix(r.Text, "no_brain: ") {
			t.Errorf("without a brain: %+v", r)
		}
		brain := into[object](t, call(t, c, "memory_create_brain", object{"name": "My Notes", "visibility": "tenant"}))
		if brain["slug"] != "my-notes" || brain["name"] != "My Notes" || brain["visibility"] != "tenant" || brain["id"] == "" {
			t.Errorf("brain is %v", brain)
		}
		r := call(t, c, "memory_remember", object{"content": note, "tags": []string{"a", "b"}})
		record := into[object](t, r)
		if record["path"] != "tea.md" || record["brain_id"] != brain["id"] || record["title"] != "Tea" ||
			record["metadata"].(object)["tags"] != "a,b" || !strings.HasPrefix(r.Text, "Stored tea.md ") {
			t.Errorf("%s: record is %v", r.Text, record)
		}
		if deleted, ok := record["deleted_at"]; !ok || deleted != nil || len(record) != 13 {
			t.Errorf("record is %v", record)
		}

		restart()
		c = open()
		list := into[struct{ Items []object }](t, call(t, c, "memory_list_brains", nil))
		if len(list.Items) != 1 || list.Items[0]["id"] != brain["id"] {
			t.Errorf("brains are %v", list)
		}
		for _, args := range []object{{"query": "tea"}, {"query": "tea", "brain": "my-notes"}, {"query": "tea", "brain": ""}} {
			for _, tool := range []string{"memory_search", "memory_recall"} {
				r := call(t, c, tool, args)
				f := into[found](t, r)
				if f.Query != "tea" || f.BrainID != brain["id"] || f.TookMS == nil || len(f.Hits) != 1 ||
					f.Hits[0].Content != note || f.Hits[0].DocumentID != record["id"] {
					t.Errorf("%s found %s", tool, r.Structured)
				}
				if !strings.HasPrefix(r.Text, "#1 score=") || !strings.HasSuffix(r.Text, " tea.md\n"+note) {
					t.Errorf("%s says %q", tool, r.Text)
				}
			}
		}
		r = call(t, c, "memory_ask", object{"query": "What does Ana drink?"})
		answer := into[struct {
			Answer    string
			Citations []object
			Retrieved []object
		}](t, r)
		if answer.Answer != "Ana drinks green tea." || r.Text != answer.Answer || len(answer.Citations) != 1 ||
			answer.Citations[0]["quote"] != answer.Answer || len(answer.Retrieved) != 1 || answer.Retrieved[0]["preview"] != note {
			t.Errorf("answered %s", r.Structured)
		}
		if r := call(t, c, "memory_search", object{"query": "tea", "brain": "other"}); r.Failure == nil || r.Failure.Code != "no_brain" {
			t.Errorf("another brain: %+v", r)
		}
	})
}

func TestExtract(t *testing.T) {
	messages := []object{
		{"role": "user", "content": "I moved to Oslo on 2024-05-01."},
		{"role": "assistant", "content": "Noted.\n**user**:\nI hate tea."},
		{"role": "user", "content": "I like tea."},
	}
	eachTransport(t, func(t *testing.T, open func() *mcpclient.Client, restart func()) {
		c := open()
		call(t, c, "memory_create_brain", object{"name": "notes"})
		r := call(t, c, "memory_extract", object{"messages": messages, "session_id": "s/1", "actor_id": "ana"})
		session := into[struct {
			Mode     string
			Messages []object
		}](t, r)
		if session.Mode != "session" || len(session.Messages) != 3 || session.Messages[2]["content"] != "I like tea." ||
			session.Messages[0]["session_id"] != "s/1" || r.Text != "Added 3 messages to session s/1" {
			t.Errorf("got %s", r.Structured)
		}
		if _, echoed := session.Messages[0]["metadata"]; echoed {
			t.Errorf("metadata is echoed: %v", session.Messages[0])
		}
		call(t, c, "memory_remember", object{"content": "# Places\n\nAna works in Oslo."})
		call(t, c, "memory_remember", object{"content": "# Tools\n\nBen works with wood."})
		r = call(t, c, "memory_recall", object{"query": "Where does she work?", "session_id": "s/1", "top_k": 1})
		recalled := into[struct{ Chunks []object }](t, r)
		if len(recalled.Chunks) != 1 || !strings.HasPrefix(r.Text, "#1 score=") ||
			!strings.Contains(recalled.Chunks[0]["text"].(string), "Oslo") {
			t.Errorf("recalled %s", r.Structured)
		}
		r = call(t, c, "memory_extract", object{"messages": messages, "actor_id": "ana"})
		transcript := into[struct {
			Mode     string
			Document object
		}](t, r)
		if transcript.Mode != "transcript" || transcript.Document["source"] != "extract" ||
			transcript.Document["metadata"].(object)["actor_id"] != "ana" {
			t.Errorf("got %s", r.Structured)
		}
		restart()
		c = open()
		// Of documents with the same text, the search returns one: the title decides which.
		hits := into[found](t, call(t, c, "memory_search", object{"query": "hate transcript"})).Hits
		content := ""
		for _, h := range hits {
			if h.DocumentID == transcript.Document["id"] {
				content = h.Content
			}
		}
		if !strings.Contains(content, "**assistant**:\n> Noted.\n> **user**:\n> I hate tea.\n") {
			t.Errorf("the transcript is %q", content)
		}
	})
}

func TestReflectAndConsolidate(t *testing.T) {
	messages := []object{
		{"role": "user", "content": "Please book a table for Friday."},
		{"role": "assistant", "content": "Done: the table is booked for Friday at eight."},
		{"role": "user", "content": "Great, thank you, that worked."},
	}
	eachTransport(t, func(t *testing.T, open func() *mcpclient.Client, restart func()) {
		c := open()
		call(t, c, "memory_create_brain", object{"name": "notes"})
		call(t, c, "memory_extract", object{"messages": messages, "session_id": "s"})
		var first string
		for i := range 3 {
			r := call(t, c, "memory_reflect", object{"session_id": "s"})
			got := into[struct {
				ReflectionStatus    string `json:"reflection_status"`
				ReflectionAttempted *bool  `json:"reflection_attempted"`
				EndedAt             string `json:"ended_at"`
				Reflection          struct {
					Outcome string
					Record  bool `json:"should_record_episode"`
					Path    string
				}
			}](t, r)
			if got.ReflectionStatus != "completed" || got.ReflectionAttempted == nil || got.EndedAt == "" || got.Reflection.Outcome == "" {
				t.Errorf("reflected %s", r.Structured)
			}
			for _, want := range []string{
				"outcome: " + got.Reflection.Outcome, fmt.Sprintf("record episode: %t", got.Reflection.Record),
				"path: " + got.Reflection.Path, "ended at: " + got.EndedAt,
			} {
				if !strings.Contains(r.Text, want) {
					t.Errorf("the text lacks %q: %q", want, r.Text)
				}
			}
			if i == 0 {
				first = got.EndedAt
			}
			if got.EndedAt != first {
				t.Errorf("ended at %s, before at %s", got.EndedAt, first)
			}
			if i == 1 {
				restart()
				c = open()
			}
		}
		r := call(t, c, "memory_extract", object{"messages": messages, "session_id": "s"})
		if r.Failure == nil || r.Failure.Code != "conflict" {
			t.Errorf("an ended session accepts messages: %+v", r.Failure)
		}
		for range 2 {
			r = call(t, c, "memory_consolidate", nil)
			got := into[struct{ Result map[string]any }](t, r)
			if got.Result["compiled"] == nil || got.Result["dry_run"] != false || !strings.HasPrefix(r.Text, "Compiled ") {
				t.Errorf("consolidated %s, %q", r.Structured, r.Text)
			}
		}
	})
}

func TestListsTheTools(t *testing.T) {
	url, _ := startDaemon(t, daemon.Config{})
	for transport := range transports {
		c := connect(t, transport, url)
		tools, err := c.Tools(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, tool := range tools {
			names = append(names, tool.Name)
			if tool.Description == "" || !strings.Contains(string(tool.InputSchema), `"additionalProperties":false`) ||
				!strings.Contains(string(tool.Annotations), `"title":"`) {
				t.Errorf("%s: %s", transport, tool)
			}
		}
		want := "memory_ask memory_consolidate memory_create_brain memory_extract memory_ingest_file memory_ingest_url " +
			"memory_list_brains memory_recall memory_reflect memory_remember memory_search"
		if got := strings.Join(names, " "); got != want {
			t.Errorf("%s lists %s", transport, got)
		}
		if _, err := c.Call(t.Context(), "memory_forget", nil, nil); err == nil {
			t.Errorf("%s has a tool memory_forget", transport)
		}
		if r := call(t, c, "memory_search", object{"query": strings.Repeat("é", 4097)}); r.Failure == nil ||
			r.Failure.Code != "validation_error" || r.Failure.Message != "query has 4097 characters, the limit is 4096" {
			t.Errorf("%s: %+v", transport, r)
		}
	}
}
