package language

import (
	_ "embed"
	"iter"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"
)

// evidence is the evidence of a text's language.
type evidence struct {
	script script // of most letters, the Latin one without any
	all    int    // the words of the text
	// words has the number of different words of more than one byte that show each language of the
	// script. weight has the sum of the weights of all their occurrences.
	words  [Count]int
	weight [Count]float64
}

func readEvidence(text string) evidence {
	text = beginning(text)
	most, other := mainScripts(text)
	e := evidenceIn(most, text)
	if other == otherScript {
		return e
	}
	for l := range e.weight {
		if e.shows(Language(l)) {
			return e
		}
	}
	return evidenceIn(other, text)
}

// shows reports whether a text shows a language by two different words, which count enough and are
// a proportion of its words.
func (e *evidence) shows(l Language) bool {
	return e.words[l] > 1 && e.weight[l] >= max(enough, proportion*float64(e.all))
}

func evidenceIn(s script, text string) evidence {
	e := evidence{script: s}
	if s.unspaced() {
		return e
	}
	seen := map[string]bool{}
	for start, end := range Words(text) {
		e.all++
		for part := range functionParts(text[start:end]) {
			shown := showing(e.script, part)
			for _, l := range shown {
				e.weight[l] += 1 / float64(len(shown))
			}
			if len(part) > 1 && len(shown) > 0 && !seen[part] {
				seen[part] = true
				for _, l := range shown {
					e.words[l]++
				}
			}
		}
	}
	if l := e.excluded(text); l != None {
		e.weight[l] = 0
	}
	return e
}

// excluded returns the usual language of a script if a text has letters that are not its own.
func (e *evidence) excluded(text string) Language {
	if e.script == arabicScript && strings.ContainsAny(text, "پچژگ") ||
		e.script == cyrillicScript && strings.ContainsAny(text, "іїєґ") {
		return usual[e.script]
	}
	return None
}

// showing returns the languages of a script that a word in lower case is evidence for: the
// languages that have it among their frequent words, else the languages whose alphabets have its
// letters, if some alphabets lack one of them.
func showing(s script, word string) []Language {
	if of := languagesOf()[s][word]; of != nil {
		return of
	}
	if s != latinScript || isASCII(word) {
		return nil
	}
	var of []Language
	for _, a := range alphabets() {
		if !strings.ContainsFunc(word, func(r rune) bool { return r >= utf8.RuneSelf && r != '’' && !strings.ContainsRune(a.letters, r) }) {
			of = append(of, a.language)
		}
	}
	return of
}

func isASCII(word string) bool {
	for i := range len(word) {
		if word[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// alphabet has the letters of a language other than ASCII.
type alphabet struct {
	language Language
	letters  string
}

// alphabets are the exemplar characters of CLDR (common/main) beside ASCII.
var alphabets = sync.OnceValue(func() (all []alphabet) {
	for line := range strings.Lines(`de äöüß
fr àâæçéèêëîïôœùûüÿ
es áéíñóúü
it àéèìíîóòùú
pt áâãàçéêíóôõú
nl áäéëíïóöúü
sv åäöàé
da æøåéáó
no æøåéèêóòâôà
fi åäöšž
hu áéíóöőúüű
ro ăâîșțşţ
tr çğıöşüâîû
pl ąćęłńóśźż
cs áčďéěíňóřšťúůýž
vi àảãáạăằẳẵắặâầẩẫấậđèẻẽéẹêềểễếệìỉĩíịòỏõóọôồổỗốộơờởỡớợùủũúụưừửữứựỳỷỹýỵ
ga áéíóú
`) {
		code, letters, _ := strings.Cut(strings.TrimSpace(line), " ")
		all = append(all, alphabet{Parse(code), letters})
	}
	return all
})

//go:embed common.txt
var commonLists string

//go:embed calendar.txt
var calendarLists string

// languagesOf maps a script and a word in lower case, with all its accents, to languages. It has
// the function words, the common words and the names of months and weekdays of each language.
// Without its accents, the word may be any word of another language.
var languagesOf = sync.OnceValue(func() (of [southeast + 1]map[string][]Language) {
	for s := range of {
		of[s] = map[string][]Language{}
	}
	add := func(l Language, word string) {
		s := languages[l].script
		if !slices.Contains(of[s][word], l) {
			of[s][word] = append(of[s][word], l)
		}
	}
	for l, words := range stopWords() {
		for word, written := range words {
			if written {
				add(Language(l), word)
			}
		}
	}
	for l, words := range wordLists(commonLists) {
		for _, word := range words {
			add(Language(l), word)
		}
	}
	for l, names := range wordLists(calendarLists) {
		for _, forms := range names {
			for form := range strings.SplitSeq(forms, "|") {
				if utf8.RuneCountInString(form) > 3 {
					add(Language(l), form)
				}
			}
		}
	}
	for _, name := range slices.Concat(monthNames(), weekdayNames()) {
		add(English, name)
	}
	return of
})

// functionParts yields the words that an apostrophe joins, in lower case. An English short form
// yields the word before it and an English function word.
func functionParts(word string) iter.Seq[string] {
	return func(yield func(string) bool) {
		word = strings.ReplaceAll(strings.ToLower(word), "’", "'")
		if !strings.Contains(word, "'") {
			yield(word)
			return
		}
		if short := contraction(word); short == "" || strings.HasPrefix(word, short+"'") {
			_ = yield("would") && yield(short)
			return
		}
		for part := range strings.SplitSeq(word, "'") {
			if !yield(part) {
				return
			}
		}
	}
}
