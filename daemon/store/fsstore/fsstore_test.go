package fsstore_test

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"evalctl/daemon/store"
	"evalctl/daemon/store/fsstore"
	"evalctl/daemon/store/storetest"
)

// children are the functions that the test binary calls instead of the tests when a test runs it
// as a separate process. The key is the environment variable with the directory to pass.
var children = map[string]func(dir string) int{
	crashDirEnv:    func(dir string) int { return inChild(dir, storetest.WriteUntilKilled) },
	togetherDirEnv: func(dir string) int { return inChild(dir, writeTogetherUntilKilled) },
}

func TestMain(m *testing.M) {
	for env, work := range children {
		if dir := os.Getenv(env); dir != "" {
			os.Exit(work(dir))
		}
	}
	goleak.VerifyTestMain(m)
}

func open(t *testing.T) *store.Store {
	t.Helper()
	return openDir(t, storetest.MemoryDir(t))
}

func openDir(t *testing.T, dir string) *store.Store {
	t.Helper()
	s, err := fsstore.Open(t.Context(), dir, &store.Options{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func TestContract(t *testing.T) { storetest.Run(t, open) }

func TestModel(t *testing.T) { storetest.RunModel(t, open) }

func TestContentSurvivesReopening(t *testing.T) {
	dir := filepath.Join(storetest.MemoryDir(t), "new", "parent", "dirs")
	s := openDir(t, dir)
	if err := s.Write(t.Context(), "d/a", []byte("1")); err != nil {
		t.Fatal(err)
	}
	before, err := s.Stat(t.Context(), "d/a")
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = openDir(t, dir)
	data, err := s.Read(t.Context(), "d/a")
	if err != nil || string(data) != "1" {
		t.Errorf("got %q, %v", data, err)
	}
	if after, err := s.Stat(t.Context(), "d/a"); after != before {
		t.Errorf("got %+v, %v, want %+v", after, err, before)
	}
}

func TestOneOwner(t *testing.T) {
	dir := storetest.MemoryDir(t)
	s := openDir(t, dir)
	_, err := fsstore.Open(t.Context(), dir, nil)
	if err == nil || !strings.Contains(err.Error(), "in use") || !strings.Contains(err.Error(), dir) {
		t.Errorf("second open: %v", err)
	}
	if err := s.Write(t.Context(), "a", nil); err != nil {
		t.Errorf("first store: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	openDir(t, dir)
}

func TestSchema(t *testing.T) {
	for text, want := range map[string]error{
		"1\n": nil, "2": nil, "2\n": nil, "4\n": store.ErrSchemaVersion,
		"0": store.ErrDamaged, "": store.ErrDamaged, "x": store.ErrDamaged,
	} {
		dir := storetest.MemoryDir(t)
		put(t, filepath.Join(dir, ".store", "schema"), text)
		if err := os.Mkdir(filepath.Join(dir, "documents"), 0o700); err != nil {
			t.Fatal(err)
		}
		s, err := fsstore.Open(t.Context(), dir, nil)
		if !errors.Is(err, want) {
			t.Errorf("schema %q: %v, want %v", text, err, want)
		}
		if s != nil {
			s.Close()
		}
	}
}

func TestOpenFails(t *testing.T) {
	file := filepath.Join(storetest.MemoryDir(t), "file")
	put(t, file, "")
	if _, err := fsstore.Open(t.Context(), file, nil); err == nil {
		t.Error("a file was opened as a store")
	}
	linked := storetest.MemoryDir(t)
	if err := os.Symlink(".", filepath.Join(linked, "documents")); err != nil {
		t.Fatal(err)
	}
	_, err := fsstore.Open(t.Context(), linked, nil)
	if err == nil || !strings.Contains(err.Error(), "documents is not a directory") {
		t.Errorf("documents is a link: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := fsstore.Open(ctx, storetest.MemoryDir(t), nil); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func TestTimesComeFromOptions(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 678_000_000, time.UTC)
	s, err := fsstore.Open(t.Context(), storetest.MemoryDir(t), &store.Options{Now: func() time.Time { return now }})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	ctx := t.Context()
	if err := errors.Join(s.Write(ctx, "a", nil), s.Rename(ctx, "a", "b"), s.Write(ctx, "a", nil)); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"a", "b"} {
		if info, err := s.Stat(t.Context(), path); !info.ModTime.Equal(now) {
			t.Errorf("%s: %v, %v, want %v", path, info.ModTime, err, now)
		}
	}
}

// TestForeignFiles: links are not documents and are not followed. The other documents still work.
func TestForeignFiles(t *testing.T) {
	dir := storetest.MemoryDir(t)
	outside := filepath.Join(storetest.MemoryDir(t), "secret")
	put(t, outside, "secret")
	s := openDir(t, dir)
	ctx := t.Context()
	if err := s.Write(ctx, "a", []byte("1")); err != nil {
		t.Fatal(err)
	}
	docs := filepath.Join(dir, "documents")
	for name, target := range map[string]string{
		"file": outside, "dir": filepath.Dir(outside), "up": "../.store", "inside": "a", "loop": "loop",
	} {
		if err := os.Symlink(target, filepath.Join(docs, name)); err != nil {
			t.Fatal(err)
		}
	}
	for _, path := range []string{
		"file", "dir", "up", "inside", "loop", "dir/secret", "up/schema", "loop/x", "up/new", "dir/new",
		"inside/x",
	} {
		if data, err := s.Read(ctx, path); err == nil {
			t.Errorf("read %s: %q", path, data)
		}
		if err := s.Write(ctx, path, []byte("x")); err == nil {
			t.Errorf("write %s succeeded", path)
		}
		if err := s.Delete(ctx, path); err == nil {
			t.Errorf("delete %s succeeded", path)
		}
		if err := s.Rename(ctx, "a", path); err == nil {
			t.Errorf("rename to %s succeeded", path)
		}
	}
	files, err := s.List(ctx, "", store.ListOptions{Recursive: true})
	if err != nil || len(files) != 1 || files[0].Path != "a" {
		t.Errorf("list: %+v, %v", files, err)
	}
	if data, err := os.ReadFile(outside); string(data) != "secret" {
		t.Errorf("the file outside contains %q, %v", data, err)
	}
	if leftover, _ := filepath.Glob(filepath.Join(filepath.Dir(outside), "*")); len(leftover) != 1 {
		t.Errorf("outside: %q", leftover)
	}
}

// TestLeftovers: Open removes what a crash can leave behind.
func TestLeftovers(t *testing.T) {
	dir := storetest.MemoryDir(t)
	if err := openDir(t, dir).Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(dir, ".store", "closed")); err != nil {
		t.Fatal(err)
	}
	staged := filepath.Join(dir, ".store", "staged")
	put(t, staged, "half")
	journal := filepath.Join(dir, ".store", "journal")
	log, err := os.ReadFile(journal)
	if err != nil {
		t.Fatal(err)
	}
	put(t, journal, string(log)+"fsl3torn")
	if err := os.MkdirAll(filepath.Join(dir, "documents", "d", "e"), 0o700); err != nil {
		t.Fatal(err)
	}
	s := openDir(t, dir)
	for _, file := range []string{staged, filepath.Join(dir, "documents", "d")} {
		if _, err := os.Lstat(file); !os.IsNotExist(err) {
			t.Errorf("%s still exists", file)
		}
	}
	if err := s.Write(t.Context(), "a", []byte("1")); err != nil {
		t.Error(err)
	}
	if err := s.Write(t.Context(), "d", nil); err != nil {
		t.Error(err)
	}
}

func put(t *testing.T, file, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}
