//go:build unix

package gitstore_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"evalctl/daemon/store"
	"evalctl/daemon/store/gitstore"
	"evalctl/daemon/store/storetest"
)

// treeWith returns a tree that has an entry besides those of another one. The mode is that of git
// ls-tree, and each segment of the path a directory.
func treeWith(t *testing.T, dir, tree, mode, object, path string) string {
	t.Helper()
	name, below, deeper := strings.Cut(path, "/")
	entries := git(t, dir, "ls-tree", "-z", tree)
	if deeper {
		mode, object = "040000", treeWith(t, dir, "4b825dc642cb6eb9a060e54bf8d69288fbee4904", mode, object, below)
	}
	kind := map[string]string{"040000": "tree", "160000": "commit"}[mode]
	if kind == "" {
		kind = "blob"
	}
	cmd := exec.CommandContext(t.Context(), "git", "-C", dir, "mktree", "-z", "--missing")
	cmd.Stdin = strings.NewReader(entries + mode + " " + kind + " " + object + "\t" + name + "\x00")
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	return strings.TrimSpace(string(out))
}

// foreign are entries of a tree that are not documents, with what is said of them.
var foreign = []struct{ mode, path, named, reason string }{
	{"120000", "link.md", "link.md", "is a link or a submodule"},
	{"120000", "d/link", "d/link", "is a link or a submodule"},
	{"160000", "module", "module", "is a link or a submodule"},
	{"100644", ".gitmodules", ".gitmodules", `git reserves the name ".gitmodules"`},
	{"100644", `back\slash.md`, `"back\\slash.md"`, "contains a backslash"},
	{"100644", "bad\xffname.md", `"bad\xffname.md"`, "not valid UTF-8"},
	{"100644", "bad\\folder/a.md", `"bad\\folder"`, "contains a backslash"},
	{"100644", strings.Repeat("n", 256), strings.Repeat("n", 256)[:200], "longer than 255 bytes"},
	{"100644", strings.Repeat("f/", 130) + "a.md", strings.Repeat("f/", 128)[:200], "in more than 128 folders"},
}

// TestForeignTrees: what a tree has besides documents is left alone, and named.
func TestForeignTrees(t *testing.T) {
	one, two, oneDir, twoDir := openPair(t, nil)
	must(t, one.Write(t.Context(), "control\nname.md", []byte("1")), one.Write(t.Context(), "lfs.bin", []byte("version https://git-lfs.github.com/spec/v1\n")))
	must(t, one.Close())
	blob := strings.TrimSpace(git(t, oneDir, "rev-parse", "HEAD:shared"))
	tree := "HEAD^{tree}"
	var want []string
	for _, f := range foreign {
		object := blob
		if f.mode == "160000" {
			object = strings.Repeat("1", 40)
		}
		tree = treeWith(t, oneDir, tree, f.mode, object, f.path)
		want = append(want, f.named)
	}
	slices.Sort(want)
	commit := strings.TrimSpace(git(t, oneDir, "commit-tree", "-p", "HEAD", "-m", "foreign", tree))
	git(t, oneDir, "push", "-q", "origin", commit+":refs/heads/main")
	docs := map[string]string{"shared": "1\n2\n3\n4\n5\n", "control\nname.md": "1", "lfs.bin": "version https://git-lfs.github.com/spec/v1\n"}

	check := func(when string, r *gitstore.Repo) {
		t.Helper()
		wantDocs(t, r, docs)
		skipped, err := r.Skipped(t.Context())
		must(t, err)
		var got []string
		for _, s := range skipped.First {
			got = append(got, strings.TrimSuffix(strings.TrimPrefix(strings.TrimSuffix(s.Path, "..."), `"fff`), `"`))
			i := slices.IndexFunc(foreign, func(f struct{ mode, path, named, reason string }) bool {
				return strings.HasPrefix(s.Path, f.named) || strings.HasPrefix(s.Path, `"`+f.named)
			})
			if i < 0 || !strings.Contains(s.Reason, foreign[i].reason) {
				t.Errorf("%s: %s %s", when, s.Path, s.Reason)
			}
		}
		if len(got) != len(foreign) || skipped.Count != len(foreign) {
			t.Errorf("%s: skipped %q, want %q", when, got, want)
		}
		if out := git(t, twoDir, "status", "--porcelain", "--ignored"); out != "" {
			t.Errorf("%s: git status:\n%s", when, out)
		}
	}
	must(t, two.Pull(t.Context()))
	check("pulled", two)
	for _, path := range []string{"link.md", "d/link/a.md", "module/a.md"} {
		if err := two.Write(t.Context(), path, []byte("1")); !store.IsInvalidPath(err) {
			t.Errorf("write %s: %v", path, err)
		}
		if _, err := two.Read(t.Context(), path); !store.IsNotFound(err) {
			t.Errorf("read %s: %v", path, err)
		}
	}
	must(t, two.Write(t.Context(), "d/more.md", []byte("2")), two.Rename(t.Context(), "shared", "moved"))
	docs["d/more.md"], docs["moved"] = "2", docs["shared"]
	delete(docs, "shared")
	check("written", two)
	must(t, two.Push(t.Context()), two.Close())
	two = openDir(t, twoDir, nil)
	check("reopened", two)
	for _, f := range foreign[:3] {
		if out := git(t, twoDir, "ls-tree", "origin/main", f.path); !strings.HasPrefix(out, f.mode) {
			t.Errorf("%s: the remote has %q", f.path, out)
		}
	}

	git(t, oneDir, "fetch", "-q")
	clean := strings.TrimSpace(git(t, oneDir, "commit-tree", "-p", "origin/main", "-m", "clean", "HEAD^{tree}"))
	git(t, oneDir, "push", "-q", "origin", clean+":refs/heads/main")
	must(t, two.Pull(t.Context()))
	if skipped, err := two.Skipped(t.Context()); err != nil || skipped.Count > 0 {
		t.Errorf("afterwards: %+v, %v", skipped, err)
	}
	if out := git(t, twoDir, "status", "--porcelain", "--ignored"); out != "" {
		t.Errorf("git status:\n%s", out)
	}
}

// TestUntracked: files that git does not track are left alone, and named unless git ignores them.
func TestUntracked(t *testing.T) {
	dir := storetest.MemoryDir(t)
	r := openDir(t, dir, nil)
	write(t, r, ".gitignore", ".DS_Store\n*.swp\n.editor/\n!keep.swp\n")
	write(t, r, "sub/.gitignore", "/local.md\n")
	write(t, r, "a.md", "1")
	put(t, filepath.Join(dir, "while-open.md"), "x")
	put(t, filepath.Join(dir, ".git", "info", "exclude"), "# mine\n*.o\n")
	untracked := []string{"draft.txt", "keep.swp", "local.md", "sub/draft.md", "while-open.md"}
	for _, name := range append([]string{".DS_Store", ".a.md.swp", ".editor/state.json", "x.o", "sub/local.md", "sub/.DS_Store"}, untracked...) {
		put(t, filepath.Join(dir, name), "x")
	}
	must(t, os.Symlink("a.md", filepath.Join(dir, "a-link.md")), os.Symlink("nowhere", filepath.Join(dir, "dangling")))
	must(t, syscall.Mkfifo(filepath.Join(dir, "pipe.md"), 0o600), os.WriteFile(filepath.Join(dir, "bad\xff.md"), nil, 0o600))
	want := append([]string{`"bad\xff.md"`, "a-link.md", "dangling", "pipe.md"}, untracked...)
	slices.Sort(want)
	for range 2 {
		wantDocs(t, r, map[string]string{".gitignore": ".DS_Store\n*.swp\n.editor/\n!keep.swp\n", "sub/.gitignore": "/local.md\n", "a.md": "1"})
		skipped, err := r.Skipped(t.Context())
		must(t, err)
		var got []string
		for _, s := range skipped.First {
			got = append(got, s.Path)
		}
		if diff := cmp.Diff(want, got); diff != "" || skipped.Count != len(want) {
			t.Errorf("skipped %d (-want +got):\n%s", skipped.Count, diff)
		}
		for _, path := range []string{"draft.txt", ".DS_Store", "draft.txt/below"} {
			if _, err := r.Read(t.Context(), path); !store.IsNotFound(err) {
				t.Errorf("read %s: %v", path, err)
			}
			if err := r.Write(t.Context(), path, nil); !errors.Is(err, store.ErrConflict) {
				t.Errorf("write %s: %v", path, err)
			}
		}
		for _, path := range []string{"a-link.md", "dangling", "pipe.md", "dangling/below"} {
			if err := r.Write(t.Context(), path, nil); !store.IsInvalidPath(err) {
				t.Errorf("write %s: %v", path, err)
			}
		}
		write(t, r, "a.md", "1")
		must(t, r.Close())
		r = openDir(t, dir, nil)
	}
	for _, name := range []string{"draft.txt", ".editor/state.json", "while-open.md"} {
		if data, err := os.ReadFile(filepath.Join(dir, name)); string(data) != "x" || err != nil {
			t.Errorf("%s has %q, %v", name, data, err)
		}
	}
	if out := git(t, dir, "status", "--porcelain"); strings.Count(out, "\n") != strings.Count(out, "?? ") {
		t.Errorf("git status:\n%s", out)
	}
	// Once a file is committed, it is a document.
	must(t, r.Close())
	git(t, dir, "add", "draft.txt")
	git(t, dir, "commit", "-qm", "draft")
	if data, err := openDir(t, dir, nil).Read(t.Context(), "draft.txt"); string(data) != "x" || err != nil {
		t.Errorf("committed: %q, %v", data, err)
	}
}
