// Package faulttest checks what a daemon promises with each store, while processes are killed, power
// fails, clocks and disks fail, and files are damaged; and what several replicas over one database
// promise, while replicas are killed, the database crashes or is full, and the network between them
// fails. Clients write and search, each knows what it wrote, and watchers follow the changes of
// every brain.
package faulttest

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"evalctl/daemon/client"
)

const (
	// requestTimeout is longer than any fault.
	requestTimeout = 30 * time.Second
	// silence is how long a stream may send nothing: longer than the interval of pings.
	silence = time.Minute
	// settleTime is how long the replicas may take until everything works after the last fault.
	settleTime = time.Minute
)

// world is what clients and watchers share.
type world struct {
	t      testing.TB
	brains []string
	// urls returns the base URLs of the replicas at the moment, also of those that are down.
	urls func() []string
	http *http.Client
	// truth is what the database says about the changes of a brain; nil if there is none.
	truth  truth
	settle time.Duration
	// outage reports whether an answer other than 503 is what a fault may cause; nil if none is.
	outage func(status int) bool
	// foreign reports whether another program has made a file that may be a document.
	foreign func(path string) bool

	writers  []*writer
	watchers []*watcher

	// running is write-locked while the clients are to wait.
	running sync.RWMutex
	counts  counts

	mu         sync.Mutex
	violations []string
	rejected   map[string]int // answers that say that nothing, or nobody knows what, happened
}

// counts show that a test did something.
type counts struct {
	writes, batches, appends, unknown, searches, reads, events, attached atomic.Int64
}

// acknowledged is the number of writes of every kind that were.
func (c *counts) acknowledged() int64 {
	return c.writes.Load() + c.batches.Load() + c.appends.Load()
}

func (c *counts) String() string {
	return fmt.Sprintf("%d writes, %d batches, %d appends acknowledged; %d with unknown outcome; "+
		"%d searches and %d reads of own writes; %d events on %d streams",
		c.writes.Load(), c.batches.Load(), c.appends.Load(), c.unknown.Load(),
		c.searches.Load(), c.reads.Load(), c.events.Load(), c.attached.Load())
}

// newWorld returns a world of brains that do not exist yet.
func newWorld(t testing.TB, brains int, urls func() []string) *world {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.MaxIdleConnsPerHost = 32
	t.Cleanup(transport.CloseIdleConnections)
	w := &world{t: t, urls: urls, http: &http.Client{Transport: transport}, rejected: map[string]int{}, settle: settleTime}
	for i := range brains {
		w.brains = append(w.brains, fmt.Sprintf("brain-%d", i))
	}
	return w
}

// violated records a broken promise.
func (w *world) violated(format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.violations = append(w.violations, fmt.Sprintf(format, args...))
}

// broken returns the promises that were broken.
func (w *world) broken() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.violations
}

// report fails the test for each broken promise.
func (w *world) report() {
	w.t.Helper()
	const most = 20
	broken := w.broken()
	for i, v := range broken {
		if i == most {
			w.t.Errorf("and %d more", len(broken)-most)
			break
		}
		w.t.Error(v)
	}
}

// client returns the API of one replica, chosen at random.
func (w *world) client(rng *rand.Rand) *client.Client {
	urls := w.urls()
	return w.at(urls[rng.IntN(len(urls))])
}

// at returns the API of a replica.
func (w *world) at(url string) *client.Client {
	c, err := client.New(url, &client.Options{HTTPClient: w.http, Timeout: requestTimeout, Silence: silence})
	if err != nil {
		panic(err) // the URL is the test's own
	}
	return c
}

// pause waits for the requests in flight and holds back further ones until resume is called.
func (w *world) pause() (resume func()) {
	w.running.Lock()
	return w.running.Unlock
}
