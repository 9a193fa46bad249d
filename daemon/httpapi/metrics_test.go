package httpapi

import (
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"evalctl/daemon/protocol"
	"evalctl/internal/awaittest"
	"evalctl/internal/sse"
)

var (
	sampleLine  = regexp.MustCompile(`^([a-z_]+)(\{([a-z]+="[^"\\]*",?)+\})? ([0-9.e+-]+|\+Inf)$`)
	commentLine = regexp.MustCompile(`^# (HELP [a-z_]+ .+|TYPE [a-z_]+ (gauge|counter|histogram|summary))$`)
)

// scrape returns the samples, and checks the form of every line.
func scrape(t *testing.T, s *server) map[string]string {
	t.Helper()
	samples := map[string]string{}
	for line := range strings.Lines(s.expect(t, 200, "GET", "/metrics", "")) {
		line = strings.TrimSuffix(line, "\n")
		name, value, _ := cutLast(line, " ")
		switch {
		case commentLine.MatchString(line):
		case !sampleLine.MatchString(line):
			t.Errorf("not a sample: %s", line)
		case samples[name] != "":
			t.Errorf("%s appears twice", name)
		default:
			samples[name] = value
		}
	}
	return samples
}

func cutLast(s, sep string) (before, after string, found bool) {
	if i := strings.LastIndex(s, sep); i >= 0 {
		return s[:i], s[i+len(sep):], true
	}
	return s, "", false
}

func TestMetrics(t *testing.T) {
	s := startFake(t)
	s.put(t, "a.md", "x")
	s.put(t, "b.md", "x")
	s.expect(t, 404, "GET", "/v1/brains/eval/documents/read?path=c.md", "")
	s.expect(t, 404, "GET", "/nowhere", "")
	s.expect(t, 200, "POST", "/v1/brains/eval/search", `{"query":"x"}`)
	s.expect(t, 200, "GET", "/v1/brains/eval/search?q=x&mode=bm25", "")
	s.expect(t, 400, "GET", "/v1/brains/eval/search?q=x&mode=magic", "")
	s.expect(t, 200, "POST", "/v1/brains/eval/ask", `{"question":"x"}`)
	for name, want := range map[string]string{
		"evalctl_brains":                                       "1",
		"evalctl_open_streams":                                 "0",
		"evalctl_slow_event_clients_dropped_total":             "0",
		`evalctl_searches_total{degraded="false",mode="bm25"}`: "3",
		`evalctl_http_requests_total{method="PUT",route="/v1/brains/{id}/documents",status="204"}`:             "2",
		`evalctl_http_requests_total{method="GET",route="/v1/brains/{id}/documents/read",status="404"}`:        "1",
		`evalctl_http_requests_total{method="GET",route="none",status="404"}`:                                  "1",
		`evalctl_http_request_duration_seconds_count{method="PUT",route="/v1/brains/{id}/documents"}`:          "2",
		`evalctl_http_request_duration_seconds_bucket{method="PUT",route="/v1/brains/{id}/documents",le="30"}`: "2",
	} {
		if got := scrape(t, s)[name]; got != want {
			t.Errorf("%s is %q, want %s", name, got, want)
		}
	}
	if scrape(t, s)["go_goroutines"] == "" {
		t.Error("no metrics of the process")
	}
}

// TestLabelsAreBounded: clients cannot create series.
func TestLabelsAreBounded(t *testing.T) {
	s := startFake(t)
	s.status(t, "GET", "/x", "")
	s.status(t, "BREW0", "/x", "")
	s.status(t, "GET", "/v1/brains/b0", "")
	scrape(t, s) // its own series
	before := len(scrape(t, s))
	for i := range 50 {
		s.status(t, "GET", fmt.Sprintf("/x%d", i), "")
		s.status(t, fmt.Sprintf("BREW%d", i), "/x", "")
		s.status(t, "GET", fmt.Sprintf("/v1/brains/b%d", i), "")
	}
	if after := len(scrape(t, s)); after != before {
		t.Errorf("%d series became %d", before, after)
	}
}

func TestOpenStreams(t *testing.T) {
	s := startFake(t)
	resp := s.do(t, "GET", "/v1/brains/eval/events", "")
	defer resp.Body.Close()
	events := sse.NewReader(resp.Body, sse.MaxEvent)
	if e, err := events.Next(); err != nil || e.Name != protocol.EventReady {
		t.Fatalf("got %+v, %v", e, err)
	}
	if got := scrape(t, s)["evalctl_open_streams"]; got != "1" {
		t.Errorf("%s streams, want 1", got)
	}
	s.expect(t, 204, "DELETE", "/v1/brains/eval", "", "X-Confirm-Delete", "yes")
	if _, err := io.ReadAll(resp.Body); err != nil {
		t.Fatal(err)
	}
	// The client may see the end before the handler has returned.
	awaittest.Until(t, "the stream is no longer counted", func() bool { return scrape(t, s)["evalctl_open_streams"] == "0" })
	s.expect(t, http.StatusOK, "GET", "/healthz", "")
}
