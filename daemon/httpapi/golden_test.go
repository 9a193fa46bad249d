package httpapi

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"evalctl/internal/goldentest"
	"evalctl/internal/llm"
)

// scores and componentScores are left out of the transcripts, because the ranking has tests of its
// own.
var (
	scores          = regexp.MustCompile(`"score":[0-9.e+-]+`)
	componentScores = regexp.MustCompile(`"component_scores":\{[^}]*\}`)
)

// exchange is one request of a transcript.
type exchange struct {
	method, target, body string
	headers              []string
}

const octets = "application/octet-stream"

var transcripts = map[string][]exchange{
	"brains": {
		{method: "GET", target: "/healthz"},
		{method: "POST", target: "/v1/brains", body: `{"name":"Anna's Notes","visibility":"public"}`},
		{method: "POST", target: "/v1/brains", body: `{"brainId":"field","description":"ignored"}`},
		{method: "POST", target: "/v1/brains", body: `{"brain_id":"field"}`},
		{method: "POST", target: "/v1/brains", body: `{"name":"x","visibility":"secret"}`},
		{method: "GET", target: "/v1/brains"},
		{method: "GET", target: "/v1/brains/anna-s-notes"},
		{method: "DELETE", target: "/v1/brains/anna-s-notes"},
		{method: "DELETE", target: "/v1/brains/anna-s-notes", headers: []string{"X-Confirm-Delete", "yes"}},
		{method: "GET", target: "/v1/brains/anna-s-notes"},
	},
	"documents": {
		{method: "PUT", target: "/v1/brains/eval/documents?path=notes/a.md", body: "one", headers: []string{"Content-Type", octets}},
		{method: "POST", target: "/v1/brains/eval/documents/append?path=notes/a.md", body: " two", headers: []string{"Content-Type", octets}},
		{method: "POST", target: "/v1/brains/eval/documents/append?path=notes/_log.md", body: "new", headers: []string{"Content-Type", octets}},
		{method: "GET", target: "/v1/brains/eval/documents/read?path=notes/a.md"},
		{method: "HEAD", target: "/v1/brains/eval/documents?path=notes/a.md"},
		{method: "HEAD", target: "/v1/brains/eval/documents?path=notes/b.md"},
		{method: "GET", target: "/v1/brains/eval/documents/stat?path=notes/a.md"},
		{method: "GET", target: "/v1/brains/eval/documents?dir="},
		{method: "GET", target: "/v1/brains/eval/documents?recursive=true&include_generated=true"},
		{method: "GET", target: "/v1/brains/eval/documents?dir=notes&glob=a.*"},
		{method: "POST", target: "/v1/brains/eval/documents/rename", body: `{"from":"notes/a.md","to":"b.md"}`, headers: []string{"Content-Type", "application/json"}},
		{method: "POST", target: "/v1/brains/eval/documents/batch-ops", headers: []string{"Content-Type", "application/json; charset=utf-8"},
			body: `{"reason":"tidy","ops":[{"type":"write","path":"c.md","content_base64":"Yw=="},{"type":"append","path":"c.md","contentBase64":"Yw=="},{"type":"rename","path":"b.md","to":"d.md"},{"type":"delete","path":"notes/_log.md"}]}`},
		{method: "POST", target: "/v1/brains/eval/documents/batch-ops", headers: []string{"Content-Type", "application/json"},
			body: `{"ops":[{"type":"delete","path":"c.md"},{"type":"delete","path":"missing.md"}]}`},
		{method: "GET", target: "/v1/brains/eval/documents?recursive=true"},
		{method: "GET", target: "/v1/brains/eval/documents/read?path=c.md"},
		{method: "DELETE", target: "/v1/brains/eval/documents?path=c.md"},
		{method: "DELETE", target: "/v1/brains/eval/documents?path=c.md"},
	},
	"ask": {
		{method: "PUT", target: "/v1/brains/eval/documents?path=pets.md", headers: []string{"Content-Type", octets},
			body: "---\ndate: 2024-03-02\ntags: [pets]\n---\n# Pets\n\n- Ana keeps two grey cats & a <parrot>\n- Ana walks to work\n"},
		{method: "POST", target: "/v1/brains/eval/search", body: `{"query":"What does Ana keep?","topK":3,"top_k":3,"question":"What does Ana keep?"}`},
		{method: "GET", target: "/v1/brains/eval/search?q=parrot&topK=1&mode=bm25"},
		{method: "GET", target: "/v1/brains/eval/search?q=penguin"},
		{method: "POST", target: "/v1/brains/eval/search", body: `{"query":"parrot","mode":"hybrid"}`},
		{method: "POST", target: "/v1/brains/eval/search", body: `{"query":"parrot","filters":{"tags":["pets"],"pathPrefix":"pets","date_from":"2024-03-02"},"sort":"recency","scope":"all"}`},
		{method: "POST", target: "/v1/brains/eval/search", body: `{"query":"parrot","filters":{"tag":["pets"]}}`},
		{method: "GET", target: "/v1/brains/eval/search?q=parrot&sort=newest"},
		{method: "POST", target: "/v1/brains/eval/ask", body: `{"query":"What does Ana keep?","readerMode":"augmented","questionDate":"2024-05-01"}`},
		{method: "POST", target: "/v1/brains/eval/ask", body: `{"question":"penguins"}`},
		{method: "POST", target: "/v1/brains/eval/ask", body: `{"question":"x","reader_mode":"expert"}`},
	},
}

// quoting is a reader that always gives the same answer.
type quoting struct{ llm.Provider }

func (quoting) Complete(_ context.Context, r llm.Request) (llm.Response, error) {
	deltas := []string{"Ana keeps two grey cats ", "& a <parrot>", " [1].\r\n", "She walks [1]."}
	for _, d := range deltas {
		if err := r.Emit(d); err != nil {
			return llm.Response{}, err
		}
	}
	return llm.Response{Text: strings.Join(deltas, ""), Model: r.Model, FinishReason: "stop",
		Usage: llm.Usage{InputTokens: 100, OutputTokens: 20}, Attempts: 1}, nil
}

func TestTranscripts(t *testing.T) {
	for name, exchanges := range transcripts {
		t.Run(name, func(t *testing.T) {
			s := start(t, quoting{}, "quoting")
			var got strings.Builder
			for _, e := range exchanges {
				record(t, s, &got, e)
			}
			goldentest.Compare(t, "testdata/"+name+".txt", got.String())
		})
	}
}

func record(t *testing.T, s *server, out *strings.Builder, e exchange) {
	t.Helper()
	resp := s.do(t, e.method, e.target, e.body, e.headers...)
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprintf(out, "> %s %s\n", e.method, e.target)
	if e.body != "" {
		fmt.Fprintf(out, "%s\n", strings.TrimSpace(e.body))
	}
	fmt.Fprintf(out, "< %d\n", resp.StatusCode)
	var names []string
	for header := range resp.Header {
		if header != "Date" && header != requestIDHeader {
			names = append(names, header)
		}
	}
	// Each response has another id, which would change the file.
	text := strings.ReplaceAll(string(body), resp.Header.Get(requestIDHeader), "REQUEST")
	if scores.MatchString(text) {
		text = scores.ReplaceAllString(text, `"score":0`)
		text = componentScores.ReplaceAllString(text, `"component_scores":{}`)
		if resp.Header.Get("Content-Length") != "" {
			resp.Header.Set("Content-Length", "LENGTH")
		}
	}
	slices.Sort(names)
	for _, header := range names {
		fmt.Fprintf(out, "%s: %s\n", header, resp.Header.Get(header))
	}
	fmt.Fprintf(out, "\n%s\n", strings.TrimRight(text, "\n"))
}

// TestReservedHeaders: a v1.0 server ignores them, whatever their value (spec 5, 9.3, 9.4).
func TestReservedHeaders(t *testing.T) {
	s := startFake(t)
	s.put(t, "a.md", "x")
	for _, header := range []string{"X-Tenant-Id", "X-Workspace-Id", "Idempotency-Key", "If-Match", "If-None-Match", "Last-Event-ID"} {
		s.expect(t, http.StatusOK, "GET", "/v1/brains/eval/documents/read?path=a.md", "", header, `"\x;*`)
		s.expect(t, http.StatusNoContent, "PUT", "/v1/brains/eval/documents?path=a.md", "x", header, `"\x;*`, "Content-Type", octets)
	}
}
