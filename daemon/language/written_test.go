package language

import (
	"strings"
	"testing"
	"unicode"

	"golang.org/x/text/unicode/norm"
	"pgregory.net/rapid"
)

func TestPhrase(t *testing.T) {
	for _, c := range []struct {
		phrase, text string
		prefix       bool
		want         string // the places that are found, separated by |
	}{
		{phrase: "red car", text: "A Red car, a red  CAR and two red cars.", want: "Red car|red  CAR"},
		{phrase: "red car", text: "**Red** car; red. Car; redcar; red new car", want: "Red** car|red. Car"},
		{phrase: "to be or not to be", text: "To be, or not to be: that is", want: "To be, or not to be"},
		{phrase: "cat", text: "concat cat category", want: "cat"},
		{phrase: "cat", text: "concat cat category", prefix: true, want: "cat|cat"},
		{phrase: "red ca", text: "red car, red, cats, red dog", prefix: true, want: "red ca|red, ca"},
		{phrase: "cafe", text: "Café, CAFE\u0301 and cafés", want: "Café|CAFE\u0301"},
		{phrase: "Café", text: "the cafe", want: "cafe"},
		{phrase: "strasse", text: "Die Straße", want: "Straße"},
		{phrase: "istanbul", text: "İstanbul'da, ISTANBUL", want: "İstanbul|ISTANBUL"},
		{phrase: "eau", text: "l'eau et l’eau", want: "eau|eau"},
		{phrase: "don't", text: "I don’t, do not", want: "don’t"},
		{phrase: "ёлка", text: "Елка и ёлки", want: "Елка"},
		{phrase: "мой", text: "мои, МОЙ, мои\u0306", want: "МОЙ|мои\u0306"},
		{phrase: "東京都", text: "在東京都庁前", want: "東京都"},
		{phrase: "京", text: "在東京都庁前", want: "京"},
		{phrase: "JR東日本", text: "JR 東日本の駅、JR東日本", want: "JR 東日本|JR東日本"},
		{phrase: "ประเทศไทย", text: "ในประเทศไทยมี", want: "ประเทศไทย"},
		{phrase: "ก", text: "กิ กา ก", want: "ก|ก"},
		{phrase: "한국", text: norm.NFD.String("대한국민"), want: norm.NFD.String("한국")},
		{phrase: "ｗｉｄｅ", text: "wide", want: "wide"},
		{phrase: "fi", text: "ﬁ ﬁn", want: "ﬁ"},
		{phrase: "f", text: "ﬁn", prefix: true, want: "ﬁ"},
		{phrase: "سلام", text: "سَلَام عليكم", want: "سَلَام"},
		{phrase: "3.5", text: "3.5 or 3,5 or 35", want: "3.5|3,5"},
		{phrase: "", text: "anything", want: ""},
		{phrase: "!?", text: "anything!?", prefix: true, want: ""},
	} {
		var got []string
		for start, end := range NewPhrase(c.phrase, c.prefix).Find(c.text) {
			got = append(got, c.text[start:end])
		}
		if found := strings.Join(got, "|"); found != c.want {
			t.Errorf("%q (prefix: %t) is found in %q as %q, want %q", c.phrase, c.prefix, c.text, found, c.want)
		}
	}
}

// A part of a text between two boundaries of words is found in it, in any case and form, and a text
// in which a phrase is found contains its letters in order.
func TestPhraseProperty(t *testing.T) {
	letters := rapid.StringOfN(rapid.SampledFrom([]rune("abAB é́ß'-. ئ東京กำเ한국मनीйё\u200d")), 0, 30, -1)
	rapid.Check(t, func(rt *rapid.T) {
		text := letters.Draw(rt, "text")
		var cuts []int
		whole := 0
		for start, end := range Words(text) {
			if end > whole { // not a part of another word
				cuts, whole = append(cuts, start, end), end
			}
		}
		if len(cuts) > 0 {
			i := rapid.IntRange(0, len(cuts)/2-1).Draw(rt, "first word")
			j := rapid.IntRange(i, len(cuts)/2-1).Draw(rt, "last word")
			part := text[cuts[2*i]:cuts[2*j+1]]
			for _, form := range []string{part, strings.ToUpper(part), norm.NFD.String(part), norm.NFC.String(part)} {
				if p := NewPhrase(form, false); !p.Empty() && !p.In(text) {
					rt.Errorf("%q is not found in %q", form, text)
				}
			}
		}
		p := NewPhrase(letters.Draw(rt, "phrase"), rapid.Bool().Draw(rt, "prefix"))
		last := 0
		for start, end := range p.Find(text) {
			if start < last || end <= start {
				rt.Fatalf("a place from %d to %d after %d", start, end, last)
			}
			last = end
			found := string(NewPhrase(text[start:end], false).runes)
			if !strings.HasPrefix(found, string(p.runes)) {
				rt.Errorf("%q is found for %q", text[start:end], string(p.runes))
			}
		}
	})
}

// The table for the basic plane says what the functions say that it was made from.
func TestFoldedLetters(t *testing.T) {
	for r := rune(0x80); r < 0x20000; r++ {
		if got, want := kindOf(r), newKind(r); got != want {
			t.Fatalf("%U is of kind %d, want %d", r, got, want)
		}
		if kindOf(r) == noLetter || kindOf(r) == mark {
			continue
		}
		got, _ := appendFolded(nil, r, otherScript)
		if unicode.IsMark([]rune(norm.NFKD.String(string(r)))[0]) {
			continue // which fold takes for one on a Latin letter
		}
		want := fold(string(r))
		if norm.NFC.String(string(got)) != norm.NFC.String(want) {
			t.Errorf("%U is folded to %q, want %q", r, string(got), want)
		}
	}
}

func BenchmarkPhrase(b *testing.B) {
	for _, text := range []struct{ name, text, phrase string }{
		{"latin", strings.Repeat("The quick brown fox jumps over the lazy dog, and sat. ", 2000), "brown bear"},
		{"cyrillic", strings.Repeat("Съешь же ещё этих мягких французских булок. ", 2000), "мягкий хлеб"},
		{"thai", strings.Repeat("เป็นมนุษย์สุดประเสริฐเลิศคุณค่า", 2000), "มนุษย์โลก"},
	} {
		b.Run(text.name, func(b *testing.B) {
			p := NewPhrase(text.phrase, false)
			b.SetBytes(int64(len(text.text)))
			for b.Loop() {
				p.In(text.text)
			}
		})
	}
}
