package gitremote_test

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"evalctl/daemon/store"
	"evalctl/daemon/store/gitremote"
	"evalctl/daemon/store/gitstore"
	"evalctl/daemon/store/storetest"
	"evalctl/internal/awaittest"
	"evalctl/internal/longtest"
)

func TestMain(m *testing.M) {
	longtest.Parallel(5) // most tests wait for the next exchange
	goleak.VerifyTestMain(m)
}

const branch = "main"

// never is an interval that no test reaches.
const never = time.Hour

func git(t *testing.T, dir string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "git", append([]string{"-C", dir, "-c", "user.name=Hand", "-c", "user.email=hand@localhost"}, args...)...)
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_NOSYSTEM=1")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

// bare creates an empty repository.
func bare(t *testing.T, dir string) {
	t.Helper()
	if err := gitstore.CheckProgram(t.Context()); err != nil {
		t.Skip(err)
	}
	git(t, t.TempDir(), "init", "-q", "--bare", "-b", branch, dir)
}

// side is one daemon's part of an exchange.
type side struct {
	*gitremote.Remote
	dir string
	log *awaittest.Log
}

func newSide(t *testing.T, url string, interval time.Duration) *side {
	t.Helper()
	address, err := gitremote.ParseAddress(url, branch, false)
	if err != nil {
		t.Fatal(err)
	}
	s := &side{dir: filepath.Join(storetest.MemoryDir(t), "repository"), log: &awaittest.Log{}}
	s.Remote = gitremote.New(gitremote.Options{Address: address, Interval: interval, Logger: slog.New(slog.NewTextHandler(s.log, nil))})
	t.Cleanup(s.Close)
	return s
}

func (s *side) open(t *testing.T) *store.Store {
	t.Helper()
	st, err := s.Open(t.Context(), s.dir, "notes", "", gitstore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = st.Close() })
	return st
}

func write(t *testing.T, st *store.Store, path, text string) {
	t.Helper()
	if err := st.Write(t.Context(), path, []byte(text)); err != nil {
		t.Fatal(err)
	}
}

func has(t *testing.T, st *store.Store, path, text string) func() bool {
	return func() bool {
		data, err := st.Read(t.Context(), path)
		return err == nil && string(data) == text
	}
}

// inRemote reports whether the branch of a bare repository has a document.
func inRemote(t *testing.T, dir, path, text string) func() bool {
	return func() bool {
		out, err := exec.CommandContext(t.Context(), "git", "-C", dir, "show", branch+":"+path).Output()
		return err == nil && string(out) == text
	}
}

// TestExchange: two daemons have the documents of both, and a third one has them when it begins.
func TestExchange(t *testing.T) {
	t.Parallel()
	remote := filepath.Join(t.TempDir(), "remote.git")
	bare(t, remote)
	url := "file://" + remote
	one, two := newSide(t, url, 100*time.Millisecond), newSide(t, url, 100*time.Millisecond)
	a, b := one.open(t), two.open(t)
	write(t, a, "a.md", "from a")
	write(t, b, "b.md", "from b")
	awaittest.Until(t, "the exchange", func() bool { return has(t, a, "b.md", "from b")() && has(t, b, "a.md", "from a")() })
	c := newSide(t, url, never).open(t)
	if !has(t, c, "a.md", "from a")() || !has(t, c, "b.md", "from b")() {
		t.Error("a new repository was not pulled when it was opened")
	}
	if out := git(t, remote, "rev-list", "--merges", branch); out != "" {
		t.Errorf("merges: %s", out)
	}
	if n := strings.Count(git(t, remote, "log", "--format=%s", branch), "create the store"); n != 1 {
		t.Errorf("the remote has %d first commits", n)
	}
}

// TestConflict: writes are refused with the detail of the specification while a repository
// conflicts with its remote, and accepted once it does not.
func TestConflict(t *testing.T) {
	t.Parallel()
	remote := filepath.Join(t.TempDir(), "remote.git")
	bare(t, remote)
	one, two := newSide(t, remote, never), newSide(t, remote, 100*time.Millisecond)
	a := one.open(t)
	write(t, a, "shared.md", "1\n")
	awaittest.Until(t, "the push", inRemote(t, remote, "shared.md", "1\n"))
	b := two.open(t)
	// A commit at the remote that the second daemon has not pulled when it writes the same line.
	lock := filepath.Join(remote, "refs", "heads", branch+".lock") // delays its push
	if err := os.WriteFile(lock, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	write(t, b, "shared.md", "two\n")
	clone := filepath.Join(t.TempDir(), "clone")
	git(t, t.TempDir(), "clone", "-q", remote, clone)
	if err := os.WriteFile(filepath.Join(clone, "shared.md"), []byte("one\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	git(t, clone, "commit", "-qam", "by hand")
	if err := os.Remove(lock); err != nil {
		t.Fatal(err)
	}
	force := func() { // the daemon may be pushing
		awaittest.Until(t, "the push by hand", func() bool {
			return exec.CommandContext(t.Context(), "git", "-C", clone, "push", "-q", "--force", "origin", branch).Run() == nil
		})
	}
	force()
	var err error
	awaittest.Until(t, "the conflict", func() bool {
		err = b.Write(t.Context(), "other.md", nil)
		if inRemote(t, remote, "shared.md", "two\n")() { // the daemon was faster
			force()
		}
		return errors.Is(err, store.ErrConflict)
	})
	if want := "write other.md: conflict: git pull conflicted while rebasing on origin/main"; err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	if !has(t, b, "shared.md", "two\n")() {
		t.Error("the document was changed")
	}
	refusals := func() int {
		return strings.Count(two.log.String(), "conflicts with the git remote: writes are refused")
	}
	awaittest.Until(t, "the line of the log", func() bool { return refusals() > 0 })
	time.Sleep(300 * time.Millisecond) // further attempts
	if refusals() != 1 {
		t.Errorf("the log:\n%s", two.log)
	}
	git(t, clone, "revert", "--no-edit", "HEAD")
	git(t, clone, "push", "-q", "origin", branch)
	awaittest.Until(t, "the resolution", func() bool { return b.Write(t.Context(), "after.md", nil) == nil })
	awaittest.Until(t, "the push", inRemote(t, remote, "shared.md", "two\n"))
}

// TestUnreachable: without its remote a repository that was used before stays usable, and a new one
// is refused. Commits are pushed once the remote is back.
func TestUnreachable(t *testing.T) {
	t.Parallel()
	remote := filepath.Join(t.TempDir(), "remote.git")
	bare(t, remote)
	s := newSide(t, remote, 100*time.Millisecond)
	if err := s.Check(t.Context()); err != nil {
		t.Fatal(err)
	}
	write(t, s.open(t), "a.md", "1")
	awaittest.Until(t, "the push", inRemote(t, remote, "a.md", "1"))
	s.Close()

	away := remote + ".away"
	if err := os.Rename(remote, away); err != nil {
		t.Fatal(err)
	}
	fresh := newSide(t, remote, never)
	if err := fresh.Check(t.Context()); !errors.Is(err, gitremote.ErrUnreachable) {
		t.Errorf("check: %v", err)
	}
	_, err := fresh.Open(t.Context(), fresh.dir, "notes", "", gitstore.Options{})
	if !errors.Is(err, gitremote.ErrUnreachable) || !errors.Is(err, store.ErrReadOnly) || strings.Contains(err.Error(), remote) {
		t.Errorf("a new repository: %v", err)
	}
	again := newSide(t, remote, 100*time.Millisecond)
	again.dir = filepath.Join(t.TempDir(), "repository")
	if err := os.CopyFS(again.dir, os.DirFS(s.dir)); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(again.dir, ".git", "index.lock")); err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	st := again.open(t)
	write(t, st, "b.md", "2")
	awaittest.Until(t, "the warning", func() bool { return strings.Contains(again.log.String(), "not in step: trying again") })
	if err := os.Rename(away, remote); err != nil {
		t.Fatal(err)
	}
	awaittest.Until(t, "the push", inRemote(t, remote, "b.md", "2"))
	awaittest.Until(t, "the end of the warning", func() bool { return strings.Contains(again.log.String(), "in step again") })
}

// TestRemoteLosesCommits: a remote that has lost commits, or its branch, gets them again without
// a write, whether the store is open meanwhile or opened afterwards.
func TestRemoteLosesCommits(t *testing.T) {
	t.Parallel()
	for name, lose := range map[string][]string{
		"restored from a backup": {"update-ref", "refs/heads/" + branch, branch + "~1"},
		"made again":             {"update-ref", "-d", "refs/heads/" + branch},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			remote := filepath.Join(t.TempDir(), "remote.git")
			bare(t, remote)
			s := newSide(t, remote, 100*time.Millisecond)
			st := s.open(t)
			write(t, st, "a.md", "1")
			awaittest.Until(t, "the push", inRemote(t, remote, "a.md", "1"))
			git(t, remote, lose...)
			awaittest.Until(t, "the push to the remote that has lost it", inRemote(t, remote, "a.md", "1"))
			if err := st.Close(); err != nil {
				t.Fatal(err)
			}
			git(t, remote, lose...)
			s.open(t)
			awaittest.Until(t, "the push after opening", inRemote(t, remote, "a.md", "1"))
		})
	}
}

// TestPushedAtTheEnd: commits are pushed when the store is closed, and when the daemon ends.
func TestPushedAtTheEnd(t *testing.T) {
	t.Parallel()
	remote := filepath.Join(t.TempDir(), "remote.git")
	bare(t, remote)
	s := newSide(t, remote, never)
	st := s.open(t)
	write(t, st, "a.md", "1")
	if err := st.Close(); err != nil {
		t.Fatal(err)
	}
	if !inRemote(t, remote, "a.md", "1")() {
		t.Error("a closed store was not pushed")
	}
	st = s.open(t)
	write(t, st, "b.md", "2")
	s.Close()
	if !inRemote(t, remote, "b.md", "2")() {
		t.Error("the end did not push")
	}
	if err := st.Close(); err != nil {
		t.Fatal(err)
	}
	if text := s.log.String(); text != "" {
		t.Errorf("the log:\n%s", text)
	}
}

// TestCredentials: git gets a password from the helper of the user, and it does not appear
// anywhere.
func TestCredentials(t *testing.T) {
	root := t.TempDir()
	remote := filepath.Join(root, "notes.git")
	bare(t, remote)
	git(t, remote, "config", "http.receivepack", "true")
	out, err := exec.CommandContext(t.Context(), "git", "--exec-path").Output()
	if err != nil {
		t.Fatal(err)
	}
	backend := filepath.Join(strings.TrimSpace(string(out)), "git-http-backend")
	if _, err := os.Stat(backend); err != nil {
		t.Skip("git http-backend is not installed")
	}
	handler := &cgi.Handler{Path: backend, Env: []string{"GIT_PROJECT_ROOT=" + root, "GIT_HTTP_EXPORT_ALL=1"}}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if user, password, _ := r.BasicAuth(); user != "me" || password != "hush" {
			w.Header().Set("WWW-Authenticate", "Basic")
			http.Error(w, "who are you", http.StatusUnauthorized)
			return
		}
		handler.ServeHTTP(w, r)
	}))
	defer srv.Close()
	s := newSide(t, srv.URL+"/{brain}.git", never)
	_, err = s.Open(t.Context(), s.dir, "notes", "", gitstore.Options{})
	if !errors.Is(err, gitremote.ErrUnreachable) || !strings.Contains(s.log.String(), "could not read Username") {
		t.Errorf("without credentials: %v, the log:\n%s", err, s.log)
	}
	t.Setenv("GIT_CONFIG_COUNT", "1")
	t.Setenv("GIT_CONFIG_KEY_0", "credential.helper")
	t.Setenv("GIT_CONFIG_VALUE_0", "!f() { echo username=me; echo password=hush; }; f")
	write(t, s.open(t), "a.md", "1")
	awaittest.Until(t, "the push", inRemote(t, remote, "a.md", "1"))
	config, err := os.ReadFile(filepath.Join(s.dir, ".git", "config"))
	if err != nil || strings.Contains(string(config)+s.log.String(), "hush") {
		t.Errorf("%v, the configuration or the log has the password:\n%s\n%s", err, config, s.log)
	}
}

// TestAnotherAddress: a repository of another remote is not mixed with this one.
func TestAnotherAddress(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	first, second := filepath.Join(dir, "first.git"), filepath.Join(dir, "second.git")
	bare(t, first)
	bare(t, second)
	s := newSide(t, first, never)
	if err := s.open(t).Close(); err != nil {
		t.Fatal(err)
	}
	other := newSide(t, second, never)
	_, err := other.Open(context.WithoutCancel(t.Context()), s.dir, "notes", "", gitstore.Options{})
	if err == nil || !strings.Contains(err.Error(), "change it with git remote set-url") {
		t.Errorf("got %v", err)
	}
}
