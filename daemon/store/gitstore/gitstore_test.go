package gitstore_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"evalctl/daemon/store"
	"evalctl/daemon/store/gitstore"
	"evalctl/daemon/store/storetest"
)

// children are the functions that the test binary calls instead of the tests when a test runs it
// as a separate process. The key is the environment variable with the directory to pass.
var children = map[string]func(dir string) int{
	crashDirEnv: func(dir string) int { return inChild(dir, storetest.WriteUntilKilled) },
	pullDirEnv:  pullUntilKilled,
	openDirEnv:  openUntilKilled,
}

func TestMain(m *testing.M) {
	for env, work := range children {
		if dir := os.Getenv(env); dir != "" {
			os.Exit(work(dir))
		}
	}
	goleak.VerifyTestMain(m)
}

func openDir(t *testing.T, dir string, opts *gitstore.Options) *gitstore.Repo {
	t.Helper()
	if opts == nil {
		opts = &gitstore.Options{}
	}
	opts.Logger = slog.New(slog.DiscardHandler)
	r, err := gitstore.Open(t.Context(), dir, opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	return r
}

func open(t *testing.T) *store.Store {
	t.Helper()
	return openDir(t, storetest.MemoryDir(t), nil).Store
}

// git runs the git program with the name and address of a user, but without the settings of the
// current user.
func git(t *testing.T, dir string, args ...string) string {
	t.Helper()
	out, err := tryGit(t, dir, args...)
	if err != nil {
		t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return out
}

func tryGit(t *testing.T, dir string, args ...string) (string, error) {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("the git program is not installed")
	}
	cmd := exec.CommandContext(t.Context(), "git",
		append([]string{"-C", dir, "-c", "user.name=Hand", "-c", "user.email=hand@localhost"}, args...)...)
	cmd.Env = append(os.Environ(), "LC_ALL=C", "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL="+os.DevNull)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// wantSound closes r and checks the repository with git fsck and git status.
func wantSound(t *testing.T, r *gitstore.Repo, dir string) {
	t.Helper()
	if err := r.Close(); err != nil {
		t.Errorf("close: %v", err)
	}
	if out := git(t, dir, "fsck", "--strict", "--no-dangling"); out != "" {
		t.Errorf("git fsck: %s", out)
	}
	if out := git(t, dir, "status", "--porcelain", "--ignored"); out != "" {
		t.Errorf("git status: %s", out)
	}
	left, _ := filepath.Glob(filepath.Join(dir, ".git", "gitstore", "*", "*"))
	locks, _ := filepath.Glob(filepath.Join(dir, ".git", "*.lock"))
	refs, _ := filepath.Glob(filepath.Join(dir, ".git", "refs", "heads", "*.lock"))
	temp, _ := filepath.Glob(filepath.Join(dir, ".git", "gitstore", "temp"))
	if left = append(append(append(left, locks...), refs...), temp...); len(left) > 0 {
		t.Errorf("left behind: %q", left)
	}
}

func write(t *testing.T, r *gitstore.Repo, path, content string) {
	t.Helper()
	if err := r.Write(t.Context(), path, []byte(content)); err != nil {
		t.Fatal(err)
	}
}

func wantDocs(t *testing.T, r *gitstore.Repo, want map[string]string) {
	t.Helper()
	if diff := cmp.Diff(want, storetest.Contents(t, r.Store)); diff != "" {
		t.Errorf("documents (-want +got):\n%s", diff)
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

func TestContract(t *testing.T) { storetest.Run(t, open) }

func TestModel(t *testing.T) { storetest.RunModel(t, open) }

func TestContentSurvivesReopening(t *testing.T) {
	dir := filepath.Join(storetest.MemoryDir(t), "new", "parent", "dirs")
	r := openDir(t, dir, nil)
	write(t, r, "d/a", "1")
	before, err := r.Stat(t.Context(), "d/a")
	if err != nil {
		t.Fatal(err)
	}
	wantSound(t, r, dir)
	r = openDir(t, dir, nil)
	wantDocs(t, r, map[string]string{"d/a": "1"})
	if after, err := r.Stat(t.Context(), "d/a"); after != before {
		t.Errorf("got %+v, %v, want %+v", after, err, before)
	}
	if out := git(t, dir, "log", "--format=%s"); out != "write d/a\ncreate the store\n" {
		t.Errorf("log: %q", out)
	}
}

func TestOneOwner(t *testing.T) {
	dir := storetest.MemoryDir(t)
	r := openDir(t, dir, nil)
	_, err := gitstore.Open(t.Context(), dir, nil)
	if err == nil || !strings.Contains(err.Error(), "in use") || !strings.Contains(err.Error(), dir) {
		t.Errorf("second open: %v", err)
	}
	write(t, r, "a", "1")
	out, err := tryGit(t, dir, "commit", "--allow-empty", "-m", "by hand")
	if err == nil || !strings.Contains(out, "index.lock") {
		t.Errorf("git commit while the store is open: %v, %s", err, out)
	}
	wantSound(t, r, dir)
	git(t, dir, "commit", "--allow-empty", "-m", "by hand")
	openDir(t, dir, nil)
}

func TestSchema(t *testing.T) {
	dir := storetest.MemoryDir(t)
	if err := openDir(t, dir, nil).Close(); err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]error{
		"1": nil, "1\n": nil, "2\n": store.ErrSchemaVersion,
		"0": store.ErrDamaged, "": store.ErrDamaged, "x": store.ErrDamaged,
	} {
		put(t, filepath.Join(dir, ".git", "gitstore", "schema"), text)
		r, err := gitstore.Open(t.Context(), dir, nil)
		if !errors.Is(err, want) {
			t.Errorf("schema %q: %v, want %v", text, err, want)
		}
		if r != nil {
			r.Close()
		}
	}
}

// TestOpenRejects opens directories that cannot be a store.
func TestOpenRejects(t *testing.T) {

	file := func(t *testing.T, dir string, name, content string) { put(t, filepath.Join(dir, name), content) }
	userRepo := func(t *testing.T, dir string) {
		git(t, dir, "init", "-q", "-b", "main")
		file(t, dir, "a", "1\n")
		git(t, dir, "add", ".")
		git(t, dir, "commit", "-qm", "one")
	}
	for name, c := range map[string]struct {
		make func(t *testing.T, dir string)
		opts gitstore.Options
		want string
		kind error // if clients get the reason
	}{
		"files": {
			make: func(t *testing.T, dir string) { file(t, dir, "a", "") },
			want: "neither empty nor a git repository",
		},
		"bare": {
			make: func(t *testing.T, dir string) { git(t, dir, "init", "-q", "--bare") },
			want: "bare",
		},
		"linked": {
			make: func(t *testing.T, dir string) { file(t, dir, ".git", "gitdir: /x") },
			want: "not a directory",
		},
		"empty .git": {
			make: func(t *testing.T, dir string) { file(t, dir, ".git/x", "") },
			want: "not a repository",
		},
		"detached": {
			make: func(t *testing.T, dir string) {
				userRepo(t, dir)
				git(t, dir, "checkout", "-q", "--detach")
			},
			want: "HEAD is detached",
		},
		"merging": {
			make: func(t *testing.T, dir string) {
				userRepo(t, dir)
				file(t, dir, ".git/MERGE_HEAD", git(t, dir, "rev-parse", "HEAD"))
			},
			want: "MERGE_HEAD",
		},
		"other branch": {
			make: userRepo,
			opts: gitstore.Options{Branch: "other"},
			want: "branch main is checked out, not other",
		},
		"flag as branch": {opts: gitstore.Options{Branch: "-x"}, want: "not a valid name of a branch"},
		"path as branch": {opts: gitstore.Options{Branch: "../x"}, want: "not a valid name of a branch"},
		"flag as remote": {opts: gitstore.Options{Remote: "--upload-pack=x"}, want: "not a valid name of a remote"},
		"index is locked": {
			make: func(t *testing.T, dir string) {
				userRepo(t, dir)
				file(t, dir, ".git/index.lock", "")
			},
			want: "index.lock",
		},
		"sha256": {
			make: func(t *testing.T, dir string) { git(t, dir, "init", "-q", "--object-format=sha256") },
			want: "objectformat",
		},
		"edited": {
			make: func(t *testing.T, dir string) {
				userRepo(t, dir)
				file(t, dir, "a", "2\n")
			},
			want: "then reopen the store: compare a: differs",
		},
		"damaged tree": {
			make: func(t *testing.T, dir string) {
				userRepo(t, dir)
				tree := strings.TrimSpace(git(t, dir, "rev-parse", "HEAD^{tree}"))
				object := filepath.Join(dir, ".git/objects", tree[:2], tree[2:])
				if err := errors.Join(os.Remove(object), os.WriteFile(object, nil, 0o444)); err != nil {
					t.Fatal(err)
				}
			},
			want: "git fsck", kind: store.ErrDamaged,
		},
		"damaged branch": {
			make: func(t *testing.T, dir string) {
				userRepo(t, dir)
				branch := filepath.Join(dir, ".git", strings.TrimSpace(git(t, dir, "symbolic-ref", "HEAD")))
				if err := os.WriteFile(branch, make([]byte, 41), 0o644); err != nil {
					t.Fatal(err)
				}
			},
			want: "is damaged and names no commit", kind: store.ErrDamaged,
		},
		"empty branch above packed refs": {
			make: func(t *testing.T, dir string) {
				userRepo(t, dir)
				git(t, dir, "pack-refs", "--all")
				branch := filepath.Join(dir, ".git", strings.TrimSpace(git(t, dir, "symbolic-ref", "HEAD")))
				if err := os.WriteFile(branch, nil, 0o644); err != nil {
					t.Fatal(err)
				}
			},
			want: "is damaged and names no commit", kind: store.ErrDamaged,
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := storetest.MemoryDir(t)
			if c.make != nil {
				c.make(t, dir)
			}
			r, err := gitstore.Open(t.Context(), dir, &c.opts)
			if err == nil {
				r.Close()
			}
			if err == nil || !strings.Contains(err.Error(), c.want) || c.kind != nil && !errors.Is(err, c.kind) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := gitstore.Open(ctx, storetest.MemoryDir(t), nil); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

// TestExistingRepository opens a repository that git has created, with packed objects and refs.
func TestExistingRepository(t *testing.T) {
	dir := storetest.MemoryDir(t)
	git(t, dir, "init", "-q", "-b", "team/notes")
	for i := range 20 {
		put(t, filepath.Join(dir, "d", fmt.Sprint(i%5), fmt.Sprint(i)), fmt.Sprint(i))
		git(t, dir, "add", ".")
		git(t, dir, "commit", "-qm", "hand")
	}
	if err := os.Chmod(filepath.Join(dir, "d", "0", "0"), 0o700); err != nil {
		t.Fatal(err)
	}
	git(t, dir, "commit", "-qam", "a program")
	git(t, dir, "gc", "-q")
	r := openDir(t, dir, nil)
	write(t, r, "d/1/1", "new")
	git(t, dir, "gc", "-q", "--prune=now") // also while the store is open
	write(t, r, "d/2/2", "new")
	wantSound(t, r, dir)
	if out := git(t, dir, "log", "-2", "--format=%s", "team/notes"); out != "write d/2/2\nwrite d/1/1\n" {
		t.Errorf("log: %q", out)
	}
	if out := git(t, dir, "diff", "--stat", "HEAD~2", "HEAD"); !strings.Contains(out, "2 files changed") {
		t.Errorf("diff: %s", out)
	}
}

// TestDamagedCopy: an object has a damaged file, and is in a pack. git reads it, and so does the
// store.
func TestDamagedCopy(t *testing.T) {
	dir := t.TempDir()
	r := openDir(t, dir, nil)
	write(t, r, "a/b.md", "x")
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	git(t, dir, "gc", "-q")
	for _, name := range []string{"HEAD", "HEAD^{tree}", "HEAD:a", "HEAD:a/b.md"} {
		hash := strings.TrimSpace(git(t, dir, "rev-parse", name))
		put(t, filepath.Join(dir, ".git", "objects", hash[:2], hash[2:]), strings.Repeat("\x00", 100))
	}
	r = openDir(t, dir, nil)
	write(t, r, "a/c.md", "y")
	wantDocs(t, r, map[string]string{"a/b.md": "x", "a/c.md": "y"})
}

// TestMovedBranch: another program commits, or resets the branch, while the store is open.
// Reopening the store sets the files to the new commit, and keeps those that were edited by hand.
func TestMovedBranch(t *testing.T) {
	for _, c := range []struct {
		name string
		to   func(dir string) string // the new commit
		want map[string]string
	}{
		{"forth", func(dir string) string { return foreignCommit(t, dir, "HEAD") }, map[string]string{"a": "1", "b": "foreign", "d/c": "1"}},
		{"back", func(dir string) string { return git(t, dir, "rev-parse", "HEAD~2") }, map[string]string{"a": "0"}},
		{"aside", func(dir string) string { return foreignCommit(t, dir, "HEAD~2") }, map[string]string{"a": "0", "b": "foreign"}},
	} {
		for _, noticed := range []string{"by a commit", "before"} {
			t.Run(c.name+" "+noticed, func(t *testing.T) {
				dir := storetest.MemoryDir(t)
				r := openDir(t, dir, nil)
				write(t, r, "a", "0")
				write(t, r, "a", "1")
				write(t, r, "d/c", "1")
				if r.Replaced() || r.Broken() {
					t.Fatal("the branch has not moved yet")
				}
				git(t, dir, "update-ref", "refs/heads/main", strings.TrimSpace(c.to(dir)))
				if noticed == "before" {
					if !r.Replaced() {
						t.Error("the move was not noticed")
					}
				} else if err := r.Write(t.Context(), "a", []byte("2")); !errors.Is(err, store.ErrConflict) {
					t.Errorf("got %v", err)
				}
				wantDocs(t, r, map[string]string{"a": "1", "d/c": "1"})
				if !r.Broken() || !errors.Is(r.Write(t.Context(), "a", nil), store.ErrReadOnly) {
					t.Error("the store is not broken")
				}
				must(t, r.Close())

				put(t, filepath.Join(dir, "a"), "edited")
				if _, err := gitstore.Open(t.Context(), dir, nil); !errors.Is(err, store.ErrDamaged) || !strings.Contains(err.Error(), `1 files differ from HEAD (["a"])`) {
					t.Errorf("with an edited file: %v", err)
				}
				put(t, filepath.Join(dir, "a"), "1")
				r = openDir(t, dir, nil)
				wantDocs(t, r, c.want)
				write(t, r, "a", "3")
			})
		}
	}
}

// foreignCommit returns a commit on top of base that adds the document b.
func foreignCommit(t *testing.T, dir, base string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "b")
	put(t, file, "foreign")
	blob := strings.TrimSpace(git(t, dir, "hash-object", "-w", file))
	index := "GIT_INDEX_FILE=" + filepath.Join(t.TempDir(), "index")
	run := func(args ...string) string {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), "git", append([]string{"-C", dir}, args...)...)
		cmd.Env = append(os.Environ(), index, "GIT_AUTHOR_NAME=o", "GIT_AUTHOR_EMAIL=o@x", "GIT_COMMITTER_NAME=o", "GIT_COMMITTER_EMAIL=o@x")
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %v: %s", args, err, out)
		}
		return strings.TrimSpace(string(out))
	}
	run("read-tree", base)
	run("update-index", "--add", "--cacheinfo", "100644,"+blob+",b")
	return run("commit-tree", "-m", "foreign", "-p", base, run("write-tree"))
}

// TestPackedBranch: that git packs the ref of the branch is not a move.
func TestPackedBranch(t *testing.T) {
	dir := storetest.MemoryDir(t)
	r := openDir(t, dir, nil)
	write(t, r, "a", "1")
	git(t, dir, "pack-refs", "--all")
	if r.Replaced() {
		t.Error("the branch has not moved")
	}
	write(t, r, "a", "2")
	git(t, dir, "pack-refs", "--all")
	git(t, dir, "update-ref", "refs/heads/main", "HEAD~1")
	if !r.Replaced() {
		t.Error("the move was not noticed")
	}
}

// TestSymbolicBranch: a branch that is another name of a branch stays one, and the store commits to
// the branch that it names.
func TestSymbolicBranch(t *testing.T) {
	dir := storetest.MemoryDir(t)
	git(t, dir, "init", "-q", "-b", "master")
	put(t, filepath.Join(dir, "a"), "1")
	git(t, dir, "add", ".")
	git(t, dir, "commit", "-qm", "hand")
	git(t, dir, "symbolic-ref", "refs/heads/main", "refs/heads/master")
	git(t, dir, "symbolic-ref", "HEAD", "refs/heads/main")
	for _, branch := range []string{"", "main", "master"} {
		r := openDir(t, dir, &gitstore.Options{Branch: branch})
		if write(t, r, "b", branch); r.Replaced() {
			t.Error("the branch has not moved")
		}
		wantDocs(t, r, map[string]string{"a": "1", "b": branch})
		wantSound(t, r, dir)
	}
	if out := git(t, dir, "symbolic-ref", "refs/heads/main"); out != "refs/heads/master\n" {
		t.Errorf("main is now %q", out)
	}
	if out := git(t, dir, "log", "--format=%s", "master"); strings.Count(out, "write b") != 3 || !strings.HasSuffix(out, "hand\n") {
		t.Errorf("log: %q", out)
	}
	put(t, filepath.Join(dir, ".git", "refs", "heads", "main"), "ref: refs/heads/main\n")
	if _, err := gitstore.Open(t.Context(), dir, nil); !errors.Is(err, store.ErrDamaged) || !strings.Contains(err.Error(), "git symbolic-ref refs/heads/main") {
		t.Errorf("a branch that names itself: got %v", err)
	}
}

// TestMissingBranch: a branch that another program has deleted is not an empty store.
func TestMissingBranch(t *testing.T) {
	dir := storetest.MemoryDir(t)
	r := openDir(t, dir, nil)
	write(t, r, "a", "1")
	head := strings.TrimSpace(git(t, dir, "rev-parse", "HEAD"))
	git(t, dir, "update-ref", "-d", "refs/heads/main")
	if !r.Replaced() {
		t.Error("the move was not noticed")
	}
	must(t, r.Close())
	if _, err := gitstore.Open(t.Context(), dir, nil); !errors.Is(err, store.ErrDamaged) || !strings.Contains(err.Error(), "git branch main "+head) {
		t.Errorf("got %v", err)
	}
	git(t, dir, "branch", "main", head)
	wantDocs(t, openDir(t, dir, nil), map[string]string{"a": "1"})
}

// TestForeignLocks: a lock file of another program is an error of its own, and is not removed.
func TestForeignLocks(t *testing.T) {
	dir := storetest.MemoryDir(t)
	r := openDir(t, dir, nil)
	lock := filepath.Join(dir, ".git", "refs", "heads", "main.lock")
	put(t, lock, "")
	if err := r.Write(t.Context(), "a", []byte("2")); !errors.Is(err, store.ErrLocked) || !strings.Contains(err.Error(), "main.lock") {
		t.Errorf("got %v", err)
	}
	must(t, os.Remove(lock))
	write(t, r, "a", "2")
	must(t, r.Close())

	lock = filepath.Join(dir, ".git", "index.lock")
	put(t, lock, "")
	if _, err := gitstore.Open(t.Context(), dir, nil); !errors.Is(err, store.ErrLocked) || !strings.Contains(err.Error(), "index.lock") {
		t.Errorf("got %v", err)
	}
	must(t, os.Remove(lock))
	wantDocs(t, openDir(t, dir, nil), map[string]string{"a": "2"})
}

func TestTimesComeFromOptions(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 678_000_000, time.UTC)
	dir := storetest.MemoryDir(t)
	r := openDir(t, dir, &gitstore.Options{Options: store.Options{Now: func() time.Time { return now }}})
	ctx := t.Context()
	must(t, r.Write(ctx, "a", nil), r.Rename(ctx, "a", "b"), r.Write(ctx, "a", nil))
	for _, path := range []string{"a", "b"} {
		if info, err := r.Stat(t.Context(), path); !info.ModTime.Equal(now) {
			t.Errorf("%s: %v, %v, want %v", path, info.ModTime, err, now)
		}
	}
	for line := range strings.Lines(git(t, dir, "log", "--format=%aI %cI")) {
		if line != "2026-01-02T03:04:05+00:00 2026-01-02T03:04:05+00:00\n" {
			t.Errorf("a commit has the times %s", line)
		}
	}
}
