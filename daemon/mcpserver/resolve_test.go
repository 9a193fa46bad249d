package mcpserver_test

import (
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"evalctl/daemon"
)

// strangeBrains are brains of a foreign daemon. Only their ids lead to them.
const strangeBrains = `{"items":[
	{"id":"0AF3-77C1","slug":"notes","name":"Kitchen notes"},
	{"id":"a/b?c#d%2F..","slug":"odd","name":"Odd"},
	{"id":"..","slug":"dots","name":"Dots"},
	{"id":"Zoë 1","slug":"zoe","name":"Odd 2"},
	{"id":"T1","slug":"twin-1","name":"Twin"},{"id":"T2","slug":"twin-2","name":"Twin"},
	{"id":"Boat","slug":"boat-1","name":"Ship"},{"id":"S1","slug":"ship","name":"Boat"},
	{"id":"p1","slug":"p1-slug","name":"plain"},
	{"id":"","slug":"nothing","name":"No id"}]}`

// TestBrainArguments names brains by ids, slugs and names, and reads the paths of the requests.
func TestBrainArguments(t *testing.T) {
	for _, list := range []bool{true, false} {
		var paths []string
		url := stub(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			if r.URL.Path == "/v1/brains" && list {
				fmt.Fprint(w, strangeBrains)
				return
			}
			path := strings.TrimSuffix(r.RequestURI, "/search")
			paths = append(paths, path)
			known := []string{"0AF3-77C1", "a%2Fb%3Fc%23d%252F..", "%2E%2E", "Zo%C3%AB%201", "T1", "T2", "Boat", "S1", "p1", "UNLISTED"}
			switch id := strings.TrimPrefix(path, "/v1/brains/"); {
			case slices.Contains(known, id):
				fmt.Fprint(w, `{"chunks":[]}`)
			case id == "BAD":
				http.Error(w, "bad id", http.StatusBadRequest)
			default:
				http.Error(w, "what?", http.StatusNotFound)
			}
		}))
		c := local(t, newForeignServer(t, url, ""))
		for _, tt := range []struct{ brain, found, code string }{
			{"0AF3-77C1", "0AF3-77C1", ""},
			{"Kitchen notes", "0AF3-77C1", ""},
			{"notes", "0AF3-77C1", ""},
			{"a/b?c#d%2F..", "a%2Fb%3Fc%23d%252F..", ""},
			{"Odd", "a%2Fb%3Fc%23d%252F..", ""},
			{"..", "%2E%2E", ""},
			{"Dots", "%2E%2E", ""},
			{"Zoë 1", "Zo%C3%AB%201", ""},
			{"Boat", "Boat", ""}, // an id comes before a name
			{"ship", "S1", ""},   // and a slug
			{"plain", "p1", ""},
			{"UNLISTED", "UNLISTED", ""},
			{"Twin", "", "no_brain"},
			{"No id", "", "no_brain"},
			{"nothing", "", "no_brain"},
			{"BAD", "", "no_brain"},
			{"Kitchen Notes", "", "no_brain"},
			{"other", "", "no_brain"},
		} {
			isID := tt.found == "" || strings.Contains(tt.brain, "..") || tt.brain == tt.found || tt.brain == "Zoë 1"
			if !list && !isID {
				continue // nothing leads from it to the brain
			}
			paths = nil
			r := call(t, c, "memory_search", object{"query": "x", "brain": tt.brain})
			if tt.code != "" {
				if r.Failure == nil || list && r.Failure.Code != tt.code {
					t.Errorf("%q, list %t: %+v", tt.brain, list, r.Failure)
				}
				continue
			}
			if r.Failure != nil || len(paths) == 0 || paths[len(paths)-1] != "/v1/brains/"+tt.found {
				t.Errorf("%q, list %t: %+v, requests to %s", tt.brain, list, r.Failure, paths)
			}
		}
	}
}

// TestBrainNamesOfTheDaemon names brains of the reference daemon by their names.
func TestBrainNamesOfTheDaemon(t *testing.T) {
	url, _ := startDaemon(t, daemon.Config{})
	c := connect(t, "http", url)
	for _, name := range []string{"Anna's Notes", "plans"} {
		if r := call(t, c, "memory_create_brain", object{"name": name, "slug": "s-" + name[:1]}); name == "plans" && r.Failure != nil {
			t.Fatal(r.Failure)
		}
	}
	call(t, c, "memory_create_brain", object{"name": "Anna's Notes"})
	for brain, code := range map[string]string{"Anna's Notes": "", "plans": "", "No Such Brain": "no_brain", "UPPER": "no_brain", "a/../b": "no_brain"} {
		r := call(t, c, "memory_search", object{"query": "x", "brain": brain})
		if code == "" && r.Failure != nil || code != "" && (r.Failure == nil || r.Failure.Code != code) {
			t.Errorf("%s: %+v", brain, r.Failure)
		}
	}
}

// TestForeignIDs uses ids that no brain, session or document of the reference daemon could have.
func TestForeignIDs(t *testing.T) {
	session := "Sess/ion #1 " + strings.Repeat("ü", 300)
	var uris []string
	url := stub(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		uris = append(uris, r.RequestURI)
		body, _ := io.ReadAll(r.Body)
		w.Header().Set("Content-Type", "application/json")
		switch {
		case r.URL.Path == "/v1/brains":
			fmt.Fprint(w, `{"items":[{"id":"Brain 1","slug":"x","name":"X"}]}`)
		case strings.HasSuffix(r.URL.Path, "/batch"):
			fmt.Fprintf(w, `{"messages":[{"id":"M\n1","session_id":"?","role":"user","content":%q,"created_at":""}]}`, body)
		case strings.HasSuffix(r.URL.Path, "/recall"):
			fmt.Fprint(w, `{"chunks":[{"chunk_id":"C 1","document_id":"../D","path":"p","score":1,"text":"t"}]}`)
		default:
			fmt.Fprint(w, `{"reflection_status":"no_result","session_id":"S"}`)
		}
	}))
	c := local(t, newForeignServer(t, url, "Brain 1"))
	for tool, args := range map[string]object{
		"memory_recall":  {"query": "x", "session_id": session},
		"memory_reflect": {"session_id": session},
		"memory_extract": {"session_id": session, "messages": []object{{"role": "user", "content": "x"}}},
	} {
		uris = nil
		r := call(t, c, tool, args)
		last := append(uris, "none")[max(0, len(uris)-1)]
		if r.Failure != nil || !strings.HasPrefix(last, "/v1/brains/Brain%201/sessions/Sess%2Fion%20%231%20%C3%BC") {
			t.Errorf("%s: %+v, request to %.80s", tool, r.Failure, last)
		}
		if tool == "memory_recall" && !strings.Contains(string(r.Structured), `"chunk_id":"C 1","document_id":"../D"`) {
			t.Errorf("%s: %s", tool, r.Structured)
		}
		args["session_id"] = strings.Repeat("x", 10_000)
		if r := call(t, c, tool, args); r.Failure == nil || r.Failure.Code != "validation_error" {
			t.Errorf("%s, long id: %+v", tool, r.Failure)
		}
	}
}
