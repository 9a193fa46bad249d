package search

import (
	"bytes"
	"fmt"
	"math"
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

// A brain of several languages ranks the documents in each like a brain of that language: a word is
// as rare as in all languages together, counts once in the length of a question, and the letters and
// pairs of a script without spaces are compared with the passages in it.
func TestWordsOfSeveralLanguages(t *testing.T) {
	ix := New(nil)
	ix.Put(document.Document{Path: "de.md", Title: "message", Text: "Wir sind morgen nicht mehr da, und sie auch nicht."})
	for i := range 20 {
		ix.Put(document.Document{Path: fmt.Sprintf("en/%d.md", i), Title: "message", Text: "We will not be there tomorrow, and they know it."})
	}
	terms := ix.queryTerms("message tomorrow")
	if names := termNames(terms); !slices.Equal(names, []string{"messag", "de:messag", "tomorrow"}) {
		t.Fatalf("the terms are %q", names)
	}
	if en, de := ix.gainOf(terms[0]), ix.gainOf(terms[1]); en != de || en > idf(21, 20)*(ix.k1+1) {
		t.Errorf("a message gains %v, a German one %v", en, de)
	}
	if terms[0].words != .5 || terms[1].words != .5 || terms[2].words != 1 {
		t.Errorf("the terms stand for %v words, want .5, .5, 1", terms)
	}
	thai := []document.Document{
		{Path: "th/1.md", Text: "มีงูในสวน"}, {Path: "th/2.md", Text: "มีแมวในบ้าน"}, {Path: "th/3.md", Text: "มีหมาในบ้าน"},
	}
	ix.Put(thai...)
	alone := New(nil)
	alone.Put(thai...)
	share := func(ix *Index, term string) float64 {
		return ix.gain(ix.numbers[term]) / (idf(ix.live, 1) * (ix.k1 + 1))
	}
	for _, term := range []string{"มี", "งู", "บ้า", "ม"} {
		if got, want := share(ix, term), share(alone, term); math.Abs(got-want) > 1e-12 {
			t.Errorf("%s gains %v of the most, and %v in a brain of Thai", term, got, want)
		}
	}
	ix.Put(document.Document{Path: "en/a.md", Text: "The cat in the picture is 猫 to them."})
	if got, want := ix.gain(ix.numbers["猫"]), idf(ix.live, 1)*(ix.k1+1); got != want {
		t.Errorf("a letter that only English has gains %v, want %v", got, want)
	}
}

// Stems of one language do not match words of another one, a word of one letter is found where no
// spaces separate words, and the parts of names in code are words.
func TestSeparateWords(t *testing.T) {
	for _, c := range []struct {
		name, query string
		texts       []string // the first one is found, and no other
	}{
		{"stems of French", "Who cares?", []string{"Nobody cares about it.", "The red car is in the garage.", "Nous sommes à la maison avec les enfants."}},
		{"the own language first", "Wann starb Tesla?", []string{"Tesla starb in New York, und nicht in Berlin.", "Tesla died in New York, as they say."}},
		{"a Chinese letter", "谁有猫？", []string{"小李养了一只猫。", "小王喜欢狗。"}},
		{"a Korean letter", "물", []string{"나는 물을 마셨다.", "나는 빵을 먹었다."}},
		{"a Thai letter", "งู", []string{"มีงูในสวน", "มีแมวในบ้าน"}},
		{"a Khmer letter", "គោ", []string{"ខ្ញុំមានគោមួយ", "ខ្ញុំមានឆ្កែមួយ"}},
		{"a part of a name", "harbour", []string{"openHarbourGate calls parseJSONReply of TideService.", "Nets dry behind the shed."}},
		{"parts in capitals", "json reply", []string{"openHarbourGate calls parseJSONReply of TideService.", "Nets dry behind the shed."}},
		{"another style", "open_harbour_gate", []string{"openHarbourGate calls parseJSONReply.", "Nets dry behind the shed."}},
		{"as written", "openharbourgate", []string{"openHarbourGate calls parseJSONReply.", "Nets dry behind the shed."}},
		{"tones of Vietnamese", "má", []string{"Má tôi ở nhà với các con.", "Ma và mả không phải là một.", "Con mà đi thì về."}},
		{"a letter of Swedish", "får", []string{"Vi såg ett får på ängen.", "Min far är inte här och det är synd."}},
		{"a letter of Polish", "lodz", []string{"Byłem w mieście Łódź, a teraz jestem w domu.", "Nic tu nie ma."}},
		{"a stroke", "lodz soren", []string{"We met Søren in Łódź.", "Nothing here."}},
		{"an emoji", "🎂", []string{"A 🎂 for Tove", "A 🎁 for Tove"}},
		{"a soft hyphen", "harbour", []string{"The har\u00adbour is full", "The har bour"}},
		{"a hyphen that shows", "co-op", []string{"the co-op shop", "cooperation"}},
	} {
		ix := New(nil)
		for i, text := range c.texts {
			doc, _ := document.Parse(string(rune('a'+i))+".md", text)
			ix.Put(doc)
		}
		got := paths(ix.Search(Query{Text: c.query}))
		if len(got) == 0 || got[0] != "a.md" || len(got) > 1 && c.name != "the own language first" {
			t.Errorf("%s: %q finds %v, want a.md", c.name, c.query, got)
		}
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

// The language of prose with code in it is the language of the prose.
func TestLanguageBesideCode(t *testing.T) {
	code := "```go\nif x[i] != y[j] { return nil, err }\n```\n"
	ix := New(nil)
	for path, text := range map[string]string{
		"prose.md": "The harvest of the two orchards is compared before it is sold, as follows.\n" + code,
		"code.md":  code + code,
	} {
		doc, _ := document.Parse(path, text)
		ix.Put(doc)
	}
	if got := ix.docs["prose.md"].Language; got != language.English {
		t.Errorf("the prose is in %q", got)
	}
	if got := ix.docs["code.md"].Language; got != language.Code {
		t.Errorf("the code is in %q", got)
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
