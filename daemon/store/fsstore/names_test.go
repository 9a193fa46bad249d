package fsstore

import (
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/text/unicode/norm"

	"evalctl/daemon/store"
	"evalctl/daemon/store/storetest"
)

// picky is a disk with a file system that does not take all names, or cannot keep some apart.
type picky struct {
	disk
	dir     string                   // of the store
	err     error                    // of names that it does not take; nil: EINVAL
	refuses func(name string) bool   // the names that it does not take; nil: none
	same    func(name string) string // equal for names that are those of one file; nil: none are
	stored  func(name string) string // what becomes of a new name; nil: nothing
}

// actual returns the name that a file has, or that a new one gets.
func (d picky) actual(name string) (string, error) {
	at := ""
	refusal := d.err
	if refusal == nil {
		refusal = syscall.EINVAL
	}
	for segment := range strings.SplitSeq(name, "/") {
		if d.refuses != nil && d.refuses(segment) {
			return "", &fs.PathError{Op: "open", Path: name, Err: refusal}
		}
		found := segment
		if d.stored != nil {
			found = d.stored(segment)
		}
		if _, err := os.Lstat(filepath.Join(d.dir, at, found)); err != nil && d.same != nil {
			entries, _ := os.ReadDir(filepath.Join(d.dir, at))
			same := d.same(segment)
			for _, e := range entries {
				if d.same(e.Name()) == same {
					found = e.Name()
				}
			}
		}
		at = path.Join(at, found)
	}
	return at, nil
}

func (d picky) create(name string, data []byte, when time.Time) error {
	name, err := d.actual(name)
	if err != nil {
		return err
	}
	return d.disk.create(name, data, when)
}

func (d picky) rename(from, to string) error {
	to, err := d.actual(to)
	if err != nil {
		return err
	}
	return d.disk.rename(from, to)
}

func (d picky) lstat(name string) (fs.FileInfo, error) {
	if errors.Is(d.err, fs.ErrPermission) { // of the folder
		return d.disk.lstat(name)
	}
	name, err := d.actual(name)
	if err != nil {
		return nil, err
	}
	return d.disk.lstat(name)
}

func fold(name string) string { return norm.NFC.String(strings.ToLower(strings.ToUpper(name))) }

// fileSystems are ways to treat names.
var fileSystems = map[string]picky{
	"takes all": {},
	"NTFS": {same: func(name string) string { return strings.ToLower(strings.ToUpper(name)) }, refuses: func(name string) bool {
		stem, _, _ := strings.Cut(strings.ToLower(name), ".")
		return strings.ContainsAny(name, ":*?\"<>|\x7f") || strings.ContainsFunc(name, func(r rune) bool { return r < ' ' }) ||
			strings.HasSuffix(name, ".") || strings.HasSuffix(name, " ") ||
			slices.Contains([]string{"con", "nul", "aux", "com1", "lpt9", "prn"}, stem)
	}},
	"FAT": {stored: func(name string) string { return strings.TrimRight(name, ". ") }, same: func(name string) string {
		return strings.TrimRight(strings.ToLower(name), ". ")
	}, refuses: func(name string) bool { return strings.ContainsAny(name, ":*?\"<>|\x01\t\n") }},
	"APFS":       {same: fold},
	"HFS+":       {same: fold, stored: norm.NFD.String},
	"eCryptfs":   {refuses: func(name string) bool { return len(name) > 143 }},
	"lower case": {same: strings.ToLower, stored: strings.ToLower},
	"ASCII":      {refuses: func(name string) bool { return strings.ContainsFunc(name, func(r rune) bool { return r > '~' }) }},
}

func (d picky) open(t *testing.T, dir string) *store.Store {
	t.Helper()
	b, err := open(t.Context(), dir, nil, func(real disk) disk {
		d.disk, d.dir = real, dir
		return d
	})
	if err != nil {
		t.Fatal(err)
	}
	b.files.Log = slog.New(slog.DiscardHandler)
	s := store.New(b, nil)
	t.Cleanup(func() { s.Close() })
	return s
}

// TestNames: a store is the same on all file systems.
func TestNames(t *testing.T) {
	for name, d := range fileSystems {
		t.Run(name, func(t *testing.T) {
			if testing.Short() && name != "HFS+" {
				t.Skip("one file system is enough to find races")
			}
			open := func(t *testing.T) *store.Store { return d.open(t, storetest.MemoryDir(t)) }
			t.Run("contract", func(t *testing.T) { storetest.Run(t, open) })
			if name == "NTFS" || name == "HFS+" {
				t.Run("model", func(t *testing.T) { storetest.RunModel(t, open) })
			}
		})
	}
}

// contents returns all documents, sorted by path.
func contents(t *testing.T, s *store.Store) (docs []string) {
	t.Helper()
	files, err := s.List(t.Context(), "", store.ListOptions{Recursive: true, IncludeGenerated: true})
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		data, err := s.Read(t.Context(), f.Path)
		if err != nil {
			t.Error(err)
		}
		docs = append(docs, f.Path+"="+string(data))
	}
	return docs
}

var several = []string{strings.Repeat("?", 255), "A/b:c.md", "a/B:c.md", "a/b:c.md", "e\u0301", "plain.md", "é"}

func writeAll(t *testing.T, s *store.Store, content string) (docs []string) {
	t.Helper()
	for _, path := range several {
		if err := s.Write(t.Context(), path, []byte(content)); err != nil {
			t.Errorf("write %s: %v", path, err)
		}
		docs = append(docs, path+"="+content)
	}
	return docs
}

// TestMovedStore: a store has the same documents on another file system, and one file for each.
func TestMovedStore(t *testing.T) {
	for name, d := range fileSystems {
		t.Run(name, func(t *testing.T) {
			dir := storetest.MemoryDir(t)
			var want []string
			for i, d := range []picky{d, {}, d} {
				s := d.open(t, dir)
				if diff := cmp.Diff(want, contents(t, s)); diff != "" {
					t.Errorf("open %d (-want +got):\n%s", i, diff)
				}
				want = writeAll(t, s, strings.Repeat("1", i+1))
				if err := s.Close(); err != nil {
					t.Fatal(err)
				}
				files := 0
				err := filepath.WalkDir(filepath.Join(dir, documentsDir), func(_ string, e fs.DirEntry, err error) error {
					if err == nil && !e.IsDir() {
						files++
					}
					return err
				})
				if files != len(want) || err != nil {
					t.Errorf("%d files, %v, want %d", files, err, len(want))
				}
			}
		})
	}
}

// TestSurprise: names that the file system refuses, although it took them before, stop nothing.
func TestSurprise(t *testing.T) {
	for _, err := range []error{syscall.EINVAL, syscall.ENAMETOOLONG, syscall.EILSEQ, syscall.ENOENT} {
		dir := storetest.MemoryDir(t)
		var refuse bool
		d := picky{err: err, refuses: func(name string) bool { return refuse && strings.ContainsAny(name, ":?AB\u0301é") }}
		s := d.open(t, dir)
		refuse = true
		want := writeAll(t, s, "1")
		for range 2 {
			if diff := cmp.Diff(want, contents(t, s)); diff != "" {
				t.Errorf("%v (-want +got):\n%s", err, diff)
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			s = d.open(t, dir)
		}
		for _, path := range several {
			if err := s.Delete(t.Context(), path); err != nil {
				t.Errorf("delete %s: %v", path, err)
			}
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		if left, err := os.ReadDir(filepath.Join(dir, documentsDir)); len(left) > 0 || err != nil {
			t.Errorf("left over: %v, %v", left, err)
		}
	}
}

// TestEarlierStore: the documents of a store that did not encode names are there, wherever its
// upgrade is interrupted, and what other programs have put into its folder is not among them. That
// a later store has no record of the names changes nothing.
func TestEarlierStore(t *testing.T) {
	for _, interrupted := range []string{"", "encoding", "%=c%7e", "%=.obsidian", path.Base(schemaFile)} {
		dir := storetest.MemoryDir(t)
		put := func(name string, mode fs.FileMode, text string) {
			t.Helper()
			file := filepath.Join(dir, name)
			if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o700), os.WriteFile(file, []byte(text), mode), os.Chmod(file, mode)); err != nil {
				t.Fatal(err)
			}
		}
		for _, name := range []string{"a.md", ".obsidian/client.json", "b/c~", "%=x", "%=X"} {
			put(path.Join(documentsDir, name), fileMode, "1")
		}
		put(documentsDir+"/.obsidian/app.json", 0o644, "1")
		put(documentsDir+"/b/d~", 0o644, "1")
		put(schemaFile, fileMode, "2\n")
		want := []string{"%=X=1", "%=x=1", ".obsidian/client.json=1", "a.md=1", "b/c~=1"}
		if interrupted != "" {
			d := picky{dir: dir, refuses: func(name string) bool { return name == interrupted }}
			_, err := open(t.Context(), dir, nil, func(real disk) disk { d.disk = real; return d })
			if err == nil {
				t.Fatalf("it was opened without %s", interrupted)
			}
		}
		for range 2 {
			s := picky{}.open(t, dir)
			if diff := cmp.Diff(want, contents(t, s)); diff != "" {
				t.Errorf("interrupted at %q (-want +got):\n%s", interrupted, diff)
			}
			if err := errors.Join(s.Close(), os.Remove(filepath.Join(dir, namesFile))); err != nil {
				t.Fatal(err)
			}
			put(documentsDir+"/e~", fileMode, "1") // not by the store
		}
		for name, left := range map[string]bool{documentsDir + "/.obsidian/app.json": true, encodingFile: false} {
			if _, err := os.Stat(filepath.Join(dir, name)); (err == nil) != left {
				t.Errorf("interrupted at %q: %s: %v", interrupted, name, err)
			}
		}
	}
}

// TestStuck: a document that cannot be written to its file is read from the log, whatever happens to
// others, and is written once that is possible.
func TestStuck(t *testing.T) {
	dir := storetest.MemoryDir(t)
	var refuse atomic.Bool
	d := picky{err: syscall.EPERM, refuses: func(name string) bool { return refuse.Load() && strings.Contains(name, "stuck") }}
	s := d.open(t, dir)
	refuse.Store(true)
	large := strings.Repeat("x", 8<<20)
	want := []string{"a.md=" + large, "stuck/b.md=1"}
	for i := range 3 {
		if i == 0 {
			if err := s.Write(t.Context(), "stuck/b.md", []byte("1")); err != nil {
				t.Fatal(err)
			}
		}
		for range 2 * maxLog / len(large) { // more than both logs have room for
			if err := s.Write(t.Context(), "a.md", []byte(large)); err != nil {
				t.Fatal(err)
			}
		}
		if got := contents(t, s); !slices.Equal(got, want) {
			t.Errorf("there are %.60q", got)
		}
		if skipped, err := s.Skipped(t.Context()); err != nil || skipped.Count != 1 || skipped.First[0].Path != "stuck/b.md" {
			t.Errorf("skipped: %+v, %v", skipped, err)
		}
		if err := s.Close(); err == nil {
			t.Error("it was closed without an error")
		}
		s = d.open(t, dir)
	}
	refuse.Store(false)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = picky{}.open(t, dir)
	if got := contents(t, s); !slices.Equal(got, want) {
		t.Errorf("there are %.60q", got)
	}
	if data, err := os.ReadFile(filepath.Join(dir, documentsDir, "stuck", "b.md")); string(data) != "1" || err != nil {
		t.Errorf("the file has %q, %v", data, err)
	}
}

// TestStuckFullLog: commits that come faster than the logs are emptied are accepted beside a stuck
// document, and are refused only once stuck documents alone fill a log.
func TestStuckFullLog(t *testing.T) {
	dir := storetest.MemoryDir(t)
	var refuse atomic.Bool
	d := picky{dir: dir, err: syscall.EPERM, refuses: func(name string) bool { return refuse.Load() && strings.Contains(name, "stuck") }}
	b, err := open(t.Context(), dir, quiet, func(real disk) disk { d.disk = real; return d })
	if err != nil {
		t.Fatal(err)
	}
	refuse.Store(true)
	commit(t, b, writeOp("stuck/b", "1"))
	b.settling <- struct{}{} // the logs are not emptied meanwhile
	commit(t, b, writeOp("a", strings.Repeat("x", maxLog)))
	done := make(chan error, 1)
	go func() {
		done <- b.Commit(t.Context(), store.Commit{When: time.Now(), Ops: []store.Op{writeOp("c", "1")}})
	}()
	select {
	case err := <-done:
		t.Fatalf("it did not wait: %v", err)
	case <-time.After(50 * time.Millisecond):
	}
	<-b.settling
	if err := <-done; err != nil {
		t.Errorf("refused: %v", err)
	}
	commit(t, b, writeOp("stuck/d", strings.Repeat("x", maxLog)))
	b.settling <- struct{}{} // if the timer is emptying the log, it has ended
	go func() {
		done <- b.Commit(t.Context(), store.Commit{When: time.Now(), Ops: []store.Op{writeOp("c", "2")}})
	}()
	time.Sleep(50 * time.Millisecond)
	<-b.settling
	if err := <-done; !isStuck(err) {
		t.Errorf("a log full of stuck documents: %v", err)
	}
	commit(t, b, deleteOp("stuck/d"))
	commit(t, b, writeOp("c", "2"))
	refuse.Store(false)
	commit(t, b, writeOp("c", "3"))
	if err := b.Close(); err != nil {
		t.Error(err)
	}
}
