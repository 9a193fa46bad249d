package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/procfs"

	"evalctl/daemon/client"
	"evalctl/daemon/protocol"
	"evalctl/internal/longtest"
)

const (
	loadTime = 5 * time.Second // of each load
	giveUp   = time.Second     // after which a client leaves
)

// overloaded is a daemon process of its own, with the brain notes.
type overloaded struct {
	url    string
	pid    int
	client *http.Client
	words  *zipf
}

// TestOverload offers a daemon half, once, twice and four times the searches that it can answer, in
// a Poisson process: clients that do not wait for each other, and leave after a second. Its log has
// the figures; what must hold on any machine is checked.
func TestOverload(t *testing.T) {
	longtest.Skip(t)
	if raceDetector {
		t.Skip("measures memory, of which the race detector needs several times as much")
	}
	d := startOverloaded(t)
	capacity := d.capacity(t)
	t.Logf("capacity, 64 clients that wait: %.0f/s", capacity)
	before := d.load(t, capacity/2)
	for _, factor := range []float64{1, 2, 4} {
		got := d.load(t, factor*capacity)
		t.Logf("%v × capacity: p99 %.1f × that of half load, %.2f × as much answered in a second of processor time", factor,
			float64(got.p99)/float64(before.p99), got.perSecond()/before.perSecond())
		if got.strange > 0 {
			t.Errorf("%v × capacity: %d responses are neither 200 nor 503 with Retry-After", factor, got.strange)
		}
		if limit := 2*before.memory + 64<<20; got.memory > limit {
			t.Errorf("%v × capacity: %d MiB resident, with half load %d", factor, got.memory>>20, before.memory>>20)
		}
		if factor >= 2 && (got.answered == 0 || got.shed == 0) {
			t.Errorf("%v × capacity: %d answered, %d shed", factor, got.answered, got.shed)
		}
	}
	// Nothing is left of the overload.
	resp, err := d.search(t.Context())
	if err != nil || resp != http.StatusOK {
		t.Errorf("after the overload: %d, %v", resp, err)
	}
}

// startProcess starts a daemon in memory, with an empty brain.
func startProcess(t testing.TB, args ...string) *overloaded {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "evalctl", append([]string{"serve", "--addr", "127.0.0.1:0"}, args...)...)
	cmd.Env = append(os.Environ(), "SVC_HOME=", "SVC_STORE=", "SVC_LLM_PROVIDER=fake")
	stdout, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	transport := &http.Transport{MaxIdleConnsPerHost: 4096}
	t.Cleanup(transport.CloseIdleConnections)
	d := &overloaded{
		url: strings.TrimSpace(strings.TrimPrefix(line, "evalctl: listening on ")), pid: cmd.Process.Pid,
		client: &http.Client{Transport: transport},
	}
	c, err := client.New(d.url, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	if _, err := c.CreateBrain(t.Context(), protocol.CreateBrain{ID: "notes", Name: "Notes"}); err != nil {
		t.Fatal(err)
	}
	return d
}

func startOverloaded(t *testing.T) *overloaded {
	t.Helper()
	d := startProcess(t, "--pprof")
	d.fill(t, 40, 120)
	if status, err := d.search(t.Context()); err != nil || status != 200 { // builds the index
		t.Fatal(status, err)
	}
	return d
}

// fill writes batches of 1,000 documents.
func (d *overloaded) fill(t testing.TB, batches, words int) {
	t.Helper()
	d.words = newZipf(20_000)
	for from := range batches {
		var body strings.Builder
		body.WriteString(`{"reason":"load","ops":[`)
		for i := range 1000 {
			if i > 0 {
				body.WriteByte(',')
			}
			fmt.Fprintf(&body, `{"type":"write","path":"d%d/n%d.md","content_base64":%q}`, from, i,
				base64.StdEncoding.EncodeToString([]byte(d.words.text(words))))
		}
		body.WriteString(`]}`)
		d.post(t, "/v1/brains/notes/documents/batch-ops", body.String())
	}
}

func (d *overloaded) post(t testing.TB, path, body string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), "POST", d.url+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := d.client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if text, _ := io.ReadAll(resp.Body); resp.StatusCode != 200 {
		t.Fatalf("%s: %d %s", path, resp.StatusCode, text)
	}
}

var errNoRetryAfter = errors.New("503 without Retry-After")

// search sends a search of ten words.
func (d *overloaded) search(ctx context.Context) (int, error) {
	body := fmt.Sprintf(`{"query":%q,"top_k":10}`, d.words.text(10))
	req, err := http.NewRequestWithContext(ctx, "POST", d.url+"/v1/brains/notes/search", strings.NewReader(body))
	if err != nil {
		return 0, err
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := d.client.Do(req)
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	if _, err := io.Copy(io.Discard, resp.Body); err != nil {
		return 0, err
	}
	if resp.StatusCode == 503 && resp.Header.Get("Retry-After") == "" {
		return 503, errNoRetryAfter
	}
	return resp.StatusCode, nil
}

// capacity is the rate at which the daemon answers 64 clients that wait for it, as those of an
// evaluation do. None of them may be shed.
func (d *overloaded) capacity(t *testing.T) float64 {
	t.Helper()
	var answered atomic.Int64
	var clients sync.WaitGroup
	begin := time.Now()
	for range 64 {
		clients.Go(func() {
			for time.Since(begin) < loadTime {
				if status, err := d.search(t.Context()); err != nil || status != 200 {
					t.Errorf("a client that waits gets %d, %v", status, err)
					return
				}
				answered.Add(1)
			}
		})
	}
	clients.Wait()
	return float64(answered.Load()) / time.Since(begin).Seconds()
}

// loaded is what became of the requests of one load.
type loaded struct {
	answered, shed, left, strange int
	p50, p99                      time.Duration // of the answered, from their intended beginnings
	memory                        int64         // the most resident bytes
	cpu                           time.Duration // of the daemon
}

// load offers requests at a rate per second.
func (d *overloaded) load(t *testing.T, rate float64) loaded {
	t.Helper()
	var mu sync.Mutex
	var got loaded
	var took []time.Duration
	var requests sync.WaitGroup
	cpu := processorTime(t, d.pid)
	begin, next, sampled := time.Now(), time.Duration(0), time.Time{}
	for {
		next += time.Duration(rand.ExpFloat64() / rate * float64(time.Second))
		if next > loadTime {
			break
		}
		time.Sleep(time.Until(begin.Add(next)))
		if time.Since(sampled) > 100*time.Millisecond {
			sampled = time.Now()
			got.memory = max(got.memory, resident(t, d.pid))
		}
		intended := begin.Add(next)
		requests.Go(func() {
			ctx, cancel := context.WithDeadline(t.Context(), intended.Add(giveUp))
			defer cancel()
			status, err := d.search(ctx)
			since := time.Since(intended)
			mu.Lock()
			defer mu.Unlock()
			switch {
			case ctx.Err() != nil:
				got.left++
			case err == nil && status == 200:
				got.answered++
				took = append(took, since)
			case err == nil && status == 503:
				got.shed++
			default:
				got.strange++
			}
		})
	}
	requests.Wait()
	got.cpu = processorTime(t, d.pid) - cpu
	slices.Sort(took)
	if len(took) == 0 {
		t.Fatalf("nothing was answered: %+v", got)
	}
	got.p50, got.p99 = took[len(took)/2], took[len(took)*99/100]
	t.Logf("%5.0f/s offered: %5.0f/s answered, %5.0f/s shed, %5.0f/s left; p50 %v, p99 %v; %d MiB; %.0f answered in a second of processor time", rate,
		float64(got.answered)/loadTime.Seconds(), float64(got.shed)/loadTime.Seconds(), float64(got.left)/loadTime.Seconds(),
		got.p50.Round(10*time.Microsecond), got.p99.Round(10*time.Microsecond), got.memory>>20, got.perSecond())
	return got
}

// perSecond is how many requests were answered in a second of the daemon's processor time. Unlike the
// rates, it does not depend on what else the machine does.
func (l loaded) perSecond() float64 { return float64(l.answered) / l.cpu.Seconds() }

// processorTime returns the time that a process has used so far.
func processorTime(t *testing.T, pid int) time.Duration {
	t.Helper()
	p, err := procfs.NewProc(pid)
	if err != nil {
		t.Fatal(err)
	}
	stat, err := p.Stat()
	if err != nil {
		t.Fatal(err)
	}
	return time.Duration(stat.CPUTime() * float64(time.Second))
}

var residentLine = regexp.MustCompile(`VmRSS:\s+(\d+) kB`)

// resident returns the memory of a process.
func resident(t testing.TB, pid int) int64 {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	m := residentLine.FindSubmatch(status)
	if err != nil || m == nil {
		t.Fatalf("%v: %s", err, bytes.TrimSpace(status))
	}
	kib, _ := strconv.ParseInt(string(m[1]), 10, 64)
	return kib << 10
}

// zipf draws words by Zipf's law. It is safe for concurrent use.
type zipf struct {
	mu sync.Mutex
	of *rand.Zipf
}

func newZipf(words uint64) *zipf {
	return &zipf{of: rand.NewZipf(rand.New(rand.NewPCG(1, 2)), 1.1, 8, words-1)}
}

func (z *zipf) text(words int) string {
	z.mu.Lock()
	defer z.mu.Unlock()
	var b strings.Builder
	for range words {
		fmt.Fprintf(&b, "w%d ", z.of.Uint64())
	}
	return b.String()
}
