package brain

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"evalctl/daemon/store"
)

// keptBackend holds documents that outlive its store, and records what was read.
type keptBackend struct {
	slowBackend
	times map[string]time.Time
	reads []string
}

func newKept() *keptBackend {
	b := &keptBackend{times: map[string]time.Time{}}
	b.docs = map[string][]byte{}
	return b
}

func (b *keptBackend) set(path, text string, when time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.docs[path], b.times[path] = []byte(text), when
}

func (b *keptBackend) unset(path string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.docs, path)
}

func (b *keptBackend) Read(ctx context.Context, path string) ([]byte, error) {
	b.mu.Lock()
	b.reads = append(b.reads, path)
	b.mu.Unlock()
	return b.slowBackend.Read(ctx, path)
}

func (b *keptBackend) describe(path string) store.FileInfo {
	return store.FileInfo{Path: path, Size: int64(len(b.docs[path])), ModTime: b.times[path]}
}

func (b *keptBackend) Stat(ctx context.Context, path string) (store.FileInfo, error) {
	if info, err := b.slowBackend.Stat(ctx, path); err != nil {
		return info, err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.describe(path), nil
}

func (b *keptBackend) List(context.Context, string) ([]store.FileInfo, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	var list []store.FileInfo
	for path := range b.docs {
		list = append(list, b.describe(path))
	}
	return list, nil
}

func (b *keptBackend) Commit(ctx context.Context, c store.Commit) error {
	for _, op := range c.Ops {
		b.mu.Lock()
		b.times[op.Path] = c.When
		b.mu.Unlock()
	}
	return b.slowBackend.Commit(ctx, c)
}

func (b *keptBackend) takeReads() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	reads := b.reads
	b.reads = nil
	return sorted(reads)
}

// manyChunks is a document large enough for a snapshot.
var manyChunks = strings.Repeat("# walrus\n\nbeach\n\n", saveChunks)

// home is a directory of brains with one backend, which outlives the services.
type home struct {
	dir     string
	backend *keptBackend
	log     bytes.Buffer
}

func newHome(t *testing.T) *home {
	return &home{dir: filepath.Join(t.TempDir(), "brains"), backend: newKept()}
}

func (h *home) open(t *testing.T) *Service { return h.openWith(t, func(*Config) {}) }

func (h *home) openWith(t *testing.T, set func(*Config)) *Service {
	return open(t, func(c *Config) {
		set(c)
		inFolder(t, h.dir)(c)
		c.Logger = slog.New(slog.NewTextHandler(&h.log, nil))
		c.OpenStore = func(context.Context, Record) (*store.Store, error) { return store.New(h.backend, nil), nil }
	})
}

func (h *home) file(name string) string { return filepath.Join(h.dir, "eval", name) }

// expect checks which chunks a search finds and which documents were read since the last call.
func (h *home) expect(t *testing.T, s *Service, query string, found, read []string) {
	t.Helper()
	if diff := cmp.Diff(found, sorted(find(t, s, "eval", query)), equateEmpty); diff != "" {
		t.Errorf("found other chunks for %q (-want +got):\n%s", query, diff)
	}
	if diff := cmp.Diff(read, h.backend.takeReads(), equateEmpty); diff != "" {
		t.Errorf("read other documents (-want +got):\n%s", diff)
	}
}

func TestSnapshotOpens(t *testing.T) {
	h := newHome(t)
	before := epoch.Add(-time.Hour)
	for path, text := range map[string]string{"large.md": manyChunks, "a.md": "an otter", "b.md": "the otter", "c.md": "otter", "d.png": "otter"} {
		h.backend.set(path, text, before)
	}
	s := h.open(t)
	create(t, s, "eval")
	h.expect(t, s, "otter", []string{"a.md#0", "b.md#0", "c.md#0"}, []string{"a.md", "b.md", "c.md", "large.md"})
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}

	s = h.open(t)
	h.expect(t, s, "otter", []string{"a.md#0", "b.md#0", "c.md#0"}, nil)
	put(t, s, "eval", "a.md", "seal")
	h.expect(t, s, "otter", []string{"b.md#0", "c.md#0"}, []string{"a.md"})
	if err := s.Close(); err != nil { // too little changed for another snapshot
		t.Fatal(err)
	}

	h.backend.unset("b.md")
	h.backend.set("e.md", "otter", before)
	h.backend.set("c.md", "two otters", before)
	s = h.open(t)
	h.expect(t, s, "otter", []string{"c.md#0", "e.md#0"}, []string{"a.md", "c.md", "e.md"})
	if h.log.Len() > 0 {
		t.Errorf("logged: %s", &h.log)
	}
}

// A document that may have been written again, within the same tick of the clock and with
// the same size, is read again.
func TestSnapshotTrustsNoFreshTime(t *testing.T) {
	h := newHome(t)
	h.backend.set("large.md", manyChunks, epoch.Add(-time.Hour))
	h.backend.set("old.md", "otter", epoch.Add(-clockTick))
	h.backend.set("new.md", "otter", epoch.Add(1-clockTick))
	s := h.open(t) // its clock stands still at epoch
	create(t, s, "eval")
	find(t, s, "eval", "otter")
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	h.backend.takeReads()
	h.backend.set("new.md", "seals", epoch.Add(1-clockTick))
	h.expect(t, h.open(t), "otter", []string{"old.md#0"}, []string{"new.md"})
}

func TestUnusableSnapshot(t *testing.T) {
	h := newHome(t)
	h.backend.set("large.md", manyChunks, epoch.Add(-time.Hour))
	h.backend.set("a.md", "otter", epoch.Add(-time.Hour))
	s := h.open(t)
	create(t, s, "eval")
	find(t, s, "eval", "otter")
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	good, err := os.ReadFile(h.file(snapshotFile))
	if err != nil {
		t.Fatal(err)
	}
	h.backend.takeReads()
	flipped := bytes.Clone(good)
	flipped[len(flipped)/2] ^= 1
	for name, data := range map[string][]byte{"empty": nil, "truncated": good[:len(good)/2], "damaged": flipped, "text": []byte("hello\n")} {
		t.Run(name, func(t *testing.T) {
			h.log.Reset()
			if err := os.WriteFile(h.file(snapshotFile), data, 0o600); err != nil {
				t.Fatal(err)
			}
			s := h.open(t)
			h.expect(t, s, "otter", []string{"a.md#0"}, []string{"a.md", "large.md"})
			h.expect(t, s, "otter", []string{"a.md#0"}, nil)
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			if n := strings.Count(h.log.String(), "\n"); n != 1 || !strings.Contains(h.log.String(), "brain=eval") {
				t.Errorf("logged %d lines, want one about the brain: %s", n, &h.log)
			}
			s = h.open(t) // from the snapshot that replaced the damaged one
			h.expect(t, s, "otter", []string{"a.md#0"}, nil)
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
		})
	}
}

func TestSmallIndexesHaveNoSnapshot(t *testing.T) {
	h := newHome(t)
	h.backend.set("a.md", strings.Repeat("# walrus\n\nbeach\n\n", saveChunks-1), epoch)
	s := h.open(t)
	create(t, s, "eval")
	find(t, s, "eval", "walrus")
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if files, _ := filepath.Glob(h.file("index*")); len(files) > 0 {
		t.Errorf("a snapshot was written: %v", files)
	}
}

func TestSnapshotOnceQuiet(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		h := &home{dir: dir, backend: newKept()}
		s := h.open(t)
		create(t, s, "eval")
		h.backend.set("large.md", manyChunks, epoch.Add(-time.Hour))
		saved := func() bool {
			synctest.Wait()
			_, err := os.Stat(h.file(snapshotFile))
			return err == nil
		}
		find(t, s, "eval", "walrus")
		time.Sleep(saveAfter - 1)
		if saved() {
			t.Error("saved before the brain was quiet for long enough")
		}
		put(t, s, "eval", "a.md", "otter")
		time.Sleep(saveAfter - 1)
		if saved() {
			t.Error("saved before the brain was quiet for long enough after a write")
		}
		time.Sleep(time.Nanosecond)
		if !saved() {
			t.Error("not saved once quiet")
		}
		if err := s.Delete(t.Context(), use(t, s, "eval")); err != nil {
			t.Fatal(err)
		}
		if saved() {
			t.Error("the snapshot outlived its brain")
		}
	})
}

// slowSnapshots write slowly.
type slowSnapshots struct {
	Snapshots
	begun   chan struct{} // closed by the first write
	written chan error
}

func (s slowSnapshots) Put(_ context.Context, _ string, _, _ uint64, write func(io.Writer) error) error {
	err := write(slowWriter{sync.OnceFunc(func() { close(s.begun) })})
	s.written <- err
	return err
}

type slowWriter struct{ begin func() }

func (w slowWriter) Write(data []byte) (int, error) {
	w.begin()
	time.Sleep(time.Minute)
	return len(data), nil
}

// A deletion does not wait until a snapshot of the brain is complete.
func TestSnapshotGivesWayToDeletion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := slowSnapshots{begun: make(chan struct{}), written: make(chan error, 1)}
		h := &home{dir: t.TempDir(), backend: newKept()}
		h.backend.set("large.md", manyChunks, epoch.Add(-time.Hour))
		s := open(t, func(c *Config) {
			inFolder(t, h.dir)(c)
			slow.Snapshots = c.Snapshots
			c.Snapshots = slow
			c.OpenStore = func(context.Context, Record) (*store.Store, error) { return store.New(h.backend, nil), nil }
		})
		create(t, s, "eval")
		find(t, s, "eval", "walrus")
		<-slow.begun
		if err := s.Delete(t.Context(), use(t, s, "eval")); err != nil {
			t.Fatal(err)
		}
		if err := <-slow.written; !errors.Is(err, errWoken) {
			t.Errorf("the snapshot of a deleted brain ended with %v", err)
		}
	})
}

// A snapshot that is not completed leaves the one before, and no temporary file.
func TestSnapshotIsReplacedWholeOrNotAtAll(t *testing.T) {
	h := newHome(t)
	s := h.open(t)
	create(t, s, "eval")
	snapshots := s.catalog.(*Folder).Snapshots()
	write := func(text string, fail error) error {
		return snapshots.Put(t.Context(), "eval", 0, 0, func(w io.Writer) error {
			_, err := io.WriteString(w, text)
			return errors.Join(err, fail)
		})
	}
	if err := write("first", nil); err != nil {
		t.Fatal(err)
	}
	if err := write("second", errWoken); !errors.Is(err, errWoken) {
		t.Errorf("error %v, want the writer's", err)
	}
	if data, err := os.ReadFile(h.file(snapshotFile)); string(data) != "first" {
		t.Errorf("snapshot contains %q, %v", data, err)
	}
	if _, err := os.Stat(h.file(snapshotTemp)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the temporary file is left: %v", err)
	}
}

func TestSnapshotGivesWayToWork(t *testing.T) {
	var out bytes.Buffer
	woken := false
	w := interruptible{&out, func() bool { return woken }}
	if _, err := w.Write([]byte("a")); err != nil {
		t.Fatal(err)
	}
	woken = true
	if _, err := w.Write([]byte("b")); !errors.Is(err, errWoken) || out.String() != "a" {
		t.Errorf("wrote %q, %v", &out, err)
	}
}

// Passages have the configured size, even if the snapshot was made with another one.
func TestChunkSize(t *testing.T) {
	h := newHome(t)
	h.backend.set("large.md", manyChunks, epoch.Add(-time.Hour))
	h.backend.set("a.md", "An otter swims in the cold river.\n\nAnother otter sleeps on the warm stones.\n\nThe third otter has caught a fish.\n", epoch.Add(-time.Hour))
	short := []string{"a.md#0", "a.md#1"}
	all := []string{"a.md", "large.md"}
	for i, tt := range []struct {
		size        int
		found, read []string
	}{
		{0, []string{"a.md#0"}, all},
		{64, short, all},
		{64, short, nil},
		{1600, []string{"a.md#0"}, all},
		{0, []string{"a.md#0"}, nil},
	} {
		s := h.openWith(t, func(c *Config) { c.ChunkSize = tt.size })
		if i == 0 {
			create(t, s, "eval")
		}
		h.expect(t, s, "otter", tt.found, tt.read)
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if n := strings.Count(h.log.String(), "its chunks have at most"); n != 2 {
		t.Errorf("logged: %s", &h.log)
	}
}
