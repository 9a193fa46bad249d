package main

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/procfs"

	"evalctl/daemon/client"
	"evalctl/daemon/protocol"
)

// overloaded is a daemon process of its own, with the brain notes.
type overloaded struct {
	url    string
	pid    int
	client *http.Client
	words  *zipf
}

// startProcess starts a daemon in memory, with an empty brain.
func startProcess(t testing.TB, args ...string) *overloaded {
	t.Helper()
	return startStored(t, "", "", args...)
}

// startStored is startProcess with a store and a home.
func startStored(t testing.TB, store, home string, args ...string) *overloaded {
	t.Helper()
	url, cmd := serveProcess(t, []string{"SVC_HOME=" + home, "SVC_STORE=" + store, "SVC_LLM_PROVIDER=fake"}, args...)
	transport := &http.Transport{MaxIdleConnsPerHost: 4096}
	t.Cleanup(transport.CloseIdleConnections)
	d := &overloaded{url: url, pid: cmd.Process.Pid, client: &http.Client{Transport: transport}}
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

// query returns the body of a search of ten words.
func (d *overloaded) query() string { return fmt.Sprintf(`{"query":%q,"top_k":10}`, d.words.text(10)) }

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

// waited returns how long the threads of a process could have run so far and did not, because
// something else had the processor.
func waited(t *testing.T, pid int) time.Duration {
	t.Helper()
	threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", pid))
	if err != nil || len(threads) == 0 {
		t.Fatalf("%d threads, %v", len(threads), err)
	}
	var sum, ran, wait time.Duration
	for _, path := range threads {
		text, err := os.ReadFile(path)
		if _, scanErr := fmt.Sscan(string(text), &ran, &wait); err == nil && scanErr == nil { // else the thread has ended
			sum += wait
		}
	}
	return sum
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
