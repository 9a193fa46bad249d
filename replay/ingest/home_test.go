package ingest

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"evalctl/internal/awaittest"
	"evalctl/internal/filetest"
)

// home returns a home and closes it.
func home(t *testing.T, cache, sdk, build string) string {
	t.Helper()
	f, err := Home(cache, sdk, build)
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	return f.Dir()
}

// TestHome checks that a build gets the same home again, and that few homes are kept.
func TestHome(t *testing.T) {
	cache := t.TempDir()
	first := home(t, cache, "go", "1")
	kept := filetest.Write(t, filepath.Join(first, "brain"), "")
	other := home(t, cache, "ts", "1")
	if again := home(t, cache, "go", "1"); again != first || other == first {
		t.Fatalf("homes %s, %s, %s", first, again, other)
	}
	age := func(dir string, ago time.Duration) {
		at := time.Now().Add(-ago)
		if err := os.Chtimes(filepath.Join(filepath.Dir(dir), "lock"), at, at); err != nil {
			t.Fatal(err)
		}
	}
	age(first, 3*time.Hour)
	age(home(t, cache, "go", "2"), 2*time.Hour)
	age(home(t, cache, "go", "3"), time.Hour)
	if _, err := os.Stat(kept); err != nil {
		t.Errorf("three homes: %v", err)
	}
	home(t, cache, "go", "4")
	if _, err := os.Stat(kept); !os.IsNotExist(err) {
		t.Errorf("four homes: %v", err)
	}
	for _, dir := range []string{other, home(t, cache, "go", "2"), home(t, cache, "go", "3")} {
		if _, err := os.Stat(dir); err != nil {
			t.Error(err)
		}
	}
}

// TestHomeInUse checks that no home is given to two processes or deleted while it is used.
func TestHomeInUse(t *testing.T) {
	cache := t.TempDir()
	dirs := map[string]bool{}
	for range keptHomes {
		f, err := Home(cache, "Go SDK", "1")
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		dirs[f.Dir()] = true
		if filepath.Dir(f.Record()) != filepath.Dir(f.Dir()) {
			t.Errorf("the record is %s", f.Record())
		}
	}
	if _, err := Home(cache, "Go SDK", "1"); err == nil || !strings.Contains(err.Error(), "--cache-dir") {
		t.Errorf("got %v", err)
	}
	home(t, cache, "Go SDK", "2")
	for dir := range dirs {
		if _, err := os.Stat(dir); err != nil || len(dirs) != keptHomes {
			t.Errorf("%d homes, %v", len(dirs), err)
		}
	}
}

// TestHomesAtOnce checks that replays which begin together do not fail because another one deletes
// a home first.
func TestHomesAtOnce(t *testing.T) {
	for range 8 {
		cache := t.TempDir()
		for i := range 12 {
			dir := filepath.Join(cache, "homes", fmt.Sprintf("go-%012x", i))
			if err := os.MkdirAll(filepath.Join(dir, "data", "brain"), 0o700); err != nil {
				t.Fatal(err)
			}
		}
		var wg sync.WaitGroup
		for i := range 3 {
			wg.Go(func() {
				f, err := Home(cache, "go", fmt.Sprint(i))
				if err != nil {
					t.Error(err)
					return
				}
				if _, err := os.Stat(f.Dir()); err != nil {
					t.Error(err)
				}
				if err := f.Close(); err != nil {
					t.Error(err)
				}
			})
		}
		awaittest.Wait(t, "the goroutines", wg.Wait)
	}
}

// TestHomeLeft checks that a home whose deletion was interrupted is deleted later.
func TestHomeLeft(t *testing.T) {
	cache := t.TempDir()
	left, now := filepath.Join(cache, "homes", deletedPrefix+"1"), filepath.Join(cache, "homes", deletedPrefix+"2")
	for _, dir := range []string{left, now} {
		if err := os.MkdirAll(filepath.Join(dir, "home", "data"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	yesterday := time.Now().Add(-24 * time.Hour)
	if err := os.Chtimes(left, yesterday, yesterday); err != nil {
		t.Fatal(err)
	}
	home(t, cache, "go", "1")
	if _, err := os.Stat(left); !os.IsNotExist(err) {
		t.Error(err)
	}
	if _, err := os.Stat(now); err != nil {
		t.Error(err)
	}
}

// TestBuild checks what a build depends on.
func TestBuild(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
		return path
	}
	program, script := write("program", "#!/bin/sh\n"), write("script.py", "print(1)")
	build := func(command ...string) string {
		b, err := Build(command)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	first := build(program, script, "--addr", "{addr}", dir)
	if build(program, script, "--addr", "{addr}", dir) != first {
		t.Error("the same command has another build")
	}
	seen := map[string]bool{first: true, build(program, script, "--addr", "{url}", dir): true}
	write("script.py", "print(2)")
	seen[build(program, script, "--addr", "{addr}", dir)] = true
	write("program", "#!/bin/bash\n")
	seen[build(program, script, "--addr", "{addr}", dir)] = true
	if len(seen) != 4 {
		t.Errorf("%d builds of 4", len(seen))
	}
	if _, err := Build([]string{filepath.Join(dir, "none")}); err == nil {
		t.Error("a missing program has a build")
	}
}
