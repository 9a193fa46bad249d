package store

import (
	"strings"
	"testing"
	"unicode"

	"pgregory.net/rapid"
)

func TestEncodeName(t *testing.T) {
	for name, want := range map[string]string{
		"a:b.md": "%=a%3ab.md", "README": "%=%52%45%41%44%4d%45", "é": "%=%c3%a9", "x.": "%=x%2e", "%=x": "%=%25%3dx", ".": "%=%2e",
	} {
		if got := EncodeName(name); got != want {
			t.Errorf("%q is %q, want %q", name, got, want)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.StringN(1, 255, 255).Draw(t, "name")
		file := EncodeName(name)
		for part := range strings.SplitSeq(file, "/") {
			if len(part) > maxPart || !isMarked(part) || strings.HasSuffix(part, ".") ||
				strings.ContainsFunc(part, func(r rune) bool { return r > '~' || unicode.IsUpper(r) || strings.ContainsRune(" :*?\"<>|\\", r) }) {
				t.Errorf("%q is not a name everywhere", part)
			}
		}
		if got, ok := decodeName(file); got != name || !ok {
			t.Errorf("decoded %q, %t, want %q", got, ok, name)
		}
	})
	for _, file := range []string{"%=", "%=%3A", "%=%61", "%=A", "%=a%3", "%=a%zz", "%+a+/%=b", "a", "%+a+", "%=x."} {
		if name, ok := decodeName(file); ok && file != "%=" {
			t.Errorf("%q is the name of %q", file, name)
		}
	}
}

// TestLeftovers: what other programs leave behind is told from documents by its name.
func TestLeftovers(t *testing.T) {
	for _, name := range []string{
		".DS_Store", "._notes.md", "Thumbs.db", "desktop.ini", "Icon\r", ".directory", "notes.md~", "~$Report.docx", ".#notes.md",
		"#notes.md#", ".notes.md.swp", ".notes.md.swo", ".~lock.notes.odt#", ".goutputstream-ABC123", ".nfs000000000001a2b300000001",
		".fuse_hidden0000001", ".syncthing.notes.md.tmp", "~syncthing~notes.md.tmp", ".notes.md.icloud", ".notes.md.kate-swp",
		"notes.sync-conflict-20240131-120000-ABCDEFG.md", "notes (Ann's conflicted copy 2024-01-31).md",
		"notes (conflicted copy 2024-01-31 120000).md", "notes (Conflicted copy laptop 202401311200).md",
		"notes_conflict-20240131-120000.md", "notes (SFConflict ann@example.com 2024-01-31-12-00-00).md", ".dropbox", ".stignore",
	} {
		if !isLeftover(name, false) {
			t.Errorf("%s is a document", name)
		}
	}
	for _, name := range []string{".obsidian", ".trash", ".Trash-1000", ".git", "lost+found", "$RECYCLE.BIN", ".stversions", "System Volume Information"} {
		if !isLeftover(name, true) {
			t.Errorf("%s is a folder of documents", name)
		}
	}
	for _, name := range []string{
		"notes.md", ".gitignore", ".hidden.md", ".env", "conflict.md", "merge-conflicts.md", "~", "a~b", "#1.md", "#", "swap.swp", "_index.md",
		"conflicted copy.md", "Thumbs.db.md", ".obsidian.md", ".", "notes (copy).md", "notes (1).md",
	} {
		if name != "~" && isLeftover(name, false) || isLeftover(name, true) {
			t.Errorf("%s is not a document", name)
		}
	}
}

// TestDecodePath: a document's file says which document it is, and no other file does.
func TestDecodePath(t *testing.T) {
	for _, path := range []string{"a.md", "n/x~", ".obsidian/a.md", "%=y", "d/%+z+/e", strings.Repeat("\u00fc", 100) + "~", ".git/" + strings.Repeat("\u00fc~", 80) + "/b"} {
		if got, ok := DecodePath(EncodePath(path)); got != path || !ok {
			t.Errorf("%q in %q: %q, %t", path, EncodePath(path), got, ok)
		}
	}
	for _, file := range []string{".DS_Store", "n/x~", ".obsidian/a.md", "%=", "%=%zz", "%+a+", "%+a+/b", `a\b`} {
		if got, ok := DecodePath(file); ok {
			t.Errorf("%q is %q", file, got)
		}
	}
}
