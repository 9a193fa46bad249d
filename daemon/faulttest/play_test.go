package faulttest

import (
	"context"
	"flag"
	"os"
	"sync"
	"testing"

	"evalctl/daemon/protocol"
)

var full = flag.Bool("full", false, "run as many faults as a release needs: half an hour")

// onlyLong skips a test of which the race detector would show nothing new.
func onlyLong(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("shorter tests run the same code")
	}
}

func TestMain(m *testing.M) {
	flag.Parse()
	os.Exit(mainWith(m))
}

func mainWith(m *testing.M) int {
	dir, err := os.MkdirTemp("", "evalctl-faulttest-")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	built = dir
	return m.Run()
}

// Sizes of a world.
const (
	clients       = 8
	brainsOfWorld = 5
	watchersEach  = 2 // of each brain
)

// play creates the brains and has clients and watchers at work while faults runs. It then checks
// everything, at each replica.
func (w *world) play(ctx context.Context, seed uint64, faults func()) {
	w.t.Helper()
	watching, stopWatching := context.WithCancel(ctx)
	for _, brain := range w.brains {
		_, err := w.at(w.urls()[0]).CreateBrain(ctx, protocol.CreateBrain{ID: brain, Name: brain})
		if err == nil && w.truth != nil {
			err = w.truth.open(watching, brain)
		}
		if err != nil {
			w.t.Fatal(err)
		}
	}
	writing, stopWriting := context.WithCancel(ctx)
	var watchers, writers sync.WaitGroup
	defer watchers.Wait()
	defer writers.Wait()
	defer stopWatching()
	defer stopWriting()
	for i := range watchersEach * len(w.brains) {
		v := newWatcher(w, w.brains[i%len(w.brains)], seed+uint64(i))
		w.watchers = append(w.watchers, v)
		watchers.Go(func() { v.run(watching) })
	}
	for i := range clients {
		c := newWriter(w, i, seed)
		w.writers = append(w.writers, c)
		writers.Go(func() { c.run(writing) })
	}
	faults()
	stopWriting()
	writers.Wait()
	if err := w.ready(ctx); err != nil {
		w.violated("after all faults: %v", err)
	}
	for _, url := range w.urls() {
		w.check(ctx, url)
	}
	w.checkStreams(ctx)
	w.t.Logf("%v; refused: %v", &w.counts, w.rejected)
	if d, ok := w.truth.(*table); ok {
		w.t.Logf("%d transactions wrote to several brains", d.shared(ctx))
	}
}
