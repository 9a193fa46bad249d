package mapping

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"evalctl/daemon/mcpclient"
	"evalctl/harness/dataset"
	"evalctl/harness/launch"
)

// examined starts the stub, or reaches the description at a URL.
func examined(t *testing.T, flaw, url string, env ...string) *Subject {
	t.Helper()
	dir := t.TempDir()
	profile := stubProfile(flaw)
	profile.Env = env
	c := Config{URL: url, Profile: profile, Launch: launch.Options{Watchdog: watchdog, Home: filepath.Join(dir, "home"), LogPath: filepath.Join(dir, "log")}}
	if err := os.Mkdir(c.Launch.Home, 0o700); err != nil {
		t.Fatal(err)
	}
	s, err := Examine(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// proposed returns the mapping that is proposed, and what was shown.
func proposed(t *testing.T, s *Subject) (text, shown string) {
	t.Helper()
	var b strings.Builder
	p, err := s.Propose(t.Context(), "zqmark", &b)
	if err != nil {
		t.Fatalf("%v\n%s", err, b.String())
	}
	data, err := p.Mapping()
	if err != nil {
		t.Fatalf("%v\n%s", err, data)
	}
	return string(data), b.String()
}

// TestPropose checks that a proposal, which is made from names, schemas and replies alone, works.
func TestPropose(t *testing.T) {
	t.Parallel()
	paths := []string{"a/ada.md", "bob.md"}
	// The calls that are shown.
	calls := map[string][]string{"copied": {"remember\n  call   create_entities {", "search\n  call   search_nodes {"}}
	for flaw, want := range map[string][]string{ // of what is found
		"none": paths, "own ids": paths, "number ids": paths, "structured": paths, "noisy": paths, "no ids": {"", ""}, "plain text": {"", ""}, "echoes": paths, "copied": paths,
	} {
		t.Run(flaw, func(t *testing.T) {
			s := examined(t, flaw, "", "HOME_DIR={home}")
			text, shown := proposed(t, s)
			parts := calls[flaw]
			if parts == nil {
				parts = []string{"remember\n  call   add {", "search\n  call   find {"}
			}
			for _, part := range parts {
				if !strings.Contains(shown, part) {
					t.Errorf("%q was not shown:\n%s", part, shown)
				}
			}
			if data, err := os.ReadFile(filepath.Join(s.cfg.Launch.Home, "notes.json")); err != nil || strings.Contains(string(data), "zqmark") {
				t.Errorf("left behind: %s, %v", data, err)
			}
			m := parsed(t, text)
			if m.Query != Words || m.Brains != PerProcess {
				t.Errorf("query %s, brains %s", m.Query, m.Brains)
			}
			used := mustOpenStub(t, flaw, text)
			st := create(t, used, "b")
			if err := st.Write(t.Context(), "b", corpus, 1); err != nil {
				t.Fatal(err)
			}
			got, err := st.Search(t.Context(), "b", "lisbon", 5)
			if err != nil || len(got) != len(want) {
				t.Fatalf("found %v, %v with\n%s", got, err, text)
			}
			for i, path := range want {
				if got[i].Path != path || !strings.Contains(got[i].Text, "Lisbon") {
					t.Errorf("found %+v with\n%s", got[i], text)
				}
			}
			if got, err := st.Search(t.Context(), "b", "nowhere", 5); err != nil || len(got) != 0 {
				t.Errorf("nothing is found as %v, %v with\n%s", got, err, text)
			}
		})
	}
}

// TestProposeNearest has a server that finds something for every query as long as it has texts: its
// reply without results is learned once the samples are deleted.
func TestProposeNearest(t *testing.T) {
	t.Parallel()
	text, _ := proposed(t, examined(t, "nearest", "", "HOME_DIR={home}"))
	if !strings.Contains(text, "none: ^No results for") {
		t.Error(text)
	}
}

// TestProposeOneStore has a server whose processes share a store: brains cannot be kept apart.
func TestProposeOneStore(t *testing.T) {
	t.Parallel()
	text, _ := proposed(t, examined(t, "none", "", "HOME_DIR="+t.TempDir()))
	if m := parsed(t, text); m.Brains != One || !strings.Contains(text, "# a second process with another home finds") {
		t.Error(text)
	}
}

// TestProposeHTTP checks a proposal for a service over HTTP, which is described by OpenAPI, wants a
// header in all requests, and needs a call after writes.
func TestProposeHTTP(t *testing.T) {
	t.Parallel()
	service := &memo{texts: map[string]string{}}
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.Header.Get("X-User") != "evalctl":
			w.WriteHeader(http.StatusUnauthorized)
			return
		case r.URL.Path == "/openapi.json":
			_, _ = w.Write([]byte(memoDescription))
			return
		}
		service.ServeHTTP(w, r)
	}))
	defer web.Close()
	headers, err := ParseHeaders([]string{"X-User: {env:MEMO_USER}"})
	if err != nil {
		t.Fatal(err)
	}
	c := Config{URL: web.URL + "/openapi.json", Headers: headers}
	if _, err := Examine(t.Context(), c); err == nil || !strings.Contains(err.Error(), "needs the environment variable MEMO_USER") {
		t.Fatal(err)
	}
	c.Env = func(name string) string { return map[string]string{"MEMO_USER": "evalctl"}[name] }
	subject, err := Examine(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	defer subject.Close()
	text, shown := proposed(t, subject)
	for _, part := range []string{
		"transport: http", "headers:\n    X-User: '{env:MEMO_USER}'\n", "path: /add\n", "body: {memories: [{content: '{text}'}]}", "finish:\n    path: /index\n", "path: /search\n",
		"columns: true", "text: '$.documents[0][*]'", "update:\n    method: PUT\n    path: /notes/{id}\n",
	} {
		if !strings.Contains(text, part) {
			t.Errorf("%q is missing in\n%s\n%s", part, text, shown)
		}
	}
	s, err := Open(t.Context(), Config{Mapping: parsed(t, text), URL: web.URL, Env: c.Env})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	st := create(t, s, "b")
	if err := st.Write(t.Context(), "b", []dataset.Doc{{Path: "x.md", Data: []byte("A lighthouse.")}}, 1); err != nil {
		t.Fatal(err)
	}
	if got, err := st.Search(t.Context(), "b", "lighthouse", 5); err != nil || len(got) != 1 || got[0].Path != "x.md" {
		t.Errorf("%v, %v", got, err)
	}
}

const memoDescription = `{"openapi": "3.1.0", "info": {"title": "Memo Service"}, "paths": {
	"/add": {"post": {"operationId": "add_memories", "requestBody": {"content": {"application/json": {"schema": {"$ref": "#/components/schemas/New"}}}}}},
	"/index": {"post": {"operationId": "index"}, "parameters": []},
	"/search": {"post": {"operationId": "search", "requestBody": {"content": {"application/json": {"schema": {"type": "object",
		"required": ["q", "offset"], "properties": {"q": {"anyOf": [{"type": "null"}, {"type": "string"}]}, "offset": {"type": "integer", "default": 0}}}}}}}},
	"/notes/{note_id}": {"put": {"operationId": "update_note", "parameters": [{"name": "note_id", "in": "path", "required": true, "schema": {"type": "string"}}],
		"requestBody": {"content": {"application/json": {"schema": {"type": "object", "required": ["content"], "properties": {"content": {"type": "string"}}}}}}}}},
	"components": {"schemas": {
		"New": {"type": "object", "required": ["memories"], "properties": {"memories": {"type": "array", "items": {"$ref": "#/components/schemas/Memory"}}}},
		"Memory": {"type": "object", "required": ["content"], "properties": {"content": {"type": "string"}, "children": {"type": "array", "items": {"$ref": "#/components/schemas/Memory"}}}}}}}`

// TestArguments checks how arguments are filled by their names and schemas.
func TestArguments(t *testing.T) {
	fill := filler{
		roles: []role{textRole, nameRole}, required: []role{anyTitleRole, nameRole, dateRole, spaceRole}, must: "{text}",
	}
	for schema, want := range map[string]string{
		`{"type":"object","properties":{"content":{"type":"string"},"key":{"type":"string"}}}`:                                                                                    "{content: '{text}', key: '{name}'}",
		`{"properties":{"content":{"type":["string","null"]}}}`:                                                                                                                   "{content: '{text}'}",
		`{"type":"object","required":["x"],"properties":{"x":{"type":"string"}}}`:                                                                                                 "{x: '{text}'}",
		`{"type":"object","required":["title","content","kind"],"properties":{"title":{"type":"string"},"content":{"type":"string"},"kind":{"enum":["event","fact"]}}}`:           "{content: '{text}', kind: fact, title: 'Document {name}'}",
		`{"type":"object","required":["documents","ids"],"properties":{"documents":{"type":"array","items":{"type":"string"}},"ids":{"type":"array","items":{"type":"string"}}}}`: "{documents: ['{text}'], ids: ['{name}']}",
		`{"type":"object","required":["entities"],"properties":{"entities":{"type":"array","items":{"$ref":"#/$defs/E"}}},"$defs":{"E":{"type":"object","required":["name","observations"],"properties":{"name":{"type":"string"},"observations":{"type":"array","items":{"type":"string"}}}}}}`: "{entities: [{name: '{name}', observations: ['{text}']}]}",
		`{"type":"object","required":["messages"],"properties":{"messages":{"type":"array","items":{"type":"object","required":["role","content"],"properties":{"role":{"type":"string"},"content":{"type":"string"}}}}}}`:                                                                       "{messages: [{content: '{text}', role: user}]}",
		`{"type":"object","required":["body"],"properties":{"body":{"type":"array","items":{"type":"object"}}}}`:                                                                                                                                                                                 "{body: [{id: '{name}', text: '{text}'}]}",
		`{"type":"object","properties":{"city":{"type":"integer"}}}`: "",
	} {
		s, err := readSchema([]byte(schema))
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		if c := (&Call{&offer{name: "t"}, fill.arguments(s)}); c.Arguments != nil {
			got = flow(t, c.Arguments)
		}
		if got != want {
			t.Errorf("%s:\ngot  %s\nwant %s", schema, got, want)
		}
	}
}

// TestNumericIDs checks how an id that is a number is sent to arguments of other types.
func TestNumericIDs(t *testing.T) {
	id := idRole
	id.number = true
	for schema, want := range map[string]string{
		`{"type":"integer"}`: "{id}", `{"type":["string","number"]}`: "{id}", `{"type":"string"}`: "{name}", `{}`: "{id}",
		`{"type":"array","items":{"type":"integer"}}`: "{id}", `{"type":"array","items":{"type":"string"}}`: "{name}", `{"type":"object"}`: "<nil>",
	} {
		s, err := readSchema([]byte(schema))
		if err != nil {
			t.Fatal(err)
		}
		v, _ := id.value(s)
		if got := strings.Trim(fmt.Sprint(v), "[]"); got != want {
			t.Errorf("%s: got %s, want %s", schema, got, want)
		}
	}
}

// TestAmended checks that an error which lists the values of an argument is learned from.
func TestAmended(t *testing.T) {
	s, err := readSchema([]byte(`{"properties":{"type":{"type":"string"},"content":{"type":"string"},"scope":{"enum":["global"]}}}`))
	if err != nil {
		t.Fatal(err)
	}
	c := &Call{&offer{name: "t", schema: s}, map[string]any{"type": "evalctl", "content": "{text}"}}
	for message, want := range map[string]any{
		"t reports an error: type must be one of ('decision', 'note', 'task')": "note",
		`unknown type "evalctl", expected "a" or "b-c"`:                        "a",
		"content is too long":                 nil,
		"the database is locked":              nil,
		"scope: None is not of type 'string'": "global",
	} {
		var got any
		if amended := c.amended(message); amended != nil {
			if got = amended.Arguments["scope"]; got == nil {
				got = amended.Arguments["type"]
			}
		}
		if got != want {
			t.Errorf("%s: %v", message, got)
		}
	}
}

// TestIDSources checks where the replies to writes have ids.
func TestIDSources(t *testing.T) {
	samples := newSamples("zqmark")
	for reply, want := range map[string]string{
		`{"success":true,"id":"%c8d0c2a4-0000-4000-8000-000000000000","created":"2026-11-29T05:47:1%[1]cZ"}`: "$.id",
		`{"results":[{"memory_id":"m-%c"}]}`:         "$.results[*].memory_id",
		`Memory stored (hash: %caff00aff00aff00aff)`: `Memory stored \(hash: (?P<id>[^\s()\[\]{}"',;` + "`]+)",
		`{"success":true,"count":3}`:                 "",
		`Saved at 2026-11-29T05:47:1%c. Thank you.`:  "",
	} {
		var replies []callReply
		for i := range samples {
			replies = append(replies, callReply{texts: []string{strings.NewReplacer("%c", string(rune('1'+i)), "%[1]c", string(rune('1'+i))).Replace(reply)}})
		}
		got := ""
		if sources := idSources(replies, samples); len(sources) > 0 {
			got, _ = sources[0].reply["id"].(string)
			if got == "" {
				got, _ = sources[0].reply["pattern"].(string)
			}
		}
		if got != want {
			t.Errorf("%s:\ngot  %s\nwant %s", reply, got, want)
		}
	}
}

func TestProposeWithoutTools(t *testing.T) {
	s := &Subject{offers: offersOf([]mcpclient.Tool{{Name: "weather", InputSchema: []byte(`{"type":"object","properties":{"city":{"type":"string"}}}`)}})}
	_, err := s.Propose(t.Context(), "zqmark", &strings.Builder{})
	if err == nil || !strings.Contains(err.Error(), "no call of the service stores a text: weather") {
		t.Errorf("got %v", err)
	}
	if names := namesOf(ranked(offersOf([]mcpclient.Tool{{Name: "listAll", InputSchema: []byte(`{}`)}, {Name: "saveNote", InputSchema: []byte(`{}`)}, {Name: "addMemory", InputSchema: []byte(`{}`)}}), rememberWords)); !slices.Equal(names, []string{"addMemory", "saveNote"}) {
		t.Errorf("ranked %q", names)
	}
}

func TestParseHeaders(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		"X-User: ada": "", "Authorization: Bearer {env:KEY}": "", "Accept:": "",
		"ada": "is not a header", "a b: c": "is not a header", "X-Api-Key: sk-1": "has a secret", "X: {id}": "no placeholder is called {id}",
	} {
		if _, err := ParseHeaders([]string{line}); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", line, err)
		}
	}
}
