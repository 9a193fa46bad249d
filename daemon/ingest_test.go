package daemon_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	daemonclient "evalctl/daemon/client"
	"evalctl/daemon/protocol"
	"evalctl/internal/awaittest"
)

// pdfOf returns a PDF of one page with one line.
func pdfOf(line string) string {
	content := "BT /F1 12 Tf 72 720 Td (" + line + ") Tj ET"
	objects := []string{
		"<< /Type /Catalog /Pages 2 0 R >>",
		"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
		"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 4 0 R /Resources << /Font << /F1 5 0 R >> >> >>",
		fmt.Sprintf("<< /Length %d >>\nstream\n%s\nendstream", len(content), content),
		"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>",
	}
	var b, xref strings.Builder
	b.WriteString("%PDF-1.4\n")
	for i, object := range objects {
		fmt.Fprintf(&xref, "%010d 00000 n \n", b.Len())
		fmt.Fprintf(&b, "%d 0 obj\n%s\nendobj\n", i+1, object)
	}
	start := b.Len()
	fmt.Fprintf(&b, "xref\n0 6\n0000000000 65535 f \n%strailer\n<< /Size 6 /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n", xref.String(), start)
	return b.String()
}

// TestIngestOnEveryStore ingests files of every kind and a page, with a restart of the daemon after
// each step on the stores that keep documents.
func TestIngestOnEveryStore(t *testing.T) {
	page := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, "<title>Seals</title><main><h1>Seals</h1><p>The seal sleeps on the beach.</main>")
	}))
	defer page.Close()
	files := map[string]string{
		"plan.md":   "# Plan\n\nThe walrus plants a tree.\n",
		"sea.txt":   "The walrus swims in the sea.",
		"data.json": `{"animal": "walrus", "weight": 1200}`,
		"page.html": "<title>Walrus</title><p>The walrus sings.",
		"paper.pdf": pdfOf("The walrus reads."),
	}
	onEveryStore(t, func(t *testing.T, d running, again func() running) {
		b := d.brain(t)
		restart := func() {
			d = again()
			b = d.brain(t)
		}
		ingest := func(name string) protocol.IngestResponse {
			t.Helper()
			r, err := b.IngestFile(t.Context(), protocol.IngestFile{Path: name, Content: []byte(files[name]), Tags: []string{"zoo"}})
			check(t, err)
			return r
		}
		first := map[string]protocol.IngestResponse{}
		for name := range files {
			first[name] = ingest(name)
			if r := first[name]; r.Reused || r.ChunkCount == 0 {
				t.Errorf("%s: %+v", name, r)
			}
		}
		restart()
		for name := range files {
			if r := ingest(name); !r.Reused || r.Path != first[name].Path || r.Hash != first[name].Hash || r.ChunkCount != first[name].ChunkCount {
				t.Errorf("%s: %+v, first %+v", name, r, first[name])
			}
			record, err := b.Document(t.Context(), first[name].Path)
			if check(t, err); record.Metadata["source_name"] != name || record.Metadata["tags"] != "zoo" || record.Title == "" {
				t.Errorf("%s: %+v", name, record)
			}
		}
		fetched, err := b.IngestURL(t.Context(), protocol.IngestURL{URL: page.URL})
		if check(t, err); fetched.ChunkCount == 0 || fetched.Path != "raw/documents/127.0.0.1-index.md" {
			t.Errorf("%+v", fetched)
		}
		big, err := b.IngestFile(t.Context(), protocol.IngestFile{Path: "big.txt", Content: []byte(strings.Repeat("The otter plays.\n", 150_000))})
		if check(t, err); big.Status != protocol.IngestQueued {
			t.Fatalf("%+v", big)
		}
		restart()
		awaittest.Until(t, "the job", func() bool {
			job, err := b.Job(t.Context(), big.JobID)
			if check(t, err); job.Status == protocol.JobFailed {
				t.Fatalf("%+v", job.Error)
			}
			return job.Status == protocol.JobCompleted
		})
		body := d.expect(t, 200, "GET", "/v1/brains/eval/search?q=otter+seal+walrus&top_k=50", "", "")
		for _, path := range []string{fetched.Path, "raw/documents/big.txt.md", first["sea.txt"].Path} {
			if !strings.Contains(body, `"`+path+`"`) {
				t.Errorf("a search does not find %s", path)
			}
		}

		for _, r := range first {
			check(t, b.Delete(t.Context(), r.Path))
		}
		check(t, b.Delete(t.Context(), fetched.Path))
		restart()
		awaittest.Until(t, "only the originals of big.txt are left", func() bool {
			left, err := b.List(t.Context(), "originals", daemonclient.ListOptions{Recursive: true, IncludeGenerated: true})
			check(t, err)
			return len(left) == 2
		})
	})
}
