package language

import (
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

// fold converts a word to lower case, removes the accents of alphabets in which they are often left
// out, and replaces ligatures and wide letters by plain ones.
func fold(word string) string {
	for i := range len(word) {
		if word[i] >= 0x80 {
			word = strings.ReplaceAll(word, "’", "'")
			return cases.Fold().String(norm.NFC.String(string(bareRunes(word, latinScript))))
		}
	}
	return strings.ToLower(word)
}

// foldLetter folds one letter as fold does, but leaves it decomposed.
func foldLetter(r rune) []rune {
	return slices.Clip([]rune(cases.Fold().String(string(bareRunes(string(r), scriptOf(r))))))
}

// bareRunes decomposes the letters of a text and leaves out optional accents. Accents at the
// beginning of the text are on a letter of script base.
func bareRunes(text string, base script) []rune {
	kept := make([]rune, 0, len(text))
	for _, r := range norm.NFKD.String(text) {
		if !unicode.Is(unicode.Mn, r) {
			base = scriptOf(r)
			if isHidden(r) {
				continue
			}
		} else if isHidden(r) || optional(base, r) {
			continue
		}
		if plain, ok := plainLetters()[unicode.ToLower(r)]; ok {
			kept = append(kept, plain...)
			continue
		}
		kept = append(kept, r)
	}
	return kept
}

// plainLetters maps Latin letters that Unicode does not decompose to ASCII letters: letters with a
// stroke, hook or tail, as their names say, and ligatures and Nordic letters as in the transform
// Latin-ASCII of CLDR.
var plainLetters = sync.OnceValue(func() map[rune][]rune {
	of := map[rune][]rune{}
	for line := range strings.Lines(`a ᶏⱥ
ae æ
av ꜻ
b ƀƃɓᵬᶀꞗ
c ƈȼɕꞓꞔ
d đƌȡɖɗᵭᶁᶑꟈð
e ɇᶒⱸꬴ
f ƒᵮᶂꞙ
g ǥɠᶃꞡ
h ħɦⱨꞕ
i ɨᶖı
j ɉʝ
k ƙᶄⱪꝁꝃꝅꞣ
l łƚȴɫɬɭᶅⱡꝉꞎꬷꬸꬹ
m ɱᵯᶆꬺ
n ƞȵɲɳᵰᶇꞑꞥꬻŋ
o øɵⱺꝋꝍ
oe œ
p ƥᵱᵽᶈꝑꝓꝕ
q ɋʠꝗꝙ
r ɍɼɽɾᵲᵳᶉꞧꭉ
s ȿʂᵴᶊꞩꟊ
t ŧƫƭȶʈᵵⱦ
th þ
u ᶙꞹꭎꭒ
v ʋᶌⱱⱴꝟ
w ⱳ
x ᶍꭖꭗꭘꭙ
y ƴɏỿꭚ
z ƶȥɀʐʑᵶᶎⱬ
`) {
		plain, letters, _ := strings.Cut(strings.TrimSpace(line), " ")
		for _, r := range letters {
			of[r] = []rune(plain)
		}
	}
	return of
})

// ownLetters are the letters beyond ASCII that are not accented forms of other letters: letters
// with a primary difference in the collation of CLDR, and all of Vietnamese, whose marks are tones.
// The Turkish ı is left out: in ASCII its capital is written like the capital of i.
var ownLetters = func() (of [Count]string) {
	for code, letters := range map[string]string{
		"sv": "åäö", "fi": "åäö", "da": "æøå", "no": "æøå", "es": "ñ", "tr": "çğöşü", "pl": "ąćęłńóśźż", "cs": "čřšž",
		"hu": "öőüű", "ro": "ăâîșşțţ", "vi": "àảãáạăằẳẵắặâầẩẫấậđèẻẽéẹêềểễếệìỉĩíịòỏõóọôồổỗốộơờởỡớợùủũúụưừửữứựỳỷỹýỵ",
	} {
		of[Parse(code)] = letters
	}
	return of
}()

// foldIn is fold, but keeps letters with marks that are separate letters in a language.
func foldIn(l Language, word string) string {
	own := ownLetters[l]
	if own == "" || isASCII(word) {
		return fold(word)
	}
	var b strings.Builder
	for _, r := range norm.NFC.String(word) {
		if strings.ContainsRune(own, r) {
			b.WriteRune(r)
		} else {
			b.WriteString(fold(string(r)))
		}
	}
	return b.String()
}

// Bare returns a term without any optional accent, as people type it who leave them out.
func Bare(term string) string { return fold(term) }

// isHidden reports whether a character beyond ASCII shows nothing (Unicode, DerivedCoreProperties:
// Default_Ignorable_Code_Point).
func isHidden(r rune) bool {
	return r >= utf8.RuneSelf && unicode.In(r, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector, unicode.Cf) &&
		!unicode.Is(unicode.Prepended_Concatenation_Mark, r)
}

// optional reports whether a mark on a letter of a script is an accent that people leave out. The
// marks of other scripts are vowels or parts of letters.
func optional(base script, mark rune) bool {
	switch base {
	case latinScript, greekScript, hebrewScript, arabicScript:
		return true
	case cyrillicScript:
		return mark != '\u0306' // the breve of й
	}
	return false
}
