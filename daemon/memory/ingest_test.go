package memory

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"evalctl/daemon/brain"
	"evalctl/daemon/convert"
	"evalctl/daemon/frontmatter"
	"evalctl/daemon/protocol"
	"evalctl/daemon/store"
	"evalctl/daemon/store/memstore"
	"evalctl/internal/awaittest"
)

// allStores are the engines of a daemon. Each returns the same store for the same directory.
func allStores() map[string]func(context.Context, string) (*store.Store, error) {
	all := map[string]func(context.Context, string) (*store.Store, error){
		"memory": func(context.Context, string) (*store.Store, error) { return memstore.Open(nil), nil },
	}
	for name, openStore := range stores {
		all[name] = openStore
	}
	return all
}

func (f *fixture) ingestFile(t testing.TB, path, text string) protocol.IngestResponse {
	t.Helper()
	r, err := f.IngestFile(t.Context(), f.brain, protocol.IngestFile{Path: path, Content: []byte(text)})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// files returns the paths below dir, generated files included.
func (f *fixture) files(t testing.TB, dir string) []string {
	t.Helper()
	list, err := f.store(t).List(t.Context(), dir, store.ListOptions{Recursive: true, IncludeGenerated: true})
	if err != nil {
		t.Fatal(err)
	}
	paths := []string{}
	for _, f := range list {
		paths = append(paths, f.Path)
	}
	return paths
}

func hashOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

func TestIngestText(t *testing.T) {
	for name, openStore := range allStores() {
		t.Run(name, func(t *testing.T) {
			f := openDir(t, t.TempDir(), openStore)
			const text = "---\ntitle: not front matter\n---\n# not a heading *at all*\nwalrus\n"
			r, err := f.IngestFile(t.Context(), f.brain, protocol.IngestFile{
				Path: "notes/sea.txt", Content: []byte(text), Tags: []string{"sea", "animals"}, ContentType: "text/plain; charset=utf-8",
			})
			if err != nil {
				t.Fatal(err)
			}
			if r.DocumentID != "notes/sea.txt.md" || r.Path != r.DocumentID || r.Hash != hashOf(text) || r.Reused ||
				r.ChunkCount != 1 || r.EmbeddedCount != 0 || r.Status != "" || r.JobID != "" {
				t.Errorf("got %+v", r)
			}
			doc := frontmatter.Parse(f.read(t, r.Path))
			if doc.Title != "sea" || strings.Join(doc.Tags, "|") != "sea|animals" || !doc.Created.Equal(epoch.Truncate(time.Millisecond)) {
				t.Errorf("front matter %+v", doc.Fields)
			}
			if doc.Metadata["source_name"] != "sea.txt" || doc.Metadata["source_type"] != "text/plain" ||
				doc.Metadata["source_sha256"] != hashOf(text) || len(doc.Metadata) != 3 {
				t.Errorf("metadata %v", doc.Metadata)
			}
			if got := f.read(t, originalPath(r.Hash, convert.Text)); got != text {
				t.Errorf("the original is %q", got)
			}
			if list := f.files(t, ""); len(list) != 3 {
				t.Errorf("files %v", list)
			}
			record, err := f.Document(t.Context(), f.brain, r.DocumentID)
			if err != nil || record.Title != "sea" || record.Source != protocol.SourceIngest || record.Metadata["tags"] != "sea,animals" {
				t.Errorf("record %+v, %v", record, err)
			}
			found, err := f.Search(t.Context(), f.brain, protocol.SearchRequest{
				Query: "walrus", Filters: protocol.SearchFilters{IncludeGenerated: true},
			})
			if err != nil || len(found.Chunks) != 1 || found.Chunks[0].Path != r.Path {
				t.Errorf("found %+v, %v", found.Chunks, err)
			}
		})
	}
}

// TestIngestedTitle: the title of Markdown is in its front matter, also if its name was taken.
func TestIngestedTitle(t *testing.T) {
	f := open(t)
	for _, tt := range []struct{ text, title string }{
		{"one", "plan"}, {"two", "plan"}, {"# Heading\n", "Heading"}, {"---\ncolour: red\n---\nthree", "plan"}, {"---\ntitle: Own\n---\n# Heading\n", "Own"},
	} {
		r := f.ingestFile(t, "plan.md", tt.text)
		record, err := f.Document(t.Context(), f.brain, r.DocumentID)
		written := frontmatter.Parse(f.read(t, r.Path)).Title
		if err != nil || record.Title != tt.title || written != tt.title {
			t.Errorf("%q: the record has the title %q and the front matter %q, want %q (%v)", tt.text, record.Title, written, tt.title, err)
		}
	}
	r := f.ingestFile(t, "plan.md", "---\ntitle: [a, b]\n---\nfour")
	if text := f.read(t, r.Path); !strings.Contains(text, "title: [a, b]\n") {
		t.Errorf("the file's own key became\n%s", text)
	}
}

func TestIngestMarkdown(t *testing.T) {
	f := open(t)
	const text = "---\ntitle: Own\ntags: [a, b]\ncolour: green\ncreated_at: 2020-01-02T03:04:05Z\n---\n# Heading\n\nbody\n"
	r := f.ingestFile(t, "plan.md", text)
	if r.Path != "raw/documents/plan.md" || r.Hash != hashOf(text) {
		t.Errorf("got %+v", r)
	}
	doc := frontmatter.Parse(f.read(t, r.Path))
	if doc.Title != "Own" || strings.Join(doc.Tags, "|") != "a|b" || doc.Metadata["colour"] != "green" ||
		doc.Created.Year() != 2020 || doc.Body != "# Heading\n\nbody\n" {
		t.Errorf("got %+v", doc)
	}
	if doc.Metadata["source_type"] != "text/markdown" {
		t.Errorf("metadata %v", doc.Metadata)
	}
	if list := f.files(t, "originals"); len(list) != 1 {
		t.Errorf("Markdown has an original: %v", list)
	}
	r, err := f.IngestFile(t.Context(), f.brain, protocol.IngestFile{
		Path: "Dir/PLAN.MD", Content: []byte(text + "more"), Title: "Given", Tags: []string{"b", "c"},
	})
	if err != nil || r.Path != "Dir/PLAN.MD" {
		t.Fatalf("got %+v, %v", r, err)
	}
	doc = frontmatter.Parse(f.read(t, r.Path))
	if doc.Title != "Given" || strings.Join(doc.Tags, "|") != "a|b|c" {
		t.Errorf("got %+v", doc.Fields)
	}
}

// TestIngestPDFWithCharset: file -bi and servlets name charsets for files that are not text.
func TestIngestPDFWithCharset(t *testing.T) {
	data, err := os.ReadFile("../convert/pdf/testdata/columns.pdf")
	if err != nil {
		t.Fatal(err)
	}
	bodies := map[string]string{}
	for _, contentType := range []string{"application/pdf", "application/pdf; charset=binary", "application/pdf;charset=ISO-8859-1"} {
		f := open(t)
		r, err := f.IngestFile(t.Context(), f.brain, protocol.IngestFile{Path: "clock.pdf", ContentType: contentType, Content: data})
		if err != nil {
			t.Errorf("%s: %v", contentType, err)
			continue
		}
		bodies[contentType] = frontmatter.Parse(f.read(t, r.Path)).Body
		if !strings.Contains(bodies[contentType], "the mainspring, in 2013") || bodies[contentType] != bodies["application/pdf"] {
			t.Errorf("%s: %q", contentType, bodies[contentType])
		}
	}
}

// TestIngestDecodedMarkdown: Markdown that the document does not repeat byte by byte is kept.
func TestIngestDecodedMarkdown(t *testing.T) {
	f := open(t)
	const text = "\xff\xfe#\x00 \x00\xe9\x00" // UTF-16
	r := f.ingestFile(t, "a.md", text)
	if doc := frontmatter.Parse(f.read(t, r.Path)); doc.Body != "# é" {
		t.Errorf("body %q", doc.Body)
	}
	if got := f.read(t, originalPath(r.Hash, convert.Markdown)); got != text {
		t.Errorf("original %q", got)
	}
}

func TestIngestPaths(t *testing.T) {
	long := strings.Repeat("é", 127) // 254 bytes
	for _, test := range []struct {
		given string
		kind  convert.Kind
		want  string
	}{
		{"a.txt", convert.Text, "raw/documents/a.txt.md"},
		{"a", convert.Text, "raw/documents/a.md"},
		{"a.md", convert.Markdown, "raw/documents/a.md"},
		{"a.md", convert.Text, "raw/documents/a.md.md"},
		{"a.markdown", convert.Markdown, "raw/documents/a.markdown.md"},
		{"x/y/a.pdf", convert.PDF, "x/y/a.pdf.md"},
		{"_a.txt", convert.Text, "raw/documents/a.txt.md"},
		{"x/__.md", convert.Markdown, "x/file.md"},
		{".md", convert.Markdown, "raw/documents/file.md"},
		{"_x/a.txt", convert.Text, "_x/a.txt.md"},
		{"x/" + long, convert.Text, "x/" + strings.Repeat("é", 93) + ".md"},
	} {
		got, err := ingestPath(test.given, test.kind)
		if err != nil || got != test.want {
			t.Errorf("%.40q: got %q, %v, want %q", test.given, got, err, test.want)
		}
		if err := store.ValidPath(withSuffix(got, strings.Repeat("a", 64))); err != nil {
			t.Errorf("%.40q: no room for a hash: %v", test.given, err)
		}
	}
	for _, given := range []string{"", "/etc/passwd", "../a.txt", "a/../../b", "a//b", "a/", `c:\a.txt`, "a\x00", "a\xff", "./a", strings.Repeat("a", 256)} {
		if got, err := ingestPath(given, convert.Text); !store.IsInvalidPath(err) {
			t.Errorf("%.40q: got %q, %v", given, got, err)
		}
	}
}

// TestIngestPathIsValid: whatever path is valid stays valid, with room for the hash.
func TestIngestPathIsValid(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		segments := rapid.SliceOfN(rapid.StringOfN(rapid.RuneFrom([]rune("aé_.漢 ")), 1, 120, -1), 1, 9).Draw(t, "segments")
		given := strings.Join(segments, "/")
		if store.ValidPath(given) != nil {
			t.Skip()
		}
		kind := rapid.SampledFrom([]convert.Kind{convert.Text, convert.Markdown}).Draw(t, "kind")
		got, err := ingestPath(given, kind)
		if len([]rune(given)) < 900 && err != nil {
			t.Fatalf("%q: %v", given, err)
		}
		if err != nil {
			return
		}
		if !frontmatter.IsMarkdown(got) || store.ValidPath(got) != nil {
			t.Fatalf("got %q", got)
		}
		if base := got[strings.LastIndex(got, "/")+1:]; strings.HasPrefix(base, "_") {
			t.Fatalf("%q is generated", got)
		}
	})
}

func TestIngestTitle(t *testing.T) {
	f := open(t)
	for _, test := range []struct{ path, text, title, want string }{
		{"a.txt", "one", "Given", "Given"},
		{"b.txt", "two", "", "b"},
		{"c.json", `{"title": "From JSON", "x": 1}`, "", "From JSON"},
		{"archive.tar.txt", "three", "", "archive.tar"},
	} {
		r, err := f.IngestFile(t.Context(), f.brain, protocol.IngestFile{Path: test.path, Content: []byte(test.text), Title: test.title})
		if err != nil {
			t.Fatal(err)
		}
		if doc := frontmatter.Parse(f.read(t, r.Path)); doc.Title != test.want {
			t.Errorf("%s: title %q, want %q", test.path, doc.Title, test.want)
		}
	}
}

func TestIngestRejects(t *testing.T) {
	f := open(t)
	file := func(change func(*protocol.IngestFile)) protocol.IngestFile {
		r := protocol.IngestFile{Path: "a.txt", Content: []byte("text")}
		change(&r)
		return r
	}
	for name, test := range map[string]struct {
		r   protocol.IngestFile
		ok  func(error) bool
		txt string
	}{
		"no path":        {r: file(func(r *protocol.IngestFile) { r.Path = "" }), ok: argument("path")},
		"empty":          {r: file(func(r *protocol.IngestFile) { r.Content = nil }), ok: argument("file")},
		"one byte above": {r: file(func(r *protocol.IngestFile) { r.Content = make([]byte, protocol.MaxIngestBytes+1) }), ok: is(ErrFileTooLarge)},
		"traversal":      {r: file(func(r *protocol.IngestFile) { r.Path = "../a.txt" }), ok: store.IsInvalidPath},
		"absolute":       {r: file(func(r *protocol.IngestFile) { r.Path = "/etc/passwd" }), ok: store.IsInvalidPath},
		"unknown as":     {r: file(func(r *protocol.IngestFile) { r.As = "docx" }), ok: argument("as")},
		"unknown kind":   {r: file(func(r *protocol.IngestFile) { r.Path, r.Content = "a.exe", []byte("MZ\x00\x03") }), ok: is(convert.ErrKind)},
		"unknown type":   {r: file(func(r *protocol.IngestFile) { r.ContentType = "image/png" }), ok: is(convert.ErrKind)},
		"long type":      {r: file(func(r *protocol.IngestFile) { r.ContentType = strings.Repeat("a", 256) }), ok: argument("content_type")},
		"blank title":    {r: file(func(r *protocol.IngestFile) { r.Title = " " }), ok: argument("title")},
		"long title":     {r: file(func(r *protocol.IngestFile) { r.Title = strings.Repeat("é", 513) }), ok: argument("title")},
		"65 tags":        {r: file(func(r *protocol.IngestFile) { r.Tags = make([]string, 65) }), ok: argument("tags")},
		"empty tag":      {r: file(func(r *protocol.IngestFile) { r.Tags = []string{""} }), ok: argument("tags")},
		"binary as text": {r: file(func(r *protocol.IngestFile) { r.Content = []byte("a\x00b") }), ok: argument("file")},
		"broken JSON":    {r: file(func(r *protocol.IngestFile) { r.Path, r.Content = "a.json", []byte(`{"a":`) }), ok: argument("file")},
		"spaces":         {r: file(func(r *protocol.IngestFile) { r.Content = []byte(" \n") }), ok: argument("file")},
		"not a charset":  {r: file(func(r *protocol.IngestFile) { r.ContentType = "text/plain; charset=none" }), ok: argument("file")},
	} {
		t.Run(name, func(t *testing.T) {
			if got, err := f.IngestFile(t.Context(), f.brain, test.r); !test.ok(err) {
				t.Errorf("got %+v, %v", got, err)
			}
		})
	}
	if list := f.files(t, ""); len(list) != 0 {
		t.Errorf("rejected requests stored %v", list)
	}
	longest := file(func(r *protocol.IngestFile) { r.Title = strings.Repeat("é", 512) })
	if _, err := f.IngestFile(t.Context(), f.brain, longest); err != nil {
		t.Errorf("at the limit: %v", err)
	}
}

func argument(name string) func(error) bool {
	return func(err error) bool { return isArgument(err, name) }
}

func is(target error) func(error) bool {
	return func(err error) bool { return errors.Is(err, target) }
}

func TestIngestAgain(t *testing.T) {
	for name, openStore := range allStores() {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			f := openDir(t, dir, openStore)
			first := f.ingestFile(t, "a.txt", "walrus")
			check := func(what string) {
				t.Helper()
				for _, path := range []string{"a.txt", "other/b.txt"} {
					again := f.ingestFile(t, path, "walrus")
					if !again.Reused || again.Path != first.Path || again.Hash != first.Hash || again.ChunkCount != 1 {
						t.Errorf("%s: got %+v", what, again)
					}
				}
				if list := f.files(t, ""); len(list) != 3 {
					t.Errorf("%s: files %v", what, list)
				}
			}
			check("same bytes")

			if err := f.store(t).Rename(t.Context(), first.Path, "moved/walrus.md"); err != nil {
				t.Fatal(err)
			}
			first.Path = "moved/walrus.md"
			check("after a rename")

			err := f.store(t).Batch(t.Context(), store.BatchOptions{}, func(b *store.Batch) error {
				if err := b.Write(t.Context(), "new.md", []byte("x")); err != nil {
					return err
				}
				if err := b.Rename(t.Context(), first.Path, "batch.md"); err != nil {
					return err
				}
				return b.Delete(t.Context(), "new.md")
			})
			if err != nil {
				t.Fatal(err)
			}
			first.Path = "batch.md"
			check("after a rename in a batch")

			if name != "memory" {
				f.shutDown(t)
				f = openDir(t, dir, openStore)
				check("after a restart")
			}

			other, err := f.IngestFile(t.Context(), f.brain, protocol.IngestFile{Path: "a.txt", Content: []byte("walrus"), As: "markdown"})
			if err != nil || other.Reused || other.Path == first.Path {
				t.Errorf("of another kind: got %+v, %v", other, err)
			}
		})
	}
}

func TestIngestTakenPath(t *testing.T) {
	f := open(t)
	one, two := f.ingestFile(t, "a.txt", "one"), f.ingestFile(t, "a.txt", "two")
	if one.Path == two.Path || two.Path != "raw/documents/a.txt-"+two.Hash[:8]+".md" {
		t.Errorf("got %+v and %+v", one, two)
	}
	f.put(t, "raw/documents/a.txt-"+hashOf("three")[:8]+".md", "taken")
	three := f.ingestFile(t, "a.txt", "three")
	if three.Path != "raw/documents/a.txt-"+three.Hash+".md" {
		t.Errorf("got %+v", three)
	}
	if err := f.store(t).Delete(t.Context(), three.Path); err != nil {
		t.Fatal(err)
	}
	f.put(t, three.Path, "taken too")
	_, err := f.IngestFile(t.Context(), f.brain, protocol.IngestFile{Path: "a.txt", Content: []byte("three")})
	if !errors.Is(err, store.ErrConflict) {
		t.Errorf("got %v", err)
	}
	f.put(t, "folder.txt.md/below.md", "x")
	if r := f.ingestFile(t, "/folder.txt"[1:], "four"); strings.Contains(r.Path, "folder.txt.md/") {
		t.Errorf("got %+v", r)
	}
}

// TestConcurrentIngest: concurrent requests with the same bytes have one document, and others do
// not fail with one that does.
func TestConcurrentIngest(t *testing.T) {
	for name, openStore := range allStores() {
		t.Run(name, func(t *testing.T) {
			f := openDir(t, t.TempDir(), openStore)
			f.put(t, "blocked", "a document, so nothing can be below it")
			var wg sync.WaitGroup
			var mu sync.Mutex
			paths := map[string]int{}
			for i := range 24 {
				wg.Go(func() {
					r := protocol.IngestFile{Path: fmt.Sprintf("f%d.txt", i%3), Content: fmt.Appendf(nil, "text %d", i%4)}
					bad := i%6 == 5
					if bad {
						r.Path = "blocked/a.txt"
						r.Content = fmt.Appendf(nil, "bad %d", i)
					}
					got, err := f.IngestFile(t.Context(), f.brain, r)
					if bad {
						if !store.IsInvalidPath(err) {
							t.Errorf("got %+v, %v", got, err)
						}
						return
					}
					if err != nil {
						t.Error(err)
					}
					mu.Lock()
					defer mu.Unlock()
					paths[got.Hash+" "+got.Path]++
				})
			}
			awaittest.Wait(t, "the goroutines", wg.Wait)
			if len(paths) != 4 {
				t.Errorf("documents %v", paths)
			}
			if list := f.files(t, "raw"); len(list) != 4 {
				t.Errorf("files %v", list)
			}
		})
	}
}

func TestIngestCanceled(t *testing.T) {
	f := open(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := f.IngestFile(ctx, f.brain, protocol.IngestFile{Path: "a.txt", Content: []byte("x")}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if list := f.files(t, ""); len(list) != 0 {
		t.Errorf("files %v", list)
	}
}

func TestIngestIntoADeletedBrain(t *testing.T) {
	f := open(t)
	if err := f.brains.Delete(t.Context(), f.brain); err != nil {
		t.Fatal(err)
	}
	_, err := f.IngestFile(t.Context(), f.brain, protocol.IngestFile{Path: "a.txt", Content: bytes.Repeat([]byte("x"), maxDirectIngest+1)})
	if !errors.Is(err, brain.ErrNotFound) {
		t.Errorf("got %v", err)
	}
}
