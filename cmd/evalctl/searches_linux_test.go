package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"evalctl/harness/bench/load"
	"evalctl/harness/bench/record"
	"evalctl/internal/awaittest"
)

// separate gives this process and what a function starts processors of their own until the test
// ends. With a single processor it only says so.
func separate(t *testing.T) (apart func(start func())) {
	t.Helper()
	var all unix.CPUSet
	if err := unix.SchedGetaffinity(0, &all); err != nil {
		t.Fatal(err)
	}
	var sets []unix.CPUSet // of one processor each
	for cpu := 0; len(sets) < min(2, all.Count()); cpu++ {
		if all.IsSet(cpu) {
			var one unix.CPUSet
			one.Set(cpu)
			sets = append(sets, one)
		}
	}
	if len(sets) < 2 {
		t.Log("there is one processor, which the generator and the daemon share")
		return func(start func()) { start() }
	}
	move := func(to *unix.CPUSet) {
		threads, err := filepath.Glob("/proc/self/task/*")
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range threads {
			id, _ := strconv.Atoi(filepath.Base(path))
			if err := unix.SchedSetaffinity(id, to); err != nil && !errors.Is(err, os.ErrNotExist) && !errors.Is(err, unix.ESRCH) {
				t.Fatal(err)
			}
		}
	}
	move(&sets[1])
	runtime.GOMAXPROCS(1)
	t.Cleanup(func() {
		move(&all)
		runtime.SetDefaultGOMAXPROCS()
	})
	return func(start func()) {
		runtime.LockOSThread() // a process begins with the processors of the thread that starts it
		defer runtime.UnlockOSThread()
		if err := unix.SchedSetaffinity(0, &sets[0]); err != nil {
			t.Fatal(err)
		}
		start()
		if err := unix.SchedSetaffinity(0, &sets[1]); err != nil {
			t.Fatal(err)
		}
	}
}

// searches sends searches to a daemon. net/http would need more processor time for a request than
// the daemon does to reject it.
type searches struct {
	daemon   *overloaded
	address  string
	requests [][]byte

	mu   sync.Mutex
	idle []*wire
}

// wire is a connection.
type wire struct {
	net.Conn
	read *bufio.Reader
}

// newSearches returns searches of ten words.
func newSearches(d *overloaded) *searches {
	g := &searches{daemon: d, address: strings.TrimPrefix(d.url, "http://"), requests: make([][]byte, 1<<14)}
	for i := range g.requests {
		body := d.query()
		g.requests[i] = fmt.Appendf(nil, "POST /v1/brains/notes/search HTTP/1.1\r\nHost: %s\r\n"+
			"Content-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", g.address, len(body), body)
	}
	return g
}

var (
	errShed    = errors.New("503 with Retry-After")
	errStrange = errors.New("neither 200 nor 503 with Retry-After")
)

// search returns when a request was sent.
func (g *searches) search(ctx context.Context) (sent time.Time, err error) {
	w, err := g.connect(ctx)
	if err != nil {
		return time.Now(), err
	}
	deadline, _ := ctx.Deadline()
	_ = w.SetDeadline(deadline)
	sent = time.Now()
	if err := w.exchange(g.requests[rand.IntN(len(g.requests))]); err != nil && !errors.Is(err, errShed) {
		_ = w.Close()
		return sent, err
	} else if err != nil {
		g.keep(w)
		return sent, err
	}
	g.keep(w)
	return sent, nil
}

func (g *searches) connect(ctx context.Context) (*wire, error) {
	g.mu.Lock()
	if n := len(g.idle); n > 0 {
		w := g.idle[n-1]
		g.idle = g.idle[:n-1]
		g.mu.Unlock()
		return w, nil
	}
	g.mu.Unlock()
	c, err := new(net.Dialer).DialContext(ctx, "tcp", g.address)
	if err != nil {
		return nil, err
	}
	return &wire{c, bufio.NewReader(c)}, nil
}

func (g *searches) keep(w *wire) {
	g.mu.Lock()
	g.idle = append(g.idle, w)
	g.mu.Unlock()
}

func (w *wire) exchange(request []byte) error {
	if _, err := w.Write(request); err != nil {
		return err
	}
	resp, err := http.ReadResponse(w.read, nil)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if _, err := io.Copy(io.Discard, resp.Body); err != nil {
		return err
	}
	switch {
	case resp.StatusCode == 200 && !resp.Close:
		return nil
	case resp.StatusCode == 503 && resp.Header.Get("Retry-After") != "" && !resp.Close:
		return errShed
	}
	return errStrange
}

// open offers requests at a rate per second, whatever becomes of them.
func (g *searches) open(t *testing.T, rate float64, name string) loaded {
	t.Helper()
	return g.offer(t, name, loadTime, load.Profile{
		Arrival: record.Poisson, MaxInFlight: 1 << 20, Stage: record.Stage{From: rate, To: rate}, Timeout: giveUp, Seed: 1,
	})
}

// closed has clients send a request each, and the next one at once when they have the response.
func (g *searches) closed(t *testing.T, clients int, span time.Duration) loaded {
	t.Helper()
	return g.offer(t, fmt.Sprintf("%d clients that wait", clients), span,
		load.Profile{Arrival: record.Closed, Concurrency: clients, Timeout: time.Minute})
}

// crowd offers requests at a rate per second over some connections: what finds none is not sent.
// Before they count, refusals have found their pace.
func (g *searches) crowd(t *testing.T, rate float64, connections int, name string) loaded {
	t.Helper()
	return g.offerAfter(t, name, crowdTime, crowdTime, load.Profile{
		Arrival: record.Poisson, MaxInFlight: connections, Stage: record.Stage{From: rate, To: rate}, Timeout: time.Minute, Seed: 1,
	})
}

// disconnect closes the connections that have no request.
func (g *searches) disconnect() {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, w := range g.idle {
		_ = w.Close()
	}
	g.idle = nil
}

func (g *searches) offer(t *testing.T, name string, span time.Duration, p load.Profile) loaded {
	t.Helper()
	return g.offerAfter(t, name, 0, span, p)
}

// offerAfter counts what ends within a span that begins some time after the load.
func (g *searches) offerAfter(t *testing.T, name string, start, span time.Duration, p load.Profile) loaded {
	t.Helper()
	got := loaded{
		name: name, took: span, intended: record.NewHistogram(), daemon: record.NewHistogram(), late: record.NewHistogram(),
	}
	var mu sync.Mutex
	began := time.Now()
	work := load.Request{Op: "search", Do: func(ctx context.Context) load.Outcome {
		due := load.Due(ctx)
		sent, err := g.search(ctx)
		ended := time.Now()
		mu.Lock()
		defer mu.Unlock()
		if after := ended.Sub(began); after < start || after > start+span {
			return load.Outcome{Err: err, Ended: ended}
		}
		got.offered++
		got.late.Add(int64(sent.Sub(due)))
		switch {
		case err == nil:
			got.answered++
			got.intended.Add(int64(ended.Sub(due)))
			got.daemon.Add(int64(ended.Sub(sent)))
		case errors.Is(err, errShed):
			got.shed++
		case ctx.Err() != nil || errors.Is(err, os.ErrDeadlineExceeded):
			got.left++
		default:
			t.Log(err)
			got.strange++
		}
		return load.Outcome{Err: err, Ended: ended}
	}}
	ctx, stop := context.WithCancel(t.Context())
	var watching sync.WaitGroup
	watching.Go(func() {
		for tick := time.Tick(100 * time.Millisecond); ctx.Err() == nil; <-tick {
			got.memory = max(got.memory, resident(t, g.daemon.pid))
			began := time.Now()
			if resp, err := g.daemon.client.Get(g.daemon.url + "/healthz"); err != nil || resp.Body.Close() != nil || resp.StatusCode != 200 {
				t.Errorf("%s: health %+v, %v", name, resp, err)
			}
			got.health = max(got.health, time.Since(began))
		}
	})
	watching.Go(func() {
		time.Sleep(time.Until(began.Add(start)))
		before, kept := processorTime(t, g.daemon.pid), waited(t, g.daemon.pid)
		time.Sleep(time.Until(began.Add(start + span)))
		got.cpu, got.waited = processorTime(t, g.daemon.pid)-before, waited(t, g.daemon.pid)-kept
	})
	_, err := load.Run(t.Context(), p, load.Span{Block: start + span, Blocks: 1}, func(uint64) load.Request { return work }, new(atomic.Uint64), nil)
	stop()
	awaittest.Wait(t, "watching", watching.Wait)
	if err != nil || got.answered == 0 {
		t.Fatalf("%s: %d answered, %v", name, got.answered, err)
	}
	return got
}
