//go:build unix

package storetest

import (
	"errors"
	"maps"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"evalctl/daemon/store"
)

// mixedTree has documents at several depths, alone in their directory and not.
const mixedTree = "a=1 b=1 d/a=1 d/b=1 d/e/c=1 deep/er/y=1 solo/x=1"

// descriptorsCommits change existing and new documents and directories, at the root and below it,
// in various orders.
var descriptorsCommits = []string{
	"write a 2", "write d/e/c 2", "write new 2", "write n/e/w 2", "append d/a 2", "delete a", "delete d/a",
	"delete deep/er/y", "rename a n/b", "rename d/e/c a",
	"write a 2; write b 2",
	"write b 2; write d/b 2; write d/e/c 2",
	"write d/e/c 2; write d/b 2; write a 2",
	"write new 2; write n/e/w 2; write d/new 2",
	"write n/e/w 2; write n/e/x 2; write a 2",
	"delete a; delete d/a; delete deep/er/y",
	"delete deep/er/y; delete solo/x; delete d/e/c; delete b",
	"delete solo/x; write solo 2; write d/e/c 2",
	"delete a; write a/now/below 2; write d/b 2; write m/o/re 2",
	"write d/b 2; delete d/a; write n/e/w 2; write a 2; rename b n/b; delete deep/er/y",
}

// RunDescriptors tries each of many commits with no file descriptor left, with one left, and so on,
// until the commit succeeds. Then it reopens the store in the same way. A commit that fails must
// leave the documents unchanged and the store writable. At least atLeast commits must fail, or the
// test shows little. open opens the same store each time; it is empty at first. Not for parallel
// tests, because the limit applies to the whole process.
func RunDescriptors(t *testing.T, atLeast int, open func() (*store.Store, error)) {
	failures := 0
	for _, commit := range descriptorsCommits {
		t.Run(commit, func(t *testing.T) {
			s, err := open()
			if err != nil {
				t.Fatal(err)
			}
			p := &probe{T: t, Store: s, ctx: t.Context()}
			defer func() {
				if err := p.Close(); err != nil {
					t.Error(err)
				}
			}()
			p.clear()
			p.seed(mixedTree)
			before := p.readTree("")
			want := model(Contents(t, s))
			ops := parseOps(commit)
			for _, op := range ops {
				if _, err := want.change(op); err != nil {
					t.Fatal(err)
				}
			}
			failures += RetryWithDescriptors(t,
				func() error { return p.Apply(p.ctx, store.Commit{Reason: "limited", Ops: ops}) }, func() {
					if diff := cmp.Diff(before, p.readTree("")); diff != "" {
						t.Fatalf("a commit that failed changed the store (-before +after):\n%s", diff)
					}
					if err := errors.Join(p.Write(p.ctx, "canary", nil), p.Delete(p.ctx, "canary")); err != nil {
						t.Fatalf("store is unusable afterwards: %v", err)
					}
				})
			after := p.readTree("")
			if diff := cmp.Diff(map[string]string(want), Contents(t, s)); diff != "" {
				t.Errorf("after the commit (-want +got):\n%s", diff)
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			RetryWithDescriptors(t, func() error {
				s, err := open()
				if err == nil {
					p.Store = s
				}
				return err
			}, func() {})
			if diff := cmp.Diff(after, p.readTree("")); diff != "" {
				t.Errorf("reopened (-before +after):\n%s", diff)
			}
		})
	}
	t.Logf("%d commits failed", failures)
	if failures < atLeast {
		t.Errorf("only %d commits failed", failures)
	}
}

// RetryWithDescriptors calls do with no descriptor left, with one left, and so on, until it
// succeeds. After each failure it calls failed, without the limit. It returns the number of
// failures.
func RetryWithDescriptors(t *testing.T, do func() error, failed func()) int {
	t.Helper()
	for left := range 50 {
		err := withDescriptors(t, left, do)
		if err == nil {
			return left
		}
		if !errors.Is(err, unix.EMFILE) {
			t.Errorf("with %d descriptors left: %v", left, err)
		}
		failed()
	}
	t.Fatal("50 descriptors are not enough")
	return 0
}

func withDescriptors(t *testing.T, left int, do func() error) error {
	t.Helper()
	next, err := unix.Dup(0)
	if err != nil {
		t.Fatal(err)
	}
	var was unix.Rlimit
	if err := errors.Join(unix.Close(next), unix.Getrlimit(unix.RLIMIT_NOFILE, &was)); err != nil {
		t.Fatal(err)
	}
	limit := was
	limit.Cur = uint64(next + left)
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &was); err != nil {
			t.Error(err)
		}
	}()
	return do()
}

// clear removes every document.
func (p *probe) clear() {
	p.Helper()
	for path := range Contents(p.T, p.Store) {
		if err := p.Delete(p.ctx, path); err != nil {
			p.Fatal(err)
		}
	}
}

// readTree returns the documents below dir with their contents. Directories end with a slash and
// have no content.
func (p *probe) readTree(dir string) map[string]string {
	p.Helper()
	found := map[string]string{}
	entries, err := p.List(p.ctx, dir, store.ListOptions{IncludeGenerated: true})
	if err != nil {
		p.Fatal(err)
	}
	for _, e := range entries {
		if e.IsDir {
			found[e.Path+"/"] = ""
			maps.Copy(found, p.readTree(e.Path))
			continue
		}
		data, err := p.Read(p.ctx, e.Path)
		if err != nil {
			p.Fatal(err)
		}
		found[e.Path] = string(data)
	}
	return found
}
