package pgstore_test

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"evalctl/daemon/store"
	"evalctl/daemon/store/pgstore"
	"evalctl/daemon/store/storetest"
	"evalctl/internal/awaittest"
	"evalctl/internal/longtest"
	"evalctl/internal/postgres/postgrestest"
)

// fast is for databases whose durability a test does not need.
const fast = "&synchronous_commit=off"

// replicas opens the same new brain from two processes' worth of connections.
func replicas(t *testing.T) (db [2]*pgstore.DB, s [2]*store.Store) {
	t.Helper()
	url := postgrestest.Database(t) + fast
	for i := range db {
		db[i] = openDB(t, url)
	}
	brain := newBrain(t, db[0])
	for i := range s {
		s[i] = openStore(t, db[i], brain)
	}
	return db, s
}

// follow collects the events of a store.
func follow(s *store.Store) (events func() []store.ChangeEvent) {
	var mu sync.Mutex
	var all []store.ChangeEvent
	s.Subscribe(func(ev store.ChangeEvent) {
		mu.Lock()
		defer mu.Unlock()
		all = append(all, ev)
	})
	return func() []store.ChangeEvent {
		mu.Lock()
		defer mu.Unlock()
		return append([]store.ChangeEvent(nil), all...)
	}
}

func TestModelOfReplicas(t *testing.T) {
	longtest.Skip(t)
	url := postgrestest.Database(t) + fast
	one, two := openDB(t, url), openDB(t, url)
	storetest.RunReplicas(t, func(t *testing.T) []*store.Store {
		brain := newBrain(t, one)
		return []*store.Store{openStore(t, one, brain), openStore(t, two, brain)}
	})
}

// TestEventsOfReplicas mutates both replicas at once. Both must deliver the same events: every
// commit, once, in order.
func TestEventsOfReplicas(t *testing.T) {
	_, s := replicas(t)
	events := [2]func() []store.ChangeEvent{follow(s[0]), follow(s[1])}
	const each = 40
	var wg sync.WaitGroup
	for client := range 6 {
		wg.Go(func() {
			for i := range each {
				if err := mutate(s[client%2], client, i); err != nil {
					t.Error(err)
				}
			}
		})
	}
	awaittest.Wait(t, "the goroutines", wg.Wait)
	for i := range s {
		if err := s[i].Sync(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	got, other := events[0](), events[1]()
	if diff := cmp.Diff(got, other); diff != "" {
		t.Errorf("the replicas deliver different events: %s", diff)
	}
	checkOrder(t, got)
	if n := s[0].Seq(); n != 6*each {
		t.Errorf("%d commits, want %d", n, 6*each)
	}
}

// mutate makes one commit of a client.
func mutate(s *store.Store, client, i int) error {
	ctx, path := context.Background(), fmt.Sprintf("d/%d", client)
	switch i % 3 {
	case 0:
		return s.Append(ctx, path, []byte("x"))
	case 1:
		return s.Apply(ctx, store.Commit{Reason: "two", Ops: []store.Op{
			{Kind: store.OpWrite, Path: path + "a", Data: []byte("1")},
			{Kind: store.OpRename, Path: path + "a", To: path + "b"},
		}})
	}
	return s.Batch(ctx, store.BatchOptions{Reason: "batch"}, func(b *store.Batch) error {
		return errors.Join(b.Append(ctx, "n", []byte("x")), b.Delete(ctx, path+"b"))
	})
}

// TestBatchesOfReplicas lets both replicas increase a number that a batch has read.
func TestBatchesOfReplicas(t *testing.T) {
	_, s := replicas(t)
	ctx := t.Context()
	if err := s[0].Write(ctx, "n", []byte("0")); err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for client := range 4 {
		wg.Go(func() {
			for range 15 {
				err := s[client%2].Batch(ctx, store.BatchOptions{}, func(b *store.Batch) error {
					data, err := b.Read(ctx, "n")
					if err != nil {
						return err
					}
					n, err := strconv.Atoi(string(data))
					return errors.Join(err, b.Write(ctx, "n", []byte(strconv.Itoa(n+1))))
				})
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	awaittest.Wait(t, "the goroutines", wg.Wait)
	if data, err := s[0].Read(ctx, "n"); err != nil || string(data) != "60" {
		t.Errorf("%s, %v, want 60", data, err)
	}
}

// TestConflict changes a document in one replica between the look and the write of the other one.
func TestConflict(t *testing.T) {
	_, s := replicas(t)
	ctx := t.Context()
	if err := s[0].Write(ctx, "a", []byte("1")); err != nil {
		t.Fatal(err)
	}
	info, err := s[1].Stat(ctx, "a")
	if err != nil {
		t.Fatal(err)
	}
	op := store.Op{Kind: store.OpWrite, Path: "a", Data: []byte("2"), Expect: info.Version}
	other := store.Op{Kind: store.OpWrite, Path: "b"}
	if err := s[0].Apply(ctx, store.Commit{Ops: []store.Op{op}}); err != nil {
		t.Fatal(err)
	}
	for _, ops := range [][]store.Op{{op}, {other, op}, {{Kind: store.OpDelete, Path: "a", Expect: info.Version}}} {
		if err := s[1].Apply(ctx, store.Commit{Ops: ops}); !errors.Is(err, store.ErrConflict) {
			t.Errorf("%d operations: %v, want a conflict", len(ops), err)
		}
	}
	if ok, err := s[1].Exists(ctx, "b"); ok || err != nil {
		t.Errorf("half of a conflicting commit was made: %t, %v", ok, err)
	}
}

// TestWake expects events without a Sync: after a notification, after a commit that sends none, and
// after the connection that listens was lost.
func TestWake(t *testing.T) {
	t.Parallel()
	db, s := replicas(t)
	ctx := t.Context()
	events := follow(s[1])
	received := func(n int) func() bool { return func() bool { return len(events()) == n } }
	if err := s[0].Write(ctx, "a", nil); err != nil {
		t.Fatal(err)
	}
	awaittest.Until(t, "the event of another replica", received(1))
	_, err := db[0].Pool().Exec(ctx, `SELECT evalctl.mutate(brain, fence, 'write', 'b', '{}', '', 0, gen_random_uuid())
		FROM evalctl.heads`)
	if err != nil {
		t.Fatal(err)
	}
	awaittest.Until(t, "the event of a commit without a notification", received(2))
	tag, err := db[0].Pool().Exec(ctx, `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
		WHERE datname = current_database() AND pid <> pg_backend_pid()`)
	if err != nil || tag.RowsAffected() < 2 {
		t.Fatalf("%d connections were ended, %v", tag.RowsAffected(), err)
	}
	awaittest.Until(t, "a write after the connections were lost", func() bool { return s[0].Write(ctx, "c", nil) == nil })
	awaittest.Until(t, "the event after the connections were lost", func() bool { return len(events()) >= 3 })
}

func TestListen(t *testing.T) {
	db, _ := replicas(t)
	got := make(chan string, 100)
	stop := db[1].Listen(func(payload string) { got <- payload })
	defer stop()
	db[0].Notify("drop 7")
	for {
		select {
		case payload := <-got:
			switch payload {
			case "drop 7":
				return
			case "": // connected only now, so the notification may have been missed
				db[0].Notify("drop 7")
			default:
				t.Errorf("received %q", payload)
			}
		case <-time.After(30 * time.Second):
			t.Fatal("the notification does not arrive")
		}
	}
}

func TestPrune(t *testing.T) {
	db, s := replicas(t)
	ctx := t.Context()
	write := func(n int) {
		t.Helper()
		for range n {
			if err := s[0].Write(ctx, "a", nil); err != nil {
				t.Fatal(err)
			}
		}
		if err := s[1].Sync(ctx); err != nil { // what it has not read would be missed
			t.Fatal(err)
		}
	}
	left := func() (n int) {
		t.Helper()
		if err := db[0].Pool().QueryRow(ctx, "SELECT count(*) FROM evalctl.changes").Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	write(20)
	for _, tt := range []struct {
		keep         pgstore.Retention
		pruned, left int
	}{
		{pgstore.Retention{Age: time.Hour, Commits: 20}, 0, 20},
		{pgstore.Retention{Age: time.Hour, Commits: 13}, 7, 13},
		{pgstore.Retention{Age: time.Hour, Commits: 13}, 0, 13},
		{pgstore.Retention{Age: -time.Hour, Commits: 20}, 13, 0},
	} {
		n, err := db[1].Prune(ctx, tt.keep)
		if got := left(); n != int64(tt.pruned) || got != tt.left || err != nil {
			t.Errorf("%+v: pruned %d, left %d, %v, want %d and %d", tt.keep, n, got, err, tt.pruned, tt.left)
		}
	}
	write(2500) // several transactions, by both
	var wg sync.WaitGroup
	for i := range db {
		wg.Go(func() {
			if _, err := db[i].Prune(ctx, pgstore.Retention{Age: time.Hour, Commits: 100}); err != nil {
				t.Error(err)
			}
		})
	}
	awaittest.Wait(t, "the goroutines", wg.Wait)
	if got := left(); got != 100 {
		t.Errorf("%d changes are left, want 100", got)
	}
	if err := s[1].Sync(ctx); err != nil {
		t.Errorf("a store that was up to date: %v", err)
	}
}

// TestMissed prunes changes that a replica has not read yet.
func TestMissed(t *testing.T) {
	db, s := replicas(t)
	ctx := t.Context()
	started, release := make(chan struct{}), make(chan struct{})
	var kinds []store.ChangeKind
	s[1].Subscribe(func(ev store.ChangeEvent) {
		if kinds = append(kinds, ev.Kind); len(kinds) == 1 {
			close(started)
			<-release
		}
	})
	if err := s[0].Write(ctx, "a", nil); err != nil {
		t.Fatal(err)
	}
	awaittest.Receive(t, "started", started)
	for range 5 {
		if err := s[0].Write(ctx, "a", nil); err != nil {
			t.Fatal(err)
		}
	}
	if n, err := db[0].Prune(ctx, pgstore.Retention{Age: time.Hour, Commits: 2}); n != 4 || err != nil {
		t.Fatalf("pruned %d, %v", n, err)
	}
	close(release)
	for range 2 {
		if err := s[1].Sync(ctx); !errors.Is(err, store.ErrPruned) {
			t.Errorf("sync: %v, want ErrPruned", err)
		}
	}
	if !s[1].Broken() || s[0].Broken() {
		t.Errorf("broken: %t and %t, want only the replica that missed changes", s[0].Broken(), s[1].Broken())
	}
	if diff := cmp.Diff([]store.ChangeKind{store.Created, store.Missed}, kinds); diff != "" {
		t.Error(diff)
	}
}

// TestLostCommits announces a commit that the server lacks, as after a failover. The store must end
// its events, not wait for the commit.
func TestLostCommits(t *testing.T) {
	db, s := replicas(t)
	ctx := t.Context()
	events := follow(s[1])
	if err := s[0].Write(ctx, "a", nil); err != nil {
		t.Fatal(err)
	}
	if err := s[1].Sync(ctx); err != nil {
		t.Fatal(err)
	}
	awaittest.Until(t, "the store is broken", func() bool { // again, until the replica listens
		_, err := db[0].Pool().Exec(ctx, "SELECT pg_notify('evalctl_changes', brain || ':100') FROM evalctl.heads")
		return err == nil && s[1].Broken()
	})
	if got := events(); len(got) != 2 || got[1].Kind != store.Missed {
		t.Errorf("events %v, want the write and Missed", got)
	}
}

// TestGone deletes the brain below its stores.
func TestGone(t *testing.T) {
	db, s := replicas(t)
	ctx := t.Context()
	if err := s[0].Write(ctx, "d/a", []byte("1")); err != nil {
		t.Fatal(err)
	}
	if _, err := db[0].Pool().Exec(ctx, "DELETE FROM evalctl.heads"); err != nil {
		t.Fatal(err)
	}
	_, readErr := s[1].Read(ctx, "d/a")
	_, manyErr := s[1].ReadMany(ctx, []store.FileInfo{{Path: "d/a"}})
	_, _, openErr := s[1].Open(ctx, "d/a")
	_, statErr := s[1].Stat(ctx, "d")
	_, listErr := s[1].List(ctx, "", store.ListOptions{})
	_, reopenErr := db[1].Open(ctx, brains.Load(), nil)
	for op, err := range map[string]error{
		"read": readErr, "read many": manyErr, "open": openErr, "stat": statErr, "list": listErr, "reopen": reopenErr,
		"sync": s[1].Sync(ctx), "write": s[1].Write(ctx, "d/a", nil), "delete": s[1].Delete(ctx, "d/a"),
		"batch": s[1].Batch(ctx, store.BatchOptions{}, func(b *store.Batch) error { return b.Write(ctx, "b", nil) }),
	} {
		if !errors.Is(err, store.ErrGone) {
			t.Errorf("%s: %v, want ErrGone", op, err)
		}
	}
}
