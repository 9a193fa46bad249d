package fsstore

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
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

// clock is a clock that tests set.
type clock struct{ time.Time }

func (c *clock) now() time.Time { return c.Time }

// testingT is what a test and a check of rapid have in common.
type testingT interface {
	rapid.TB
	Context() context.Context
}

// openLogged opens a store that logs to a buffer, with a clock.
func openLogged(t testingT, dir string, c *clock) (*backend, *bytes.Buffer) {
	t.Helper()
	log := &bytes.Buffer{}
	b, err := open(t.Context(), dir, &store.Options{Logger: slog.New(slog.NewTextHandler(log, nil)), Now: c.now}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return b, log
}

// shifts are how far a clock, or the time of a file, can be off.
var shifts = []time.Duration{-time.Hour, -20 * time.Second, 0, 20 * time.Second, time.Hour}

// afterCrash makes a store in which the document d/a was "before", which is settled, then "first" and
// then last, which is a deletion if it is "". The store is killed before, or after, these are in the
// file. leave then changes the file.
func afterCrash(t *testing.T, shift time.Duration, laidOut bool, last string, leave func(file string) error) (*backend, *bytes.Buffer) {
	t.Helper()
	dir := storetest.MemoryDir(t)
	c := &clock{time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC)}
	b, _ := openLogged(t, dir, c)
	write := func(op store.Op) {
		if err := b.Commit(t.Context(), store.Commit{When: c.now(), Ops: []store.Op{op}, Alone: laidOut}); err != nil {
			t.Fatal(err)
		}
		c.Time = c.Add(shift)
	}
	write(writeOp("d/a", "before"))
	if err := b.settle(); err != nil {
		t.Fatal(err)
	}
	b.settling <- struct{}{}
	write(writeOp("d/a", "first"))
	if last == "" {
		write(deleteOp("d/a"))
	} else {
		write(writeOp("d/a", last))
	}
	abandon(b)
	file := filepath.Join(dir, documentsDir, "d", "a")
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := leave(file); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(file); err == nil {
		_ = os.Chtimes(file, c.Add(shift), c.Add(shift)) // a link may lead nowhere
	}
	b, log := openLogged(t, dir, c)
	t.Cleanup(func() { b.Close() })
	return b, log
}

// TestFoundAfterACrash leaves a file in many states after a crash. The acknowledged document is there,
// whatever the clock says, and what somebody else has written is kept beside.
func TestFoundAfterACrash(t *testing.T) {
	write := func(content string) func(string) error {
		return func(file string) error { return os.WriteFile(file, []byte(content), 0o600) }
	}
	asItIs := func(string) error { return nil }
	for name, c := range map[string]struct {
		leave func(file string) error
		kept  string // the content that is kept beside
		why   string // in the log
	}{
		"as it is":        {asItIs, "", "-"},
		"current":         {write("second"), "", "-"},
		"first version":   {write("first"), "", "an earlier version"},
		"version before":  {write("before"), "", "an earlier version"},
		"torn":            {write("sec\x00"), "", "incomplete"},
		"torn first":      {write("fi"), "", "incomplete"},
		"empty":           {write(""), "", "incomplete"},
		"missing":         {func(file string) error { return os.RemoveAll(filepath.Dir(file)) }, "", "missing"},
		"edited":          {write("by hand"), "by hand", "by hand"},
		"edited to large": {write(strings.Repeat("by hand", 1000)), strings.Repeat("by hand", 1000), "by hand"},
		"begins alike":    {write("second and more"), "second and more", "by hand"},
		"same length":     {write("sEcond"), "sEcond", "by hand"},
	} {
		for _, shift := range shifts {
			for _, laidOut := range []bool{true, false} {
				for _, last := range []string{"second", ""} {
					t.Run(fmt.Sprint(name, " ", shift, laidOut, last), func(t *testing.T) {
						b, log := afterCrash(t, shift, laidOut, last, c.leave)
						found := contentsOf(t, b)
						want := map[string]string{}
						if last != "" {
							want["d/a"] = last
						}
						kept := c.kept
						if last == "" && (name == "current" || name == "torn") {
							kept = map[string]string{"current": "second", "torn": "sec\x00"}[name]
						}
						if kept != "" {
							want["d/a (edited by hand, found "+b.now().Format(time.DateOnly)+")"] = kept
						}
						if diff := cmp.Diff(want, found); diff != "" {
							t.Errorf("documents (-want +got):\n%s\n%s", diff, log)
						}
						if c.why != "-" && (kept == "" || kept == c.kept) && (last != "" || name != "missing") && !strings.Contains(log.String(), c.why) {
							t.Errorf("log: %s", log)
						}
						if lines := strings.Count(log.String(), "\n"); kept != "" && lines != 2 || lines > 2 {
							t.Errorf("%d lines in the log: %s", lines, log)
						}
					})
				}
			}
		}
	}
}

// TestInTheWay: what is in the place of a document, or of its directory, is kept beside.
func TestInTheWay(t *testing.T) {
	for name, c := range map[string]struct {
		leave func(file string) error
		kept  string
	}{
		"a directory": {func(file string) error {
			return os.WriteFile(filepath.Join(file, "x"), []byte("by hand"), 0o600)
		}, "documents/d/a (edited by hand, found 2026-11-28)/x"},
		"a link": {func(file string) error { return os.Symlink("elsewhere", file) },
			"documents/d/a (edited by hand, found 2026-11-28)"},
		"a file for the directory": {func(file string) error {
			dir := filepath.Dir(file)
			return errors.Join(os.RemoveAll(dir), os.WriteFile(dir, []byte("by hand"), 0o600))
		}, "documents/d (edited by hand, found 2026-11-28)"},
		"a link for the directory": {func(file string) error {
			dir := filepath.Dir(file)
			return errors.Join(os.RemoveAll(dir), os.Symlink("..", dir))
		}, "documents/d (edited by hand, found 2026-11-28)"},
	} {
		t.Run(name, func(t *testing.T) {
			leave := func(file string) error {
				if err := os.Remove(file); err != nil {
					return err
				}
				if name == "a directory" {
					if err := os.Mkdir(file, 0o700); err != nil {
						return err
					}
				}
				return c.leave(file)
			}
			b, log := afterCrash(t, 0, true, "second", leave)
			if data, err := b.Read(t.Context(), "d/a"); string(data) != "second" {
				t.Errorf("got %q, %v", data, err)
			}
			if _, err := os.Lstat(filepath.Join(b.home.Name(), c.kept)); err != nil {
				t.Errorf("%v\n%s", err, log)
			}
		})
	}
}

// TestKeptPath: the name of what is kept is a path of a document that nothing has.
func TestKeptPath(t *testing.T) {
	b, _ := openLogged(t, t.TempDir(), &clock{time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC)})
	defer b.Close()
	long := strings.Repeat("ä", 100)
	deep := strings.Repeat(strings.Repeat("x", 200)+"/", 15)
	for path, want := range map[string]string{
		"notes/a.md":             "notes/a (edited by hand, found 2026-11-28).md",
		"a":                      "a (edited by hand, found 2026-11-28)",
		".md":                    ".md (edited by hand, found 2026-11-28)",
		"taken.md":               "taken (edited by hand, found 2026-11-28, 3).md",
		long + long[:50] + ".md": long + strings.Repeat("ä", 8) + " (edited by hand, found 2026-11-28).md",
		deep + "0123456789.md":   "0123456789 (edited by hand, found 2026-11-28).md",
	} {
		commit(t, b, writeOp("taken (edited by hand, found 2026-11-28).md", "1"))
		commit(t, b, writeOp("taken (edited by hand, found 2026-11-28, 2).md", "1"))
		got, err := b.keptPath(path)
		if got != want || err != nil || store.ValidPath(got) != nil {
			t.Errorf("%s: got %q, %v", path, got, err)
		}
	}
}

// TestRandomHistories makes random commits with a clock that jumps, kills the store, sets the times
// of files, and changes files by hand: no acknowledged commit is lost, and nothing that was written by
// hand.
func TestRandomHistories(t *testing.T) {
	dir := storetest.MemoryDir(t)
	round := 0
	rapid.Check(t, func(r *rapid.T) {
		round++
		home := filepath.Join(dir, fmt.Sprint(round))
		defer os.RemoveAll(home)
		c := &clock{time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC)}
		h := &history{docs: map[string]string{}, choose: func(n int, what string) int { return rapid.IntRange(0, n-1).Draw(r, what) }}
		byHand := map[string]bool{}
		for range 1 + h.choose(3, "kills") {
			b, _ := openLogged(r, home, c)
			b.settling <- struct{}{}
			h.check(r, b, byHand)
			for range 1 + h.choose(6, "commits") {
				c.Time = c.Add(shifts[h.choose(len(shifts), "shift")])
				h.when = c.Time
				before := h.docs
				if err := h.commit(b); err != nil {
					r.Fatal(err)
				}
				for path, content := range before {
					if now, ok := h.docs[path]; !ok || now != content {
						delete(byHand, content)
					}
				}
				if h.choose(4, "settle") == 0 {
					if err := b.settleAll(); err != nil {
						r.Fatal(err)
					}
					h.logged = map[string]string{}
				}
			}
			abandon(b)
			h.meddle(r, home, c.Time, byHand)
		}
		b, log := openLogged(r, home, c)
		h.check(r, b, byHand)
		if err := b.Close(); err != nil {
			r.Fatal(err, log)
		}
	})
}

// meddle changes files of a store that was killed.
func (h *history) meddle(r *rapid.T, home string, now time.Time, byHand map[string]bool) {
	docs := filepath.Join(home, documentsDir)
	for _, path := range powerPaths {
		file := filepath.Join(docs, filepath.FromSlash(path))
		info, err := os.Lstat(file)
		if err == nil && info.IsDir() || conflicts(h.docs, path) {
			continue
		}
		action := h.choose(4, "by hand")
		if was, err := os.ReadFile(file); err == nil && action < 3 {
			delete(byHand, string(was))
		}
		switch action {
		case 0:
			h.edits++
			content := fmt.Sprintf("by hand %d", h.edits)
			if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
				continue // there is a file in the place of the directory
			}
			if os.WriteFile(file, []byte(content), 0o600) == nil {
				byHand[content] = true
			}
		case 1:
			_ = os.Truncate(file, int64(h.choose(3, "size"))) // it may not exist
		case 2:
			_ = os.Remove(file)
		}
		when := now.Add(shifts[h.choose(len(shifts), "time")])
		_ = os.Chtimes(file, when, when)
	}
}

// check compares the documents of a store with those that were committed. A document that the logs do
// not have any more is whatever is in its file.
func (h *history) check(r *rapid.T, b *backend, byHand map[string]bool) {
	r.Helper()
	found := map[string]string{}
	files, err := b.List(r.Context(), "")
	if err != nil {
		r.Fatal(err)
	}
	for _, f := range files {
		data, err := b.Read(r.Context(), f.Path)
		if err != nil {
			r.Fatal(err)
		}
		found[f.Path] = string(data)
	}
	contents := slices.Collect(maps.Values(found))
	for content := range byHand {
		if !slices.Contains(contents, content) {
			r.Fatalf("%q is gone: %q", content, found)
		}
	}
	for path, want := range h.logged {
		if got, ok := found[path]; ok != (want != deletedDoc) || ok && got != want {
			r.Fatalf("%s is %q, want %q", path, got, want)
		}
	}
	h.docs, h.logged = found, map[string]string{}
}
