package httpapi

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"evalctl/daemon/brain"
	"evalctl/daemon/fetch"
	"evalctl/daemon/frontmatter"
	"evalctl/daemon/protocol"
)

const ingestURLTarget = "/v1/brains/eval/documents/ingest/url"

// servePage starts a server that has the same page everywhere, and returns its URL.
func servePage(t testing.TB) string {
	t.Helper()
	return serveAt(t, map[string]http.HandlerFunc{"/": func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		fmt.Fprint(w, page)
	}})
}

var page = `<html><head><title>Cups &amp; more</title></head><body><nav><a href="/">Home</a></nav>
<main><h1>Cups</h1><p>There are six cups in the kitchen, and each of them is green. <a href="list">All cups</a></p>
` + strings.Repeat("<p>A cup is kept on its shelf, next to the kettle, and is washed by hand after tea.</p>\n", 8) + `
<script>alert("no")</script></main></body></html>`

func serveAt(t testing.TB, handlers map[string]http.HandlerFunc) string {
	t.Helper()
	mux := http.NewServeMux()
	for pattern, handler := range handlers {
		mux.HandleFunc(pattern, handler)
	}
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	return server.URL
}

func (s *server) ingestURL(t testing.TB, status int, url string, more string) string {
	t.Helper()
	return s.expect(t, status, "POST", ingestURLTarget, fmt.Sprintf(`{"url":%q%s}`, url, more), "Content-Type", "application/json")
}

func TestIngestURL(t *testing.T) {
	base := serveAt(t, map[string]http.HandlerFunc{
		"/kitchen/cups.html": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html")
			fmt.Fprint(w, page)
		},
		"/moved": func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/latin", http.StatusFound) },
		"/latin": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/plain; charset=iso-8859-1")
			fmt.Fprint(w, "caf\xe9")
		},
	})
	s := startFake(t)
	r := decoded[protocol.IngestResponse](t, s.ingestURL(t, 201, base+"/kitchen/cups.html", `,"tags":["tea"]`))
	if r.Path != "raw/documents/127.0.0.1-kitchen-cups.md" || r.ChunkCount < 1 {
		t.Errorf("got %+v", r)
	}
	doc := frontmatter.Parse(s.expect(t, 200, "GET", "/v1/brains/eval/documents/read?path="+r.Path, ""))
	if doc.Title != "Cups & more" || strings.Join(doc.Tags, "|") != "tea" || doc.Metadata["source_url"] != base+"/kitchen/cups.html" ||
		doc.Metadata["source_type"] != "text/html" || doc.Metadata["source_fetched_at"] != "2024-05-01T12:00:00.123Z" || doc.Metadata["source_final_url"] != nil {
		t.Errorf("front matter %+v", doc.Fields)
	}
	if !strings.Contains(doc.Body, "There are six cups") || !strings.Contains(doc.Body, "("+base+"/kitchen/list)") ||
		strings.Contains(doc.Body, "alert") || strings.Contains(doc.Body, "Home") {
		t.Errorf("body %q", doc.Body)
	}
	again := decoded[protocol.IngestResponse](t, s.expect(t, 200, "POST", "/v1/brains/eval/ingest/url", `{"url":"`+base+`/kitchen/cups.html"}`, "Content-Type", "application/json"))
	if !again.Reused || again.Path != r.Path {
		t.Errorf("again: %+v", again)
	}

	r = decoded[protocol.IngestResponse](t, s.ingestURL(t, 201, base+"/moved?x=1", `,"title":"Given"`))
	doc = frontmatter.Parse(s.expect(t, 200, "GET", "/v1/brains/eval/documents/read?path="+r.Path, ""))
	if doc.Title != "Given" || doc.Metadata["source_url"] != base+"/moved?x=1" || doc.Metadata["source_final_url"] != base+"/latin" ||
		!strings.Contains(doc.Body, "café") {
		t.Errorf("got %+v %q", doc.Fields, doc.Body)
	}
}

func TestIngestURLRejections(t *testing.T) {
	base := serveAt(t, map[string]http.HandlerFunc{
		"/missing": http.NotFound,
		"/image":   func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Content-Type", "image/png") },
		"/empty":   func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Content-Type", "text/html") },
		"/large": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/plain")
			_, _ = w.Write(make([]byte, fetch.MaxBytes+1))
		},
		"/metadata": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://169.254.169.254:22/latest", http.StatusFound)
		},
		"/binary": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/plain")
			_, _ = w.Write([]byte("a\x00b"))
		},
	})
	s := startFake(t)
	for name, test := range map[string]struct {
		url    string
		status int
		code   string
		detail string
	}{
		"no URL":          {"", 400, "validation_error", "url: is missing"},
		"long":            {base + "/" + strings.Repeat("a", protocol.MaxURL), 400, "validation_error", "8192"},
		"file":            {"file:///etc/passwd", 400, "validation_error", "http://"},
		"user":            {"http://me:secret@example.com/", 400, "validation_error", "user"},
		"missing":         {base + "/missing?token=secret", 502, "bad_gateway", "404"},
		"image":           {base + "/image", 415, "unsupported_media_type", "image/png"},
		"empty":           {base + "/empty", 400, "validation_error", "empty"},
		"large":           {base + "/large", 413, "file_too_large", "5242880"},
		"bad redirect":    {base + "/metadata", 400, "validation_error", "port"},
		"binary":          {base + "/binary", 400, "validation_error", "NUL"},
		"no server there": {"http://127.0.0.1:1025/", 502, "bad_gateway", "127.0.0.1:1025"},
	} {
		t.Run(name, func(t *testing.T) {
			body := s.ingestURL(t, test.status, test.url, "")
			wantProblem(t, body, test.code, test.detail)
			if strings.Contains(body, "secret") {
				t.Errorf("it has a secret: %s", body)
			}
		})
	}
	if strings.Contains(s.log.String(), "secret") || strings.Contains(s.log.String(), "/etc/passwd") {
		t.Errorf("the log has a URL:\n%s", s.log.String())
	}
	if list := s.expect(t, 200, "GET", "/v1/brains/eval/documents?recursive=true&include_generated=true", ""); list != `{"items":[]}`+"\n" {
		t.Errorf("rejected requests stored %s", list)
	}
}

// TestIngestURLOfThisMachine: by default, a daemon does not fetch from its own machine.
func TestIngestURLOfThisMachine(t *testing.T) {
	m := fakeReader()
	m.Fetcher = fetch.New(fetch.Options{})
	s := startConfig(t, brain.Config{}, m, nil)
	s.expect(t, 201, "POST", "/v1/brains", `{"id":"eval"}`)
	base := serveAt(t, map[string]http.HandlerFunc{"/": func(http.ResponseWriter, *http.Request) { t.Error("the request arrived") }})
	for _, url := range []string{base, strings.Replace(base, "127.0.0.1", "localhost", 1), "http://169.254.169.254/latest/meta-data/", "http://[::1]:8787/metrics"} {
		if body := s.ingestURL(t, 400, url, ""); !strings.Contains(body, "address is not public") {
			t.Errorf("%s: got %s", url, body)
		}
	}
}
