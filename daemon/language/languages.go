package language

import (
	"strings"

	"github.com/blevesearch/snowballstem"
	"github.com/blevesearch/snowballstem/arabic"
	"github.com/blevesearch/snowballstem/danish"
	"github.com/blevesearch/snowballstem/dutch"
	"github.com/blevesearch/snowballstem/finnish"
	"github.com/blevesearch/snowballstem/french"
	"github.com/blevesearch/snowballstem/german"
	"github.com/blevesearch/snowballstem/hungarian"
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

// spec describes a language.
type spec struct {
	code   string
	script script
	// stem reduces a word in lower case, with its accents. Nil leaves it as it is.
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
}

// snowball returns the stemmer that a program of Snowball is.
func snowball(run func(*snowballstem.Env) bool) func(string) string {
	return func(word string) string {
		env := snowballstem.NewEnv(word)
		run(env)
		return env.Current()
	}
}

// stemRussian stems a word whose ё is written as е, as it mostly is. The stemmer knows no ё.
func stemRussian(word string) string {
	return snowball(russian.Stem)(strings.ReplaceAll(word, "ё", "е"))
}
