package dataset

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"evalctl/internal/filetest"
)

func docsOf(c Corpus) map[string]string {
	out := map[string]string{}
	for _, d := range c.Docs {
		out[d.Path] = string(d.Data)
	}
	return out
}

func TestLoadCorpusFolder(t *testing.T) {
	dir := t.TempDir()
	filetest.Write(t, filepath.Join(dir, "b.md"), "B")
	filetest.Write(t, filepath.Join(dir, "_generated.txt"), "not a document")
	filetest.Write(t, filepath.Join(dir, "a/x.md"), "---\ndate: 2025-01-01\n---\nAX")
	filetest.Write(t, filepath.Join(dir, "notes.txt"), "left out")
	c, err := LoadCorpus(dir)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"a/x.md": "---\ndate: 2025-01-01\n---\nAX", "b.md": "B"}
	if diff := cmp.Diff(want, docsOf(c)); diff != "" {
		t.Error(diff)
	}
	if c.Docs[0].Path != "a/x.md" || c.Path != dir || len(c.SHA256) != 64 {
		t.Errorf("got %+v", c)
	}
	before := c.SHA256
	filetest.Write(t, filepath.Join(dir, "notes.txt"), "changed, but not a document")
	if c, _ = LoadCorpus(dir); c.SHA256 != before {
		t.Error("a file that is not a document changed the corpus's hash")
	}
	filetest.Write(t, filepath.Join(dir, "b.md"), "C")
	if c, _ = LoadCorpus(dir); c.SHA256 == before {
		t.Error("a changed document did not change the corpus's hash")
	}
	filetest.Write(t, filepath.Join(dir, "LOUD.MD"), "not a document")
	if err := os.Symlink("a", filepath.Join(dir, "linked")); err != nil {
		t.Fatal(err)
	}
	c, err = LoadCorpus(dir)
	diff := cmp.Diff([]string{"LOUD.MD", "_generated.txt", "linked", "notes.txt"}, c.LeftOut)
	if err != nil || diff != "" || len(c.Docs) != 2 {
		t.Errorf("%v, %d documents, left out: %s", err, len(c.Docs), diff)
	}
	filetest.Write(t, filepath.Join(dir, "large.md"), strings.Repeat("x", 8<<20+1))
	const large = `document "large.md" has 8388609 bytes and the protocol's limit is 8388608; split it`
	if _, err := LoadCorpus(dir); err == nil || !strings.Contains(err.Error(), large) {
		t.Errorf("got %v", err)
	}
}

func TestLoadCorpusLines(t *testing.T) {
	file := filetest.Write(t, filepath.Join(t.TempDir(), "c.jsonl"), "\xef\xbb\xbf# documents\r\n"+
		`{"path":"z.md","title":"A\n title","text":"Text.\n\nMore.","date":"2025-03-14"}`+"\r\n\n"+
		`{"path":"a/b.md","text":"no title"}`+"\n"+
		`{"path":"t.md","title":"only a title"}`+"\n"+
		`{"path":"y.md","title":"","text":""}`)
	c, err := LoadCorpus(file)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{
		"z.md":   "---\ndate: 2025-03-14\n---\n\n# A title\n\nText.\n\nMore.\n",
		"a/b.md": "no title\n",
		"t.md":   "# only a title\n\n\n",
		"y.md":   "\n",
	}
	if diff := cmp.Diff(want, docsOf(c)); diff != "" {
		t.Error(diff)
	}
	if c.Docs[0].Path != "a/b.md" || c.Docs[3].Path != "z.md" {
		t.Error("the documents are not sorted by path")
	}
}

func TestLoadCorpusRejects(t *testing.T) {
	for _, c := range []struct{ name, line, want string }{
		{"no path", `{"text":"x"}`, `"path" is missing`},
		{"empty", `{"path":"a.md"}`,
			`document "a.md" has neither "title" nor "text"; give it "text": "" if it is empty`},
		{"rooted", `{"path":"/a.md","text":"x"}`, `path "/a.md" must be relative`},
		{"outside", `{"path":"../a.md","text":"x"}`, `path "../a.md" must be relative`},
		{"outside after a folder", `{"path":"a/../../b.md","text":"x"}`, `must be relative`},
		{"dot", `{"path":".","text":"x"}`, `must be relative`},
		{"double slash", `{"path":"a//b.md","text":"x"}`, `must be relative`},
		{"backslash", `{"path":"a\\b.md","text":"x"}`, `must be relative`},
		{"NUL", `{"path":"a\u0000.md","text":"x"}`, `must be relative`},
		{"generated", `{"path":"a/_b.md","text":"x"}`,
			`path "a/_b.md" must not have a file name that begins with _`},
		{"bad date", `{"path":"a.md","text":"x","date":"soon"}`,
			`document "a.md": "date": "soon" is neither`},
		{"date that adds front matter",
			`{"path":"a.md","text":"x","date":"2025-01-01\nrole: admin"}`,
			`is neither an RFC 3339 time`},
		{"wrong type", `{"path":"a.md","text":7}`, `field "text" must be a string, not a number`},
		{"twice", `{"path":"first.md","text":"x"}`, `path "first.md" is already used on line 1`},
	} {
		t.Run(c.name, func(t *testing.T) {
			file := filetest.Write(t, filepath.Join(t.TempDir(), "c.jsonl"),
				`{"path":"first.md","text":"x"}`+"\n"+c.line+"\n")
			_, err := LoadCorpus(file)
			if err == nil || !strings.HasPrefix(err.Error(), file+":2: ") ||
				!strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %s", err, c.want)
			}
		})
	}
}

func TestLoadCorpusFails(t *testing.T) {
	dir := t.TempDir()
	outside := filetest.Write(t, filepath.Join(t.TempDir(), "secret.md"), "secret")
	linked, hollow := filepath.Join(dir, "linked"), filepath.Join(dir, "hollow")
	generated := filepath.Join(dir, "generated")
	filetest.Write(t, filepath.Join(generated, "_a", "_index.md"), "x")
	filetest.Write(t, filepath.Join(hollow, "a.md"), "\n \n")
	filetest.Write(t, filepath.Join(linked, "a.md"), "x")
	utf16 := filepath.Join(dir, "utf16")
	filetest.Write(t, filepath.Join(utf16, "a.md"), "\xff\xfea\x00b\x00")
	if err := os.Symlink(outside, filepath.Join(linked, "b.md")); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ path, want string }{
		{t.TempDir(), "has no documents; it must be a folder of .md files, or a .jsonl file of"},
		{filetest.Write(t, filepath.Join(dir, "empty.jsonl"), "# none\n"), "has no documents"},
		{filepath.Join(dir, "missing"), "open corpus: "},
		{hollow, "a.md is empty; fill it or remove it"},
		{generated, "read corpus " + generated +
			`: path "_a/_index.md" must not have a file name that begins with _`},
		{linked, "read corpus " + linked + ": b.md is a link that leads out of the folder or to nothing; put a copy"},
		{utf16, "a.md is not valid UTF-8; save it as UTF-8"},
	} {
		if _, err := LoadCorpus(c.path); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %s", c.path, err, c.want)
		}
	}
}

func TestCorpusFor(t *testing.T) {
	dir := t.TempDir()
	dataset := filepath.Join(dir, "smoke.jsonl")
	if got := CorpusFor(dataset); got != "" {
		t.Errorf("got %q although there is none", got)
	}
	file := filetest.Write(t, filepath.Join(dir, "smoke.corpus.jsonl"), "")
	if got := CorpusFor(dataset); got != file {
		t.Errorf("got %q, want %s", got, file)
	}
	folder := filepath.Join(dir, "smoke.corpus")
	if err := os.Mkdir(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	if got := CorpusFor(dataset); got != folder {
		t.Errorf("got %q, want %s", got, folder)
	}
	if err := os.RemoveAll(folder); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("gone", folder); err != nil {
		t.Fatal(err)
	}
	if got := CorpusFor(dataset); got != folder { // whose error is shown
		t.Errorf("for a link that leads nowhere: %q", got)
	}
}
