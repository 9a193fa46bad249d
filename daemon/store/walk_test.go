package store_test

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"evalctl/daemon/store"
)

// filesIn returns the Files of a directory. The name "own" is reserved.
func filesIn(t interface {
	Fatal(...any)
	Cleanup(func())
}, dir string) *store.Files {
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { root.Close() })
	return &store.Files{Root: root, Reserved: func(name string) error {
		if name == "own" {
			return store.ErrInvalidPath
		}
		return nil
	}}
}

// TestListFiles lists random trees. Some of their names sort differently with a slash after them.
func TestListFiles(t *testing.T) {
	home, trees := t.TempDir(), 0
	rapid.Check(t, func(rt *rapid.T) {
		trees++
		dir := filepath.Join(home, fmt.Sprint(trees))
		if err := os.Mkdir(dir, 0o700); err != nil {
			rt.Fatal(err)
		}
		segment := rapid.SampledFrom([]string{"a", "a.md", "a0", "a!", "b", "own", "é", "_"})
		paths := rapid.SliceOfN(rapid.SliceOfN(segment, 1, 4), 0, 30).Draw(rt, "paths")
		sizes := map[string]int64{}
		for i, segments := range paths {
			name := path.Join(segments...)
			file := filepath.Join(dir, filepath.FromSlash(name))
			if os.MkdirAll(filepath.Dir(file), 0o700) != nil || os.WriteFile(file, make([]byte, i), 0o600) != nil {
				continue // a path cannot be both a document and a directory
			}
			if !slices.Contains(segments, "own") {
				sizes[name] = int64(i)
			}
		}
		f := filesIn(rt, dir)
		for _, below := range []string{"", "a", "a/a.md", "missing"} {
			listed, err := f.List(rt.Context(), below)
			if err != nil {
				rt.Fatal(err)
			}
			got, want := []string{}, []string{}
			for _, info := range listed {
				got = append(got, info.Path)
				if stat, err := f.Stat(rt.Context(), info.Path); stat != info || info.Size != sizes[info.Path] {
					rt.Errorf("list %+v, stat %+v, want %d bytes, %v", info, stat, sizes[info.Path], err)
				}
			}
			for name := range maps.Keys(sizes) {
				if below == "" || strings.HasPrefix(name, below+"/") {
					want = append(want, name)
				}
			}
			slices.Sort(want)
			if diff := cmp.Diff(want, got); diff != "" {
				rt.Errorf("below %q (-want +got):\n%s", below, diff)
			}
		}
	})
}

// TestWalkLinks: a walk visits links but does not follow them.
func TestWalkLinks(t *testing.T) {
	dir, outside := t.TempDir(), t.TempDir()
	for _, file := range []string{filepath.Join(outside, "secret"), filepath.Join(dir, "d", "doc")} {
		err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o700), os.WriteFile(file, []byte("1"), 0o600))
		if err != nil {
			t.Fatal(err)
		}
	}
	for name, target := range map[string]string{
		"out": outside, "in": "d", "d/up": "..", "d/file": "doc", "nowhere": "x",
	} {
		if err := os.Symlink(target, filepath.Join(dir, name)); err != nil {
			t.Skipf("cannot create symbolic links: %v", err)
		}
	}
	f := filesIn(t, dir)
	got := map[string]bool{} // path to whether it is a link
	err := f.Walk("", func(path string, info fs.FileInfo) error {
		got[path] = info.Mode()&fs.ModeSymlink != 0
		return nil
	})
	want := map[string]bool{"d/doc": false, "d/file": true, "d/up": true, "in": true, "nowhere": true, "out": true}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	listed, err := f.List(t.Context(), "")
	if err != nil || len(listed) != 1 || listed[0].Path != "d/doc" {
		t.Errorf("%v, %v", listed, err)
	}
}

// TestVanishing: a listing leaves out a directory that is removed after it was found and before it is
// opened, on whichever goroutine that is.
func TestVanishing(t *testing.T) {
	for n := range 8 {
		dir := t.TempDir()
		place := func(i int) string { return filepath.Join(dir, fmt.Sprint(i), fmt.Sprint("deep", i)) }
		for i := range 8 {
			if err := os.MkdirAll(place(i), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(place(i), "doc"), nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		f := filesIn(t, dir)
		f.Reserved = func(name string) error {
			if name == filepath.Base(place(n)) {
				return os.RemoveAll(place(n))
			}
			return nil
		}
		if found, err := f.List(t.Context(), ""); err != nil || len(found) != 7 {
			t.Errorf("without %s: %d documents, %v", place(n), len(found), err)
		}
	}
}

func TestPruneTree(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"a/b/c", "a/d", "own/e", "f/g"} {
		if err := os.MkdirAll(filepath.Join(dir, name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "f", "doc"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := filesIn(t, dir).PruneTree(); err != nil {
		t.Fatal(err)
	}
	var left []string
	err := fs.WalkDir(os.DirFS(dir), ".", func(path string, _ fs.DirEntry, err error) error {
		left = append(left, path)
		return err
	})
	if diff := cmp.Diff([]string{".", "f", "f/doc", "own", "own/e"}, left); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}
