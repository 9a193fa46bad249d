package search

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"unicode"

	"golang.org/x/text/unicode/norm"

	"evalctl/daemon/language"
	"evalctl/daemon/search/document"
	"evalctl/daemon/search/question"
	"evalctl/internal/sharedtest"
)

// declaration is a text in one language, cut into five documents.
type declaration struct {
	Tag, Name string
	Articles  []string
}

func (d declaration) path(i int) string { return fmt.Sprintf("%s/%d.md", d.Tag, i) }

// unspacedScripts are written without spaces between words, so that a word is looked for inside a
// longer run of letters.
var unspacedScripts = []*unicode.RangeTable{
	unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar,
	unicode.Javanese, unicode.Tai_Tham, unicode.Yi,
}

// uniqueParts returns a word and a phrase of a text that are not in others, which plainWords made:
// of a script without spaces, four to six letters, of which no other text has the first three, and
// six to eight letters; of others, the longest word of which no other text has the beginning, and
// three words.
func uniqueParts(text string, others []string) (word, phrase string) {
	unique := func(part string) bool {
		part = plainWords(part)
		return !slices.ContainsFunc(others, func(other string) bool { return strings.Contains(other, part) })
	}
	words := wordsOf(text)
	for i, w := range words {
		letters := clusters(w)
		if r := []rune(w)[0]; unicode.In(r, unspacedScripts...) {
			for n := 8; n >= 4; n-- {
				for at := 1; at+n < len(letters); at++ {
					part := strings.Join(letters[at:at+n], "")
					if n <= 6 && word == "" && unique(strings.Join(letters[at:at+3], "")) {
						word = part
					}
					if n >= 6 && phrase == "" && unique(part) {
						phrase = part
					}
				}
			}
			continue
		}
		if len(w) > len(word) && unique(strings.Join(letters[:min(4, len(letters))], "")) {
			word = w
		}
		if part := strings.Join(words[i:min(i+3, len(words))], " "); i > 0 && phrase == "" && unique(part) {
			phrase = part
		}
	}
	return word, phrase
}

func wordsOf(text string) []string {
	return strings.FieldsFunc(text, func(r rune) bool {
		return !unicode.In(r, unicode.Letter, unicode.Mark, unicode.Digit, unicode.Cf) && r != '\'' && r != '’'
	})
}

// plainWords returns the words of a text without case and marks.
func plainWords(text string) string {
	text = strings.Map(func(r rune) rune {
		if unicode.Is(unicode.Mn, r) {
			return -1
		}
		return unicode.ToLower(r)
	}, norm.NFKD.String(strings.Join(wordsOf(text), " ")))
	return text
}

// clusters returns the letters of a text, each with the marks on it.
func clusters(text string) (letters []string) {
	for _, r := range text {
		if n := len(letters); n > 0 && (unicode.IsMark(r) || unicode.Is(unicode.Cf, r)) {
			letters[n-1] += string(r)
		} else {
			letters = append(letters, string(r))
		}
	}
	return letters
}

// In each of 164 languages, a word and a phrase of a text find it, in a brain of that language and
// in one of all languages, as they are written, in capitals, composed or decomposed.
func TestEveryLanguage(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	declarations := sharedtest.Lines[declaration](t, "testdata/udhr.jsonl")
	everything, all := New(nil), map[string]string{} // by text
	for _, d := range declarations {
		for i, text := range d.Articles {
			everything.Put(document.Document{Path: d.path(i), Text: text})
			all[text] = plainWords(text)
		}
	}
	without := func(texts []string, text string) (plain []string) {
		for _, other := range texts {
			if other != text {
				plain = append(plain, all[other])
			}
		}
		return plain
	}
	searched := 0
	for _, d := range declarations {
		own := New(nil)
		for i, text := range d.Articles {
			own.Put(document.Document{Path: d.path(i), Text: text})
		}
		tested := false
		for _, text := range d.Articles {
			word, phrase := uniqueParts(text, without(d.Articles, text))
			if word == "" || phrase == "" {
				continue
			}
			tested = true
			d.expectFirst(t, own, text, `"`+phrase+`"`, `"`+norm.NFD.String(phrase)+`"`)
			isFunctionWord := func(l language.Language) bool { return l.Term(word) == "" }
			if slices.ContainsFunc(own.spoken(), isFunctionWord) {
				word = `"` + word + `"`
			}
			d.expectFirst(t, own, text, word, norm.NFD.String(word))
			if !strings.HasPrefix(d.Tag, "t") && d.Tag != "az-Latn" { // where i and ı are different letters
				d.expectFirst(t, own, text, strings.ToUpper(word))
			}
			if _, phrase := uniqueParts(text, without(slices.Collect(maps.Keys(all)), text)); phrase != "" {
				d.expectFirst(t, everything, text, `"`+phrase+`"`, `"`+norm.NFD.String(phrase)+`"`)
			}
		}
		if tested {
			searched++
		} else {
			t.Errorf("%s: no article has a word and a phrase of its own", d.Name)
		}
	}
	if searched < 160 {
		t.Errorf("%d languages were searched", searched)
	}
}

func (d declaration) expectFirst(t *testing.T, ix *Index, text string, queries ...string) {
	t.Helper()
	for _, query := range queries {
		words, conditions, _ := question.ParseOperators(query)
		res := search(t, NewSearcher(ix, Config{}), Query{Text: words, Conditions: conditions})
		if len(res.Hits) == 0 || res.Hits[0].Text != text {
			t.Errorf("%s: %s finds %v, want %q", d.Name, query, paths(res), text)
		}
	}
}

// The same word is found in each way in which people write it.
func TestSpellings(t *testing.T) {
	for _, c := range []struct{ name, text, query string }{
		{"a joiner as in the text", "کتابی که می\u200cخواهم اینجاست", "می\u200cخواهم"},
		{"a space for a joiner", "کتابی که می\u200cخواهم اینجاست", "می خواهم"},
		{"Sinhala with a joiner", "ශ්\u200dරී ලංකාව ලස්සනයි", "ශ්\u200dරී"},
		{"Hebrew without points", "שָׁלוֹם לכולם", "שלום"},
		{"Arabic without vowels", "السَّلَامُ عليكم", "السلام"},
		{"decomposed letters", "Der Mu\u0308ller mahlt", "Müller"},
		{"without accents", "Nous sommes à l'hôtel avec les enfants", "hotel"},
		{"Korean, decomposed", norm.NFD.String("서울에서 만났다"), "서울"},
		{"Korean, composed", "서울에서 만났다", norm.NFD.String("서울에서")},
		{"wide letters", "ＮＥＣの製品", "nec"},
		{"Thai in a phrase", "ฉันชอบกินข้าวผัดที่ตลาด", "ข้าวผัด"},
		{"Lao in a phrase", "ຂ້ອຍມັກກິນເຂົ້າໜຽວຫຼາຍ", "ເຂົ້າໜຽວ"},
		{"Khmer in a phrase", "ខ្ញុំចូលចិត្តញ៉ាំបាយនៅផ្ទះ", "ចូលចិត្ត"},
		{"Burmese in a phrase", "ကျွန်တော်ထမင်းစားနေပါတယ်", "ထမင်း"},
		{"Tibetan", "བོད་ཀྱི་སྐད་ཡིག་སློབ་པ།", "སྐད་ཡིག"},
		{"Javanese in a phrase", "ꦲꦏ꧀ꦱꦫꦗꦮꦢꦶꦮꦕ", "ꦗꦮ"},
		{"Yi in a phrase", "ꊿꑞꂷꉬꂿꐚꁨꀋꉆ", "ꉬꂿꐚ"},
		{"Chinese in a phrase", "我們在臺北車站見面", "臺北"},
		{"Japanese in a phrase", "明日は東京駅で会いましょう", "東京駅"},
	} {
		ix := New(nil)
		ix.Put(document.Document{Path: "other.txt", Text: "Something else. 其他 อื่น 다른 что-то"}, document.Document{Path: "it.txt", Text: c.text})
		for _, query := range []string{c.query, `"` + c.query + `"`} {
			words, conditions, _ := question.ParseOperators(query)
			res := search(t, NewSearcher(ix, Config{}), Query{Text: words, Conditions: conditions})
			if got := paths(res); !slices.Equal(got, []string{"it.txt"}) {
				t.Errorf("%s: %s finds %q in %q", c.name, query, got, c.text)
			}
		}
	}
}

// TestShare: a text counts about as many words in each script as its translations have content
// words.
func TestShare(t *testing.T) {
	var words []float64
	pairs := map[string]float64{}
	for _, d := range sharedtest.Lines[declaration](t, "testdata/udhr.jsonl") {
		text := strings.Join(d.Articles, "\n")
		if l := language.Parse(d.Tag); l != language.None {
			words = append(words, float64(len(l.Terms(text))))
		}
		for start, end := range language.Words(text) {
			if share := language.Share(text[start:end]); share < 1 {
				pairs[d.Tag] += share
			}
		}
	}
	slices.Sort(words)
	median := words[len(words)/2]
	for _, tag := range []string{"zh", "ja", "ko", "th", "lo", "km", "my"} {
		if n := pairs[tag]; n < .7*median || n > 1.4*median {
			t.Errorf("%s has %.0f words, the median of other languages is %.0f", tag, n, median)
		}
	}
}
