package convert_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"evalctl/daemon/convert"
	"evalctl/daemon/search/document"
)

// The words of any JSON value are in its document, in their order.
func TestJSONKeepsWords(t *testing.T) {
	word := rapid.StringMatching(`[a-zé]{1,8}|[a-z]{2}\n[a-z]{2}|[a-z]{2}[ "\\<&\t] ?[a-z]{2}`)
	var value func(t *rapid.T, level int) (any, []string)
	value = func(t *rapid.T, level int) (any, []string) {
		switch kind := rapid.IntRange(0, 5).Draw(t, "kind"); {
		case kind == 0 && level < 4:
			n := rapid.IntRange(0, 6).Draw(t, "elements")
			list, words := make([]any, n), []string(nil)
			for i := range list {
				v, w := value(t, level+1)
				list[i] = v
				words = append(words, w...)
			}
			return list, words
		case kind <= 3 && level < 4:
			keys := rapid.SliceOfNDistinct(rapid.StringMatching(`[a-z]{1,6}`), 0, 6, rapid.ID).Draw(t, "keys")
			slices.Sort(keys)
			object, words := map[string]any{}, []string(nil)
			for _, key := range keys {
				v, w := value(t, level+1)
				object[key] = v
				words = append(append(words, key), w...)
			}
			return object, words
		case kind == 4:
			n := json.Number(rapid.StringMatching(`-?[1-9][0-9]{0,30}(\.[0-9]{1,9})?(e[1-9])?`).Draw(t, "number"))
			return n, []string{n.String()}
		}
		s := word.Draw(t, "string") + strings.Repeat(" long", rapid.IntRange(0, 60).Draw(t, "long"))
		return s, strings.Fields(s)
	}
	rapid.Check(t, func(t *rapid.T) {
		v, want := value(t, 0)
		data, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		doc, err := convert.Convert(t.Context(), convert.JSON, "x", data)
		if err != nil {
			t.Fatal(err)
		}
		// The first line of a block may be the path of what follows: a["b"] again.
		var got []string
		for line := range strings.Lines(doc.Markdown) {
			got = append(got, strings.Fields(line)...)
		}
		if missing := notWithin(want, got); missing != "" {
			t.Fatalf("%q is missing from the document of\n%s\n%s", missing, data, doc.Markdown)
		}
	})
}

// notWithin returns the first of the words that is not in text after the one before it. In text, it
// may be within quotes, followed by a colon, or a part of a value on one line.
func notWithin(words, text []string) string {
	i := 0
	for _, word := range words {
		for ; i < len(text) && !strings.Contains(text[i], word); i++ {
		}
		if i == len(text) {
			return word
		}
	}
	return ""
}

// The passages that search makes of a text are parts of the text, apart from the marks of fences
// and of line breaks.
func TestPassagesReadLikeTheText(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(rapid.SliceOfN(markup(), 1, 20).Draw(t, "texts"), "\n\nThe clock struck again.\n\n")
		text = "Clock\n\n" + text
		doc, err := convert.Convert(t.Context(), convert.Text, "notes.txt", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		parsed, ok := document.Parse("notes.md", doc.Markdown)
		if !ok {
			t.Fatal("not indexed")
		}
		var lines []string
		for line := range strings.Lines(parsed.Text) {
			if trimmed := strings.TrimSpace(line); trimmed != "" && strings.Trim(trimmed, "`") != "" {
				lines = append(lines, trimmed)
			}
		}
		var want []string
		for line := range strings.Lines(text) {
			if trimmed := strings.TrimSpace(line); trimmed != "" && strings.Trim(trimmed, "`") != "" {
				want = append(want, trimmed)
			}
		}
		if diff := cmp.Diff(want, lines); diff != "" {
			t.Fatalf("-text +document:\n%s", diff)
		}
		if parsed.Title != "notes" {
			t.Fatalf("the text became a title: %q", parsed.Title)
		}
	})
}

func FuzzConvert(f *testing.F) {
	kinds := []convert.Kind{convert.Markdown, convert.Text, convert.JSON, convert.HTML, convert.PDF}
	add := func(pattern string, kind int) {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			f.Fatal(pattern, err)
		}
		for _, file := range files {
			data, err := os.ReadFile(file)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(kind, data)
		}
	}
	add("testdata/html/*.html", 3)
	add("pdf/testdata/encrypted.pdf", 4)
	f.Add(4, []byte("%PDF-1.4\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj 2 0 obj<</Type/Pages/Count 1/Kids[3 0 R]>>endobj "+
		"3 0 obj<</Type/Page/Parent 2 0 R/Contents 4 0 R/Resources<</Font<</F<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>>>>>>>endobj "+
		"4 0 obj<</Length 30>>stream\nBT /F 12 Tf 9 9 Td (Hi) Tj ET  \nendstream endobj trailer<</Root 1 0 R>>"))
	f.Add(0, []byte("# A\n"))
	f.Add(1, []byte("a\n\n*b* [c](d)\n- e"))
	f.Add(2, []byte(`{"a":[1,{"b":"c\nd"}],"e":"\u00e9"}`))
	f.Add(2, []byte("{\"a\":1}\n[2]\n\"x\""))
	f.Fuzz(func(t *testing.T, n int, data []byte) {
		if len(data) > 1<<16 {
			return
		}
		kind := kinds[(n%len(kinds)+len(kinds))%len(kinds)]
		doc, err := convert.Convert(t.Context(), kind, "x", data)
		if err != nil {
			if !errors.Is(err, convert.ErrInvalid) {
				t.Fatal(err)
			}
			return
		}
		if !utf8.ValidString(doc.Markdown) || strings.ContainsRune(doc.Markdown, 0) || strings.TrimSpace(doc.Markdown) == "" {
			t.Errorf("markdown %q", doc.Markdown)
		}
		if !utf8.ValidString(doc.Title) || strings.ContainsAny(doc.Title, "\n\x00\r") || utf8.RuneCountInString(doc.Title) > 512 {
			t.Errorf("title %q", doc.Title)
		}
		if kind == convert.HTML {
			if _, err := convert.Page(t.Context(), nil, data); err != nil && !errors.Is(err, convert.ErrInvalid) {
				t.Fatal(err)
			}
		}
	})
}
