package gitstore

import (
	"path/filepath"
	"testing"

	"github.com/go-git/go-git/v5/plumbing"
	"pgregory.net/rapid"

	"evalctl/daemon/store"
	"evalctl/daemon/store/storetest"
)

// TestEditTree compares trees that were edited several times with trees that were written once.
// Equal documents must have the same tree hash.
func TestEditTree(t *testing.T) {
	b := openBackend(t, storetest.MemoryDir(t))
	t.Cleanup(func() { b.Close() })
	name := rapid.SampledFrom([]string{"a", "a-", "a.b", "a0", "b", "é"})
	path := rapid.Custom(func(r *rapid.T) string {
		return filepath.Join(rapid.SliceOfN(name, 1, 3).Draw(r, "names")...)
	})
	rapid.Check(t, func(r *rapid.T) {
		docs, tree := map[string]string{}, plumbing.ZeroHash
		for range rapid.IntRange(1, 5).Draw(r, "commits") {
			before := tree
			var ops []store.Op
			changed := map[string]bool{}
			for range rapid.IntRange(1, 4).Draw(r, "ops") {
				p := path.Draw(r, "path")
				_, exists := docs[p]
				switch {
				case changed[p]:
				case exists && rapid.Bool().Draw(r, "delete"):
					ops = append(ops, deleteOp(p))
					delete(docs, p)
					changed[p] = true
				case exists || hasRoom(docs, p):
					docs[p] = rapid.StringN(0, 3, -1).Draw(r, "content")
					ops = append(ops, writeOp(p, docs[p]))
					changed[p] = true
				}
			}
			tree = mustEdit(r, b, tree, ops)
			checkDiff(r, b, before, tree, changed)
		}
		var all []store.Op
		for p, content := range docs {
			all = append(all, writeOp(p, content))
		}
		if want := mustEdit(r, b, plumbing.ZeroHash, all); tree != want {
			r.Fatalf("%s, written once %s: %q", tree, want, docs)
		}
	})
}

func mustEdit(r *rapid.T, b *backend, tree plumbing.Hash, ops []store.Op) plumbing.Hash {
	changes, err := b.recordChanges(ops)
	if err == nil {
		tree, err = b.objects.edit(tree, changes)
	}
	if err == nil {
		err = b.objects.sync()
	}
	if err != nil {
		r.Fatal(err)
	}
	return tree
}

// checkDiff applies the changes between two trees to the first one, which must result in the
// second one. The changes must contain changed paths only.
func checkDiff(r *rapid.T, b *backend, from, to plumbing.Hash, changed map[string]bool) {
	changes, _, err := b.objects.changes(from, to)
	if err != nil {
		r.Fatal(err)
	}
	for _, c := range changes {
		if !changed[c.path] {
			r.Fatalf("%s differs", c.path)
		}
	}
	if got, err := b.objects.edit(from, changes); err != nil || got != to {
		r.Fatalf("the difference leads to %s, not %s, %v", got, to, err)
	}
}

func hasRoom(docs map[string]string, path string) bool {
	for p := range docs {
		if len(p) > len(path) && p[:len(path)+1] == path+"/" || len(path) > len(p) && path[:len(p)+1] == p+"/" {
			return false
		}
	}
	return true
}

func FuzzReservedName(f *testing.F) {
	for _, name := range []string{
		".git", ".GIT. ", "git~1", ".g\u200dit", ".gitignore", "a:b", ".gitmodules:x", "", "é",
	} {
		f.Add(name)
	}
	f.Fuzz(func(t *testing.T, name string) {
		if reservedName(name) != nil && store.ValidPath(name) == nil && len(name) < len(".git") {
			t.Errorf("%q", name)
		}
		// A reserved name is also reserved with characters that other systems ignore.
		for _, same := range []string{name + " ", name + ".", name + ":x", "\u200c" + name} {
			if reservedName(name) != nil && reservedName(same) == nil {
				t.Errorf("%q is reserved, %q is not", name, same)
			}
		}
	})
}
