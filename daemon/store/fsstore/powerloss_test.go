package fsstore

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"evalctl/daemon/store"
	"evalctl/daemon/store/storetest"
)

// quiet is for stores whose log nobody reads.
var quiet = &store.Options{Logger: slog.New(slog.DiscardHandler)}

// chooser returns a number from 0 to n-1.
type chooser func(n int, what string) int

// TestPowerLoss makes random commits, lets the power fail at a random instant, loses any of what was
// not synced, and opens the store again: every acknowledged commit must be there, and the one that
// was being made completely or not at all. The power can also fail while the store is being opened.
func TestPowerLoss(t *testing.T) {
	dir := storetest.MemoryDir(t)
	round := 0
	rapid.Check(t, func(r *rapid.T) {
		round++
		choose := func(n int, what string) int { return rapid.IntRange(0, n-1).Draw(r, what) }
		if err := losePower(filepath.Join(dir, fmt.Sprint(round)), choose, nil); err != nil {
			r.Fatal(err)
		}
	})
}

// TestPowerLossFindsDefects: the test above fails if the store does not sync what it must.
func TestPowerLossFindsDefects(t *testing.T) {
	for name, skips := range map[string]func(c change) bool{
		"a commit does not sync the log":               func(c change) bool { return c.kind == datasyncs && !c.settling },
		"files are not synced before a log is cleared": func(c change) bool { return c.kind == syncs },
	} {
		t.Run(name, func(t *testing.T) {
			dir := storetest.MemoryDir(t)
			random := rand.New(rand.NewPCG(1, 2))
			choose := func(n int, _ string) int { return random.IntN(n) }
			for i := range 3000 {
				if err := losePower(filepath.Join(dir, fmt.Sprint(i)), choose, skips); err != nil {
					t.Logf("found in round %d: %v", i, err)
					return
				}
			}
			t.Error("it was not found")
		})
	}
}

// TestPowerLossWhileKeeping lets the power fail while recovery keeps a file that was changed by hand:
// then both are there, that file and the acknowledged document.
func TestPowerLossWhileKeeping(t *testing.T) {
	dir := storetest.MemoryDir(t)
	random := rand.New(rand.NewPCG(1, 2))
	for round := range 300 {
		home := filepath.Join(dir, fmt.Sprint(round))
		h := &history{dir: home, choose: func(n int, _ string) int { return random.IntN(n) }}
		b, err := h.open()
		if err != nil {
			t.Fatal(err)
		}
		b.settling <- struct{}{}
		commit(t, b, writeOp("d/a", "acknowledged"))
		abandon(b)
		file := filepath.Join(home, documentsDir, "d", "a")
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o700), os.WriteFile(file, []byte("by hand"), 0o600)); err != nil {
			t.Fatal(err)
		}
		h.changes = nil
		if b, err = h.open(); err != nil {
			t.Fatal(err)
		}
		b.release()
		lost := &history{dir: home + "-lost", choose: h.choose}
		if err := h.materialize(lost.dir, random.IntN(len(h.changes)+1)); err != nil {
			t.Fatal(err)
		}
		if b, err = lost.open(); err != nil {
			t.Fatal(err)
		}
		found := contentsOf(t, b)
		b.release()
		contents := slices.Collect(maps.Values(found))
		if found["d/a"] != "acknowledged" || !slices.Contains(contents, "by hand") {
			t.Fatalf("round %d: %q after %v", round, found, h.changes)
		}
	}
}

// TestFailedSync: after a sync that failed, the documents of the log are on disk only once they
// were written again, whether the sync is repeated, or the store is closed or killed and opened
// again.
func TestFailedSync(t *testing.T) {
	dir := storetest.MemoryDir(t)
	random := rand.New(rand.NewPCG(1, 2))
	for name, next := range map[string]func(h *history, b *backend) error{
		"repeated": func(_ *history, b *backend) error { defer abandon(b); return b.settleAll() },
		"closed":   func(_ *history, b *backend) error { <-b.settling; return b.Close() },
		"killed": func(h *history, b *backend) error {
			abandon(b)
			b, err := h.open()
			if err != nil {
				return err
			}
			return b.release()
		},
	} {
		for round := range 30 {
			home := filepath.Join(dir, fmt.Sprint(name, round))
			h := &history{dir: home, choose: func(n int, _ string) int { return random.IntN(n) }}
			b, err := h.open()
			if err != nil {
				t.Fatal(err)
			}
			h.base, h.changes = readState(home), nil
			b.settling <- struct{}{}
			want := map[string]string{"a": "1", "d/a": "acknowledged"}
			commit(t, b, writeOp("a", "1"), writeOp("d/a", "acknowledged"), writeOp("gone", "1"))
			commit(t, b, deleteOp("gone"))
			h.failing = 1
			if err := b.settleAll(); !errors.Is(err, errSync) {
				t.Fatal(err)
			}
			if err := next(h, b); err != nil {
				t.Fatal(err)
			}
			lost := &history{dir: home + "-lost", choose: h.choose}
			if err := h.materialize(lost.dir, len(h.changes)); err != nil {
				t.Fatal(err)
			}
			if b, err = lost.open(); err != nil {
				t.Fatal(err)
			}
			found := contentsOf(t, b)
			b.release()
			if diff := cmp.Diff(want, found); diff != "" {
				t.Fatalf("%s, after %v (-want +got):\n%s", name, h.changes, diff)
			}
		}
	}
}

// TestFailedSyncOfANewStore: a store that could not be synced when it was made is made again.
func TestFailedSyncOfANewStore(t *testing.T) {
	dir := storetest.MemoryDir(t)
	random := rand.New(rand.NewPCG(1, 2))
	for round := range 20 {
		h := &history{dir: filepath.Join(dir, fmt.Sprint(round)), choose: func(n int, _ string) int { return random.IntN(n) }, failing: 1}
		if _, err := h.open(); !errors.Is(err, errSync) {
			t.Fatal(err)
		}
		b, err := h.open()
		if err != nil {
			t.Fatal(err)
		}
		b.release()
		lost := &history{dir: h.dir + "-lost", choose: h.choose}
		// Creating a log makes its name durable; the version gets its name with the sync at the
		// end.
		if err := h.materialize(lost.dir, len(h.changes)); err != nil {
			t.Fatal(err)
		}
		if b, err = lost.open(); err != nil {
			t.Fatalf("%v, after %v", err, h.changes)
		}
		b.release()
	}
}

// TestFailedSyncOfALog: what Open finds in the logs after a sync of one of them has failed may
// be in the memory of the kernel only. Later commits are there after a power failure all the
// same.
func TestFailedSyncOfALog(t *testing.T) {
	dir := storetest.MemoryDir(t)
	random := rand.New(rand.NewPCG(1, 2))
	for round := range 200 {
		h := &history{dir: filepath.Join(dir, fmt.Sprint(round)), choose: func(n int, _ string) int { return random.IntN(n) }}
		open := func() *backend {
			b, err := h.open()
			if errors.Is(err, errSync) {
				b, err = h.open()
			}
			if err != nil {
				t.Fatalf("round %d: %v", round, err)
			}
			b.settling <- struct{}{}
			return b
		}
		b := open()
		h.base, h.changes = readState(h.dir), nil
		commit(t, b, writeOp("a", "1"), writeOp("b", "1"))
		if random.IntN(2) == 0 {
			if err := b.settleAll(); err != nil {
				t.Fatal(err)
			}
			commit(t, b, writeOp("a", "2"))
		}
		abandon(b)
		h.failingLog = 1 + random.IntN(6)
		abandon(open())
		h.failingLog = 0
		b = open()
		commit(t, b, writeOp("new", "1"))
		if random.IntN(2) == 0 {
			if err := b.settleAll(); err != nil {
				t.Fatal(err)
			}
			commit(t, b, writeOp("b", "2"))
		}
		want := contentsOf(t, b)
		abandon(b)
		lost := &history{dir: h.dir + "-lost", choose: h.choose}
		if err := h.materialize(lost.dir, len(h.changes)); err != nil {
			t.Fatal(err)
		}
		b, err := lost.open()
		if err != nil {
			t.Fatalf("round %d: %v, after %v", round, err, h.changes)
		}
		found := contentsOf(t, b)
		b.release()
		if diff := cmp.Diff(want, found); diff != "" {
			t.Fatalf("round %d, after %v (-want +got):\n%s", round, h.changes, diff)
		}
	}
}

// losePower makes a random history in a new store in dir, and removes it.
func losePower(dir string, choose chooser, skips func(change) bool) error {
	defer os.RemoveAll(dir)
	h := &history{dir: dir, choose: choose, skips: skips, docs: map[string]string{}, start: []map[string]string{{}}}
	if err := h.play(); err != nil {
		return err
	}
	for range 1 + choose(2, "failures while it is opened") {
		at := choose(len(h.changes)+1, "changes before the power fails")
		next := &history{dir: h.dir + "-lost", choose: choose, skips: skips, start: h.possible(at)}
		defer os.RemoveAll(next.dir)
		if err := h.materialize(next.dir, at); err != nil {
			return err
		}
		if err := next.reopen(); err != nil {
			return fmt.Errorf("after %d of %d changes (%v): %w", at, len(h.changes), h.changes, err)
		}
		h = next
	}
	return nil
}

type changeKind string

const (
	writes    changeKind = "write"
	truncates changeKind = "truncate"
	creates   changeKind = "create"
	renames   changeKind = "rename"
	removes   changeKind = "remove"
	datasyncs changeKind = "datasync"
	syncs     changeKind = "sync"
	// failedSyncs are syncs that return an error. Names of files survive them, as in the journal
	// of a file system, contents need not.
	failedSyncs     changeKind = "failed sync"
	failedDatasyncs changeKind = "failed datasync"
	begins          changeKind = "commit begins"
	ends            changeKind = "commit ends"
)

// change is what was done to a disk, or where a commit begins or ends.
type change struct {
	kind     changeKind
	name, to string
	data     []byte
	offset   int64
	when     time.Time
	settling bool
	docs     map[string]string // after the commit that begins or ends
}

func (c change) String() string {
	return fmt.Sprintf("%s %s %s %d+%d %v", c.kind, c.name, c.to, c.offset, len(c.data), c.docs)
}

// history is a store in dir whose changes are recorded.
type history struct {
	dir      string
	choose   chooser
	skips    func(change) bool     // says which changes are not made
	start    []map[string]string   // the documents that the store can have at first
	base     map[string]*fileState // what the disk has at first
	changes  []change
	docs     map[string]string // after the last commit
	logged   map[string]string // what the logs have: contents, or deletedDoc
	when     time.Time         // of commits; zero for now
	edits    int               // by hand
	failing  int               // the number of next syncs that fail
	settling bool
	// failingLog is which of the next datasyncs of logs fails, from 1.
	failingLog int
	during     func() // called by changes while a log is emptied
}

// deletedDoc is in the place of the content of a document that was deleted.
const deletedDoc = "(deleted)"

var powerPaths = []string{"a", "b", "d/a", "d/e/a", "d"}

// play makes commits, and empties the logs now and then.
func (h *history) play() error {
	b, err := h.open()
	if err != nil {
		return err
	}
	h.base, h.changes = readState(h.dir), nil // a new store is synced
	b.settling <- struct{}{}                  // only this test settles
	defer abandon(b)
	for range 1 + h.choose(8, "steps") {
		switch step := h.choose(4, "step"); {
		case step < 2:
			err = h.commit(b)
		case step == 2:
			h.settling, h.failing = true, h.choose(2, "failing syncs")
			if h.choose(2, "commit meanwhile") == 1 {
				wait := h.choose(4, "changes before it")
				h.during = func() {
					if wait--; wait < 0 {
						h.during, h.settling = nil, false
						err = h.commit(b)
						h.settling = true
					}
				}
			}
			settleErr := b.settleAll()
			if errors.Is(settleErr, errSync) {
				b.failed, settleErr = nil, nil // the next commit would wait for the token
			}
			err = errors.Join(settleErr, err)
			h.settling, h.failing, h.during = false, 0, nil
		default:
			b.laying.Lock()
			err = b.layOut(b.waiting(), nil)
			b.laying.Unlock()
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// abandon ends a store without what Close writes. It requires the token.
func abandon(b *backend) {
	b.mu.Lock()
	b.closed = true
	if b.timer != nil {
		b.timer.Stop()
	}
	b.mu.Unlock()
	b.release()
	<-b.settling
}

// commit makes a random commit.
func (h *history) commit(b *backend) error {
	next := maps.Clone(h.docs)
	var ops []store.Op
	for range 1 + h.choose(3, "operations") {
		path := powerPaths[h.choose(len(powerPaths), "path")]
		if slices.ContainsFunc(ops, func(op store.Op) bool { return op.Path == path }) || conflicts(next, path) {
			continue
		}
		if _, ok := next[path]; ok && h.choose(3, "delete") == 0 {
			delete(next, path)
			ops = append(ops, deleteOp(path))
			continue
		}
		sizes := []int{0, 1, 700, 5000, ownPiece + 1}
		next[path] = strings.Repeat(string(rune('a'+h.choose(26, "content"))), sizes[h.choose(len(sizes), "size")])
		ops = append(ops, writeOp(path, next[path]))
	}
	if len(ops) == 0 {
		return nil
	}
	h.add(change{kind: begins, docs: next})
	c := store.Commit{When: h.now().Round(0), Ops: ops, Alone: h.choose(2, "alone") == 1}
	if err := b.Commit(context.Background(), c); err != nil {
		return err
	}
	h.docs = next
	for _, op := range ops {
		content, ok := next[op.Path]
		if !ok {
			content = deletedDoc
		}
		if h.logged != nil {
			h.logged[op.Path] = content
		}
	}
	h.add(change{kind: ends, docs: next})
	return nil
}

// conflicts reports whether a document is above or below path.
func conflicts(docs map[string]string, path string) bool {
	for other := range docs {
		if strings.HasPrefix(other, path+"/") || strings.HasPrefix(path, other+"/") {
			return true
		}
	}
	return false
}

// possible returns the documents that the store can have if the power fails after some changes.
func (h *history) possible(at int) []map[string]string {
	states := h.start
	for _, c := range h.changes[:at] {
		switch c.kind {
		case begins:
			states = []map[string]string{states[len(states)-1], c.docs}
		case ends:
			states = []map[string]string{c.docs}
		}
	}
	if h.docs != nil && at == len(h.changes) {
		states = []map[string]string{h.docs} // which a caller has seen
	}
	return states
}

// reopen opens the store after the power has failed, and compares it with the states that it can
// have.
func (h *history) reopen() error {
	h.failing, h.failingLog = h.choose(2, "failing syncs"), h.choose(6, "failing datasync")
	b, err := h.open()
	for errors.Is(err, errSync) {
		b, err = h.open()
	}
	h.failing, h.failingLog = 0, 0
	if err != nil {
		return err
	}
	defer b.release()
	found := map[string]string{}
	files, err := b.List(context.Background(), "")
	if err != nil {
		return err
	}
	for _, f := range files {
		data, err := b.Read(context.Background(), f.Path)
		if err != nil {
			return err
		}
		found[f.Path] = string(data)
	}
	if !slices.ContainsFunc(h.start, func(docs map[string]string) bool { return maps.Equal(docs, found) }) {
		return fmt.Errorf("documents (-last acknowledged +found):\n%s", cmp.Diff(h.start[0], found))
	}
	h.docs = found
	return nil
}

// open opens the store, and records its changes.
func (h *history) open() (*backend, error) {
	return open(context.Background(), h.dir, quiet, func(d disk) disk {
		if len(h.changes) == 0 {
			h.base = readState(h.dir)
		}
		return &recorder{d, h}
	})
}

// add records a change before it is made.
func (h *history) add(c change) {
	if h.during != nil && c.kind != removes {
		h.during()
	}
	c.settling = h.settling
	if h.skips == nil || !h.skips(c) {
		h.changes = append(h.changes, c)
	}
}

func (h *history) now() time.Time {
	if h.when.IsZero() {
		return time.Now()
	}
	return h.when
}
