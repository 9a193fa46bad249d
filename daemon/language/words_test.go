package language

import (
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"

	"golang.org/x/text/collate"
	textlanguage "golang.org/x/text/language"
	"golang.org/x/text/unicode/runenames"
)

func TestTerms(t *testing.T) {
	tests := []struct{ text, want string }{
		{"", ""},
		{"The cat is on the mat.", "cat mat"},
		{"Running runners ran easily", "run runner run easil"},
		{"She went, has gone and is going", "go go go"},
		{"the injury, injured injuries; a party, parties", "injur injur injur parti parti"},
		{"doing what they have done, having been", ""},
		{"children's men and mice", "child man mous"},
		{"She lives and left; he leaves, to live", "live leav leav live"},
		{"a bit, a rose and a shot; bits, roses and shots", "bit rose shot bit rose shot"},
		{"wives, knives, halves, shelves", "wife knife half shelf"},
		{"Anna's dog, Anna’s cats", "anna dog anna cat"},
		{"I don't, won’t and can't; they're we'll I'm", ""},
		{"O'Brien rock 'n' roll", "obrien rock n roll"},
		{"'quoted' dogs'", "quot dog"},
		{"Café CAFÉ cafe\u0301", "cafe cafe cafe"},
		{"STRASSE straße", "strass strass"},
		{"ﬁne Ｗｉｄｅ", "fine wide"},
		{"room 101, 3.5 km at 10:30 on 2024-05-08", "room 101 3 5 km 10 30 2024 05 08"},
		{"B12 covid19s snake_case well-known", "b12 covid19s snake case well know"},
		{"東京タワー", "東 東京 京 京タ タ タワ ワ ワー ー"},
		{"parseJSONReply of TideService, getID", "parsejsonrepl pars json repli tideservic tide servic getid get id"},
		{"HTTPServer iPhone PDFs ÉcoleNormale", "httpserver http server iphon phone pdfs pd fs ecolenormal ecol normal"},
		{"soft\u00adhy\u200bphen, word\u2060joined", "softhyphen wordjoin"},
		{"5 € → 🎂🎂", "5 € → 🎂 🎂"},
		{"Привет МИР", "привет мир"},
		{"!!! ... \u0301", ""},
		{strings.Repeat("a1", 40), strings.Repeat("a1", 32) + " " + strings.Repeat("a1", 8)},
	}
	for _, tt := range tests {
		if got := English.Terms(tt.text); !slices.Equal(got, strings.Fields(tt.want)) {
			t.Errorf("Terms(%q) = %q, want %q", tt.text, got, strings.Fields(tt.want))
		}
	}
}

// Words are found at their true offsets, whatever surrounds them, and nothing between them is one.
func FuzzWords(f *testing.F) {
	for _, s := range []string{
		"don't stop", "a' b'c''d", "東京 tower", "e\u0301'x", strings.Repeat("é", 50), "\xff'a'\xff", "ที่นี่ 한국어a水",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		last, begun := 0, 0
		for start, end := range Words(text) {
			word := text[start:end]
			if start >= end || start < begun && end > last {
				t.Fatalf("word %q at %d after one that ends at %d", word, start, last)
			}
			checkNoWord(t, text[last:max(last, start)])
			for l := range languages {
				Language(l).Term(word)
			}
			last, begun = max(last, end), start
		}
		checkNoWord(t, text[last:])
		Detect(text)
	})
}

func checkNoWord(t *testing.T, text string) {
	t.Helper()
	for _, r := range text {
		if isWord(r) {
			t.Fatalf("%q between words holds %q", text, r)
		}
	}
}

// The lists are as they were chosen: a word that is added or lost changes every English index.
func TestEnglishLists(t *testing.T) {
	if len(irregular) != 180 || len(wordLists(stopWordLists)[English]) != 83 || minBare != 6 || maxWord != 64 {
		t.Errorf("there are %d irregular forms, %d stop words, minBare %d, maxWord %d", len(irregular), len(wordLists(stopWordLists)[English]), minBare, maxWord)
	}
}

// TestPlainLetters: the accent of every Latin letter is optional, as the name of the letter says, but
// in languages in which it makes another letter: those in which CLDR's collation has a primary
// difference.
func TestPlainLetters(t *testing.T) {
	name := regexp.MustCompile(`^LATIN (?:SMALL|CAPITAL) LETTER ([A-Z]|AE|AV|OE) WITH `)
	n := 0
	for r := rune(0x80); r < 0xB000; r++ {
		m := name.FindStringSubmatch(runenames.Name(r))
		if m == nil || !unicode.IsLetter(r) || unicode.IsTitle(r) || strings.ContainsRune("Ŀŀẚ", r) {
			continue // two letters, or a letter and a sign
		}
		n++
		if got, want := fold(string(r)), strings.ToLower(m[1]); got != want {
			t.Errorf("%q (%s) is folded to %q, want %q", r, runenames.Name(r), got, want)
		}
	}
	if n < 700 {
		t.Errorf("%d letters", n)
	}
	for _, a := range alphabets() {
		if a.language == Parse("vi") {
			continue // tones have a secondary difference
		}
		tag := strings.ReplaceAll(a.language.String(), "no", "da") // whose rules it has
		primary := collate.New(textlanguage.Make(tag), collate.IgnoreCase, collate.IgnoreDiacritics)
		for _, r := range a.letters {
			if r == 'ı' {
				continue // see ownLetters
			}
			own := strings.ContainsRune(ownLetters[a.language], r)
			want := primary.CompareString(string(r), fold(string(r))) != 0
			if own != want {
				t.Errorf("%s: %q is a letter of its own: %t, want %t", a.language, r, own, want)
			}
		}
	}
}
