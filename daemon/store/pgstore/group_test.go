package pgstore_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"evalctl/daemon/store"
	"evalctl/daemon/store/pgstore"
	"evalctl/daemon/store/storetest"
	"evalctl/internal/awaittest"
	"evalctl/internal/postgres/postgrestest"
)

// together makes operations on different brains in one group.
func together(t *testing.T, db *pgstore.DB, ops []func() error) []error {
	t.Helper()
	release := db.Hold(len(ops) + 1)
	errs := make([]error, len(ops))
	var wg sync.WaitGroup
	for i, op := range ops {
		wg.Go(func() { errs[i] = op() })
	}
	awaittest.Until(t, "all operations wait for their group", func() bool { return db.Waiting() == len(ops) })
	release()
	awaittest.Wait(t, "the goroutines", wg.Wait)
	return errs
}

// TestGroupContract commits every operation as a group of one.
func TestGroupContract(t *testing.T) {
	t.Parallel()
	db := openDB(t, postgrestest.Database(t)+fast)
	db.Hold(1)
	storetest.Run(t, func(t *testing.T) *store.Store { return openStore(t, db, newBrain(t, db)) })
}

// TestGroupModel makes the same random operations on two sets of brains, together on one and one by
// one on the other. Results, documents and events must be the same.
func TestGroupModel(t *testing.T) {
	t.Parallel()
	const brains = 5
	db := openDB(t, postgrestest.Database(t)+fast)
	rapid.Check(t, func(rt *rapid.T) {
		var s [2][brains]*store.Store
		for set := range s {
			for i := range s[set] {
				s[set][i] = openStore(t, db, newBrain(t, db))
				defer s[set][i].Close()
			}
		}
		for range rapid.IntRange(1, 6).Draw(rt, "rounds") {
			var grouped []func() error
			var alone []error
			for i := range brains {
				op := drawOp(rt)
				grouped = append(grouped, func() error { return op(s[0][i]) })
				alone = append(alone, op(s[1][i]))
			}
			sameError := cmp.Comparer(func(a, b error) bool { return fmt.Sprint(a) == fmt.Sprint(b) })
			if diff := cmp.Diff(alone, together(t, db, grouped), sameError); diff != "" {
				rt.Errorf("errors, - alone, + in a group:\n%s", diff)
			}
		}
		for i := range brains {
			ignore := cmpopts.IgnoreTypes(time.Time{})
			if diff := cmp.Diff(content(t, s[1][i]), content(t, s[0][i]), ignore); diff != "" {
				rt.Errorf("brain %d, - alone, + in groups:\n%s", i, diff)
			}
		}
	})
}

func drawOp(t *rapid.T) func(s *store.Store) error {
	path := rapid.SampledFrom([]string{"a", "a/b", "a/b/c", "a.md", "a!", "a0", "b"}).Draw(t, "path")
	data := []byte(rapid.SampledFrom([]string{"", "x", "yz"}).Draw(t, "data"))
	ctx := context.Background()
	return rapid.SampledFrom([]func(s *store.Store) error{
		func(s *store.Store) error { return s.Write(ctx, path, data) },
		func(s *store.Store) error { return s.Append(ctx, path, data) },
		func(s *store.Store) error { return s.Delete(ctx, path) },
	}).Draw(t, "operation")
}

type brainContent struct {
	Files  []store.FileInfo
	Data   map[string]string
	Events []store.ChangeEvent
}

func content(t testing.TB, s *store.Store) (c brainContent) {
	t.Helper()
	ctx := context.Background()
	c.Data = map[string]string{}
	var err error
	if c.Files, err = s.List(ctx, "", store.ListOptions{Recursive: true}); err != nil {
		t.Fatal(err)
	}
	for _, info := range c.Files {
		data, err := s.Read(ctx, info.Path)
		if err != nil {
			t.Fatal(err)
		}
		c.Data[info.Path] = string(data)
	}
	for seq := uint64(0); ; {
		events, err := s.ChangesAfter(ctx, seq)
		if err != nil {
			t.Fatal(err)
		}
		if len(events) == 0 {
			return c
		}
		c.Events = append(c.Events, events...)
		seq = events[len(events)-1].Seq
	}
}

// TestGroupFailure has an operation in a group that the server rejects. Only that one may fail.
func TestGroupFailure(t *testing.T) {
	db := openDB(t, postgrestest.Database(t)+fast)
	_, err := db.Pool().Exec(t.Context(), `ALTER TABLE evalctl.documents ADD CHECK (path <> 'forbidden')`)
	if err != nil {
		t.Fatal(err)
	}
	var ops []func() error
	for i := range 5 {
		s, path := openStore(t, db, newBrain(t, db)), "allowed"
		if i == 2 {
			path = "forbidden"
		}
		ops = append(ops, func() error { return s.Write(t.Context(), path, nil) })
	}
	for i, err := range together(t, db, ops) {
		if (err == nil) != (i != 2) {
			t.Errorf("operation %d: %v", i, err)
		}
	}
}

// TestGroupLocked has two operations in a group on brains that another process has locked. The
// others must not wait for them.
func TestGroupLocked(t *testing.T) {
	url := postgrestest.Database(t) + fast
	db := openDB(t, url)
	var s []*store.Store
	for range 5 {
		s = append(s, openStore(t, db, newBrain(t, db)))
	}
	release := db.Hold(len(s) + 1)
	var locked, free sync.WaitGroup
	unlock := lockBrains(t, openDB(t, url), brains.Load(), brains.Load()-1)
	errs := make([]error, len(s))
	for i, s := range s {
		wg := &free
		if i >= 3 {
			wg = &locked
		}
		wg.Go(func() { errs[i] = s.Write(t.Context(), "a", nil) })
	}
	awaittest.Until(t, "all wait for their group", func() bool { return db.Waiting() == len(s) })
	release()
	awaittest.Wait(t, "free", free.Wait)
	for i, s := range s {
		if ok, err := s.Exists(t.Context(), "a"); ok != (i < 3) || err != nil {
			t.Errorf("store %d, with the others locked, has the document: %t, %v", i, ok, err)
		}
	}
	unlock()
	awaittest.Wait(t, "locked", locked.Wait)
	if err := errors.Join(errs...); err != nil {
		t.Error(err)
	}
}

func lockBrains(t *testing.T, db *pgstore.DB, brains ...int64) (unlock func()) {
	t.Helper()
	tx, err := db.Pool().Begin(t.Context())
	if err == nil {
		_, err = tx.Exec(t.Context(), "SELECT FROM evalctl.heads WHERE brain = ANY ($1) FOR UPDATE", brains)
	}
	if err != nil {
		t.Fatal(err)
	}
	return func() {
		if err := tx.Rollback(t.Context()); err != nil {
			t.Error(err)
		}
	}
}

// TestGroupLostConnection cuts the connection at the message that commits a group. Each operation
// must report what became of it.
func TestGroupLostConnection(t *testing.T) {
	p, db, other := behindProxy(t)
	var s, seen []*store.Store
	for range 4 {
		brain := newBrain(t, other)
		s, seen = append(s, openStore(t, db, brain)), append(seen, openStore(t, other, brain))
	}
	for round, kind := range []postgrestest.Fault{postgrestest.Lost, postgrestest.Forwarded, postgrestest.Answered} {
		path := fmt.Sprint("doc", round)
		var ops []func() error
		for _, s := range s {
			ops = append(ops, func() error { return s.Write(t.Context(), path, []byte("marker")) })
		}
		hit := p.CutAt("marker", kind)
		errs := together(t, db, ops)
		awaittest.Receive(t, "hit", hit)
		for i, err := range errs {
			exists, err2 := seen[i].Exists(t.Context(), path)
			if err2 != nil {
				t.Fatal(err2)
			}
			if exists != (err == nil) || err != nil && !errors.Is(err, store.ErrUnavailable) {
				t.Errorf("fault of kind %d: document %d exists: %t, the store reports %v", kind, i, exists, err)
			}
			if kind == postgrestest.Lost && exists || kind == postgrestest.Answered && !exists {
				t.Errorf("fault of kind %d: document %d exists: %t", kind, i, exists)
			}
		}
	}
	for i, s := range s {
		if err := s.Sync(t.Context()); err != nil {
			t.Fatal(err)
		}
		checkOrder(t, content(t, seen[i]).Events)
	}
}

// TestGroupDelayed delivers a group to the server after its operations were reported to have had no
// effect. None may have one then.
func TestGroupDelayed(t *testing.T) {
	p, db, other := behindProxy(t)
	var s, seen []*store.Store
	var ops []func() error
	for i := range 3 {
		brain := newBrain(t, other)
		s, seen = append(s, openStore(t, db, brain)), append(seen, openStore(t, other, brain))
		ops = append(ops, func() error { return s[i].Write(t.Context(), "a", []byte("marker")) })
	}
	hit := p.CutAt("marker", postgrestest.Delayed)
	for i, err := range together(t, db, ops) {
		if !errors.Is(err, store.ErrUnavailable) {
			t.Fatalf("operation %d: got %v, want ErrUnavailable", i, err)
		}
	}
	awaittest.Receive(t, "hit", hit)
	p.Deliver()
	for i := range s {
		if ok, err := seen[i].Exists(t.Context(), "a"); ok || err != nil {
			t.Errorf("write %d happened after it was reported as failed: %t, %v", i, ok, err)
		}
		if err := errors.Join(s[i].Write(t.Context(), "a", nil), seen[i].Write(t.Context(), "a", nil)); err != nil {
			t.Errorf("writes afterwards: %v", err)
		}
	}
}

// TestGroupGone has an operation in a group on a brain that was deleted meanwhile.
func TestGroupGone(t *testing.T) {
	db := openDB(t, postgrestest.Database(t)+fast)
	var ops []func() error
	for range 3 {
		s := openStore(t, db, newBrain(t, db))
		ops = append(ops, func() error { return s.Write(t.Context(), "a", nil) })
	}
	if _, err := db.Pool().Exec(t.Context(), "DELETE FROM evalctl.heads WHERE brain = $1", brains.Load()); err != nil {
		t.Fatal(err)
	}
	for i, err := range together(t, db, ops) {
		if i < 2 && err != nil || i == 2 && !errors.Is(err, store.ErrGone) {
			t.Errorf("operation %d: %v", i, err)
		}
	}
}

// TestGroupSameBrain has two operations on one brain, which cannot be in the same group.
func TestGroupSameBrain(t *testing.T) {
	db := openDB(t, postgrestest.Database(t)+fast)
	brain := newBrain(t, db)
	var ops []func() error
	for i := range 2 {
		s := openStore(t, db, brain)
		ops = append(ops, func() error { return s.Write(t.Context(), fmt.Sprint(i), nil) })
	}
	if err := errors.Join(together(t, db, ops)...); err != nil {
		t.Fatal(err)
	}
	if got := content(t, openStore(t, db, brain)); len(got.Files) != 2 || len(got.Events) != 2 {
		t.Errorf("%d documents and %d events, want 2", len(got.Files), len(got.Events))
	}
}

// TestGroupSlow has a group in flight whose answer does not come. It must not keep others waiting.
func TestGroupSlow(t *testing.T) {
	db := openDB(t, postgrestest.Database(t)+fast)
	s := openStore(t, db, newBrain(t, db))
	db.Fly(1000)
	for i := range 3 {
		if err := s.Write(t.Context(), fmt.Sprint(i), nil); err != nil {
			t.Error(err)
		}
	}
}

// TestGroupCancelled cancels an operation that waits for its group.
func TestGroupCancelled(t *testing.T) {
	db := openDB(t, postgrestest.Database(t)+fast)
	s := openStore(t, db, newBrain(t, db))
	release := db.Hold(2)
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() {
		if err := s.Write(ctx, "a", nil); !errors.Is(err, context.Canceled) {
			t.Errorf("got %v, want that it was cancelled", err)
		}
	})
	awaittest.Until(t, "it waits", func() bool { return db.Waiting() == 1 })
	cancel()
	awaittest.Wait(t, "the goroutines", wg.Wait)
	release()
	if err := s.Write(t.Context(), "b", nil); err != nil {
		t.Error(err)
	}
	if ok, err := s.Exists(t.Context(), "a"); ok || err != nil {
		t.Errorf("the cancelled write happened: %t, %v", ok, err)
	}
}
