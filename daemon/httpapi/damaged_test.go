package httpapi

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"evalctl/daemon/brain"
	"evalctl/daemon/protocol"
	"evalctl/daemon/store"
)

// damagedCatalog also has damaged brains, of which only some owners are known.
type damagedCatalog struct {
	brain.MemoryCatalog
	owners map[string]string // by id
}

func (c *damagedCatalog) Load(context.Context) ([]brain.Record, error) {
	var records []brain.Record
	for id, owner := range c.owners {
		records = append(records, brain.Record{
			Brain: protocol.Brain{ID: id}, Tenant: owner,
			Damage: store.Damaged(nil, "brain %s is damaged: restore it", id),
		})
	}
	return records, nil
}

// TestWhoLearnsOfDamage: that a brain is damaged is not revealed to keys that may not use it.
func TestWhoLearnsOfDamage(t *testing.T) {
	catalog := &damagedCatalog{owners: map[string]string{"mine": "", "ours": "acme", "lost": ""}}
	s := startConfig(t, brain.Config{Catalog: catalog}, fakeReader(), keysOf(t, testKeys))
	for _, tt := range []struct {
		key, brain string
		status     int
	}{
		{"reader", "ours", 503}, {"other", "ours", 403}, {"listed", "ours", 403},
		{"listed", "mine", 503}, {"reader", "mine", 403}, // named on the key
		{"admin", "lost", 503}, {"other", "lost", 503}, {"writer", "lost", 403}, {"listed", "lost", 403},
	} {
		for _, path := range []string{"", "/documents?dir=", "/search?q=x"} {
			got := s.expect(t, tt.status, http.MethodGet, "/v1/brains/"+tt.brain+path, "", as(tt.key)...)
			if strings.Contains(got, "is damaged: restore it") != (tt.status == 503) {
				t.Errorf("%s of %s: %s", tt.key, tt.brain, got)
			}
		}
	}
	if got := s.expect(t, 200, http.MethodGet, "/v1/brains", "", as("admin")...); !strings.Contains(got, `"items":[]`) {
		t.Errorf("listed: %s", got)
	}
}

// TestDamagedSession: a session whose files were damaged on disk says what to do, on each endpoint.
func TestDamagedSession(t *testing.T) {
	s := startFake(t)
	s.expect(t, 201, "POST", trip+"/messages", `{"role":"user","content":"We decided to buy the blue kettle."}`)
	const state, messages = "sessions/trip/_session.json", "sessions/trip/_messages-0001.jsonl"
	st := s.store(t)
	whole, err := st.Read(t.Context(), messages)
	if err != nil {
		t.Fatal(err)
	}
	damage := func(path, text, remedy string, requests ...string) {
		t.Helper()
		if err := st.Write(t.Context(), path, []byte(text)); err != nil {
			t.Fatal(err)
		}
		for _, request := range requests {
			method, rest, _ := strings.Cut(request, " ")
			endpoint, body, _ := strings.Cut(rest, " ")
			got := s.expect(t, 503, method, trip+endpoint, body)
			if !strings.Contains(got, remedy) || !strings.Contains(got, path) || !strings.Contains(got, protocol.CodeBrainUnavailable) {
				t.Errorf("%s: %s", request, got)
			}
		}
	}
	recall, reflect := `POST /recall {"query":"kettle"}`, "POST /reflect"
	damage(messages, "secret\n", "restore the file from a backup", recall, reflect)
	if got := s.expect(t, 503, "POST", trip+"/reflect", ""); strings.Contains(got, "invalid character") {
		t.Errorf("the response has content of the file: %s", got)
	}
	damage(messages, string(whole), "")
	for _, text := range []string{"{", `{"version":0}`, `{"version":1,"id":"other"}`} {
		damage(state, text, "its folder", `POST /messages {"role":"user","content":"x"}`, "GET  ", recall, reflect)
	}
	s.expect(t, 204, "DELETE", "/v1/brains/eval/documents?path="+state, "")
	s.expect(t, 404, "GET", trip, "")
}

// TestOwnFiles: clients cannot damage what the daemon relies on.
func TestOwnFiles(t *testing.T) {
	s := startFake(t)
	s.expect(t, 201, "POST", trip+"/messages", `{"role":"user","content":"x"}`)
	s.put(t, "a.md", "x")
	const documents = "/v1/brains/eval/documents"
	bytes, object := []string{"Content-Type", "application/octet-stream"}, []string{"Content-Type", "application/json"}
	for _, path := range []string{
		"sessions/trip/_session.json", "sessions/trip/_messages-0001.jsonl", "sessions/new/_session.json/x.md",
		"jobs/_x.json", "originals/a/_x.json", "memory/consolidations/_state.json",
	} {
		for _, got := range []string{
			s.expect(t, 400, "PUT", documents+"?path="+path, "{", bytes...),
			s.expect(t, 400, "POST", documents+"/append?path="+path, "{", bytes...),
			s.expect(t, 400, "POST", documents+"/rename", `{"from":"a.md","to":"`+path+`"}`, object...),
			s.expect(t, 400, "POST", documents+"/batch-ops", `{"ops":[{"type":"write","path":"`+path+`","content_base64":"eA=="}]}`, object...),
			s.expect(t, 400, "POST", documents+"/batch-ops", `{"ops":[{"type":"append","path":"`+path+`","content_base64":"eA=="}]}`, object...),
			s.expect(t, 400, "POST", documents+"/batch-ops", `{"ops":[{"type":"rename","path":"a.md","to":"`+path+`"}]}`, object...),
		} {
			if !strings.Contains(got, "is a file of the daemon's own") {
				t.Errorf("%s: %s", path, got)
			}
		}
	}
	if got := s.expect(t, 400, "POST", records, `{"title":"x","content":"x","path":"sessions/new/_session.json/x.md"}`, object...); !strings.Contains(got, "daemon's own") {
		t.Error(got)
	}
	s.expect(t, 201, "POST", trip+"/messages", `{"role":"user","content":"y"}`)
	for _, path := range []string{"sessions/notes.md", "_x.md", "notes/_log.md", "jobs.md/_x"} {
		s.expect(t, 204, "PUT", documents+"?path="+path, "x", bytes...)
	}
}
