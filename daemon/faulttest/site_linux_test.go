package faulttest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"evalctl/daemon/protocol"
	"evalctl/internal/postgres/postgrestest"
)

// stores are the values of serve --store. The one of postgres is a URL.
var stores = []string{"fs", "git", "postgres"}

// site is a daemon whose store is in a folder that faults happen to, and its clients.
type site struct {
	*world
	store   string
	folder  string
	home    string                // of fs and git
	cluster *postgrestest.Cluster // of postgres
	device  *device               // nil if the folder is not on one
	daemon  *replica
	rng     *rand.Rand
	begun   time.Time // when the daemon started last

	clock    time.Duration // by which that of the daemon is wrong
	free     func() error  // makes room on the full disk
	variants int           // of damage that were tried
	lost     int           // acknowledged states that are not there
	losses   int           // violations that report them
}

// brainsOfSite is how many brains a site has: a fault in one of them must not harm the other.
const brainsOfSite = 2

// newSite starts a daemon with empty brains.
func newSite(t *testing.T, store, folder string, settings ...string) *site {
	t.Helper()
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	s := &site{store: store, folder: folder, rng: rand.New(rand.NewPCG(seed, 2))}
	if store == "postgres" {
		s.cluster = postgrestest.NewWith(t, postgrestest.Options{Dir: folder, Settings: settings})
		s.daemon = newReplica(t, store, nil, "--store", s.cluster.Database())
	} else {
		s.home = filepath.Join(folder, "home")
		s.daemon = newReplica(t, store, nil, "--store", store, "--home", s.home)
	}
	s.world = newWorld(t, brainsOfSite, func() []string { return []string{s.daemon.URL()} })
	if err := s.start(); err != nil {
		t.Fatal(err)
	}
	for _, brain := range s.brains {
		if _, err := s.at(s.daemon.URL()).CreateBrain(t.Context(), protocol.CreateBrain{ID: brain, Name: brain}); err != nil {
			t.Fatal(err)
		}
	}
	for i := range clients {
		s.writers = append(s.writers, newWriter(s.world, i, seed))
	}
	return s
}

// start starts the daemon, and before it the database.
func (s *site) start() error {
	if s.cluster != nil && !s.cluster.Running() {
		s.cluster.Start()
	}
	s.begun = time.Now()
	return s.daemon.launch()
}

// crash ends the daemon and the database with SIGKILL, wherever they are.
func (s *site) crash() {
	s.daemon.kill()
	if s.cluster != nil && s.cluster.Running() {
		s.cluster.Kill()
	}
}

// play plays a number of rounds. In each, the fault strikes while clients write, and ends with a
// crash; what is there afterwards is checked once mend has ended the fault and the daemon has started
// again. play ends after the first round that breaks a promise, and returns the number of rounds.
func (s *site) play(rounds int, f fault) (played int) {
	s.t.Helper()
	writing, stop := context.WithCancel(context.Background())
	var writers sync.WaitGroup
	defer writers.Wait()
	defer stop()
	for _, w := range s.writers {
		writers.Go(func() { w.run(writing) })
	}
	for played < rounds && len(s.broken()) == 0 {
		if err := s.round(f, played); err != nil {
			s.violated("round %d: %v", played, err)
		}
		played++
	}
	return played
}

func (s *site) round(f fault, round int) error {
	if err := s.work(); err != nil {
		return err
	}
	if f.strike != nil {
		if err := f.strike(s, round); err != nil {
			return err
		}
	}
	s.crash()
	defer s.pause()()
	if f.mend != nil {
		if err := f.mend(s, round); err != nil {
			return err
		}
	}
	if err := s.start(); err != nil {
		return fmt.Errorf("start after the fault: %w", err)
	}
	if err := s.ready(context.Background()); err != nil {
		return fmt.Errorf("after the fault: %w", err)
	}
	s.checkLost()
	return nil
}

// checkLost compares what was acknowledged with what is there.
func (s *site) checkLost() {
	before := len(s.broken())
	s.check(context.Background(), s.daemon.URL())
	missing := len(s.broken()) - before
	s.lost, s.losses = s.lost+missing, s.losses+missing
}

// work lets the clients write until some writes were acknowledged, and for a random time after.
func (s *site) work() error {
	acked := s.counts.acknowledged()
	for begun := time.Now(); s.counts.acknowledged() < acked+progress; time.Sleep(time.Millisecond) {
		if time.Since(begun) > s.settle {
			return fmt.Errorf("fewer than %d writes were acknowledged within %v", progress, s.settle)
		}
		if len(s.broken()) > 0 {
			return nil
		}
	}
	s.rest()
	return nil
}

// rest lets the clients work for a moment. The instant of the fault is the input of the test.
func (s *site) rest() { time.Sleep(time.Duration(s.rng.Int64N(int64(200 * time.Millisecond)))) }

// brainFolder is the folder of a brain that the store keeps its documents and its log in.
func (s *site) brainFolder(i int) string { return filepath.Join(s.home, "brains", s.brains[i]) }

// documentsFolder is the folder of a brain's documents.
func (s *site) documentsFolder(i int) string {
	if s.store == "git" {
		return filepath.Join(s.brainFolder(i), "repository")
	}
	return filepath.Join(s.brainFolder(i), "documents")
}

// openFolder returns a folder that other users can enter, unlike t.TempDir.
func openFolder(t *testing.T, parent string) string {
	t.Helper()
	dir, err := os.MkdirTemp(parent, "evalctl-site-") //nolint:usetesting // see above
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	if err := os.Chmod(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	return dir
}
