package work_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"evalctl/daemon/protocol"
	"evalctl/harness/bench/load"
	"evalctl/harness/bench/null"
	"evalctl/harness/bench/record"
	"evalctl/harness/bench/work"
	"evalctl/harness/result"
	"evalctl/internal/llm"
)

const clients = 8

// requests returns the requests of one operation to a null daemon, and its URL.
func requests(tb testing.TB, op string) (load.Work, string) {
	tb.Helper()
	url := nullDaemon(tb)
	return requestsTo(tb, url, "null", op), url
}

func nullDaemon(tb testing.TB) (url string) {
	tb.Helper()
	d, err := null.Start()
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := d.Close(); err != nil {
			tb.Error(err)
		}
	})
	return d.URL()
}

// question is what all requests ask.
const question = "what is it about?"

// requestsTo returns the requests of one operation to a brain.
func requestsTo(tb testing.TB, url, brain, op string) load.Work {
	tb.Helper()
	e := endpointAt(tb, url, 256)
	r := work.NewRequests(work.Config{
		Mix: []record.Share{{Op: op, Weight: 1}}, TopK: 10, Mode: protocol.ModeAuto, Dialect: result.Auto, Client: record.Direct,
		Queries: []string{question}, Documents: work.Synthetic(1), Prices: llm.DefaultPrices(),
	}, e, []string{brain})
	tb.Cleanup(func() { r.Close(); e.Close() })
	return r.Request
}

func closed() load.Profile {
	return load.Profile{Arrival: record.Closed, Concurrency: clients, Timeout: time.Minute}
}

// rate runs load and returns how many requests succeeded a second.
func rate(tb testing.TB, p load.Profile, w load.Work, while time.Duration) float64 {
	tb.Helper()
	blocks, err := load.Run(tb.Context(), p, load.Span{Block: while, Blocks: 1}, w, new(atomic.Uint64), nil)
	if err != nil {
		tb.Fatal(err)
	}
	o := blocks[0].Ops[0]
	if len(o.Errors) > 0 {
		tb.Fatalf("errors: %v, %s", o.Errors, o.FirstError)
	}
	return float64(o.InTime) / while.Seconds()
}

const turn = 500 * time.Millisecond

// BenchmarkConstantRate asks for 5,000 requests a second. kept is the part that began.
func BenchmarkConstantRate(b *testing.B) {
	w, _ := requests(b, work.Search)
	const wanted = 5000
	p := load.Profile{Arrival: record.Constant, MaxInFlight: 1024, Stage: record.Stage{From: wanted, To: wanted}, Timeout: time.Minute}
	offered, dropped, inTime := int64(0), int64(0), int64(0)
	for b.Loop() {
		blocks, err := load.Run(b.Context(), p, load.Span{Block: turn, Blocks: 1}, w, new(atomic.Uint64), nil)
		if err != nil {
			b.Fatal(err)
		}
		o := blocks[0].Ops[0]
		offered, dropped, inTime = offered+o.Offered, dropped+o.Dropped, inTime+o.InTime
	}
	want := wanted * turn.Seconds() * float64(b.N)
	b.ReportMetric(float64(offered-dropped)/want, "kept")
	b.ReportMetric(float64(inTime)/want, "answered-in-time")
}

// BenchmarkAskStreams takes turns with a bare client that reads the same streams and does not look at
// them.
func BenchmarkAskStreams(b *testing.B) {
	w, url := requests(b, work.Ask)
	transport := &http.Transport{MaxIdleConnsPerHost: clients, DisableCompression: true}
	defer transport.CloseIdleConnections()
	client := &http.Client{Transport: transport}
	body, _ := json.Marshal(map[string]any{"question": question, "top_k": 10, "mode": "auto"})
	bare := func() float64 {
		var n atomic.Int64
		var clientsDone sync.WaitGroup
		end := time.Now().Add(turn)
		for range clients {
			clientsDone.Go(func() {
				for time.Now().Before(end) {
					req, _ := http.NewRequestWithContext(context.Background(), http.MethodPost, url+"/v1/brains/null/ask", bytes.NewReader(body))
					req.Header.Set("Content-Type", protocol.TypeJSON)
					res, err := client.Do(req)
					if err != nil {
						b.Error(err)
						return
					}
					_, _ = io.Copy(io.Discard, res.Body)
					_ = res.Body.Close()
					n.Add(1)
				}
			})
		}
		clientsDone.Wait()
		return float64(n.Load()) / turn.Seconds()
	}
	newRace(func() time.Duration { return 0 },
		lane{"", func() float64 { return rate(b, closed(), w, turn) }}, lane{"bare", bare}).run(b, turn)
}

// TestMemoryIsFlat looks at the heap during load, after few requests and after many.
func TestMemoryIsFlat(t *testing.T) {
	if testing.Short() {
		t.Skip("the race detector needs memory of its own")
	}
	const few, many = 10_000, 1_000_000
	heap := map[uint64]uint64{}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	w := func(number uint64) load.Request {
		return load.Request{Op: "search", Do: func(context.Context) load.Outcome {
			if number == few || number == many {
				runtime.GC()
				var m runtime.MemStats
				runtime.ReadMemStats(&m)
				heap[number] = m.HeapAlloc
			}
			if number == many {
				cancel()
			}
			return load.Outcome{FirstDelta: time.Duration(number), Stream: 1, Bytes: 1}
		}}
	}
	p := closed()
	p.Concurrency = 1
	_, err := load.Run(ctx, p, load.Span{Block: time.Hour, Blocks: 1}, w, new(atomic.Uint64), nil)
	if err == nil || heap[many] == 0 {
		t.Fatalf("the load ended before its last request: %v", err)
	}
	t.Logf("%d kB after %d requests, %d kB after %d", heap[few]>>10, few, heap[many]>>10, many)
	if heap[many] > heap[few]+256<<10 {
		t.Errorf("the heap has %d kB after %d requests and %d kB after %d", heap[few]>>10, few, heap[many]>>10, many)
	}
}
