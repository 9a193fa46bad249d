package memory

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"evalctl/daemon/frontmatter"
	"evalctl/daemon/protocol"
	"evalctl/daemon/store"
)

func remember(t testing.TB, s *fixture, r protocol.CreateDocument) protocol.DocumentRecord {
	t.Helper()
	got, err := s.CreateDocument(context.Background(), s.brain, r)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func TestRecordOfANewDocument(t *testing.T) {
	s := open(t)
	for name, tt := range map[string]struct {
		r                       protocol.CreateDocument
		path, title, sourceKind string
		metadata                map[string]any
	}{
		"heading names it":      {protocol.CreateDocument{Content: "\n# Über Tee\n\ngreen"}, "uber-tee.md", "Über Tee", "ingest", nil},
		"title names it":        {protocol.CreateDocument{Content: "# A", Title: "The  Kettle"}, "the-kettle.md", "The Kettle", "ingest", nil},
		"first line names it":   {protocol.CreateDocument{Content: "\n  Tea is\tgreen.  \nTwo"}, "tea-is-green.md", "Tea is green.", "ingest", nil},
		"nothing names it":      {protocol.CreateDocument{Content: " \n"}, "note.md", "note", "ingest", nil},
		"no letter for a path":  {protocol.CreateDocument{Content: "# 茶"}, "note-7e005ba311f8.md", "茶", "ingest", nil},
		"file name is title":    {protocol.CreateDocument{Content: "green", Path: "tea/cup.md"}, "tea/cup.md", "cup", "ingest", nil},
		"tags are joined":       {protocol.CreateDocument{Content: "x", Path: "t.md", Tags: []string{"a b", "c: #"}}, "t.md", "t", "ingest", map[string]any{"tags": "a b,c: #"}},
		"no extension":          {protocol.CreateDocument{Content: "# Plan", Path: "notes/plan", Tags: []string{"a"}}, "notes/plan", "Plan", "ingest", map[string]any{"tags": "a"}},
		"source":                {protocol.CreateDocument{Content: "x", Path: "s.md", Source: "reflect"}, "s.md", "s", "reflect", nil},
		"text has no room":      {protocol.CreateDocument{Content: "x", Path: "a.txt"}, "a.txt", "a", "ingest", nil},
		"own front matter":      {protocol.CreateDocument{Content: "---\ntitle: Old\nkept: 1\nsource: web\n---\nx", Path: "f.md", Title: "New"}, "f.md", "New", "ingest", map[string]any{"kept": 1.0, "source": "web"}},
		"tags of both":          {protocol.CreateDocument{Content: "---\ntags: [z, w]\n---\nx", Path: "g.md", Tags: []string{"w", "a"}}, "g.md", "g", "ingest", map[string]any{"tags": "z,w,a"}},
		"no front matter":       {protocol.CreateDocument{Content: "---\nnot: [yaml\n---\nx", Path: "b.md"}, "b.md", "b", "ingest", nil},
		"what looks like yaml":  {protocol.CreateDocument{Content: "x", Path: "y.md", Title: "true: &a *b", Metadata: map[string]any{"no": "null", "1": "---\n...", "<<": "x"}}, "y.md", "true: &a *b", "ingest", map[string]any{"no": "null", "1": "---\n...", "<<": "x"}},
		"all kinds of metadata": {protocol.CreateDocument{Content: "x", Path: "m.md", Metadata: map[string]any{"s": "", "n": 1e300, "i": 3.0, "b": true, "z": nil}}, "m.md", "m", "ingest", map[string]any{"s": "", "n": 1e300, "i": 3.0, "b": true, "z": nil}},
	} {
		t.Run(name, func(t *testing.T) {
			got := remember(t, s, tt.r)
			metadata := map[string]any{}
			maps.Copy(metadata, tt.metadata)
			if got.Path != tt.path || got.ID != tt.path || got.Title != tt.title || got.Source != tt.sourceKind || got.BrainID != "eval" {
				t.Errorf("got %+v", got)
			}
			if diff := cmp.Diff(metadata, overJSON(t, got).Metadata); diff != "" {
				t.Error(diff)
			}
			if got.CreatedAt != protocol.FormatTime(epoch) && strings.HasSuffix(tt.path, ".md") {
				t.Errorf("created at %s", got.CreatedAt)
			}
			if again, err := s.Document(t.Context(), s.brain, got.ID); err != nil || !cmp.Equal(again, got) {
				t.Errorf("%v: %s", err, cmp.Diff(got, again))
			}
		})
	}
}

// overJSON returns the record as clients see it: all numbers have the same type.
func overJSON(t testing.TB, r protocol.DocumentRecord) protocol.DocumentRecord {
	t.Helper()
	data, err := json.Marshal(r)
	if err == nil {
		r = protocol.DocumentRecord{}
		err = json.Unmarshal(data, &r)
	}
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestRecordKeepsWhatItWasGiven: the record has every field of the request, tags without the
// surrounding white space, and the content is unchanged.
func TestRecordKeepsWhatItWasGiven(t *testing.T) {
	s := open(t)
	n := 0
	text := rapid.OneOf(rapid.String(), rapid.StringMatching(`[-:#&*!|>'"%@ \n\ta-c0-9,\[\]{}~.]{0,20}`))
	short := rapid.Map(text, func(s string) string { return clip(strings.ReplaceAll(s, ",", ""), 60) })
	value := rapid.OneOf(rapid.Just[any](nil), rapid.Map(text, toAny), rapid.Map(rapid.Bool(), toAny), rapid.Map(rapid.Int32(), func(i int32) any { return float64(i) }))
	rapid.Check(t, func(rt *rapid.T) {
		n++
		body := text.Filter(func(s string) bool { return s != "" && !strings.HasPrefix(s, "-") && !strings.HasPrefix(s, "\ufeff") }).Draw(rt, "content")
		r := protocol.CreateDocument{
			Content: body, Path: fmt.Sprintf("d%d.md", n),
			Title:    rapid.OneOf(rapid.Just(""), short.Filter(func(s string) bool { return strings.TrimSpace(s) != "" })).Draw(rt, "title"),
			Tags:     rapid.SliceOfN(short.Filter(func(s string) bool { return strings.TrimSpace(s) != "" }), 0, 4).Draw(rt, "tags"),
			Metadata: rapid.MapOfN(short.Filter(func(s string) bool { return s != "" && !frontmatter.IsField(s) }), value, 0, 4).Draw(rt, "metadata"),
		}
		got := overJSON(t, remember(t, s, r))
		want := map[string]any{}
		maps.Copy(want, r.Metadata)
		var tags []string
		for _, tag := range r.Tags {
			if tag = strings.TrimSpace(tag); !slices.Contains(tags, tag) {
				tags = append(tags, tag)
			}
		}
		if len(tags) > 0 {
			want["tags"] = strings.Join(tags, ",")
		}
		if diff := cmp.Diff(want, got.Metadata); diff != "" {
			rt.Fatal(diff)
		}
		if title := strings.Join(strings.Fields(r.Title), " "); title != "" && got.Title != title {
			rt.Fatalf("title %q became %q", r.Title, got.Title)
		}
		data, err := s.store(t).Read(t.Context(), got.Path)
		if err != nil || !strings.HasSuffix(string(data), "\n---\n"+body) {
			rt.Fatalf("%v: %q does not end with %q", err, data, body)
		}
		sum := sha256.Sum256(data)
		if got.ByteSize != len(data) || got.ChecksumSHA256 != hex.EncodeToString(sum[:]) {
			rt.Fatalf("%d bytes with sum %x: %+v", len(data), sum, got)
		}
	})
}

func toAny[T any](v T) any { return v }

func TestRecordOfAnyDocument(t *testing.T) {
	for name, tt := range map[string]struct {
		text string
		want protocol.DocumentRecord // only fields that depend on the text
	}{
		"a.md":       {"---\ntitle: T\ntags: [x, 2]\nsource: compile\ncreated_at: 2024-01-02T01:00:00+01:00\nlist: [1]\nday: 2024-01-01\n---\n# H", protocol.DocumentRecord{Title: "T", Source: "compile", ContentType: "text/markdown", CreatedAt: "2024-01-02T00:00:00.000Z", Metadata: map[string]any{"tags": "x,2", "day": "2024-01-01"}}},
		"b.md":       {"---\nsource: web\ncreated_at: soon\ntags: a, b\nnan: .nan\n---\n", protocol.DocumentRecord{Title: "b", Source: "ingest", ContentType: "text/markdown", Metadata: map[string]any{"source": "web", "created_at": "soon", "tags": "a,b", "nan": ".nan"}}},
		"x/_c.json":  {`{"a":1}`, protocol.DocumentRecord{Title: "_c", Source: "ingest", ContentType: "application/json"}},
		"d.PNG":      {"\xff\x00", protocol.DocumentRecord{Title: "d", Source: "ingest", ContentType: "application/octet-stream"}},
		"plain":      {"---\ntags: [a]\n---\n", protocol.DocumentRecord{Title: "plain", Source: "ingest", ContentType: "text/markdown", Metadata: map[string]any{"tags": "a"}}},
		"deep/e.TXT": {"# not a heading", protocol.DocumentRecord{Title: "e", Source: "ingest", ContentType: "text/plain"}},
		"blank.md":   {"---\ntitle: ' '\n---\n# Heading", protocol.DocumentRecord{Title: "Heading", Source: "ingest", ContentType: "text/markdown"}},
		".md":        {"", protocol.DocumentRecord{Title: ".md", Source: "ingest", ContentType: "text/markdown"}},
	} {
		got := recordOf("eval", name, []byte(tt.text), epoch)
		want := tt.want
		want.ID, want.Path, want.BrainID, want.ByteSize = name, name, "eval", len(tt.text)
		want.UpdatedAt = protocol.FormatTime(epoch)
		if want.CreatedAt == "" {
			want.CreatedAt = want.UpdatedAt
		}
		if want.Metadata == nil {
			want.Metadata = map[string]any{}
		}
		want.Problems = nil
		if strings.Contains(tt.text, "date: soon") || strings.Contains(tt.text, "created_at: soon") {
			want.Problems = []string{badDate}
		}
		want.ChecksumSHA256, want.CommitSHA = got.ChecksumSHA256, got.CommitSHA
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s:\n%s", name, diff)
		}
	}
	long := strings.Repeat("ä", protocol.MaxDocumentTitle)
	for _, text := range []string{"# " + long + "b\n", "---\ntitle: " + long + "b\n---\n"} {
		if got := recordOf("eval", "a.md", []byte(text), epoch).Title; got != long {
			t.Errorf("a title of %d characters has %d", protocol.MaxDocumentTitle+1, utf8.RuneCountInString(got))
		}
	}
	// git hash-object of these bytes.
	if got := recordOf("eval", "a.md", []byte("hello\n"), epoch).CommitSHA; got != "ce013625030ba8dba906f756967f9e9ca394464a" {
		t.Error(got)
	}
}

func TestCreateDocumentRefuses(t *testing.T) {
	s := open(t)
	s.put(t, "taken.md", "x")
	many := make([]string, protocol.MaxDocumentTags+1)
	for i := range many {
		many[i] = "t"
	}
	for name, tt := range map[string]struct {
		r    protocol.CreateDocument
		want error  // or
		arg  string // of an *ArgumentError
	}{
		"no content":      {protocol.CreateDocument{}, nil, "content"},
		"long content":    {protocol.CreateDocument{Content: strings.Repeat("x", protocol.MaxDocumentContent+1)}, ErrTooLarge, ""},
		"long title":      {protocol.CreateDocument{Content: "x", Title: strings.Repeat("ä", 513)}, nil, "title"},
		"blank title":     {protocol.CreateDocument{Content: "x", Title: " \n"}, nil, "title"},
		"65 tags":         {protocol.CreateDocument{Content: "x", Tags: many}, nil, "tags"},
		"long tag":        {protocol.CreateDocument{Content: "x", Tags: []string{strings.Repeat("ä", 65)}}, nil, "tags"},
		"empty tag":       {protocol.CreateDocument{Content: "x", Tags: []string{"a", ""}}, nil, "tags"},
		"two tags in one": {protocol.CreateDocument{Content: "x", Tags: []string{"a,b"}}, nil, "tags"},
		"source":          {protocol.CreateDocument{Content: "x", Source: "web"}, nil, "source"},
		"empty key":       {protocol.CreateDocument{Content: "x", Metadata: map[string]any{"": 1.0}}, nil, "metadata"},
		"long key":        {protocol.CreateDocument{Content: "x", Metadata: map[string]any{strings.Repeat("k", 129): 1.0}}, nil, "metadata"},
		"own key":         {protocol.CreateDocument{Content: "x", Metadata: map[string]any{"tags": "a"}}, nil, "metadata"},
		"nested value":    {protocol.CreateDocument{Content: "x", Metadata: map[string]any{"k": map[string]any{}}}, nil, "metadata"},
		"too much":        {protocol.CreateDocument{Content: "x", Metadata: map[string]any{"k": strings.Repeat("x", 65<<10)}}, nil, "metadata"},
		"tags of a text":  {protocol.CreateDocument{Content: "x", Path: "a.txt", Tags: []string{"a"}}, nil, "path"},
		"generated":       {protocol.CreateDocument{Content: "x", Path: "notes/_a.md"}, nil, "path"},
		"invalid path":    {protocol.CreateDocument{Content: "x", Path: "/a.md"}, store.ErrInvalidPath, ""},
		"below a file":    {protocol.CreateDocument{Content: "x", Path: "taken.md/a.md"}, store.ErrInvalidPath, ""},
		"taken path":      {protocol.CreateDocument{Content: "x", Path: "taken.md"}, store.ErrConflict, ""},
		"alias in front":  {protocol.CreateDocument{Content: "---\ntitle: &a T\nb: *a\n---\n", Title: "new"}, nil, "metadata"},
	} {
		_, err := s.CreateDocument(t.Context(), s.brain, tt.r)
		arg, isArg := errors.AsType[*ArgumentError](err)
		if tt.want != nil && !errors.Is(err, tt.want) || tt.want == nil && (!isArg || arg.Name != tt.arg) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if list, err := s.Documents(t.Context(), s.brain, DocumentPage{}); err != nil || len(list.Items) != 1 {
		t.Errorf("%v: %+v", err, list)
	}
}

func TestCreateDocumentAtTheLimits(t *testing.T) {
	s := open(t)
	wide := func(n int) string { return strings.Repeat("ä", n) }
	var tags []string
	for i := range protocol.MaxDocumentTags {
		tags = append(tags, fmt.Sprintf("%02d", i)+wide(protocol.MaxDocumentTag-2))
	}
	for name, r := range map[string]protocol.CreateDocument{
		"longest title": {Content: "x", Title: wide(protocol.MaxDocumentTitle)},
		"longest path":  {Content: "x", Path: strings.Repeat(strings.Repeat("p", 127)+"/", 8)[:protocol.MaxDocumentPath-len(".md")] + ".md"},
		"most tags":     {Content: "x", Tags: tags},
		"longest key":   {Content: "x", Metadata: map[string]any{wide(protocol.MaxMetadataKey): true}},
	} {
		got := remember(t, s, r)
		if r.Title != "" && got.Title != r.Title || r.Path != "" && got.Path != r.Path ||
			len(r.Tags) > 0 && got.Metadata["tags"] != strings.Join(r.Tags, ",") || len(got.Metadata) < len(r.Metadata) {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

func TestInvalidPathIsNamed(t *testing.T) {
	s := open(t)
	_, err := s.CreateDocument(t.Context(), s.brain, protocol.CreateDocument{Content: "x", Path: "/a.md"})
	if want := `path "/a.md": invalid path: starts with a slash`; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

func TestCreatedPathsAreUnique(t *testing.T) {
	s := open(t)
	met := map[string]bool{}
	for range 5 {
		r := remember(t, s, protocol.CreateDocument{Content: "x", Title: "Tea"})
		if met[r.Path] || !strings.HasPrefix(r.Path, "tea") {
			t.Errorf("path %s", r.Path)
		}
		met[r.Path] = true
	}
}

func TestUnknownDocuments(t *testing.T) {
	s := open(t)
	s.put(t, "a/b.md", "x")
	for _, id := range []string{"a.md", "a", "../a", "", "a//b.md", "\x00"} {
		if _, err := s.Document(t.Context(), s.brain, id); !store.IsNotFound(err) {
			t.Errorf("get %q: %v", id, err)
		}
		if err := s.DeleteDocument(t.Context(), s.brain, id); !store.IsNotFound(err) {
			t.Errorf("delete %q: %v", id, err)
		}
	}
}

func TestMoreDocumentsThanAListing(t *testing.T) {
	s := open(t)
	st := s.store(t)
	err := st.Batch(t.Context(), store.BatchOptions{}, func(b *store.Batch) error {
		for i := range protocol.MaxListItems + 1 {
			if err := b.Write(t.Context(), fmt.Sprintf("%05d.md", i), nil); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Documents(t.Context(), s.brain, DocumentPage{}); !errors.Is(err, ErrTooLarge) {
		t.Error(err)
	}
	page, err := s.Documents(t.Context(), s.brain, DocumentPage{Limit: protocol.MaxListItems})
	if err != nil || len(page.Items) != protocol.MaxListItems || page.NextCursor == "" {
		t.Errorf("%v: %d items, next %q", err, len(page.Items), page.NextCursor)
	}
	page, err = s.Documents(t.Context(), s.brain, DocumentPage{Cursor: page.NextCursor})
	if err != nil || len(page.Items) != 1 || page.NextCursor != "" {
		t.Errorf("%v: %+v", err, page)
	}
}

// TestRecordsSurvive reads a record after its store was reopened.
func TestRecordsSurvive(t *testing.T) {
	for kind, openStore := range stores {
		t.Run(kind, func(t *testing.T) {
			dir := t.TempDir()
			s := openDir(t, dir, openStore)
			want := remember(t, s, protocol.CreateDocument{Content: "# Tea", Tags: []string{"a"}, Source: "extract"})
			if err := s.brains.Close(); err != nil {
				t.Fatal(err)
			}
			s = openDir(t, dir, openStore)
			got, err := s.Document(t.Context(), s.brain, want.ID)
			if err != nil || !cmp.Equal(want, got) {
				t.Errorf("%v: %s", err, cmp.Diff(want, got))
			}
			if kind == "git" {
				out, err := exec.CommandContext(t.Context(), "git", "-C", dir, "log", "--format=%s", "--find-object="+got.CommitSHA).CombinedOutput()
				if err != nil || strings.TrimSpace(string(out)) != "create a document" {
					t.Errorf("%v: %s", err, out)
				}
			}
		})
	}
}

// FuzzRecord: any Markdown has a record, and can get a title and tags.
func FuzzRecord(f *testing.F) {
	for _, text := range []string{"", "# T\n", "---\ntitle: T\ntags: [a, b]\ncreated_at: 2024-01-01\n---\nx", "---\na: &x [*x]\n<<: *x\n---\n", "---\n? [k]\n: v\n...\n", "\ufeff---\nn: .inf\n---"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		r := recordOf("eval", "a.md", []byte(text), epoch)
		if overJSON(t, r).ID != "a.md" || r.Title == "" || r.Metadata == nil {
			t.Fatalf("%+v", r)
		}
		if text == "" || !utf8.ValidString(text) {
			return
		}
		made, err := documentText(protocol.CreateDocument{Content: text, Path: "a.md", Title: "New", Tags: []string{"x", "y"}}, epoch)
		if err != nil {
			return // its front matter cannot have them
		}
		r = recordOf("eval", "a.md", []byte(made), epoch)
		all, _ := r.Metadata["tags"].(string)
		if tags := strings.Split(all, ","); r.Title != "New" || !slices.Contains(tags, "x") || !slices.Contains(tags, "y") {
			t.Fatalf("%q became %q: %+v", text, made, r)
		}
	})
}

// A document without a title is named by its first words below the front matter, also if that cannot
// be read.
func TestTitleBelowFrontMatter(t *testing.T) {
	for content, want := range map[string]string{
		"---\ntags: [home]\n---\nBought a lamp.\n":       "Bought a lamp.",
		"---\ntitle: Lamp: red\n---\nThe lamp flickers.": "The lamp flickers.",
		"---\n---\nOnly a line.\n":                       "Only a line.",
		"---\n\n***\nBelow a rule.\n":                    "Below a rule.",
	} {
		if _, title := nameOf(protocol.CreateDocument{Content: content}); title != want {
			t.Errorf("the title of %q is %q, want %q", content, title, want)
		}
	}
}
