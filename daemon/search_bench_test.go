package daemon_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"evalctl/daemon"
	"evalctl/internal/llm"
)

// notes draws texts from 20,000 words whose frequencies are those of natural language.
type notes struct {
	rng  *rand.Rand
	zipf *rand.Zipf
}

func newNotes() *notes {
	rng := rand.New(rand.NewPCG(1, 2))
	return &notes{rng: rng, zipf: rand.NewZipf(rng, 1.08, 3, 19_999)}
}

func (n *notes) text(words int) string {
	syllables := strings.Fields("ka lo mi ne ru sa to vi du pe gan bor tel fin")
	var b strings.Builder
	for range words {
		for i := n.zipf.Uint64() + 1; i > 0; i /= uint64(len(syllables)) {
			b.WriteString(syllables[i%uint64(len(syllables))])
		}
		b.WriteByte(' ')
	}
	return b.String()
}

// client sends requests to a daemon over a real socket.
type client struct {
	url  string
	http http.Client
}

func (c *client) send(tb testing.TB, method, path, contentType string, body []byte) {
	req, err := http.NewRequestWithContext(tb.Context(), method, c.url+path, bytes.NewReader(body))
	if err != nil {
		tb.Error(err)
		return
	}
	req.Header.Set("Content-Type", contentType)
	res, err := c.http.Do(req)
	if err != nil {
		tb.Error(err)
		return
	}
	defer res.Body.Close()
	got, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode >= 300 {
		tb.Errorf("%s %s: %d %s %v", method, path, res.StatusCode, got, err)
	}
}

func (c *client) search(tb testing.TB, query string) {
	body, err := json.Marshal(map[string]any{"query": query, "top_k": 5})
	if err != nil {
		tb.Error(err)
	}
	c.send(tb, "POST", "/v1/brains/eval/search", "application/json", body)
}

func (c *client) put(tb testing.TB, path, text string) {
	c.send(tb, "PUT", "/v1/brains/eval/documents?path="+url.QueryEscape(path), "application/octet-stream", []byte(text))
}

// batch writes documents of the given texts below dir.
func (c *client) batch(tb testing.TB, dir string, texts []string) {
	type op struct {
		Type    string `json:"type"`
		Path    string `json:"path"`
		Content string `json:"content_base64"`
	}
	ops := make([]op, len(texts))
	for i, text := range texts {
		ops[i] = op{"write", fmt.Sprintf("%s/n%d.md", dir, i), base64.StdEncoding.EncodeToString([]byte(text))}
	}
	body, err := json.Marshal(map[string]any{"reason": "fill", "ops": ops})
	if err != nil {
		tb.Fatal(err)
	}
	c.send(tb, "POST", "/v1/brains/eval/documents/batch-ops", "application/json", body)
}

// startBench serves a daemon with the brain eval.
func startBench(b *testing.B, home string) (c *client, stop func()) {
	d, err := daemon.New(b.Context(), daemon.Config{Home: home, Reader: llm.NewFake(), ReaderModel: llm.FakeModel})
	if err != nil {
		b.Fatal(err)
	}
	server := httptest.NewServer(d.Handler())
	transport := &http.Transport{MaxIdleConnsPerHost: 64}
	stop = sync.OnceFunc(func() {
		transport.CloseIdleConnections()
		server.Close()
		if err := d.Close(); err != nil {
			b.Error(err)
		}
	})
	b.Cleanup(stop)
	return &client{url: server.URL, http: http.Client{Transport: transport}}, stop
}

func (c *client) createBrain(tb testing.TB) {
	c.send(tb, "POST", "/v1/brains", "application/json", []byte(`{"id":"eval"}`))
}

// BenchmarkSearch searches a brain of 1,000 documents of 120 words for the five best, with
// queries of three to six of their words. The limit is a request of the same size that
// costs the daemon nothing.
func BenchmarkSearch(b *testing.B) {
	c, _ := startBench(b, "")
	c.createBrain(b)
	n := newNotes()
	texts := make([]string, 1000)
	for i := range texts {
		texts[i] = n.text(120)
	}
	c.batch(b, "notes", texts)
	queries := make([]string, 1000)
	for i := range queries {
		words := strings.Fields(texts[n.rng.IntN(len(texts))])
		from := n.rng.IntN(100)
		queries[i] = strings.Join(words[from:from+3+n.rng.IntN(4)], " ")
	}
	c.search(b, queries[0]) // builds the index
	for _, clients := range []int{1, 16} {
		b.Run(fmt.Sprintf("clients=%d", clients), func(b *testing.B) {
			ask(b, clients, func(i int) { c.search(b, queries[i%len(queries)]) })
		})
		b.Run(fmt.Sprintf("limit/clients=%d", clients), func(b *testing.B) {
			ask(b, clients, func(int) { c.send(b, "GET", "/healthz", "", nil) })
		})
	}
}

// ask runs b.N requests from several clients and reports the median latency and the
// requests per second.
func ask(b *testing.B, clients int, request func(i int)) {
	var next atomic.Int64
	took := make([]time.Duration, b.N)
	b.ResetTimer()
	var wg sync.WaitGroup
	for range clients {
		wg.Go(func() {
			for i := int(next.Add(1)) - 1; i < b.N; i = int(next.Add(1)) - 1 {
				start := time.Now()
				request(i)
				took[i] = time.Since(start)
			}
		})
	}
	wg.Wait()
	b.StopTimer()
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Microseconds()), "p50-µs")
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "requests/s")
}

// BenchmarkIngest writes documents of 120 words into a home on disk, from one client to a
// brain that is being searched, and searches at the end.
func BenchmarkIngest(b *testing.B) {
	n := newNotes()
	texts := make([]string, 1000)
	for i := range texts {
		texts[i] = n.text(120)
	}
	b.Run("put", func(b *testing.B) {
		c, _ := startBench(b, b.TempDir())
		c.createBrain(b)
		c.search(b, "x")
		b.ResetTimer()
		for i := range b.N {
			c.put(b, fmt.Sprintf("notes/n%d.md", i), texts[i%len(texts)])
		}
		c.search(b, texts[0])
		b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "documents/s")
	})
	b.Run("batch", func(b *testing.B) {
		c, _ := startBench(b, b.TempDir())
		c.createBrain(b)
		c.search(b, "x")
		b.ResetTimer()
		for i := range b.N {
			c.batch(b, fmt.Sprintf("b%d", i), texts)
		}
		c.search(b, texts[0])
		b.ReportMetric(float64(b.N*len(texts))/b.Elapsed().Seconds(), "documents/s")
	})
}

// BenchmarkOpen100k starts a daemon with a brain of 100,000 chunks, 10,000 documents of ten
// chunks each, and waits for its first answer: from the snapshot and without it.
func BenchmarkOpen100k(b *testing.B) {
	home, n := b.TempDir(), newNotes()
	c, stop := startBench(b, home)
	c.createBrain(b)
	for batch := range 20 {
		texts := make([]string, 500)
		for i := range texts {
			for range 10 {
				texts[i] += "## " + n.text(3) + "\n\n" + n.text(120) + "\n\n"
			}
		}
		c.batch(b, fmt.Sprintf("b%d", batch), texts)
	}
	c.search(b, "kalo")
	stop()
	for b.Loop() {
		c, stop := startBench(b, home)
		c.search(b, "kalo")
		b.StopTimer()
		stop()
		b.StartTimer()
	}
}
