package storetest

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/google/go-cmp/cmp"

	"evalctl/daemon/store"
)

var invalidPaths = []string{
	"", "/", "/a", "a/", "a//b", "//a", ".", "..", "./a", "a/.", "a/./b", "../a", "a/..", "a/../b", "a/../../b",
	"a\x00b", "\x00", `a\b`, `..\a`, "a\xffb", "\xc3",
	strings.Repeat("n", store.MaxSegmentBytes+1), "d/" + strings.Repeat("é", 128),
	strings.Repeat("d/", store.MaxPathChars/2) + "a", "d/" + deepPath(), strings.Repeat("😀/", store.MaxPathChars/2),
}

// pathCases returns a case for each invalid path. Every operation must reject it.
func pathCases() []scenario {
	var cases []scenario
	for i, path := range invalidPaths {
		name := fmt.Sprintf("%d %.20q", i, path)
		cases = append(cases, scenario{name: name, before: "a=1", readOnly: true, do: check(func(p *probe) {
			wantInvalid(p, path)
			if file, ok := p.LocalPath(path); ok || file != "" {
				p.Errorf("local path %q", file)
			}
		})})
	}
	return cases
}

func wantInvalid(p *probe, path string) {
	p.Helper()
	_, readErr := p.Read(p.ctx, path)
	_, statErr := p.Stat(p.ctx, path)
	_, existsErr := p.Exists(p.ctx, path)
	errs := map[string]error{
		"read": readErr, "stat": statErr, "exists": existsErr,
		"write":  p.Write(p.ctx, path, nil),
		"append": p.Append(p.ctx, path, nil),
		"delete": p.Delete(p.ctx, path),
		"from":   p.Rename(p.ctx, path, "b"),
		"to":     p.Rename(p.ctx, "a", path),
		"apply":  p.Apply(p.ctx, store.Commit{Ops: []store.Op{{Kind: store.OpWrite, Path: path}}}),
		"batch": p.Batch(p.ctx, store.BatchOptions{}, func(b *store.Batch) error {
			if _, err := b.Read(p.ctx, path); !store.IsInvalidPath(err) {
				p.Errorf("read in a batch: %v", err)
			}
			return b.Write(p.ctx, path, nil)
		}),
	}
	if path != "" { // the root
		_, errs["list"] = p.List(p.ctx, path, store.ListOptions{})
	}
	for op, err := range errs {
		if !store.IsInvalidPath(err) {
			p.Errorf("%s: %v, want invalid path", op, err)
		}
	}
}

// oddPaths are valid paths. Some file systems reject their names, or give two of them one file;
// other programs leave files with some of these names behind.
var oddPaths = []string{
	"a", "A", "dir/a", "Dir/a", "Dir/A", "README.md", "readme.md", "ß", "ss", "SS", "\u017f", "K", "k", "\u212a",
	"é", "e\u0301", "É", "ﬁ", "fi", "日本.md", "😀.md", "zero\u200bwidth", "zerowidth",
	"a:b", "a*b", "a?b", `a"b`, "a<b>c", "a|b", "tab\tx", "line\nx", "\x01", "\x7f",
	"x", "x.", "x ", " x", "x..", "...", "d./x", "d /x", "con", "CON.md", "nul.md", "aux/a.md", "com1", "lpt9.txt", "FILE~1.TXT",
	strings.Repeat("n", store.MaxSegmentBytes), strings.Repeat("N", store.MaxSegmentBytes),
	strings.Repeat("é", 127), strings.Repeat("?", store.MaxSegmentBytes), strings.Repeat("?", 100) + "/" + strings.Repeat("?", 200),
	"%", "%3a", "a%3ab", "%=a", "%=A", "%=%3a", "%+a+/%=b", "%+a/b", "%=", "%=%2e/a",
	".DS_Store", "Thumbs.db", "notes~", ".#notes", "#notes#", ".notes.swp", ".~lock.notes#", "~$notes.md", "._notes",
	".obsidian/app.json", ".trash/notes.md", ".idea/x", "lost+found/x",
	"notes.sync-conflict-20240131-120000-ABCDEFG.md", "notes (conflicted copy 2024-01-31 120000).md",
}

// nameCases returns cases that use all oddPaths.
func nameCases() []scenario {
	events := "created " + strings.Join(oddPaths, ", created ") + ", deleted " + strings.Join(oddPaths, ", deleted ")
	return []scenario{
		{name: "all at once", readOnly: true, events: events, do: check(func(p *probe) {
			write := store.Commit{}
			for i, path := range oddPaths {
				write.Ops = append(write.Ops, store.Op{Kind: store.OpWrite, Path: path, Data: fmt.Append(nil, i, path)})
			}
			if err := p.Apply(p.ctx, write); err != nil {
				p.Fatal(err)
			}
			wantOdd(p)
			remove := store.Commit{}
			for _, path := range oddPaths {
				remove.Ops = append(remove.Ops, store.Op{Kind: store.OpDelete, Path: path})
			}
			if err := p.Apply(p.ctx, remove); err != nil {
				p.Error(err)
			}
		})},
		{name: "one by one", readOnly: true, events: events, do: check(func(p *probe) {
			for i, path := range oddPaths {
				if err := p.Write(p.ctx, path, fmt.Append(nil, i, path)); err != nil {
					p.Errorf("write %q: %v", path, err)
				}
				localFile(p, path)
			}
			wantOdd(p)
			for _, path := range oddPaths {
				if err := p.Delete(p.ctx, path); err != nil {
					p.Errorf("delete %q: %v", path, err)
				}
				p.wantMissing(p, path)
			}
		})},
	}
}

// localFile brings a document to its file, if it has one, and checks the content.
func localFile(p *probe, path string) {
	p.Helper()
	file, ok := p.LocalPath(path)
	if !ok {
		return
	}
	want, err := p.Read(p.ctx, path)
	got, fileErr := os.ReadFile(file)
	if err != nil || fileErr != nil || string(got) != string(want) {
		p.Errorf("the file of %q is %q: %q, %v, want %q, %v", path, file, got, fileErr, want, err)
	}
}

// wantOdd compares all documents with oddPaths.
func wantOdd(p *probe) {
	p.Helper()
	files := p.listAll()
	want := slices.Sorted(slices.Values(oddPaths))
	var got []string
	for _, f := range files {
		got = append(got, f.Path)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		p.Fatalf("listed (-want +got):\n%s", diff)
	}
	for i, path := range oddPaths {
		localFile(p, path)
		p.wantRead(p, path, fmt.Sprint(i, path))
	}
}
