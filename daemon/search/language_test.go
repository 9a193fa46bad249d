package search

import (
	"bytes"
	"slices"
	"testing"
	"time"

	"evalctl/daemon/language"
	"evalctl/daemon/search/document"
)

// A question finds other forms of its words, in each language of a brain, and only the languages
// that documents are written in count.
func TestLanguages(t *testing.T) {
	ix := New(nil)
	for path, text := range map[string]string{
		"de.md": "Die Häuser am Fluss sind alt und sehr schön.",
		"en.md": "The houses by the river are old, and dying is not in them.",
		"fr.md": "Il y a de vieilles maisons près de l'eau.",
		"th.md": "เธอย้ายไปลิสบอนในปี 2021",
		"ko.md": "그녀는 2021년에 서울에서 리스본으로 이사했다.",
		"ru.md": "Она переехала в новый дом.",
	} {
		doc, _ := document.Parse(path, text)
		ix.Put(doc)
	}
	for question, want := range map[string]string{
		"Wo steht das alte Haus?": "de.md", "the house": "en.md", "Où est la maison ?": "fr.md", "l'eau": "fr.md",
		"ลิสบอน": "th.md", "서울": "ko.md", "новые дома": "ru.md",
	} {
		got := paths(ix.Search(Query{Text: question}))
		if len(got) == 0 || got[0] != want {
			t.Errorf("%q finds %v, want %s first", question, got, want)
		}
	}
	// "die" is no word of a German question, though it is one of an English document.
	if got := paths(ix.Search(Query{Text: "Wer sind die?"})); len(got) > 0 {
		t.Errorf("function words of German find %v", got)
	}
}

func TestGivenLanguage(t *testing.T) {
	german := language.Parse("de")
	text := "Häuser"
	for _, c := range []struct {
		name, front string
		opts        *Options
		want        language.Language
	}{
		{"detected", "", nil, language.English},
		{"option", "", &Options{Language: german}, german},
		{"front matter", "---\nlanguage: de-AT\n---\n", nil, german},
		{"front matter first", "---\nlanguage: en\n---\n", &Options{Language: german}, language.English},
		{"unknown tag", "---\nlanguage: Deutsch\n---\n", nil, language.English},
	} {
		t.Run(c.name, func(t *testing.T) {
			ix := New(c.opts)
			doc, _ := document.Parse("a.md", c.front+text)
			ix.Put(doc)
			if got := ix.docs["a.md"].Language; got != c.want {
				t.Errorf("the language is %q, want %q", got, c.want)
			}
			if found := len(ix.Search(Query{Text: "Haus"}).Hits) > 0; found != (c.want == german) {
				t.Errorf("Haus found: %v", found)
			}
		})
	}
}

// A snapshot keeps the languages of documents, and is not used with another option.
func TestLanguageSnapshot(t *testing.T) {
	ix := New(nil)
	doc, _ := document.Parse("a.md", "Die Häuser am Fluss sind alt.")
	ix.Put(doc)
	var file bytes.Buffer
	if err := ix.WriteSnapshot(&file, time.Now()); err != nil {
		t.Fatal(err)
	}
	read, _, err := ReadSnapshot(bytes.NewReader(file.Bytes()), int64(file.Len()), nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := paths(read.Search(Query{Text: "Haus"})); !slices.Equal(got, []string{"a.md"}) {
		t.Errorf("found %v", got)
	}
	read.Delete("a.md")
	if n := len(read.spoken()); n != 0 {
		t.Errorf("%d languages without a document", n)
	}
	other := &Options{Language: language.Parse("de")}
	if _, _, err := ReadSnapshot(bytes.NewReader(file.Bytes()), int64(file.Len()), other); err == nil {
		t.Error("an index with another language reads the snapshot")
	}
}

// Pairs of letters that overlap are highlighted as one.
func TestOverlappingHighlights(t *testing.T) {
	ix := New(nil)
	ix.Put(document.Document{Path: "a.txt", Text: "昨日、東京タワーに行った。"})
	got := ix.Search(Query{Text: "東京タワー"}).Hits[0].Highlights
	if want := []Span{{3, 8}}; !slices.Equal(got, want) {
		t.Errorf("highlights are %v, want %v", got, want)
	}
}
