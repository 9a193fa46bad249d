package mcpserver_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
)

// writable gives a foreign daemon the endpoints that every daemon has. It returns the documents.
func writable(f *foreign) map[string]string {
	docs := map[string]string{"notes/taken.md": "Tea."}
	f.mux.HandleFunc("PUT /v1/brains/b-1/documents", func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		docs[r.URL.Query().Get("path")] = string(body)
		w.WriteHeader(http.StatusNoContent)
	})
	f.mux.HandleFunc("HEAD /v1/brains/b-1/documents", func(w http.ResponseWriter, r *http.Request) {
		if _, ok := docs[r.URL.Query().Get("path")]; !ok {
			w.WriteHeader(http.StatusNotFound)
		}
	})
	return docs
}

// written is what a tool returns about a document that it wrote.
type written struct {
	ID, Path, Title string
	BrainID         string `json:"brain_id"`
	ByteSize        int    `json:"byte_size"`
	Fallback        *fallback
}

type fallback struct {
	Request   string
	InsteadOf string `json:"instead_of"`
	Status    int
}

func decoded[T any](t *testing.T, data []byte) (v T) {
	t.Helper()
	if err := json.Unmarshal(data, &v); err != nil {
		t.Fatalf("%s: %v", data, err)
	}
	return v
}

// TestRememberWrites remembers at a daemon that can only write documents to paths.
func TestRememberWrites(t *testing.T) {
	for _, status := range []int{404, 405, 501} {
		f, endpoint := newForeign(t)
		f.status = status
		docs := writable(f)
		c := local(t, newForeignServer(t, endpoint, ""))
		for i, tt := range []struct {
			args                  object
			path, title, contains string
		}{
			{object{"content": "# Green Tea!\n\nIt is green.\n"}, "raw/documents/green-tea-*.md", "Green Tea!", "# Green Tea!\n\nIt is green.\n"},
			{object{"content": "Plain.", "title": "Ünï cödé", "tags": []string{"a", "b c"}}, "raw/documents/n-c-d-*.md", "Ünï cödé", "---\ntitle: Ünï cödé\ntags: a,b c\n---\nPlain."},
			{object{"content": "Plain.", "title": "茶"}, "raw/documents/note-*.md", "茶", "title: 茶\n---\nPlain."},
			{object{"content": "Plain.", "path": "memory/global/x y#z.md"}, "memory/global/x y#z.md", "x y#z.md", "Plain."},
			{object{"content": "---\ntags: z\n---\nPlain.", "path": "tags.md", "tags": []string{"w"}}, "tags.md", "tags.md", "tags: z,w\n---\nPlain."},
			{object{"content": "{}", "path": "data.json"}, "data.json", "data.json", "{}"},
		} {
			r := call(t, c, "memory_remember", tt.args)
			if r.Failure != nil {
				t.Fatalf("%d, %d: %+v", status, i, r.Failure)
			}
			got := decoded[written](t, r.Structured)
			begin, end, _ := strings.Cut(tt.path, "*")
			text := docs[got.Path]
			if !strings.HasPrefix(got.Path, begin) || !strings.HasSuffix(got.Path, end) || got.Title != tt.title ||
				!strings.Contains(text, tt.contains) || got.ByteSize != len(text) || got.BrainID != "b-1" || got.ID != "" {
				t.Errorf("%d, %d: %s, wrote %q", status, i, r.Structured, text)
			}
			if want := (fallback{"PUT /v1/brains/b-1/documents", "POST /v1/brains/b-1/documents", status}); got.Fallback == nil || *got.Fallback != want {
				t.Errorf("%d, %d: ran %+v", status, i, got.Fallback)
			}
			if !strings.Contains(r.Text, "PUT") || !strings.Contains(r.Text, got.Path) {
				t.Errorf("text %q", r.Text)
			}
		}
		n := len(docs)
		for code, args := range map[string]object{
			"conflict":          {"content": "Coffee.", "path": "notes/taken.md"},
			"validation_error":  {"content": "{}", "path": "data2.json", "title": "No front matter"},
			"payload_too_large": {"content": strings.Repeat("x", 2<<20+1)},
			"no_brain":          {"content": "x", "brain": "other"},
		} {
			if r := call(t, c, "memory_remember", args); r.Failure == nil || r.Failure.Code != code {
				t.Errorf("%d, want %s: %+v", status, code, r.Failure)
			}
		}
		if len(docs) != n || docs["notes/taken.md"] != "Tea." {
			t.Errorf("%d: a rejected call has written: %v", status, docs)
		}
	}
}

// TestWritesOnlyWithoutEndpoint: other failures are the failure of the call.
func TestWritesOnlyWithoutEndpoint(t *testing.T) {
	messages := []object{{"role": "user", "content": "one"}}
	for _, tt := range []struct {
		status     int
		body, code string
	}{
		{400, `{"code":"validation_error"}`, "validation_error"},
		{401, `no`, "unauthorized"},
		{409, `{}`, "conflict"},
		{500, `{}`, "internal_error"},
		{503, `{}`, "internal_error"},
	} {
		f, endpoint := newForeign(t)
		docs := writable(f)
		fail := func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(tt.status)
			fmt.Fprint(w, tt.body)
		}
		f.mux.HandleFunc("POST /v1/brains/b-1/documents", fail)
		f.mux.HandleFunc("POST /v1/brains/b-1/sessions/", fail)
		c := local(t, newForeignServer(t, endpoint, "b-1"))
		for _, args := range []object{{"messages": messages}, {"messages": messages, "session_id": "s"}} {
			if r := call(t, c, "memory_extract", args); r.Failure == nil || r.Failure.Code != tt.code {
				t.Errorf("%d: %+v", tt.status, r)
			}
		}
		if r := call(t, c, "memory_remember", object{"content": "x"}); r.Failure == nil || r.Failure.Code != tt.code {
			t.Errorf("%d: %+v", tt.status, r)
		}
		if len(docs) != 1 {
			t.Errorf("%d: wrote %v", tt.status, docs)
		}
	}
	// A session that must be created before is not a missing endpoint.
	for _, body := range []string{`{"code":"not_found","detail":"session s does not exist"}`, `{"error":"x","code":"session_not_found"}`, `unknown session`} {
		f, endpoint := newForeign(t)
		docs := writable(f)
		f.mux.HandleFunc("POST /v1/brains/b-1/sessions/", func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusNotFound)
			fmt.Fprint(w, body)
		})
		c := local(t, newForeignServer(t, endpoint, "b-1"))
		if r := call(t, c, "memory_extract", object{"messages": messages, "session_id": "s"}); r.Failure == nil || len(docs) != 1 {
			t.Errorf("%s: %+v, wrote %v", body, r, docs)
		}
	}
	f, endpoint := newForeign(t)
	c := local(t, newForeignServer(t, endpoint, "b-1"))
	if r := call(t, c, "memory_remember", object{"content": "x"}); r.Failure == nil || r.Failure.Code != "not_implemented" {
		t.Errorf("nothing can be written: %+v, requests %s", r, f.requests)
	}
}

// TestExtractWrites gives transcripts to daemons that lack sessions, and to one that can only
// write.
func TestExtractWrites(t *testing.T) {
	messages := []object{{"role": "user", "content": "My kettle is green."}, {"role": "assistant", "content": "Noted."}}
	type extracted struct {
		Mode     string
		Document written
		Fallback *fallback
	}
	for _, session := range []string{"", "s/1"} {
		for _, creates := range []bool{true, false} {
			f, endpoint := newForeign(t)
			docs := writable(f)
			if creates {
				f.answer("POST /v1/brains/b-1/documents", `{"id":"D 1","path":"t.md","brainId":"b-1"}`)
			}
			c := local(t, newForeignServer(t, endpoint, "Notes"))
			args := object{"messages": messages, "actor_id": "ana"}
			if session != "" {
				args["session_id"] = session
			}
			r := call(t, c, "memory_extract", args)
			if r.Failure != nil {
				t.Fatal(r.Failure)
			}
			got := decoded[extracted](t, r.Structured)
			if got.Mode != "transcript" || (got.Fallback != nil) != (session != "") || (got.Document.Fallback != nil) == creates {
				t.Errorf("session %q, creates %t: %s", session, creates, r.Structured)
			}
			ran := "PUT /v1/brains/b-1/documents"
			if creates {
				ran = "POST /v1/brains/b-1/documents"
			}
			want := fallback{ran, "POST /v1/brains/b-1/sessions/" + url.PathEscape(session) + "/messages", 404}
			if got.Fallback != nil && *got.Fallback != want {
				t.Errorf("session %q, creates %t: ran %+v", session, creates, got.Fallback)
			}
			sent := strings.Join(f.requests, "\n") // the content of a document, in JSON or as it is
			if session != "" && !strings.Contains(sent, "session_id") || !strings.Contains(sent, "My kettle is green.") || !strings.Contains(sent, "ana") {
				t.Errorf("session %q, creates %t: requests %s", session, creates, sent)
			}
			if puts := slices.ContainsFunc(f.requests, func(s string) bool { return strings.HasPrefix(s, "PUT ") }); puts == creates || len(docs) == 2 == creates {
				t.Errorf("session %q, creates %t: requests %s", session, creates, sent)
			}
		}
	}
}
