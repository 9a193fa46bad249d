//go:build unix

package storetest

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"evalctl/daemon/store"
)

const descriptorsBefore = "a=1 b=1 d/a=1 d/b=1 d/e/c=1 deep/er/y=1 solo/x=1"

// descriptorsCommits are of documents and directories that are there and that are new,
// at the root and below it, in several orders.
var descriptorsCommits = []string{
	"write a 2", "write d/e/c 2", "write new 2", "write n/e/w 2", "append d/a 2", "delete a", "delete d/a", "delete deep/er/y", "rename a n/b", "rename d/e/c a",
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

// RunDescriptors makes each of many commits with every number of file descriptors left,
// from none until it goes through, and opens the store like that. What fails must leave the
// documents as they were, and a store open to writes. Open opens the same store each time,
// empty at first. Not for parallel tests: the limit is that of the process.
func RunDescriptors(t *testing.T, open func() (*store.Store, error)) {
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
			p.fill(descriptorsBefore)
			before := p.everything("")
			want := model{}
			for path, content := range Contents(t, s) {
				want[path] = content
			}
			ops := parseOps(commit)
			for _, op := range ops {
				if _, err := want.change(op); err != nil {
					t.Fatal(err)
				}
			}
			failures += limited(t, func() error { return p.Apply(p.ctx, store.Commit{Reason: "limited", Ops: ops}) }, func() {
				if diff := cmp.Diff(before, p.everything("")); diff != "" {
					t.Fatalf("a commit that failed changed the store (-before +after):\n%s", diff)
				}
				if err := errors.Join(p.Write(p.ctx, "canary", nil), p.Delete(p.ctx, "canary")); err != nil {
					t.Fatalf("store is unusable afterwards: %v", err)
				}
			})
			after := p.everything("")
			if diff := cmp.Diff(map[string]string(want), Contents(t, s)); diff != "" {
				t.Errorf("after the commit (-want +got):\n%s", diff)
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			limited(t, func() error {
				s, err := open()
				if err == nil {
					p.Store = s
				}
				return err
			}, func() {})
			if diff := cmp.Diff(after, p.everything("")); diff != "" {
				t.Errorf("opened again (-before +after):\n%s", diff)
			}
		})
	}
	t.Logf("%d commits failed", failures)
	if failures < len(descriptorsCommits) {
		t.Errorf("only %d commits failed", failures)
	}
}

// limited calls do with no descriptor left, with one, and so on until it succeeds. It
// calls failed, without the limit, after each failure, and returns how many there were.
func limited(t *testing.T, do func() error, failed func()) int {
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

// everything reads what lies below a directory, with the directories, which end
// with a slash.
func (p *probe) everything(dir string) map[string]string {
	p.Helper()
	found := map[string]string{}
	entries, err := p.List(p.ctx, dir, store.ListOptions{IncludeGenerated: true})
	if err != nil {
		p.Fatal(err)
	}
	for _, e := range entries {
		if e.IsDir {
			found[e.Path+"/"] = ""
			for path, content := range p.everything(e.Path) {
				found[path] = content
			}
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
