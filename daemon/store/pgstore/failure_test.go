package pgstore_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"evalctl/daemon/store"
	"evalctl/daemon/store/pgstore"
	"evalctl/internal/awaittest"
	"evalctl/internal/postgres/postgrestest"
)

// cutOff returns a store behind a proxy, and another one of the same brain that reaches the server
// directly.
func cutOff(t *testing.T) (*postgrestest.Proxy, *store.Store, *store.Store) {
	t.Helper()
	p, db, other := behindProxy(t)
	brain := newBrain(t, other)
	return p, openStore(t, db, brain), openStore(t, other, brain)
}

// behindProxy opens a database behind a proxy, and directly.
func behindProxy(t *testing.T) (p *postgrestest.Proxy, db, direct *pgstore.DB) {
	t.Helper()
	conn := postgrestest.Database(t)
	p, proxied := postgrestest.Behind(t, conn)
	return p, openDB(t, proxied), openDB(t, conn)
}

// TestLostConnection cuts the connection at the message that commits. Whatever the server made of
// it, the store must report it: success if it was committed, otherwise an error that allows to try
// again.
func TestLostConnection(t *testing.T) {
	t.Parallel()
	mutations := map[string]func(ctx context.Context, s *store.Store, i int) error{
		"write": func(ctx context.Context, s *store.Store, i int) error {
			return s.Write(ctx, fmt.Sprintf("doc%d", i), []byte("marker"))
		},
		"batch": func(ctx context.Context, s *store.Store, i int) error {
			c := store.Commit{Reason: "marker", Ops: []store.Op{
				{Kind: store.OpWrite, Path: fmt.Sprintf("doc%d", i), Data: []byte("1")}, {Kind: store.OpWrite, Path: fmt.Sprintf("too%d", i)},
			}}
			return s.Apply(ctx, c)
		},
	}
	for name, write := range mutations {
		t.Run(name, func(t *testing.T) {
			p, s, other := cutOff(t)
			ctx := t.Context()
			events := follow(s)
			count := 0
			for i, kind := range []postgrestest.Fault{
				postgrestest.Lost, postgrestest.Forwarded, postgrestest.Answered,
				postgrestest.Forwarded, postgrestest.Answered, postgrestest.Lost,
			} {
				hit := p.CutAt("marker", kind)
				err := write(ctx, s, i)
				awaittest.Receive(t, "hit", hit)
				exists, err2 := other.Exists(ctx, fmt.Sprintf("doc%d", i))
				if err2 != nil {
					t.Fatal(err2)
				}
				if exists != (err == nil) || err != nil && !errors.Is(err, store.ErrUnavailable) {
					t.Errorf("fault %d of kind %d: the document exists: %t, the store reports %v", i, kind, exists, err)
				}
				if kind == postgrestest.Lost && exists || kind == postgrestest.Answered && !exists {
					t.Errorf("fault %d of kind %d: the document exists: %t", i, kind, exists)
				}
				if exists {
					count++
				}
			}
			if err := write(ctx, s, 99); err != nil {
				t.Errorf("a write afterwards: %v", err)
			}
			if err := other.Sync(ctx); err != nil {
				t.Fatal(err)
			}
			if got := int(s.Seq()); got != count+1 || other.Seq() != s.Seq() {
				t.Errorf("%d commits and %d in the other store, want %d", got, other.Seq(), count+1)
			}
			checkOrder(t, events())
		})
	}
}

// TestDelayedMessage delivers a message to the server after the store has reported that it had no
// effect. It must not have one then.
func TestDelayedMessage(t *testing.T) {
	t.Parallel()
	p, s, other := cutOff(t)
	ctx := t.Context()
	hit := p.CutAt("marker", postgrestest.Delayed)
	if err := s.Write(ctx, "a", []byte("marker")); !errors.Is(err, store.ErrUnavailable) {
		t.Fatalf("got %v, want ErrUnavailable", err)
	}
	awaittest.Receive(t, "hit", hit)
	p.Deliver()
	if ok, err := other.Exists(ctx, "a"); ok || err != nil {
		t.Errorf("a write happened after it was reported as failed: %t, %v", ok, err)
	}
	if err := errors.Join(s.Write(ctx, "a", nil), other.Write(ctx, "a", nil)); err != nil {
		t.Errorf("writes afterwards: %v", err)
	}
}

// TestUnknownOutcome keeps the server out of reach after the message that commits.
func TestUnknownOutcome(t *testing.T) {
	pgstore.Hurry(t, 500*time.Millisecond)
	p, s, other := cutOff(t)
	ctx := t.Context()
	p.CutAt("marker", postgrestest.Outage)
	err := s.Write(ctx, "a", []byte("marker"))
	if !errors.Is(err, store.ErrUnavailable) || !strings.Contains(err.Error(), "outcome is unknown") {
		t.Errorf("got %v, want an unknown outcome", err)
	}
	if err := s.Write(ctx, "b", nil); !errors.Is(err, store.ErrUnavailable) || strings.Contains(err.Error(), "unknown") {
		t.Errorf("got %v, want ErrUnavailable", err)
	}
	p.Restore()
	awaittest.Until(t, "a write after the server is back", func() bool { return s.Write(ctx, "c", nil) == nil })
	if ok, err := other.Exists(ctx, "a"); !ok || err != nil {
		t.Errorf("the write of which the outcome was unknown: %t, %v", ok, err)
	}
	if s.Seq() != 2 {
		t.Errorf("the events of %d commits were delivered, want 2", s.Seq())
	}
}

// TestLocked holds the lock of the brain for longer than a store waits.
func TestLocked(t *testing.T) {
	t.Parallel()
	for _, timeout := range []string{"&lock_timeout=100", "&statement_timeout=100"} {
		url := postgrestest.Database(t)
		db := openDB(t, url+timeout)
		s := openStore(t, db, newBrain(t, db))
		tx, err := openDB(t, url).Pool().Begin(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := tx.Exec(t.Context(), "SELECT FROM evalctl.heads FOR UPDATE"); err != nil {
			t.Fatal(err)
		}
		batch := func() error {
			return s.Batch(t.Context(), store.BatchOptions{}, func(b *store.Batch) error { return b.Write(t.Context(), "a", nil) })
		}
		for op, err := range map[string]error{"write": s.Write(t.Context(), "a", nil), "batch": batch()} {
			if !errors.Is(err, store.ErrUnavailable) || strings.Contains(err.Error(), "unknown") {
				t.Errorf("%s: %s: %v, want ErrUnavailable", timeout, op, err)
			}
		}
		if err := tx.Rollback(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(s.Write(t.Context(), "a", nil), batch()); err != nil {
			t.Errorf("%s: writes afterwards: %v", timeout, err)
		}
	}
}

// TestManyLocked has many writers wait while another client holds a lock. They fail together: only
// the first, with those that are committed with it, has asked the database, and none waits for its
// own timeout after that of another.
func TestManyLocked(t *testing.T) {
	t.Parallel()
	url := postgrestest.Database(t)
	db := openDB(t, url+"&lock_timeout=1500")
	s := openStore(t, db, newBrain(t, db))
	if err := s.Write(t.Context(), "a", nil); err != nil {
		t.Fatal(err)
	}
	for _, table := range []string{"heads", "documents"} {
		tx, err := openDB(t, url).Pool().Begin(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := tx.Exec(t.Context(), "SELECT FROM evalctl."+table+" FOR UPDATE"); err != nil {
			t.Fatal(err)
		}
		var writers sync.WaitGroup
		var asked, alone atomic.Int32
		for i := range 16 {
			writers.Go(func() {
				var err error
				switch i % 3 {
				case 0:
					err = s.Write(t.Context(), "a", nil)
				case 1:
					err = s.Batch(t.Context(), store.BatchOptions{}, func(b *store.Batch) error { return b.Write(t.Context(), "a", nil) })
				default:
					err = s.Apply(t.Context(), store.Commit{Ops: []store.Op{{Kind: store.OpWrite, Path: "a"}}})
				}
				if !errors.Is(err, store.ErrUnavailable) {
					t.Errorf("%s: %v", table, err)
				} else if !strings.Contains(err.Error(), "the write before this one took too long") {
					asked.Add(1)
					if i%3 != 0 {
						alone.Add(1)
					}
				}
			})
		}
		awaittest.Wait(t, "writers", writers.Wait)
		// One batch, or the single writes in one commit.
		if n, alone := asked.Load(), alone.Load(); n == 0 || alone > 1 || alone == 1 && n > 1 {
			t.Errorf("%s: %d writers have waited for the lock, %d of them by themselves", table, n, alone)
		}
		if err := tx.Rollback(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := s.Write(t.Context(), "a", nil); err != nil {
			t.Errorf("%s: a write afterwards: %v", table, err)
		}
	}
}

// TestFullPool uses all connections.
func TestFullPool(t *testing.T) {
	pgstore.Hurry(t, 200*time.Millisecond)
	db := openDB(t, postgrestest.Database(t)+"&pool_max_conns=4")
	ctx := t.Context()
	brain := newBrain(t, db)
	s := openStore(t, db, brain)
	for range 4 {
		conn, err := db.Pool().Acquire(ctx)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Release()
	}
	limited, cancel := context.WithTimeout(ctx, 20*time.Second) // if it does not give up by itself
	defer cancel()
	_, openErr := db.Open(limited, brain, nil)
	_, err := s.Read(ctx, "a")
	for op, err := range map[string]error{"open": openErr, "read": err, "write": s.Write(ctx, "a", nil)} {
		if !errors.Is(err, store.ErrUnavailable) || !strings.Contains(err.Error(), "no connection") {
			t.Errorf("%s: %v, want ErrUnavailable", op, err)
		}
	}
}

// TestManyBatches holds more transactions than there are connections, each of which also reads from
// its store, which takes another connection.
func TestManyBatches(t *testing.T) {
	db := openDB(t, postgrestest.Database(t)+fast+"&pool_max_conns=4")
	ctx := t.Context()
	var wg sync.WaitGroup
	for range 12 {
		s := openStore(t, db, newBrain(t, db))
		wg.Go(func() {
			for range 5 {
				err := s.Batch(ctx, store.BatchOptions{}, func(b *store.Batch) error {
					if err := b.Append(ctx, "a", []byte("x")); err != nil {
						return err
					}
					_, err := s.Exists(ctx, "a")
					return err
				})
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	awaittest.Wait(t, "the goroutines", wg.Wait)
}

// TestServerCrash crashes and restarts the server during writes, batches and events. Acknowledged
// commits must be there, a failed one is there as a whole or not at all, and the stores go on.
func TestServerCrash(t *testing.T) {
	t.Parallel()
	cluster := postgrestest.NewWith(t, postgrestest.Options{Fast: true})
	url := cluster.Database()
	db := openDB(t, url)
	ctx := t.Context()
	brain := newBrain(t, db)
	s, other := openStore(t, db, brain), openStore(t, openDB(t, url), brain)
	events := follow(other)
	stop := make(chan struct{})
	outcomes := [3]map[string]error{} // by client and document
	var wg sync.WaitGroup
	for client := range len(outcomes) {
		outcomes[client] = map[string]error{}
		wg.Go(func() {
			for i := 0; ; i++ {
				select {
				case <-stop:
					return
				default:
				}
				name := fmt.Sprintf("%d/%d", client, i)
				outcomes[client][name] = writeTwo(s, client, name)
			}
		})
	}
	for range 2 {
		before := len(events())
		awaittest.Until(t, "events", func() bool { return len(events()) > before+10 })
		cluster.Stop("immediate")
		cluster.Start()
	}
	awaittest.Until(t, "a write after the crashes", func() bool { return s.Write(ctx, "last", nil) == nil })
	close(stop)
	awaittest.Wait(t, "the goroutines", wg.Wait)
	awaittest.Until(t, "a sync after the crashes", func() bool { return other.Sync(ctx) == nil })
	checkOrder(t, events())
	checkOutcomes(t, other, outcomes[:])
}

// writeTwo writes two documents at once, or only one if the client is 0.
func writeTwo(s *store.Store, client int, name string) error {
	if client == 0 {
		return s.Write(context.Background(), "one/"+name, nil)
	}
	return s.Apply(context.Background(), store.Commit{Ops: []store.Op{
		{Kind: store.OpWrite, Path: "one/" + name}, {Kind: store.OpWrite, Path: "two/" + name},
	}})
}

// checkOrder checks that events are those of all commits, once and in order.
func checkOrder(t *testing.T, events []store.ChangeEvent) {
	t.Helper()
	next := uint64(1)
	for _, ev := range events {
		if ev.Seq != next {
			t.Fatalf("an event has number %d, want %d", ev.Seq, next)
		}
		if ev.Last {
			next++
		}
	}
}

func checkOutcomes(t *testing.T, s *store.Store, clients []map[string]error) {
	t.Helper()
	files, err := s.List(t.Context(), "", store.ListOptions{Recursive: true})
	if err != nil {
		t.Fatal(err)
	}
	stored := map[string]bool{}
	for _, f := range files {
		stored[f.Path] = true
	}
	made, failed := 0, 0
	for client, outcomes := range clients {
		for name, err := range outcomes {
			switch exists := stored["one/"+name]; {
			case err == nil && exists:
				made++
			case err == nil:
				t.Errorf("%s was acknowledged and is lost", name)
			case !errors.Is(err, store.ErrUnavailable):
				t.Errorf("%s: %v, want ErrUnavailable", name, err)
			case exists && !strings.Contains(err.Error(), "unknown"):
				t.Errorf("%s exists, but was reported as not written: %v", name, err)
			default:
				failed++
			}
			if client > 0 && stored["one/"+name] != stored["two/"+name] {
				t.Errorf("%s: half of the commit is there", name)
			}
		}
	}
	t.Logf("%d commits were made, %d failed", made, failed)
	if made == 0 {
		t.Error("no commit was made")
	}
}
