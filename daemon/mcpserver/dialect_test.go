package mcpserver

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"evalctl/daemon/client"
)

// translated sends a request through Translate to a handler.
func translated(t *testing.T, handler http.HandlerFunc) *client.Client {
	t.Helper()
	srv := httptest.NewServer(handler)
	t.Cleanup(srv.Close)
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	c, err := client.New(srv.URL, &client.Options{HTTPClient: &http.Client{Transport: Translate(transport)}})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestNames(t *testing.T) {
	for snakeName, camelName := range map[string]string{
		"top_k": "topK", "query": "query", "question_date": "questionDate", "rerank_top_n": "rerankTopN",
	} {
		if got := camel(snakeName); got != camelName {
			t.Errorf("camel(%s) is %s", snakeName, got)
		}
		if got := snake(camelName); got != snakeName {
			t.Errorf("snake(%s) is %s", camelName, got)
		}
		if got := snake(snakeName); got != snakeName {
			t.Errorf("snake(%s) is %s", snakeName, got)
		}
	}
	for given, want := range map[string]string{
		"DocumentID": "document_id", "chunkID": "chunk_id", "BrainId": "brain_id", "URL": "url", "URLPath": "url_path",
		"is_Dir": "is_dir", "bm25Rank": "bm25_rank",
	} {
		if got := snake(given); got != want {
			t.Errorf("snake(%s) is %s", given, got)
		}
	}
}

// dialects are the answers of other daemons to a search.
var dialects = map[string]string{
	"protocol": `{"query":"tea","brain_id":"b","chunks":[{"chunk_id":"c","document_id":"d","path":"p.md","score":0.5,"text":"Tea.","metadata":{"fooBar":1}}],"took_ms":3}`,
	"camel":    `{"chunks":[{"chunkId":"c","documentId":"d","path":"p.md","score":0.5,"text":"Tea.","metadata":{"fooBar":1}}],"tookMs":3}`,
	"summary":  `{"chunks":[{"chunkId":"c","documentId":"d","path":"p.md","score":0.5,"text":"","summary":"Tea.","metadata":{"fooBar":1}}],"tookMs":3}`,
	"hits":     `{"query":"tea","brain_id":"b","hits":[{"chunk_id":"c","document_id":"d","path":"p.md","score":0.5,"content":"Tea.","metadata":{"fooBar":1}}],"took_ms":3}`,
	"pascal":   `{"Chunks":[{"ChunkID":"c","DocumentID":"d","Path":"p.md","Score":0.5,"Text":"Tea.","Metadata":{"fooBar":1}}],"TookMs":3}`,
}

func TestSearchDialects(t *testing.T) {
	for name, answer := range dialects {
		var sent string
		c := translated(t, func(w http.ResponseWriter, r *http.Request) {
			data, _ := io.ReadAll(r.Body)
			sent = string(data)
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprint(w, answer)
		})
		s, err := New(Config{Client: c})
		if err != nil {
			t.Fatal(err)
		}
		r, err := search(t.Context(), call{Server: s, args: arguments{"query": "tea", "brain": "b"}})
		if err != nil {
			t.Fatal(err)
		}
		found := r.payload.(searchResult)
		if found.Query != "tea" || found.BrainID != "b" || found.TookMS != 3 || len(found.Hits) != 1 {
			t.Fatalf("%s: found %+v", name, found)
		}
		if h := found.Hits[0]; h.ChunkID != "c" || h.DocumentID != "d" || h.Content != "Tea." || h.Path != "p.md" || h.Metadata["fooBar"] == nil {
			t.Errorf("%s: hit is %+v", name, h)
		}
		if sent != `{"query":"tea"}` {
			t.Errorf("sent %s", sent)
		}
	}
}

func TestRequestHasBothDialects(t *testing.T) {
	var sent string
	c := translated(t, func(w http.ResponseWriter, r *http.Request) {
		data, _ := io.ReadAll(r.Body)
		sent = string(data)
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprint(w, "event: done\ndata: {\"answer\":\"\"}\n\n")
	})
	s, err := New(Config{Client: c})
	if err != nil {
		t.Fatal(err)
	}
	cl := call{Server: s, args: arguments{"query": "tea?", "brain": "b"}, progress: func(string) error { return nil }}
	if _, err := ask(t.Context(), cl); err != nil {
		t.Fatal(err)
	}
	if sent != `{"query":"tea?","question":"tea?"}` {
		t.Errorf("sent %s", sent)
	}
}

func TestAskDialects(t *testing.T) {
	for name, tc := range map[string]struct{ stream, answer, err string }{
		"protocol": {"event: retrieve\ndata: {\"chunks\":[]}\n\nevent: answer_delta\ndata: {\"delta\":\"Te\"}\n\nevent: answer_delta\ndata: {\"delta\":\"a\"}\n\nevent: done\ndata: {\"ok\":true,\"answer\":\"Tea\"}\n\n", "Tea", ""},
		"token":    {"event: retrieve\ndata: {\"chunks\":null,\"topK\":3}\n\nevent: token\ndata: {\"text\":\"Te\"}\n\nevent: token\ndata: {\"token\":\"a\"}\n\nevent: done\ndata: {\"ok\":true}\n\n", "Tea", ""},
		"content":  {"event: answer_delta\ndata: {\"content\":\"Te\"}\r\n\r\nevent:answer_delta\ndata:{\"text\":\"a\"}\n\nevent: done\ndata: {\"answer\":\"Tea!\"}\n\n", "Tea!", ""},
		"no ok":    {"event: token\ndata: {\"text\":\"Te\"}\n\nevent: token\ndata: {\"token\":\"a\"}\n\nevent: done\ndata: {}\n\n", "Tea", ""},
		"null ok":  {"event: token\ndata: {\"text\":\"Te\"}\n\nevent: token\ndata: {\"token\":\"a\"}\n\nevent: done\ndata: {\"ok\":null}\n\n", "Tea", ""},
		"not ok":   {"event: token\ndata: {\"text\":\"Te\"}\n\nevent: done\ndata: {\"ok\":false}\n\n", "", "bad_gateway"},
		"error":    {"event: token\ndata: {\"text\":\"Te\"}\n\nevent: error\ndata: {\"message\":\"model failed\"}\n\nevent: done\ndata: {\"ok\":true}\n\n", "", "internal_error: model failed"},
		"no text":  {"event: token\ndata: {}\n\n", "", "has no text"},
		"no JSON":  {"event: token\ndata: Te\n\nevent: retrieve\ndata: x\ndata: y\n\n", "", "event retrieve: "},
		"halves":   {"event: token\ndata: {\"text\":\"Te\\ud83d\"}\n\nevent: token\ndata: {\"text\":\"\\ude00a\"}\n\nevent: done\ndata: {\"ok\":true}\n\n", "Te😀a", ""},
		"half":     {"event: answer_delta\ndata: {\"delta\":\"Te\"}\n\nevent: token\ndata: {\"text\":\"a\\ud83d\"}\n\nevent: done\ndata: {\"ok\":true}\n\n", "Tea\ufffd", ""},
	} {
		c := translated(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			fmt.Fprint(w, tc.stream)
		})
		s, err := New(Config{Client: c})
		if err != nil {
			t.Fatal(err)
		}
		var pieces []string
		r, err := ask(t.Context(), call{Server: s, args: arguments{"query": "tea?", "brain": "b"}, progress: func(d string) error {
			pieces = append(pieces, d)
			return nil
		}})
		if tc.err != "" {
			if err == nil || !strings.Contains(err.Error(), tc.err) {
				t.Errorf("%s: got %v, want %s", name, err, tc.err)
			}
			continue
		}
		if err != nil || r.text != tc.answer || !slices.Contains([]string{"Te|a", "Te|😀a", "Te|a|\ufffd"}, strings.Join(pieces, "|")) {
			t.Errorf("%s: got %+v, %q, %v", name, r, pieces, err)
		}
	}
}

func TestBrainDialects(t *testing.T) {
	c := translated(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if r.Method == http.MethodPost {
			fmt.Fprint(w, `{"brainId":"one","description":"d"}`)
			return
		}
		fmt.Fprint(w, `{"items":[{"brainId":"one"},{"id":"two","slug":"zwei","name":"Two","visibility":"public"}]}`)
	})
	s, err := New(Config{Client: c})
	if err != nil {
		t.Fatal(err)
	}
	list, err := s.brains(t.Context())
	if err != nil || len(list.Items) != 2 || list.Items[0].ID != "one" || list.Items[0].Slug != "one" || list.Items[1].Slug != "zwei" {
		t.Errorf("got %+v, %v", list, err)
	}
	r, err := createBrain(t.Context(), call{Server: s, args: arguments{"name": "One"}})
	if err != nil || !strings.HasPrefix(r.text, "Created brain one: ") {
		t.Errorf("got %+v, %v", r, err)
	}
}

// TestCreateBrainByID creates a brain at a daemon that wants its id.
func TestCreateBrainByID(t *testing.T) {
	c := translated(t, func(w http.ResponseWriter, r *http.Request) {
		data, _ := io.ReadAll(r.Body)
		if !strings.Contains(string(data), `"brainId":"anna-s-notes"`) {
			http.Error(w, "brainId is missing", http.StatusBadRequest)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{"brainId":"anna-s-notes"}`)
	})
	s, err := New(Config{Client: c})
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"Anna's Notes!": "", "!": "validation_error"} {
		_, err := createBrain(t.Context(), call{Server: s, args: arguments{"name": name}})
		if err == nil && want != "" || err != nil && toolErrorOf(err).Code != want {
			t.Errorf("%s: %v", name, err)
		}
	}
}
