package harness

import (
	"bytes"
	"fmt"
	"io"
	"iter"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"evalctl/harness/daemontest"
	"evalctl/harness/dataset"
	"evalctl/harness/journal"
	"evalctl/harness/target"
	"evalctl/internal/heap"
	"evalctl/scorer"
)

// The daemon of the benchmarks is a process of its own, as a real one is. In the benchmark's
// process it would share the heap, and its work would be measured too.

func benchRun(b *testing.B, url string, d dataset.Dataset) time.Duration {
	b.Helper()
	e, err := target.NewEndpoint(url, "", "evalctl-test", 16)
	if err != nil {
		b.Fatal(err)
	}
	defer e.Close()
	defer heap.HoldSpare()() // as the command does
	start := time.Now()
	j, err := journal.Create(b.TempDir(), identityOf(d), started, nil)
	if err != nil {
		b.Fatal(err)
	}
	res, _, err := rig{
		Journal: j, Asker: askBasic(e), Scorer: scorer.Exact{}, Timeout: time.Minute,
		Config: Config{TopK: 5, Dataset: d, Concurrency: 16},
	}.run(b.Context())
	took := time.Since(start)
	if err != nil || res.Passed != d.Selected {
		b.Fatalf("%d of %d passed, %v", res.Passed, d.Selected, err)
	}
	return took
}

// BenchmarkConstantLatency asks 1,000 questions, 16 concurrently, of a daemon that takes 20 ms for
// each, which takes 1.25 s at best. The bare client shows how close a client can come to that.
func BenchmarkConstantLatency(b *testing.B) {
	const n = 1000
	const ideal = n * 20 * time.Millisecond / 16
	daemon := startChild(b, "daemon", "DELAY=20ms")
	d := openDataset(b, writeDataset(b, n))
	requests := requestsOf(b, daemon.firstLine, d)
	var bare, harness time.Duration
	for b.Loop() {
		took, err := bareLoop(slices.Values(requests))
		if err != nil {
			b.Fatal(err)
		}
		bare += took
		harness += benchRun(b, daemon.firstLine, d)
	}
	ratio := func(t time.Duration) float64 { return t.Seconds() / float64(b.N) / ideal.Seconds() }
	b.ReportMetric(ratio(bare), "bare-x-ideal")
	b.ReportMetric(ratio(harness), "harness-x-ideal")
	b.ReportMetric(0, "ns/op") // the sum of both is of no interest
}

// BenchmarkThroughput sends 5,000 questions to a daemon that answers without delay, by the harness
// and by a bare client, in turn. One daemon flushes each event, as one that streams does. The other
// sends its answer in one piece, which is cheaper to read and costs the same to parse.
func BenchmarkThroughput(b *testing.B) {
	for name, whole := range map[string]string{"flushed": "", "whole": "1"} {
		b.Run(name, func(b *testing.B) {
			daemon := startChild(b, "daemon", "DELAY=0s", "WHOLE="+whole)
			benchThroughput(b, daemon.firstLine)
		})
	}
}

func benchThroughput(b *testing.B, url string) {
	const n = 5000
	d := openDataset(b, writeDataset(b, n))
	requests := requestsOf(b, url, d)
	var bare, harness time.Duration
	for b.Loop() {
		took, err := bareLoop(slices.Values(requests))
		if err != nil {
			b.Fatal(err)
		}
		bare += took
		harness += benchRun(b, url, d)
	}
	rate := func(t time.Duration) float64 { return float64(n*b.N) / t.Seconds() }
	b.ReportMetric(rate(bare), "bare-req/s")
	b.ReportMetric(rate(harness), "harness-req/s")
	b.ReportMetric(rate(harness)/rate(bare), "of-bare")
	b.ReportMetric(0, "ns/op")
}

// captured is a request as the harness sends it.
type captured struct {
	URL    string
	Header http.Header
	Body   []byte
}

// requestsOf returns the requests that the harness sends for the questions, addressed to url.
func requestsOf(b *testing.B, url string, d dataset.Dataset) []captured {
	s := daemontest.Answering(b)
	asks := targetOf(b, s)
	for q, err := range d.Questions() {
		if err == nil {
			_, err = asks.Ask(b.Context(), q, questionTime)
		}
		if err != nil {
			b.Fatal(err)
		}
	}
	var out []captured
	for _, c := range s.Calls() {
		out = append(out, captured{url + c.Path, c.Header, c.Raw})
	}
	return out
}

// bareLoop does the least that a client can do: it sends the requests and reads the answers.
func bareLoop(requests iter.Seq[captured]) (took time.Duration, err error) {
	tr := http.DefaultTransport.(*http.Transport).Clone()
	tr.MaxIdleConnsPerHost = 16
	client := &http.Client{Transport: tr}
	defer client.CloseIdleConnections()
	start := time.Now()
	next := make(chan captured)
	failed := make(chan error, 1) // the first of all
	var g sync.WaitGroup
	for range 16 {
		g.Go(func() {
			for c := range next {
				if err := send(client, c); err != nil {
					select {
					case failed <- err:
					default:
					}
				}
			}
		})
	}
	for c := range requests {
		next <- c
	}
	close(next)
	g.Wait()
	close(failed)
	return time.Since(start), <-failed
}

func send(client *http.Client, c captured) error {
	req, err := http.NewRequest(http.MethodPost, c.URL, bytes.NewReader(c.Body))
	if err != nil {
		return err
	}
	req.Header = c.Header
	res, err := client.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if n, err := io.Copy(io.Discard, res.Body); err != nil || res.StatusCode != http.StatusOK || n < 100 {
		return fmt.Errorf("status %d, %d bytes, %w", res.StatusCode, n, err)
	}
	return nil
}
