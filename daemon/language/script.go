package language

import "unicode"

// script is a writing system.
type script uint8

const (
	otherScript script = iota
	latinScript
	greekScript
	cyrillicScript
	arabicScript
	hebrewScript
	devanagariScript
	tamilScript
	// The following scripts have no spaces between words or, like Korean, have particles joined to
	// words. Every two neighbouring letters are a term.
	han
	hangul
	southeast
)

// tables has the Unicode tables of the scripts, the most frequent first.
var tables = []struct {
	script script
	table  []*unicode.RangeTable
}{
	{latinScript, []*unicode.RangeTable{unicode.Latin}},
	{cyrillicScript, []*unicode.RangeTable{unicode.Cyrillic}},
	{han, []*unicode.RangeTable{unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Bopomofo}},
	{hangul, []*unicode.RangeTable{unicode.Hangul}},
	{arabicScript, []*unicode.RangeTable{unicode.Arabic}},
	{devanagariScript, []*unicode.RangeTable{unicode.Devanagari}},
	{southeast, []*unicode.RangeTable{
		unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar, unicode.Tai_Le, unicode.New_Tai_Lue,
		unicode.Tai_Tham, unicode.Tai_Viet, unicode.Javanese, unicode.Balinese, unicode.Yi,
	}},
	{greekScript, []*unicode.RangeTable{unicode.Greek}},
	{hebrewScript, []*unicode.RangeTable{unicode.Hebrew}},
	{tamilScript, []*unicode.RangeTable{unicode.Tamil}},
}

// prolonged and halfProlonged are the Japanese marks that lengthen a vowel. Unicode assigns them to
// no script.
const prolonged, halfProlonged = 'ー', 'ｰ'

func scriptOf(r rune) script {
	if r < 0x370 {
		return latinScript // the caller asks about letters only
	}
	if r == prolonged || r == halfProlonged {
		return han
	}
	for _, t := range tables {
		if unicode.In(r, t.table...) {
			return t.script
		}
	}
	return otherScript
}

// unspaced reports whether words of a script are not separated by spaces, see southeast.
func (s script) unspaced() bool { return s >= han }

// wordScript returns the script of the first letter of a word, the Latin one for a number.
func wordScript(word string) script {
	for _, r := range word {
		if unicode.IsLetter(r) {
			return scriptOf(r)
		}
	}
	return latinScript
}
