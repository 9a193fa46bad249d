package work_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"evalctl/daemon/protocol"
	"evalctl/harness/bench/load"
	"evalctl/harness/bench/record"
	"evalctl/harness/bench/work"
	"evalctl/harness/daemontest"
	"evalctl/harness/mapping"
	"evalctl/harness/result"
	"evalctl/harness/target"
	"evalctl/internal/llm"
)

func TestMix(t *testing.T) {
	mix, err := work.ParseMix("search=80, ask=15,put")
	want := []record.Share{{Op: "search", Weight: 80}, {Op: "ask", Weight: 15}, {Op: "put", Weight: 1}}
	if err != nil || !slices.Equal(mix, want) {
		t.Errorf("%v, %v", mix, err)
	}
	for _, bad := range []string{"", "find", "search=0", "search=-1", "search=x", "search=NaN", "search,search=2", "search=1,"} {
		if _, err := work.ParseMix(bad); err == nil {
			t.Errorf("the mix %q is accepted", bad)
		}
	}
}

// words counts the words of documents.
func words(d work.Documents, n int) map[string]int {
	counts := map[string]int{}
	for _, doc := range d.Take(n) {
		for w := range strings.FieldsFuncSeq(string(doc.Data), func(r rune) bool { return r < 'a' || r > 'z' }) {
			counts[w]++
		}
	}
	return counts
}

func TestSyntheticCorpus(t *testing.T) {
	a, b := work.Synthetic(1).Take(100), work.Synthetic(1).Take(10)
	if string(a[7].Data) != string(b[7].Data) || a[7].Path != b[7].Path {
		t.Error("a larger corpus does not begin with a smaller one")
	}
	if string(work.Synthetic(2)(7).Data) == string(a[7].Data) {
		t.Error("the seed makes no difference")
	}
	paths := map[string]bool{}
	for _, d := range a {
		paths[d.Path] = true
	}
	if len(paths) != len(a) {
		t.Errorf("%d documents have %d paths", len(a), len(paths))
	}
	// The frequency of the word of rank r is about as 1/(2.7+r)^1.1.
	var counts []int
	for _, n := range words(work.Synthetic(1), 2000) {
		counts = append(counts, n)
	}
	slices.Sort(counts)
	slices.Reverse(counts)
	want := math.Pow((2.7+99)/(2.7+9), 1.1)
	if got := float64(counts[9]) / float64(counts[99]); got < 0.8*want || got > 1.25*want {
		t.Errorf("the 10th word is %.1f times as frequent as the 100th, want about %.1f", got, want)
	}
}

// endpointAt returns the daemon at url, over so many connections.
func endpointAt(tb testing.TB, url string, conns int) *target.Endpoint {
	tb.Helper()
	e, err := target.NewEndpoint(url, "", "test", conns)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(e.Close)
	return e
}

// requestsOf returns the requests of one operation to a daemon.
func requestsOf(t *testing.T, d *daemontest.Daemon, c work.Config) *work.Requests {
	t.Helper()
	e := endpointAt(t, d.URL, 8)
	c.TopK, c.Mode, c.Dialect, c.Documents = 3, protocol.ModeAuto, result.Snake, work.Synthetic(1)
	return work.NewRequests(c, e, []string{"b1", "b2", "b3"})
}

func do(t *testing.T, r *work.Requests, number uint64) load.Outcome {
	t.Helper()
	return r.Request(number).Do(t.Context())
}

const chunks = `{"chunks":[{"path":"a.md","text":"x","score":1}],"mode":"auto","effective_mode":"bm25"}`

// serve answers as a daemon that works.
func serve(w http.ResponseWriter, r *http.Request, c daemontest.Call) {
	switch {
	case strings.HasSuffix(r.URL.Path, "/ask"):
		daemontest.Stream(w, daemontest.Event(protocol.EventRetrieve, chunks)+
			daemontest.Event(protocol.EventDelta, `{"delta":"one "}`)+daemontest.Event(protocol.EventDelta, `{"delta":"two"}`)+
			daemontest.Event(protocol.EventDone, `{"ok":true,"answer":"one two","model":"dear","usage":{"input_tokens":1000,"output_tokens":10}}`))
	case strings.HasSuffix(r.URL.Path, "/batch-ops"):
		fmt.Fprintf(w, `{"committed":%d}`, len(c.Body["ops"].([]any)))
	case strings.HasSuffix(r.URL.Path, "/search"), strings.HasSuffix(r.URL.Path, "/recall"):
		fmt.Fprint(w, chunks)
	default:
		w.WriteHeader(http.StatusCreated)
		fmt.Fprint(w, `{}`)
	}
}

func TestOperations(t *testing.T) {
	for op, path := range map[string]string{
		work.Search: "/search", work.Ask: "/ask", work.Put: "/documents", work.Batch: "/documents/batch-ops",
		work.Ingest: "/documents/ingest/file", work.Remember: "/messages", work.Recall: "/recall",
	} {
		d := daemontest.New(t, serve)
		r := requestsOf(t, d, work.Config{Mix: []record.Share{{Op: op, Weight: 1}}, Size: 10, Prices: llm.Prices{"dear": {Input: 5 * llm.Dollar}}})
		for number := range uint64(20) { // of which some are read as a whole
			if o := do(t, r, number); o.Err != nil {
				t.Errorf("%s: %v", op, o.Err)
			} else if op == work.Ask && (len(o.Gaps) != 1 || o.FirstDelta == 0 || o.InputTokens != 1000 || !o.Priced || o.CostNanoUSD != int64(5*llm.Dollar/1000)) {
				t.Errorf("ask: %+v", o)
			}
		}
		calls := d.Calls()
		if len(calls) != 20 {
			t.Errorf("%s: %d requests, want 20", op, len(calls))
		}
		for _, c := range calls {
			if before, _, _ := strings.Cut(c.Path, "?"); !strings.HasSuffix(before, path) {
				t.Errorf("%s is sent to %s", op, c.Path)
			}
		}
	}
}

func TestRequestsDependOnTheirNumberAlone(t *testing.T) {
	mix := []record.Share{{Op: work.Search, Weight: 3}, {Op: work.Put, Weight: 1}}
	bodies := func(from, to uint64) (out []string) {
		d := daemontest.New(t, serve)
		r := requestsOf(t, d, work.Config{Mix: mix, Seed: 5, Size: 50})
		for n := from; n < to; n++ {
			do(t, r, n)
		}
		for _, c := range d.Calls() {
			out = append(out, c.Path+string(c.Raw))
		}
		return out
	}
	all, some := bodies(0, 40), bodies(20, 40)
	if !slices.Equal(all[20:], some) {
		t.Error("the same numbers have other requests")
	}
	brains := map[string]int{}
	puts := 0
	for _, b := range bodies(100, 500) {
		brains[strings.Split(b, "/")[3]]++
		if strings.Contains(b, "# Written") {
			puts++
		}
	}
	if brains["b1"] < brains["b2"] || brains["b2"] < brains["b3"] || brains["b3"] == 0 {
		t.Errorf("the brains are used %v times, want the first most often, and each", brains)
	}
	if puts < 70 || puts > 130 {
		t.Errorf("%d of 400 requests are puts, want about a quarter", puts)
	}
}

func TestFailures(t *testing.T) {
	stream := func(events ...string) string { return strings.Join(events, "") }
	for name, c := range map[string]struct {
		op, kind string
		answer   func(w http.ResponseWriter)
	}{
		"a status":             {work.Search, "status 503", func(w http.ResponseWriter) { w.WriteHeader(503) }},
		"a put that is denied": {work.Put, "status 403", func(w http.ResponseWriter) { w.WriteHeader(403) }},
		"no connection":        {work.Search, "transport", daemontest.HangUp},
		"no JSON":              {work.Search, "protocol", func(w http.ResponseWriter) { fmt.Fprint(w, "<html>") }},
		"no object":            {work.Search, "protocol", func(w http.ResponseWriter) { fmt.Fprint(w, `x"}`) }},
		"another protocol":     {work.Search, "protocol", func(w http.ResponseWriter) { fmt.Fprint(w, `{"results":[{"text":"x"}]}`) }},
		"no stream":            {work.Ask, "protocol", func(w http.ResponseWriter) { fmt.Fprint(w, `{}`) }},
		"an error event": {work.Ask, "daemon", func(w http.ResponseWriter) {
			daemontest.Stream(w, daemontest.Event(protocol.EventError, `{"message":"x"}`))
		}},
		"no done event": {work.Ask, "stream_incomplete", func(w http.ResponseWriter) {
			daemontest.Stream(w, stream(daemontest.Event(protocol.EventDelta, `{"delta":"x"}`)))
		}},
		"done, but not ok": {work.Ask, "daemon", func(w http.ResponseWriter) {
			daemontest.Stream(w, daemontest.Event(protocol.EventDone, `{"ok":false}`))
		}},
		"a bad event": {work.Ask, "protocol", func(w http.ResponseWriter) {
			daemontest.Stream(w, stream(daemontest.Event(protocol.EventDelta, `{"delta`), daemontest.Event(protocol.EventDone, `{"ok":true}`)))
		}},
	} {
		d := daemontest.New(t, func(w http.ResponseWriter, _ *http.Request, _ daemontest.Call) { c.answer(w) })
		r := requestsOf(t, d, work.Config{Mix: []record.Share{{Op: c.op, Weight: 1}}, Size: 1})
		if n := uint64(1); name != "another protocol" && name != "a bad event" { // which only a whole reading sees
			if o := do(t, r, n); o.Err == nil || o.Kind != c.kind {
				t.Errorf("%s, not read as a whole: kind %q, want %q (%v)", name, o.Kind, c.kind, o.Err)
			}
		}
		before := len(d.Calls())
		o := do(t, r, 0) // which is read as a whole
		if o.Err == nil || o.Kind != c.kind {
			t.Errorf("%s: kind %q, want %q (%v)", name, o.Kind, c.kind, o.Err)
		}
		if n := len(d.Calls()) - before; n != 1 {
			t.Errorf("%s: the request was sent %d times", name, n)
		}
	}
}

// TestRefusedWrites checks that a write to a mapped service is sent once, and that a refusal is an
// error: a wait and another attempt would be counted as the service's latency.
func TestRefusedWrites(t *testing.T) {
	for _, op := range []string{work.Put, work.Batch} {
		var calls atomic.Int64
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			calls.Add(1)
			w.WriteHeader(http.StatusServiceUnavailable)
		}))
		defer srv.Close()
		m, err := mapping.Parse("m.yaml", []byte("name: m\ntransport: http\nbrains: one\n"+
			"remember: {method: POST, path: /m, body: {text: \"{text}\"}}\n"+
			"search: {method: POST, path: /s, body: {q: \"{query}\"}, reply: {text: $}}\n"))
		if err != nil {
			t.Fatal(err)
		}
		s, err := mapping.Open(t.Context(), mapping.Config{Mapping: m, URL: srv.URL})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		r := work.NewRequests(work.Config{Mix: []record.Share{{Op: op, Weight: 1}}, Documents: work.Synthetic(1)}, s, []string{"b"})
		if o := do(t, r, 0); o.Kind != "status 503" || calls.Load() != 1 {
			t.Errorf("%s: kind %q after %d calls (%v), want one that is refused", op, o.Kind, calls.Load(), o.Err)
		}
	}
}

func TestLostWrites(t *testing.T) {
	stored := map[string][]byte{}
	d := daemontest.New(t, func(w http.ResponseWriter, r *http.Request, c daemontest.Call) {
		path := r.URL.Query().Get("path")
		if r.Method == http.MethodPut {
			stored[path] = c.Raw
			w.WriteHeader(http.StatusNoContent)
		} else if data, ok := stored[path]; ok {
			_, _ = w.Write(data)
		} else {
			w.WriteHeader(http.StatusNotFound)
		}
	})
	r := requestsOf(t, d, work.Config{Mix: []record.Share{{Op: work.Put, Weight: 1}}, Size: 1})
	var written []work.Write
	r.Written = func(w work.Write) { written = append(written, w) }
	for n := range uint64(3) {
		do(t, r, n)
	}
	paths := []string{}
	for p := range stored {
		paths = append(paths, p)
	}
	slices.Sort(paths)
	delete(stored, paths[1])
	stored[paths[2]] = append(stored[paths[2]], '!')
	var lost []string
	for _, w := range written {
		if err := r.Check(t.Context(), w); err != nil {
			lost = append(lost, err.Error())
		}
	}
	if len(written) != 3 || len(lost) != 2 || !strings.Contains(lost[0], "is not there") || !strings.Contains(lost[1], "other content") {
		t.Errorf("%d were written, lost: %q", len(written), lost)
	}
}

// Two benches write to a brain of the user's. Neither replaces a document of the other.
func TestWrittenDocumentsAreNew(t *testing.T) {
	stored := map[string]bool{}
	d := daemontest.New(t, func(w http.ResponseWriter, r *http.Request, c daemontest.Call) {
		stored[r.URL.Query().Get("path")+string(c.Raw)] = true
		w.WriteHeader(http.StatusNoContent)
	})
	for _, writer := range []string{"a-0", "a-1", "b-0"} {
		r := requestsOf(t, d, work.Config{Mix: []record.Share{{Op: work.Put, Weight: 1}}, Size: 1, Writer: writer})
		for n := range uint64(4) {
			if o := do(t, r, n); o.Err != nil {
				t.Fatal(o.Err)
			}
		}
	}
	paths, texts := map[string]bool{}, map[string]bool{}
	for s := range stored {
		path, text, _ := strings.Cut(s, ".md")
		paths[path], texts[text] = true, true
	}
	if len(paths) != 12 || len(texts) != 12 {
		t.Errorf("12 requests wrote %d documents with %d texts", len(paths), len(texts))
	}
}

func TestHeldStreamsAreReleased(t *testing.T) {
	var closed atomic.Int64
	d := daemontest.New(t, func(w http.ResponseWriter, r *http.Request, _ daemontest.Call) {
		w.Header().Set("Content-Type", protocol.TypeEvents)
		w.WriteHeader(http.StatusOK)
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done() // until the client closes it
		closed.Add(1)
	})
	r := requestsOf(t, d, work.Config{Mix: []record.Share{{Op: work.Search, Weight: 1}}, Size: 1})
	release, err := r.Hold(t.Context(), 5, 100*time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	if n := len(d.Calls()); n != 5 {
		t.Errorf("%d streams are held", n)
	}
	time.Sleep(150 * time.Millisecond) // the limit is for the headers alone
	if n := closed.Load(); n > 0 {
		t.Errorf("%d streams were closed", n)
	}
	release() // or the daemon would never close
	var body map[string]any
	if json.Unmarshal(d.Calls()[0].Raw, &body) != nil || body["question"] == "" {
		t.Errorf("the stream asks %s", d.Calls()[0].Raw)
	}
}

// A daemon that begins no reply holds no stream, and does not hold the bench either.
func TestHeldStreamsHaveToBegin(t *testing.T) {
	d := daemontest.New(t, func(_ http.ResponseWriter, r *http.Request, _ daemontest.Call) { <-r.Context().Done() })
	r := requestsOf(t, d, work.Config{Mix: []record.Share{{Op: work.Search, Weight: 1}}, Size: 1})
	if _, err := r.Hold(t.Context(), 5, 50*time.Millisecond); !errors.Is(err, target.ErrNoAnswer) || len(d.Calls()) != 1 {
		t.Errorf("%v after %d requests", err, len(d.Calls()))
	}
}

func TestIndexBytes(t *testing.T) {
	for page, want := range map[string]int64{
		"# HELP x_index_bytes y\nx_index_bytes 1.5e+06\nother_bytes 7\n":                                       1_500_000,
		"x_index_bytes{brain=\"a\"} 1\nx_index_bytes{brain=\"b\"} 2\n":                                         3,
		"x_index_bytes{brain=\"a b} c\"} 1 1700000000000\nx_index_bytes 2 1700000000000\n  x_index_bytes\t4\n": 7,
		"x_index_bytes{brain=\"a\" 1\nx_index_bytes 5\nlong " + strings.Repeat("x", 70_000):                    -1,
		"other 1\nx_index_bytes NaN\nindex_bytes_total 4\nx_index_bytes\n":                                     -1,
	} {
		d := daemontest.New(t, func(w http.ResponseWriter, _ *http.Request, _ daemontest.Call) { fmt.Fprint(w, page) })
		e := endpointAt(t, d.URL, 1)
		got := work.IndexBytes(t.Context(), e)
		if got == nil && want >= 0 || got != nil && *got != want {
			t.Errorf("%q: %v, want %d", page, got, want)
		}
	}
}
