package brain

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"evalctl/daemon/protocol"
	"evalctl/daemon/store"
	"evalctl/daemon/store/memstore"
	"evalctl/internal/awaittest"
)

var epoch = time.Date(2024, 5, 1, 12, 0, 0, 123_456_789, time.UTC)

func inMemory(context.Context, Record) (*store.Store, error) { return memstore.Open(nil), nil }

// open opens a service in memory whose clock stands still. set may change its configuration.
func open(t *testing.T, set func(*Config)) *Service {
	t.Helper()
	cfg := Config{
		Catalog:   new(MemoryCatalog),
		OpenStore: inMemory,
		Now:       func() time.Time { return epoch },
	}
	cfg.SearchWait = time.Hour // the tests of searches that do not wait set it
	if set != nil {
		set(&cfg)
	}
	s, err := Open(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func list(t *testing.T, s *Service) (brains []protocol.Brain) {
	t.Helper()
	records, err := s.List(t.Context(), Selection{})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range records {
		brains = append(brains, r.Brain)
	}
	return brains
}

// inFolder keeps brains and their snapshots in dir. Each service opens it again.
func inFolder(t *testing.T, dir string) func(*Config) {
	return func(c *Config) {
		t.Helper()
		f, err := OpenFolder(dir)
		if err != nil {
			t.Fatal(err)
		}
		c.Catalog, c.Snapshots, c.Persistent = f, f.Snapshots(), true
	}
}

func create(t *testing.T, s *Service, id string) {
	t.Helper()
	if _, err := s.Create(t.Context(), "", protocol.CreateBrain{ID: id}); err != nil {
		t.Fatal(err)
	}
}

// use returns a handle on an existing brain.
func use(t testing.TB, s *Service, id string) Handle {
	t.Helper()
	h, err := s.Find(id)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func put(t *testing.T, s *Service, id, path, text string) {
	t.Helper()
	st, err := use(t, s, id).Store(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := st.Write(t.Context(), path, []byte(text)); err != nil {
		t.Fatal(err)
	}
}

func TestBrainsOnDisk(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "home", "brains")
	onDisk := inFolder(t, dir)
	s := open(t, onDisk)
	create(t, s, "zoe")
	create(t, s, "ana")
	create(t, s, "tmp")
	if err := s.Delete(t.Context(), use(t, s, "tmp")); err != nil {
		t.Fatal(err)
	}
	if left, err := filepath.Glob(filepath.Join(dir, "*tmp*")); err != nil || len(left) > 0 {
		t.Errorf("a deleted brain has left %q, %v", left, err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	// What a crash leaves behind, and a folder that is not a brain.
	for _, name := range []string{".new-x/documents", ".deleted-y-1/documents", "Not an id"} {
		if err := os.MkdirAll(filepath.Join(dir, name), 0o700); err != nil {
			t.Fatal(err)
		}
	}

	s = open(t, onDisk)
	at := epoch.Truncate(time.Millisecond)
	want := []protocol.Brain{
		{ID: "ana", Slug: "ana", Name: "ana", Visibility: "private", CreatedAt: at},
		{ID: "zoe", Slug: "zoe", Name: "zoe", Visibility: "private", CreatedAt: at},
	}
	if diff := cmp.Diff(want, list(t, s)); diff != "" {
		t.Error(diff)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	if diff := cmp.Diff([]string{lockFile, "Not an id", "ana", "zoe"}, names); diff != "" {
		t.Error(diff)
	}
	if _, err := OpenFolder(dir); err == nil || !strings.Contains(err.Error(), "in use by another daemon") {
		t.Errorf("a second catalog in %s: %v", dir, err)
	}
}

// TestDamagedRecordsAreReported: a damaged brain does not keep the others from being used.
func TestDamagedRecordsAreReported(t *testing.T) {
	tests := []struct {
		content, want string
		kind          error
	}{
		{"", filepath.Join("ana", brainFile), store.ErrDamaged},
		{"{", "unexpected end of JSON input", store.ErrDamaged},
		{"{}", "version 0 is not 1", store.ErrDamaged},
		{`{"v":1}`, "version 0", store.ErrDamaged},
		{`{"version":1,"brain":{"id":"zoe"}}`, `names brain "zoe"`, store.ErrDamaged},
		{`{"version":1,"brain":{"id":"ana","slug":"../x","name":"n","visibility":"public"}}`, "slug", store.ErrDamaged},
		{`{"version":2,"brain":{"id":"ana"}}`, `names the folder ""`, store.ErrDamaged},
		{`{"version":2,"folder":"zoe-x","brain":{"id":"zoe"}}`, `names the folder "zoe-x"`, store.ErrDamaged},
		{`{"version":2,"folder":"ana","brain":{"id":"../x","slug":"x"}}`, `id: "../x"`, store.ErrDamaged},
		{`{"version":3,"brain":{"id":"ana"}}`, "version 3, this program reads version 2", store.ErrSchemaVersion},
		{`{"version":4,"brain":7}`, "version 4, this program reads version 2", store.ErrSchemaVersion},
	}
	for _, tt := range tests {
		dir := t.TempDir()
		onDisk := inFolder(t, dir)
		s := open(t, onDisk)
		create(t, s, "zoe")
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		if err := os.Mkdir(filepath.Join(dir, "ana"), 0o700); err != nil {
			t.Fatal(err)
		}
		if tt.content != "" {
			if err := os.WriteFile(filepath.Join(dir, "ana", brainFile), []byte(tt.content), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		s = open(t, onDisk)
		put(t, s, "zoe", "a.md", "x")
		if n := len(list(t, s)); n != 1 || s.Damaged() != 1 {
			t.Errorf("record %q: %d brains are listed and %d damaged", tt.content, n, s.Damaged())
		}
		_, err := s.Find("ana")
		if !errors.Is(err, tt.kind) || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("record %q: got %v, want it to say %q", tt.content, err, tt.want)
		}
		damage, ok := errors.AsType[*store.UnusableError](err)
		if !ok || strings.Contains(damage.Reason, dir) {
			t.Errorf("record %q: %+v", tt.content, damage)
		}
		if _, err := s.Create(t.Context(), "", protocol.CreateBrain{ID: "ana"}); !errors.Is(err, ErrExists) {
			t.Errorf("record %q: a second brain of the id: %v", tt.content, err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestCreateRefusesATakenIDOrSlug(t *testing.T) {
	s := open(t, nil)
	create(t, s, "ana")
	for _, r := range []protocol.CreateBrain{{ID: "ana"}, {ID: "b", Slug: "ana"}, {Name: "Ana"}} {
		if _, err := s.Create(t.Context(), "", r); !errors.Is(err, ErrExists) {
			t.Errorf("%+v: got %v", r, err)
		}
	}
}

func TestMissingBrains(t *testing.T) {
	s := open(t, nil)
	create(t, s, "gone")
	if err := s.Delete(t.Context(), use(t, s, "gone")); err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{"gone", "never"} {
		if _, err := s.Find(id); !errors.Is(err, ErrNotFound) {
			t.Errorf("%s: got %v", id, err)
		}
	}
	for _, id := range []string{"", ".", "..", "../x", "a/b", `a\b`, "A", "-a", "a\x00", strings.Repeat("a", 65), ".deleted-a"} {
		if _, err := s.Find(id); !isArgument(err, "brain id") {
			t.Errorf("%q: got %v", id, err)
		}
	}
}

// operations are all operations on a brain.
var operations = map[string]func(context.Context, *Service, Handle) error{
	"store": func(ctx context.Context, _ *Service, h Handle) error { _, err := h.Store(ctx); return err },
	"search": func(ctx context.Context, _ *Service, h Handle) error {
		_, err := h.Search(ctx, query("walrus"))
		return err
	},
	"delete": func(ctx context.Context, s *Service, h Handle) error { return s.Delete(ctx, h) },
}

// A handle refers to one brain, not to its id.
func TestHandlesOfADeletedBrain(t *testing.T) {
	for _, used := range []bool{false, true} {
		s := open(t, nil)
		create(t, s, "notes")
		old := use(t, s, "notes")
		if used {
			put(t, s, "notes", "a.md", "walrus")
			find(t, s, "notes", "walrus")
		}
		if err := old.Err(); err != nil {
			t.Error(err)
		}
		if err := s.Delete(t.Context(), use(t, s, "notes")); err != nil {
			t.Fatal(err)
		}
		awaittest.Receive(t, "old.Done", old.Done())
		if err := old.Err(); !errors.Is(err, ErrNotFound) {
			t.Errorf("got %v", err)
		}
		create(t, s, "notes")
		put(t, s, "notes", "a.md", "a walrus of somebody else")
		for name, operate := range operations {
			if err := operate(t.Context(), s, old); !errors.Is(err, ErrNotFound) {
				t.Errorf("%s, used %v: got %v", name, used, err)
			}
		}
		if got := find(t, s, "notes", "walrus"); len(got) != 1 {
			t.Errorf("the other brain contains %v", got)
		}
	}
}

func TestHandlesOfAClosedService(t *testing.T) {
	s := open(t, nil)
	create(t, s, "notes")
	h := use(t, s, "notes")
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	for name, operate := range operations {
		if err := operate(t.Context(), s, h); !errors.Is(err, ErrClosed) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

func isArgument(err error, name string) bool {
	e, ok := errors.AsType[*ArgumentError](err)
	return ok && e.Name == name
}

func TestClosedService(t *testing.T) {
	s := open(t, nil)
	create(t, s, "ana")
	for range 2 {
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := s.Find("ana"); !errors.Is(err, ErrClosed) {
		t.Errorf("find: %v", err)
	}
	if _, err := s.Create(t.Context(), "", protocol.CreateBrain{ID: "b"}); !errors.Is(err, ErrClosed) {
		t.Errorf("create: %v", err)
	}
}

func TestAStoreThatDoesNotOpenIsTriedAgain(t *testing.T) {
	broken := errors.New("disk on fire")
	fail := true
	s := open(t, func(c *Config) {
		c.OpenStore = func(context.Context, Record) (*store.Store, error) {
			if fail {
				return nil, broken
			}
			return memstore.Open(nil), nil
		}
	})
	create(t, s, "ana")
	if _, err := use(t, s, "ana").Store(t.Context()); !errors.Is(err, broken) {
		t.Fatalf("got %v", err)
	}
	fail = false
	put(t, s, "ana", "a.md", "x")
}
