// Package language turns text into the terms of a search index: it finds the words of a text,
// detects the language of a text, and reduces a word to its stem. All functions may be called
// concurrently, and depend only on their arguments.
package language

import (
	"slices"
	"strings"

	"github.com/blevesearch/snowballstem"
	"github.com/blevesearch/snowballstem/arabic"
	"github.com/blevesearch/snowballstem/danish"
	"github.com/blevesearch/snowballstem/dutch"
	"github.com/blevesearch/snowballstem/finnish"
	"github.com/blevesearch/snowballstem/french"
	"github.com/blevesearch/snowballstem/german"
	"github.com/blevesearch/snowballstem/hungarian"
	"github.com/blevesearch/snowballstem/irish"
	"github.com/blevesearch/snowballstem/italian"
	"github.com/blevesearch/snowballstem/norwegian"
	"github.com/blevesearch/snowballstem/portuguese"
	"github.com/blevesearch/snowballstem/romanian"
	"github.com/blevesearch/snowballstem/russian"
	"github.com/blevesearch/snowballstem/spanish"
	"github.com/blevesearch/snowballstem/swedish"
	"github.com/blevesearch/snowballstem/tamil"
	"github.com/blevesearch/snowballstem/turkish"
)

// Language is a language whose words have a form of their own in an index.
type Language uint8

// None is the language of a text in a language that Parse does not know. Its words are folded and
// not stemmed.
const None Language = 0

// English is the language of a text in the Latin alphabet that shows no other.
const English Language = 1

// Code is the language of source code, and of other texts that are not prose. Its words are treated
// as words in the usual language of their script. Its tag is the one of ISO 639-2 for no linguistic
// content.
var Code = Parse("zxx")

// Parse returns the language of a BCP 47 tag, such as de or pt-BR, and None for any other text.
func Parse(tag string) Language {
	code, _, _ := strings.Cut(strings.ToLower(strings.ReplaceAll(strings.TrimSpace(tag), "_", "-")), "-")
	if code == "nb" || code == "nn" {
		code = "no"
	}
	if code == "" {
		return None
	}
	return Language(max(0, slices.IndexFunc(languages[:], func(s spec) bool { return s.code == code })))
}

// Codes returns the codes that Parse knows, in the order of their numbers.
func Codes() []string {
	codes := make([]string, 0, len(languages)-1)
	for _, s := range languages[1:] {
		codes = append(codes, s.code)
	}
	return codes
}

// Count is the number of languages, None included.
const Count = len(languages)

// String returns the code of ISO 639-1, "" for None.
func (l Language) String() string { return languages[l].code }

// spec describes a language.
type spec struct {
	code   string
	script script
	// stem reduces a word in lower case, with its accents. Nil returns it unchanged.
	stem func(word string) string
}

// languages are indexed by Language. Indexes are stored with these numbers: new languages are added
// at the end.
var languages = [...]spec{
	None:    {code: ""},
	English: {"en", latinScript, stemEnglish},
	{"de", latinScript, snowball(german.Stem)}, {"fr", latinScript, snowball(french.Stem)}, {"es", latinScript, snowball(spanish.Stem)},
	{"it", latinScript, snowball(italian.Stem)}, {"pt", latinScript, snowball(portuguese.Stem)}, {"nl", latinScript, snowball(dutch.Stem)},
	{"sv", latinScript, snowball(swedish.Stem)}, {"da", latinScript, snowball(danish.Stem)}, {"no", latinScript, snowball(norwegian.Stem)},
	{"fi", latinScript, snowball(finnish.Stem)}, {"hu", latinScript, snowball(hungarian.Stem)}, {"ro", latinScript, snowball(romanian.Stem)},
	{"tr", latinScript, snowball(turkish.Stem)}, {"pl", latinScript, nil}, {"cs", latinScript, nil}, {"id", latinScript, nil}, {"vi", latinScript, nil},
	{"ru", cyrillicScript, stemRussian}, {"uk", cyrillicScript, nil},
	{"ar", arabicScript, snowball(arabic.Stem)}, {"fa", arabicScript, nil},
	{"hi", devanagariScript, stemHindi}, {"el", greekScript, nil}, {"ta", tamilScript, snowball(tamil.Stem)},
	{"ga", latinScript, snowball(irish.Stem)}, {"zxx", otherScript, nil},
	{"zh", han, nil}, {"ja", han, nil}, {"ko", hangul, nil},
	{"th", southeast, nil}, {"lo", southeast, nil}, {"km", southeast, nil}, {"my", southeast, nil},
}

// snowball returns the stemmer that a program of Snowball is.
func snowball(run func(*snowballstem.Env) bool) func(string) string {
	return func(word string) string {
		env := snowballstem.NewEnv(word)
		run(env)
		return env.Current()
	}
}

// stemRussian stems a word with ё written as е, as is usual. The stemmer does not know ё.
func stemRussian(word string) string {
	return snowball(russian.Stem)(strings.ReplaceAll(word, "ё", "е"))
}

// hindiEndings are the endings of Hindi that a word may lose, the longest first (Ramanathan and
// Rao, "A Lightweight Stemmer for Hindi", 2003).
var hindiEndings = strings.Fields(`ाएंगी ाएंगे ाऊंगी ाऊंगा ाइयों ाइयां
	ाएगी ाएगा ाओगी ाओगे एंगी ेंगी एंगे ेंगे ूंगी ूंगा ातीं नाओं नाएं ताओं ताएं ियों ियां
	ाकर ाइए ाईं ाया ेगी ेगा ोगी ोगे ाने ाना ाते ाती ाता तीं ाओं ाएं ुओं ुएं ुआं
	कर ाओ िए ाई ाए ने नी ना ते ीं ती ता ां ों ें ो े ू ु ी ि ा`)

// stemHindi removes the longest ending that leaves two characters at least.
func stemHindi(word string) string {
	word = strings.ReplaceAll(word, "ँ", "ं")
	for _, ending := range hindiEndings {
		if rest, ok := strings.CutSuffix(word, ending); ok && len([]rune(rest)) > 1 {
			return rest
		}
	}
	return word
}

// usual has the usual language of each script. Words in another script than their text's are reduced
// as in that language.
var usual = [...]Language{
	latinScript: English, cyrillicScript: Parse("ru"), arabicScript: Parse("ar"), devanagariScript: Parse("hi"), greekScript: Parse("el"),
	tamilScript: Parse("ta"), southeast: None,
}
