package gitstore_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"evalctl/daemon/store"
	"evalctl/daemon/store/gitstore"
	"evalctl/daemon/store/storetest"
)

// TestCommits reads the store's commits with git log.
func TestCommits(t *testing.T) {
	dir := storetest.MemoryDir(t)
	r := openDir(t, dir, nil)
	ctx := t.Context()
	batch := func(opts store.BatchOptions) {
		t.Helper()
		err := r.Batch(ctx, opts, func(b *store.Batch) error {
			return errors.Join(b.Append(ctx, "d/a", []byte("x")), b.Append(ctx, "d/b", []byte("y")))
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	const standard = "evalctl <evalctl@localhost>"
	for _, c := range []struct {
		name                  string
		do                    func() error
		subject, body, author string
	}{
		{"single", func() error { return r.Write(ctx, "d/a", nil) }, "write d/a", "", standard},
		{"append", func() error { return r.Append(ctx, "d/a", []byte("1")) }, "write d/a", "", standard},
		{"delete", func() error { return r.Delete(ctx, "d/a") }, "delete d/a", "", standard},
		{"no reason", func() error { batch(store.BatchOptions{}); return nil }, "change 2 documents", "", standard},
		{"all", func() error {
			batch(store.BatchOptions{Reason: "tidy up", Message: "\n  one\n\n\ttwo\n", Author: "Ada L.",
				Email: "ada@example.org"})
			return nil
		}, "tidy up", "one\n\n\ttwo", "Ada L. <ada@example.org>"},
		{"hostile", func() error {
			batch(store.BatchOptions{Reason: "a\nparent 0\x00\x1b[2J", Message: "x\x00\x1b]0;t\a\ngpgsig y",
				Author: "E <e@x>\ncommitter Z", Email: " <>\n "})
			return nil
		}, "a parent 0  [2J", "x  ]0;t \ngpgsig y", "E e@x committer Z <evalctl@localhost>"},
		{"apply", func() error {
			return r.Apply(ctx, store.Commit{Reason: "by apply", Author: "A", Email: "a@b",
				Ops: []store.Op{{Kind: store.OpRename, Path: "d/a", To: "d/ü"}}})
		}, "by apply", "", "A <a@b>"},
		{"odd path", func() error { return r.Write(ctx, "d/\x1b[2J\n", nil) }, "write d/ [2J", "", standard},
		{"same content", func() error { return r.Write(ctx, "d/b", []byte("y")) }, "write d/b", "", standard},
	} {
		if err := c.do(); err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		got := git(t, dir, "log", "-1", "--format=%s|%b|%an <%ae>|%cn <%ce>")
		want := c.subject + "|" + c.body
		if c.body != "" {
			want += "\n"
		}
		if want += "|" + c.author + "|" + standard + "\n"; got != want {
			t.Errorf("%s: got %q, want %q", c.name, got, want)
		}
	}
	if out := git(t, dir, "rev-list", "--count", "HEAD"); out != "10\n" {
		t.Errorf("%s commits", out)
	}
	wantSound(t, r, dir)
}

// TestReservedPaths: no operation reaches git's own files, however their path is spelled.
func TestReservedPaths(t *testing.T) {
	dir := storetest.MemoryDir(t)
	r := openDir(t, dir, nil)
	ctx := t.Context()
	write(t, r, "a", "1")
	for _, path := range []string{
		".git", ".git/config", ".GIT/config", ".Git", "d/.git", "d/.git/x", ".git ", ".git.", ".git . /x",
		"d/.git::$INDEX_ALLOCATION", ".git:x/y",
		"git~1", "GIT~1/config", ".g\u200cit/config", "\ufeff.git", ".gitmodules", "d/.GITMODULES",
		".git/gitstore/lock", ".git/index.lock",
	} {
		_, readErr := r.Read(ctx, path)
		_, statErr := r.Stat(ctx, path)
		_, existsErr := r.Exists(ctx, path)
		_, listErr := r.List(ctx, path, store.ListOptions{})
		for op, err := range map[string]error{
			"read": readErr, "stat": statErr, "exists": existsErr, "list": listErr,
			"write": r.Write(ctx, path, nil), "append": r.Append(ctx, path, nil), "delete": r.Delete(ctx, path),
			"from": r.Rename(ctx, path, "b"), "to": r.Rename(ctx, "a", path),
			"batch": r.Batch(ctx, store.BatchOptions{}, func(b *store.Batch) error { return b.Write(ctx, path, nil) }),
		} {
			if !store.IsInvalidPath(err) || !strings.Contains(err.Error(), "git reserves the name") {
				t.Errorf("%s %q: %v", op, path, err)
			}
		}
		if file, ok := r.LocalPath(path); ok {
			t.Errorf("local path %q", file)
		}
	}
	want := map[string]string{"a": "1"}
	for _, path := range []string{
		".gitignore", "d/.gitattributes", ".github/x", "git", "agit/.gitx", "git~2", "d.git/x", "x.git",
	} {
		write(t, r, path, "")
		want[path] = ""
	}
	wantDocs(t, r, want)
	wantSound(t, r, dir)
}

// TestLinkIntoGit: a link in the worktree does not lead to git's own files.
func TestLinkIntoGit(t *testing.T) {
	dir := storetest.MemoryDir(t)
	r := openDir(t, dir, nil)
	outside := storetest.MemoryDir(t)
	for name, target := range map[string]string{"link": ".git", "out": outside, "file": ".git/config"} {
		if err := os.Symlink(target, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	for _, path := range []string{"link", "link/config", "link/new", "out/new", "file", "file/x"} {
		if data, err := r.Read(t.Context(), path); err == nil {
			t.Errorf("read %s: %q", path, data)
		}
		if err := r.Write(t.Context(), path, []byte("x")); err == nil {
			t.Errorf("write %s succeeded", path)
		}
		if _, err := r.List(t.Context(), path, store.ListOptions{}); path != "file/x" && err == nil {
			t.Errorf("list %s succeeded", path)
		}
	}
	wantDocs(t, r, map[string]string{})
}

// TestSettingsInDocuments: documents such as .gitignore and .gitattributes affect neither what is
// committed nor how git reads it.
func TestSettingsInDocuments(t *testing.T) {
	dir := storetest.MemoryDir(t)
	r := openDir(t, dir, nil)
	docs := map[string]string{
		".gitignore":       "*\n",
		".gitattributes":   "* text=auto eol=crlf ident filter=evil working-tree-encoding=UTF-16 merge=union\n",
		"d/.gitattributes": "* text eol=lf\n",
		"d/crlf.md":        "a\r\nb\n$Id: x$\r\n",
		"lf.md":            "a\nb\n",
		"zero":             "\x00\xff\r\n",
	}
	for path, content := range docs {
		write(t, r, path, content)
	}
	wantSound(t, r, dir)
	for path, content := range docs {
		if got := git(t, dir, "cat-file", "blob", "HEAD:"+path); got != content {
			t.Errorf("%s is committed as %q", path, got)
		}
	}
	wantDocs(t, openDir(t, dir, nil), docs)
}

// signer signs with a real SSH key.
type signer struct {
	t        *testing.T
	key      string
	payloads []string
	fail     error
}

func newSigner(t *testing.T) *signer {
	t.Helper()
	if _, err := exec.LookPath("ssh-keygen"); err != nil {
		t.Skip("ssh-keygen is not installed")
	}
	key := filepath.Join(t.TempDir(), "key")
	keygen := exec.CommandContext(t.Context(), "ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "", "-f", key)
	if out, err := keygen.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return &signer{t: t, key: key}
}

func (s *signer) sign(ctx context.Context, req gitstore.SignRequest) (string, error) {
	s.payloads = append(s.payloads, req.Payload)
	if s.fail != nil {
		return "", s.fail
	}
	cmd := exec.CommandContext(ctx, "ssh-keygen", "-Y", "sign", "-n", "git", "-f", s.key)
	cmd.Stdin = strings.NewReader(req.Payload)
	out, err := cmd.Output()
	return string(out), err
}

// wantVerified checks the number of commits, and their signatures with git verify-commit.
func (s *signer) wantVerified(dir string, commits int) {
	s.t.Helper()
	public, err := os.ReadFile(s.key + ".pub")
	if err != nil {
		s.t.Fatal(err)
	}
	allowed := s.key + ".allowed"
	put(s.t, allowed, "evalctl@localhost "+string(public))
	list := strings.Fields(git(s.t, dir, "rev-list", "HEAD"))
	if len(list) != commits {
		s.t.Errorf("%d commits, want %d", len(list), commits)
	}
	for _, commit := range list {
		out, err := tryGit(s.t, dir, "-c", "gpg.format=ssh", "-c", "gpg.ssh.allowedSignersFile="+allowed,
			"verify-commit", commit)
		if err != nil || !strings.Contains(out, `Good "git" signature for evalctl@localhost`) {
			s.t.Errorf("%s: %v, %s", commit, err, out)
		}
	}
}

func TestSigning(t *testing.T) {
	s := newSigner(t)
	dir := storetest.MemoryDir(t)
	r := openDir(t, dir, &gitstore.Options{Sign: s.sign})
	ctx := t.Context()
	write(t, r, "a", "1")
	must(t, r.Batch(ctx, store.BatchOptions{Reason: "ü", Message: "body"},
		func(b *store.Batch) error { return b.Write(ctx, "b/c", nil) }))
	// Mutations that change nothing are not committed, so they are not signed.
	_ = r.Batch(ctx, store.BatchOptions{}, func(*store.Batch) error { return nil })
	_ = r.Delete(ctx, "missing")
	if len(s.payloads) != 3 {
		t.Errorf("signed %d times, want 3: bootstrap, write, batch", len(s.payloads))
	}
	s.wantVerified(dir, 3)
	signature, rest, _ := strings.Cut(git(t, dir, "cat-file", "commit", "HEAD"), "\ngpgsig ")
	_, message, _ := strings.Cut(rest, "-----END SSH SIGNATURE-----")
	if payload := signature + message; payload != s.payloads[2] || !strings.HasPrefix(payload, "tree ") {
		t.Errorf("payload %q, commit without signature %q", s.payloads[2], payload)
	}

	s.fail = errors.New("the key is locked")
	before := git(t, dir, "rev-parse", "HEAD")
	if err := r.Write(ctx, "a", []byte("2")); !errors.Is(err, s.fail) {
		t.Errorf("got %v", err)
	}
	if git(t, dir, "rev-parse", "HEAD") != before {
		t.Error("committed without a signature")
	}
	wantDocs(t, r, map[string]string{"a": "1", "b/c": ""})
	wantSound(t, r, dir)
	if _, err := gitstore.Open(ctx, storetest.MemoryDir(t), &gitstore.Options{Sign: s.sign}); !errors.Is(err, s.fail) {
		t.Errorf("bootstrap: %v", err)
	}
	empty := func(context.Context, gitstore.SignRequest) (string, error) { return "", nil }
	_, err := gitstore.Open(ctx, storetest.MemoryDir(t), &gitstore.Options{Sign: empty})
	if err == nil || !strings.Contains(err.Error(), "signature is empty") {
		t.Errorf("empty signature: %v", err)
	}
}

// TestFailedOpenCanBeRepeated: Open finishes a repository whose creation was interrupted.
func TestFailedOpenCanBeRepeated(t *testing.T) {
	dir := storetest.MemoryDir(t)
	fail := func(context.Context, gitstore.SignRequest) (string, error) { return "", errors.New("no") }
	if _, err := gitstore.Open(t.Context(), dir, &gitstore.Options{Sign: fail}); err == nil {
		t.Fatal("Open succeeded")
	}
	put(t, filepath.Join(dir, ".git", "refs", "heads", "main.lock"), "half")
	if err := os.Remove(filepath.Join(dir, ".git", "HEAD")); err != nil {
		t.Fatal(err)
	}
	r := openDir(t, dir, nil)
	write(t, r, "a", "1")
	wantSound(t, r, dir)
	if !bytes.Equal(bytes.TrimSpace([]byte(git(t, dir, "log", "--format=%s"))), []byte("write a\ncreate the store")) {
		t.Error(git(t, dir, "log"))
	}
}
