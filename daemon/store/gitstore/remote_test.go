package gitstore_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"evalctl/daemon/store"
	"evalctl/daemon/store/gitstore"
	"evalctl/daemon/store/storetest"
	"evalctl/internal/awaittest"
)

// openPair opens two stores that share a remote, each with the document "shared". It also returns
// their directories.
func openPair(t *testing.T, opts *gitstore.Options) (one, two *gitstore.Repo, oneDir, twoDir string) {
	t.Helper()
	base := storetest.MemoryDir(t)
	remote := filepath.Join(base, "remote.git")
	oneDir, twoDir = filepath.Join(base, "one"), filepath.Join(base, "two")
	git(t, base, "init", "-q", "--bare", "-b", "main", remote)
	one = openDir(t, oneDir, opts)
	git(t, oneDir, "remote", "add", "origin", remote)
	write(t, one, "shared", "1\n2\n3\n4\n5\n")
	if err := one.Push(t.Context()); err != nil {
		t.Fatal(err)
	}
	git(t, base, "clone", "-q", remote, twoDir)
	return one, openDir(t, twoDir, nil), oneDir, twoDir
}

func must(t *testing.T, errs ...error) {
	t.Helper()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}

// TestTimeLimit: the error of git that ran out of time says what the caller's limit is.
func TestTimeLimit(t *testing.T) {
	one, _, _, _ := openPair(t, nil)
	limit := errors.New("not done in time")
	ctx, cancel := context.WithDeadlineCause(t.Context(), time.Now(), limit)
	defer cancel()
	for range 10 { // git may have begun or not
		if err := one.Pull(ctx); !errors.Is(err, limit) {
			t.Fatalf("got %v", err)
		}
	}
}

// TestLockOfPackedRefs: a killed git program has left a lock, which no program needs to push the
// first commits of a branch.
func TestLockOfPackedRefs(t *testing.T) {
	remote, dir := t.TempDir(), t.TempDir()
	git(t, remote, "init", "-q", "--bare")
	r := openDir(t, dir, &gitstore.Options{RemoteURL: remote})
	put(t, filepath.Join(dir, ".git", "packed-refs.lock"), "")
	if err := r.Pull(t.Context()); !errors.Is(err, gitstore.ErrNoBranch) {
		t.Errorf("got %v", err)
	}
	must(t, r.Push(t.Context()))
}

func wantConflict(t *testing.T, err error, text string) {
	t.Helper()
	if !errors.Is(err, store.ErrConflict) || err.Error() != text {
		t.Errorf("got %q, want %q", err, text)
	}
}

func recordEvents(r *gitstore.Repo) *[]store.ChangeEvent {
	var events []store.ChangeEvent
	r.Subscribe(func(ev store.ChangeEvent) { events = append(events, ev) })
	return &events
}

func eventText(events []store.ChangeEvent) string {
	var texts []string
	for _, ev := range events {
		texts = append(texts, fmt.Sprintf("%d %s %s (%s) %t", ev.Seq, ev.Kind, ev.Path, ev.Reason, ev.Last))
	}
	return strings.Join(texts, ", ")
}

func TestPushAndPull(t *testing.T) {
	one, two, oneDir, twoDir := openPair(t, nil)
	ctx := t.Context()
	must(t, one.Write(ctx, "new/a", []byte("a")), one.Rename(ctx, "shared", "moved"), one.Push(ctx))
	events := recordEvents(two)
	must(t, two.Pull(ctx))
	want := map[string]string{"new/a": "a", "moved": "1\n2\n3\n4\n5\n"}
	wantDocs(t, two, want)
	wantEvents := "1 created moved (pull from origin/main) false, " +
		"1 created new/a (pull from origin/main) false, 1 deleted shared (pull from origin/main) true"
	if got := eventText(*events); got != wantEvents {
		t.Errorf("events: %s", got)
	}
	seq := two.Seq()
	must(t, two.Pull(ctx), two.Push(ctx)) // nothing to do
	if two.Seq() != seq {
		t.Error("an empty pull counts as a commit")
	}
	if a, b := git(t, oneDir, "rev-parse", "HEAD"), git(t, twoDir, "rev-parse", "HEAD"); a != b {
		t.Errorf("heads %s, %s", a, b)
	}
	wantSound(t, one, oneDir)
	wantSound(t, two, twoDir)
}

// TestConcurrentPullAndWrite: nothing is lost when stores write, pull and push at the same time.
func TestConcurrentPullAndWrite(t *testing.T) {
	one, two, oneDir, twoDir := openPair(t, nil)
	ctx := t.Context()
	var workers sync.WaitGroup
	for name, r := range map[string]*gitstore.Repo{"one": one, "two": two} {
		workers.Go(func() {
			for i := range 10 {
				if err := r.Write(ctx, fmt.Sprintf("%s/%d", name, i), nil); err != nil {
					t.Error(err)
				}
			}
		})
		workers.Go(func() {
			for range 3 {
				// A push may fail because the other store has pushed, or holds a lock.
				for _, err := range []error{r.Pull(ctx), r.Push(ctx)} {
					if err != nil && !errors.Is(err, store.ErrConflict) &&
						!strings.Contains(err.Error(), "File exists") {
						t.Error(err)
					}
				}
			}
		})
	}
	awaittest.Wait(t, "workers", workers.Wait)
	must(t, one.Pull(ctx), one.Push(ctx), two.Pull(ctx), two.Push(ctx), one.Pull(ctx))
	for _, r := range []*gitstore.Repo{one, two} {
		files, err := r.List(ctx, "", store.ListOptions{Recursive: true})
		if err != nil || len(files) != 21 {
			t.Errorf("%d documents, %v", len(files), err)
		}
	}
	wantSound(t, one, oneDir)
	wantSound(t, two, twoDir)
}

// TestRejectedPush tests the first of the three conflicts in the specification.
func TestRejectedPush(t *testing.T) {
	one, two, _, twoDir := openPair(t, nil)
	ctx := t.Context()
	must(t, one.Write(ctx, "a", []byte("1")), one.Push(ctx), two.Write(ctx, "b", []byte("2")))
	wantConflict(t, two.Push(ctx), "push: conflict: git push rejected by origin/main")
	must(t, two.Pull(ctx), two.Push(ctx), one.Pull(ctx))
	for _, r := range []*gitstore.Repo{one, two} {
		wantDocs(t, r, map[string]string{"a": "1", "b": "2", "shared": "1\n2\n3\n4\n5\n"})
	}
	wantSound(t, two, twoDir)
}

// TestPullMerges: changes to different lines are merged, also if the document was renamed.
func TestPullMerges(t *testing.T) {
	one, two, oneDir, twoDir := openPair(t, nil)
	ctx := t.Context()
	must(t, one.Write(ctx, "shared", []byte("one\n2\n3\n4\n5\n")), one.Push(ctx))
	must(t, two.Write(ctx, "shared", []byte("1\n2\n3\n4\ntwo\n")), two.Rename(ctx, "shared", "named"),
		two.Write(ctx, "other", nil))
	must(t, two.Batch(ctx, store.BatchOptions{Reason: "r", Message: "m", Author: "A", Email: "a@b"},
		func(b *store.Batch) error { return b.Write(ctx, "c", nil) }))
	events := recordEvents(two)
	must(t, two.Pull(ctx), two.Push(ctx), one.Pull(ctx))
	for _, r := range []*gitstore.Repo{one, two} {
		wantDocs(t, r, map[string]string{"named": "one\n2\n3\n4\ntwo\n", "other": "", "c": ""})
	}
	if got := eventText(*events); got != "5 updated named (pull from origin/main) true" {
		t.Errorf("events: %s", got)
	}
	// A linear history with the local commits on top, and with their messages and authors.
	want := "r|m\n|A\nwrite other||evalctl\nchange 2 documents||evalctl\nwrite shared||evalctl\nwrite shared||evalctl\n"
	if got := git(t, twoDir, "log", "-5", "--format=%s|%b|%an"); got != want {
		t.Errorf("log %q, want %q", got, want)
	}
	if out := git(t, twoDir, "rev-list", "--merges", "HEAD"); out != "" {
		t.Errorf("merges: %s", out)
	}
	wantSound(t, one, oneDir)
	wantSound(t, two, twoDir)
}

// TestPullSameChange: the rebase omits a commit whose changes the remote already has.
func TestPullSameChange(t *testing.T) {
	one, two, oneDir, twoDir := openPair(t, nil)
	ctx := t.Context()
	// With a reason, so that the two commits have different hashes.
	same := func(b *store.Batch) error { return b.Write(ctx, "same", []byte("x")) }
	must(t, one.Write(ctx, "same", []byte("x")), one.Push(ctx),
		two.Batch(ctx, store.BatchOptions{Reason: "r"}, same), two.Pull(ctx))
	if a, b := git(t, oneDir, "rev-parse", "HEAD"), git(t, twoDir, "rev-parse", "HEAD"); a != b {
		t.Errorf("heads %s, %s", a, b)
	}
	wantSound(t, two, twoDir)
}

// TestPullConflict is the second one: nothing changes.
func TestPullConflict(t *testing.T) {
	one, two, _, twoDir := openPair(t, nil)
	ctx := t.Context()
	must(t, one.Write(ctx, "shared", []byte("one\n")), one.Write(ctx, "new", nil), one.Push(ctx),
		two.Write(ctx, "shared", []byte("two\n")))
	before := git(t, twoDir, "rev-parse", "HEAD")
	events := recordEvents(two)
	for range 2 {
		wantConflict(t, two.Pull(ctx), "pull: conflict: git pull conflicted while rebasing on origin/main")
	}
	if git(t, twoDir, "rev-parse", "HEAD") != before || len(*events) > 0 {
		t.Errorf("something changed: %v", *events)
	}
	wantDocs(t, two, map[string]string{"shared": "two\n"})
	wantConflict(t, two.Push(ctx), "push: conflict: git push rejected by origin/main")
	must(t, two.Write(ctx, "shared", []byte("1\n2\n3\n4\n5\n")))
	wantSound(t, two, twoDir)
}

// TestPullKeepsEdits: files that were edited by hand are merged if possible, and left unchanged
// if the pull does not change them.
func TestPullKeepsEdits(t *testing.T) {
	one, two, _, twoDir := openPair(t, nil)
	ctx := t.Context()
	must(t, one.Write(ctx, "shared", []byte("one\n2\n3\n4\n5\n")), one.Write(ctx, "new", []byte("n")),
		one.Push(ctx), two.Write(ctx, "mine", []byte("m")))
	put(t, filepath.Join(twoDir, "shared"), "1\n2\n3\n4\nby hand\n")
	put(t, filepath.Join(twoDir, "mine"), "by hand")
	must(t, two.Pull(ctx))
	wantDocs(t, two, map[string]string{"shared": "one\n2\n3\n4\nby hand\n", "new": "n", "mine": "by hand"})
	must(t, two.Close())
	if out := git(t, twoDir, "status", "--porcelain"); out != " M mine\n M shared\n" {
		t.Errorf("status: %s", out)
	}
	_, err := gitstore.Open(ctx, twoDir, nil)
	if err == nil || !strings.Contains(err.Error(), "2 files differ from HEAD") {
		t.Errorf("open: %v", err)
	}
	git(t, twoDir, "commit", "-qam", "by hand")
	two = openDir(t, twoDir, nil)
	must(t, two.Push(ctx))
	wantSound(t, two, twoDir)
}

// TestPullStashesEdits tests the third conflict: the pull succeeds, and the edits are in the
// stash.
func TestPullStashesEdits(t *testing.T) {
	one, two, _, twoDir := openPair(t, nil)
	ctx := t.Context()
	must(t, one.Write(ctx, "shared", []byte("one\n")), one.Push(ctx))
	put(t, filepath.Join(twoDir, "shared"), "by hand\n")
	events := recordEvents(two)
	wantConflict(t, two.Pull(ctx), "pull: conflict: git pull restored remote changes but local stash pop conflicted")
	if got := eventText(*events); got != "1 updated shared (pull from origin/main) true" {
		t.Errorf("events: %s", got)
	}
	wantDocs(t, two, map[string]string{"shared": "one\n"})
	wantSound(t, two, twoDir)
	if out := git(t, twoDir, "show", "stash@{0}:shared"); out != "by hand\n" {
		t.Errorf("the stash contains %q", out)
	}
	must(t, openDir(t, twoDir, nil).Pull(ctx))
}

// TestPullSigns: the commits that a pull rebases are signed again, and no others.
func TestPullSigns(t *testing.T) {
	s := newSigner(t)
	opts := &gitstore.Options{Sign: s.sign}
	one, two, oneDir, twoDir := openPair(t, opts)
	ctx := t.Context()
	must(t, two.Close())
	two = openDir(t, twoDir, opts)
	must(t, one.Write(ctx, "a", nil), one.Push(ctx), two.Write(ctx, "b", nil), two.Write(ctx, "c", nil))
	calls := len(s.payloads)
	must(t, two.Pull(ctx))
	if n := len(s.payloads) - calls; n != 2 {
		t.Errorf("signed %d times, want 2", n)
	}
	s.wantVerified(twoDir, 5)
	must(t, two.Push(ctx), one.Pull(ctx))
	if n := len(s.payloads) - calls; n != 2 {
		t.Errorf("push or a plain pull signed %d times", n-2)
	}
	must(t, two.Write(ctx, "d", nil), two.Push(ctx), one.Write(ctx, "e", nil))
	before := git(t, oneDir, "rev-parse", "HEAD")
	s.fail = errors.New("the key is locked")
	if err := one.Pull(ctx); !errors.Is(err, s.fail) || git(t, oneDir, "rev-parse", "HEAD") != before {
		t.Errorf("got %v, and the branch may have moved", err)
	}
	wantSound(t, one, oneDir)
}

func TestRemoteFails(t *testing.T) {
	ctx := t.Context()
	dir := storetest.MemoryDir(t)
	r := openDir(t, dir, nil)
	git(t, dir, "status")
	for name, do := range map[string]func(context.Context) error{"push": r.Push, "pull": r.Pull} {
		if err := do(ctx); err == nil || !strings.HasPrefix(err.Error(), name+": ") ||
			!strings.Contains(err.Error(), "git remote add origin") {
			t.Errorf("no remote: %v", err)
		}
	}
	git(t, dir, "remote", "add", "origin", "http://user:secret@127.0.0.1:1/x.git")
	for _, do := range []func(context.Context) error{r.Push, r.Pull} {
		err := do(ctx)
		if err == nil || errors.Is(err, store.ErrConflict) || strings.Contains(err.Error(), "secret") ||
			strings.Contains(err.Error(), "\n") {
			t.Errorf("no server: %v", err)
		}
	}
	cancelled, cancel := context.WithCancel(ctx)
	cancel()
	for _, do := range []func(context.Context) error{r.Push, r.Pull} {
		if err := do(cancelled); !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
	}
	write(t, r, "a", "1")
	must(t, r.Close())
	for _, do := range []func(context.Context) error{r.Push, r.Pull} {
		if err := do(ctx); !store.IsReadOnly(err) {
			t.Errorf("closed: %v", err)
		}
	}
}

// TestHooksDoNotRun: neither a push nor a pull runs the hooks of the repository.
func TestHooksDoNotRun(t *testing.T) {
	one, two, oneDir, twoDir := openPair(t, nil)
	for _, dir := range []string{oneDir, twoDir} {
		for _, hook := range []string{
			"pre-push", "post-checkout", "post-rewrite", "reference-transaction", "pre-commit",
		} {
			file := filepath.Join(dir, ".git", "hooks", hook)
			put(t, file, "#!/bin/sh\ntouch \""+dir+"/hooked\"\nexit 1\n")
			if err := os.Chmod(file, 0o700); err != nil {
				t.Fatal(err)
			}
		}
	}
	ctx := t.Context()
	must(t, one.Write(ctx, "a", nil), one.Push(ctx), two.Write(ctx, "b", nil), two.Pull(ctx), two.Push(ctx))
	wantDocs(t, two, map[string]string{"a": "", "b": "", "shared": "1\n2\n3\n4\n5\n"})
}
