package pgstore_test

import (
	"errors"
	"slices"
	"testing"

	"evalctl/daemon/store"
	"evalctl/daemon/store/pgstore"
	"evalctl/internal/awaittest"
)

// TestUndone takes commits away that a replica has delivered, as after a failover to a server that
// had not received them, also if other commits have their numbers. The replica must end its events
// by whatever it does next.
func TestUndone(t *testing.T) {
	t.Parallel()
	sync := func(t *testing.T, s *store.Store) {
		if err := s.Sync(t.Context()); !errors.Is(err, store.ErrPruned) {
			t.Errorf("sync: %v, want ErrPruned", err)
		}
	}
	write := func(t *testing.T, s *store.Store) {
		if err := s.Write(t.Context(), "own", nil); err != nil {
			t.Error(err)
		}
	}
	apply := func(t *testing.T, s *store.Store) {
		ops := []store.Op{{Kind: store.OpWrite, Path: "own"}, {Kind: store.OpWrite, Path: "other"}}
		if err := s.Apply(t.Context(), store.Commit{Ops: ops}); err != nil {
			t.Error(err)
		}
	}
	wait := func(t *testing.T, s *store.Store) { awaittest.Until(t, "the next look at the brain", s.Broken) }
	for name, tt := range map[string]struct {
		others int // commits after the failover
		next   func(t *testing.T, s *store.Store)
	}{
		"sync, fewer":               {0, sync},
		"sync, as many":             {2, sync},
		"sync, more":                {5, sync},
		"write, fewer":              {0, write},
		"write, as many":            {2, write}, // its number follows the one that was delivered last
		"write, more":               {5, write},
		"transaction, as many":      {2, apply},
		"nothing, fewer":            {0, wait},
		"nothing, the same numbers": {2, wait},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db, s := replicas(t)
			events := follow(s[1])
			ctx := t.Context()
			for range 4 {
				if err := s[0].Write(ctx, "a", []byte("before")); err != nil {
					t.Fatal(err)
				}
			}
			write(t, s[1]) // what follows is not the first commit of the store
			if _, err := db[0].Pool().Exec(ctx, "DELETE FROM evalctl.changes WHERE seq > 3"); err != nil {
				t.Fatal(err)
			}
			pgstore.Reach(db[1], "another server")
			fresh := openStore(t, db[0], onlyBrain(t, db[0]))
			for range tt.others {
				if err := fresh.Write(ctx, "a", []byte("after")); err != nil {
					t.Fatal(err)
				}
			}
			tt.next(t, s[1])
			if !s[1].Broken() {
				t.Error("the store is not broken")
			}
			// A replica that only looks is broken before it says so.
			awaittest.Until(t, "the end of the events", func() bool { return len(events()) >= 6 })
			got := events()
			if last := got[len(got)-1]; last.Kind != store.Missed || len(got) != 6 {
				t.Errorf("%d events, the last one %+v, want 5 and Missed", len(got), last)
			}
		})
	}
}

// TestOtherServer reaches a server with the same commits, as after a failover without a loss. The
// events go on.
func TestOtherServer(t *testing.T) {
	db, s := replicas(t)
	events := follow(s[1])
	ctx := t.Context()
	for i, server := range []string{"one", "two", "two", "three"} {
		pgstore.Reach(db[1], server)
		if err := s[i%2].Write(ctx, "a", nil); err != nil {
			t.Fatal(err)
		}
		if err := s[1].Write(ctx, "b", nil); err != nil {
			t.Fatal(err)
		}
	}
	var numbers []uint64
	for _, ev := range events() {
		numbers = append(numbers, ev.Seq)
	}
	if want := []uint64{1, 2, 3, 4, 5, 6, 7, 8}; !slices.Equal(numbers, want) || s[1].Broken() {
		t.Errorf("commits %d, want %d; broken: %t", numbers, want, s[1].Broken())
	}
}
