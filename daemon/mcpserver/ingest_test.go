package mcpserver_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"evalctl/daemon/fetch"
	"evalctl/daemon/mcpclient"
	"evalctl/daemon/mcpserver"
)

func ingestArgs(path, as string) object {
	if as == "" {
		return object{"path": path}
	}
	return object{"path": path, "as": as}
}

func TestIngestFile(t *testing.T) {
	eachTransport(t, func(t *testing.T, open func() *mcpclient.Client, restart func()) {
		dir := t.TempDir()
		write := func(name, content string) string {
			path := filepath.Join(dir, name)
			if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
				t.Fatal(err)
			}
			return path
		}
		c := open()
		call(t, c, "memory_create_brain", object{"name": "notes"})
		tea := write("tea.md", note)
		if strings.Contains(t.Name(), "http") {
			r := call(t, c, "memory_ingest_file", object{"path": tea})
			if r.Failure == nil || r.Failure.Code != "local_files_unavailable" {
				t.Errorf("over HTTP: %+v", r)
			}
			return
		}
		type response struct {
			Status, Path, Hash string
			JobID              string `json:"job_id"`
			ChunkCount         int    `json:"chunk_count"`
			Reused             bool
		}
		first := into[response](t, call(t, c, "memory_ingest_file", object{"path": tea}))
		if first.Status != "ingested" || !strings.HasSuffix(first.Path, "tea.md") || strings.Contains(first.Path, dir) || first.ChunkCount != 1 || first.Reused {
			t.Errorf("ingested %+v", first)
		}
		again := into[response](t, call(t, c, "memory_ingest_file", object{"path": tea}))
		if !again.Reused || again.Path != first.Path || again.Hash != first.Hash || again.Status != "ingested" {
			t.Errorf("ingested again %+v", again)
		}
		for name, as := range map[string]string{
			write("plain.txt", "Ben drinks coffee."): "", write("data.json", `{"drink":"cocoa"}`): "",
			write("table.dat", "Carl drinks milk."): "text",
		} {
			if r := into[response](t, call(t, c, "memory_ingest_file", ingestArgs(name, as))); r.Status != "ingested" {
				t.Errorf("%s: %+v", name, r)
			}
		}
		large := into[response](t, call(t, c, "memory_ingest_file", object{
			"path": write("large.txt", strings.Repeat("Dora drinks lemonade.\n\n", 120_000)),
		}))
		if large.Status != "queued" || large.JobID == "" || large.Path == "" {
			t.Errorf("a large file: %+v", large)
		}
		for path, code := range map[string]string{
			write("empty.md", ""):                           "validation_error",
			write("fake.pdf", "no PDF"):                     "validation_error",
			write("image.png", "\x89PNG\r\n\x1a\n\x00"):     "unsupported_media_type",
			write("huge.md", strings.Repeat("x", 25<<20+1)): "file_too_large",
			filepath.Join(dir, "missing.md"):                "not_found",
			dir:                                             "validation_error",
		} {
			if r := call(t, c, "memory_ingest_file", object{"path": path}); r.Failure == nil || r.Failure.Code != code {
				t.Errorf("%s: %+v, want %s", path, r.Failure, code)
			}
		}
		restart()
		c = open()
		for _, drink := range []string{"tea", "coffee", "cocoa", "milk", "lemonade"} {
			for hits := 0; hits == 0; {
				hits = len(into[found](t, call(t, c, "memory_search", object{"query": drink})).Hits)
				if hits == 0 && drink != "lemonade" { // whose job may still run
					t.Errorf("%s is not found", drink)
					break
				}
			}
		}
	})
}

func TestIngestURLFallsBack(t *testing.T) {
	const page = "<html><head><title>Tea</title></head><body><nav>Home</nav><article><h1>Tea</h1><p>Ana drinks green tea.</p></article></body></html>"
	web := http.NewServeMux()
	web.HandleFunc("/tea", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, page)
	})
	web.HandleFunc("/note.md", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "# Note\n\nText.") })
	paper, err := os.ReadFile("../convert/pdf/testdata/columns.pdf")
	if err != nil {
		t.Fatal(err)
	}
	for path, contentType := range map[string]string{
		"/paper": "application/pdf;charset=ISO-8859-1", "/binary": "application/pdf; charset=binary",
	} {
		web.HandleFunc(path, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", contentType)
			_, _ = w.Write(paper)
		})
	}
	web.HandleFunc("/image", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "image/png")
		fmt.Fprint(w, "png")
	})
	web.HandleFunc("/large", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain")
		fmt.Fprint(w, strings.Repeat("x", 5<<20+1))
	})
	site := stub(t, web)
	f, url := newForeign(t)
	f.answer("POST /v1/brains/b-1/documents", `{"id":"d1","path":"tea.md","title":"Tea","byte_size":30,"deleted_at":null}`)
	strict := local(t, newServer(t, url, ""))
	s, err := mcpserver.New(mcpserver.Config{Client: newClient(t, url), Fetcher: fetch.New(fetch.Options{AllowPrivate: true})})
	if err != nil {
		t.Fatal(err)
	}
	c := local(t, s)
	r := call(t, c, "memory_ingest_url", object{"url": site + "/tea"})
	if r.Failure != nil || !strings.Contains(string(r.Structured), `"path":"fallback"`) || !strings.Contains(string(r.Structured), `"id":"d1"`) {
		t.Errorf("got %+v %s", r.Failure, r.Structured)
	}
	created := f.requests[len(f.requests)-1]
	for _, want := range []string{`Ana drinks green tea.`, `"title":"Tea"`, `"source":"ingest"`, `"source_url":"` + site + `/tea"`} {
		if !strings.Contains(created, want) {
			t.Errorf("the document lacks %s: %s", want, created)
		}
	}
	if r := call(t, c, "memory_ingest_url", object{"url": site + "/note.md"}); r.Failure != nil {
		t.Errorf("Markdown: %+v", r.Failure)
	}
	for _, path := range []string{"/paper", "/binary"} {
		r := call(t, c, "memory_ingest_url", object{"url": site + path})
		if created := f.requests[len(f.requests)-1]; r.Failure != nil || !strings.Contains(created, "the mainspring, in 2013") {
			t.Errorf("%s: %+v %.200s", path, r.Failure, created)
		}
	}
	for _, tc := range []struct {
		c    *mcpclient.Client
		args object
		code string
	}{
		{c, object{"url": site + "/large"}, "file_too_large"},
		{c, object{"url": site + "/image"}, "unsupported_media_type"},
		{c, object{"url": site + "/missing"}, "bad_gateway"},
		{c, object{"url": "ftp://example.com/x"}, "validation_error"},
		{c, object{"url": site + "/tea", "brain": "other"}, "no_brain"},
		{strict, object{"url": site + "/tea"}, "validation_error"},
		{strict, object{"url": "http://169.254.169.254/latest"}, "validation_error"},
	} {
		before := len(f.requests)
		if r := call(t, tc.c, "memory_ingest_url", tc.args); r.Failure == nil || r.Failure.Code != tc.code {
			t.Errorf("%v: %+v", tc.args, r.Failure)
		}
		for _, request := range f.requests[before:] {
			if strings.HasPrefix(request, "POST /v1/brains/b-1/documents ") {
				t.Errorf("%v: a document was created", tc.args)
			}
		}
	}
}

func TestIngestURL(t *testing.T) {
	web := http.NewServeMux()
	web.HandleFunc("/tea", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		fmt.Fprint(w, "<html><head><title>Tea</title></head><body><main><h1>Tea</h1><p>Ana drinks green tea.</p></main></body></html>")
	})
	web.HandleFunc("/large", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain")
		fmt.Fprint(w, strings.Repeat("x", 5<<20+1))
	})
	site := stub(t, web)
	eachTransport(t, func(t *testing.T, open func() *mcpclient.Client, restart func()) {
		c := open()
		call(t, c, "memory_create_brain", object{"name": "notes"})
		r := call(t, c, "memory_ingest_url", object{"url": site + "/tea"})
		got := into[struct {
			Path   string
			Result map[string]any
		}](t, r)
		if got.Path != "server" || got.Result["document_id"] == "" || got.Result["chunk_count"] != 1.0 || !strings.HasPrefix(r.Text, "Ingested "+site+"/tea as ") {
			t.Errorf("ingested %s, %q", r.Structured, r.Text)
		}
		for path, code := range map[string]string{"/large": "file_too_large", "/missing": "bad_gateway"} {
			if r := call(t, c, "memory_ingest_url", object{"url": site + path}); r.Failure == nil || r.Failure.Code != code {
				t.Errorf("%s: %+v, want %s", path, r.Failure, code)
			}
		}
		restart()
		c = open()
		if hits := into[found](t, call(t, c, "memory_search", object{"query": "green tea"})).Hits; len(hits) != 1 || hits[0].DocumentID != got.Result["document_id"] {
			t.Errorf("found %+v", hits)
		}
	})
}

// TestIngestURLOverHTTP does not fetch anything itself: the server is not the user's own process.
func TestIngestURLOverHTTP(t *testing.T) {
	site := stub(t, http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("the page was fetched") }))
	f, url := newForeign(t)
	s, err := mcpserver.New(mcpserver.Config{Client: newClient(t, url), Fetcher: fetch.New(fetch.Options{AllowPrivate: true})})
	if err != nil {
		t.Fatal(err)
	}
	f.mux.Handle("/mcp", s.Handler())
	c := connect(t, "http", url)
	if r := call(t, c, "memory_ingest_url", object{"url": site}); r.Failure == nil || r.Failure.Code != "not_found" {
		t.Errorf("got %+v", r)
	}
}

func TestUnknownKeysArePreserved(t *testing.T) {
	f, url := newForeign(t)
	f.answer("POST /v1/brains/b-1/documents/ingest/url", `{"document_id":"d","path":"p.md","hash":"h","chunk_count":1,"embedded_count":0,"duration_ms":2,"reused":true,"shard":{"x":[1]}}`)
	c := local(t, newServer(t, url, ""))
	if r := call(t, c, "memory_list_brains", nil); !strings.Contains(string(r.Structured), `"color":"red"`) {
		t.Errorf("brains are %s", r.Structured)
	}
	r := call(t, c, "memory_ingest_url", object{"url": "https://example.com/"})
	var got struct {
		Path   string
		Result map[string]any
	}
	if err := json.Unmarshal(r.Structured, &got); err != nil || got.Path != "server" || got.Result["shard"] == nil || got.Result["reused"] != true {
		t.Errorf("got %s, %v", r.Structured, err)
	}
	if _, ok := got.Result["status"]; ok {
		t.Errorf("got %s", r.Structured)
	}
}
