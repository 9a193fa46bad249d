package scorer

import (
	"strings"
	"unicode/utf8"
)

// stem returns the stem of a lower-case English word by Porter's algorithm with NLTK's extensions,
// as used by LoCoMo's token F1.
func stem(word string) string {
	if s, ok := irregular[word]; ok {
		return s
	}
	if utf8.RuneCountInString(word) <= 2 {
		return word
	}
	word = stemPlural(word)
	word = stemPast(word)
	if before, ok := strings.CutSuffix(word, "y"); ok && utf8.RuneCountInString(before) > 1 && endsConsonant(before) {
		word = before + "i"
	}
	word = stemDouble(word)
	word = replaceSuffix(word, suffixes3)
	word = stemLong(word)
	return stemEnd(word)
}

// irregular are words that the rules would stem wrongly.
var irregular = map[string]string{
	"sky": "sky", "skies": "sky", "dying": "die", "lying": "lie", "tying": "tie", "news": "news",
	"innings": "inning", "inning": "inning", "outings": "outing", "outing": "outing",
	"cannings": "canning", "canning": "canning", "howe": "howe", "proceed": "proceed", "exceed": "exceed", "succeed": "succeed",
}

// consonants reports for each letter whether it is a consonant. A y is a consonant at the start and
// after a vowel.
func consonants(word string) (out []bool) {
	for _, r := range word {
		is := !strings.ContainsRune("aeiou", r)
		if r == 'y' {
			is = len(out) == 0 || !out[len(out)-1]
		}
		out = append(out, is)
	}
	return out
}

// measure counts the consonants that follow a vowel.
func measure(word string) (m int) {
	flags := consonants(word)
	for i := 1; i < len(flags); i++ {
		if flags[i] && !flags[i-1] {
			m++
		}
	}
	return m
}

func hasVowel(word string) bool {
	for _, consonant := range consonants(word) {
		if !consonant {
			return true
		}
	}
	return false
}

func endsConsonant(word string) bool {
	flags := consonants(word)
	return len(flags) > 0 && flags[len(flags)-1]
}

// endsShort reports whether a word ends with consonant, vowel, consonant, the last not w, x or y,
// or consists of a vowel and a consonant.
func endsShort(word string) bool {
	f := consonants(word)
	n := len(f)
	if n == 2 {
		return !f[0] && f[1]
	}
	return n >= 3 && f[n-3] && !f[n-2] && f[n-1] && !strings.ContainsAny(word[len(word)-1:], "wxy")
}

func stemPlural(word string) string {
	if strings.HasSuffix(word, "ies") && utf8.RuneCountInString(word) == 4 {
		return strings.TrimSuffix(word, "s")
	}
	for _, rule := range [][2]string{{"sses", "ss"}, {"ies", "i"}, {"ss", "ss"}, {"s", ""}} {
		if before, ok := strings.CutSuffix(word, rule[0]); ok {
			return before + rule[1]
		}
	}
	return word
}

func stemPast(word string) string {
	if before, ok := strings.CutSuffix(word, "ied"); ok {
		if utf8.RuneCountInString(word) == 4 {
			return before + "ie"
		}
		return before + "i"
	}
	if before, ok := strings.CutSuffix(word, "eed"); ok {
		if measure(before) > 0 {
			return before + "ee"
		}
		return word
	}
	for _, suffix := range []string{"ed", "ing"} {
		if before, ok := strings.CutSuffix(word, suffix); ok && hasVowel(before) {
			return restore(before)
		}
	}
	return word
}

// restore gives a word without -ed or -ing its original ending.
func restore(word string) string {
	for _, end := range []string{"at", "bl", "iz"} {
		if strings.HasSuffix(word, end) {
			return word + "e"
		}
	}
	if n := len(word); n >= 2 && word[n-1] == word[n-2] && endsConsonant(word) {
		if strings.ContainsAny(word[n-1:], "lsz") {
			return word
		}
		return word[:n-1]
	}
	if measure(word) == 1 && endsShort(word) {
		return word + "e"
	}
	return word
}

// suffixRule replaces a suffix.
type suffixRule struct{ suffix, end string }

var (
	suffixes2 = []suffixRule{
		{"ational", "ate"}, {"tional", "tion"}, {"enci", "ence"}, {"anci", "ance"}, {"izer", "ize"}, {"bli", "ble"},
		{"alli", "al"}, {"entli", "ent"}, {"eli", "e"}, {"ousli", "ous"}, {"ization", "ize"}, {"ation", "ate"},
		{"ator", "ate"}, {"alism", "al"}, {"iveness", "ive"}, {"fulness", "ful"}, {"ousness", "ous"},
		{"aliti", "al"}, {"iviti", "ive"}, {"biliti", "ble"}, {"fulli", "ful"},
	}
	suffixes3 = []suffixRule{
		{"icate", "ic"}, {"ative", ""}, {"alize", "al"}, {"iciti", "ic"}, {"ical", "ic"}, {"ful", ""}, {"ness", ""},
	}
	suffixes4 = []string{
		"al", "ance", "ence", "er", "ic", "able", "ible", "ant", "ement", "ment", "ent", "ion", "ou", "ism", "ate",
		"iti", "ous", "ive", "ize",
	}
)

// replaceSuffix applies the first rule whose suffix matches, if the rest has a measure.
func replaceSuffix(word string, rules []suffixRule) string {
	for _, r := range rules {
		if before, ok := strings.CutSuffix(word, r.suffix); ok {
			if measure(before) > 0 {
				return before + r.end
			}
			return word
		}
	}
	return word
}

func stemDouble(word string) string {
	if before, ok := strings.CutSuffix(word, "alli"); ok && measure(before) > 0 {
		return stemDouble(before + "al")
	}
	if before, ok := strings.CutSuffix(word, "logi"); ok && !strings.HasSuffix(word, "fulli") {
		if measure(before+"l") > 0 {
			return before + "log"
		}
		return word
	}
	return replaceSuffix(word, suffixes2)
}

func stemLong(word string) string {
	for _, suffix := range suffixes4 {
		before, ok := strings.CutSuffix(word, suffix)
		if !ok {
			continue
		}
		if measure(before) > 1 && (suffix != "ion" || strings.HasSuffix(before, "s") || strings.HasSuffix(before, "t")) {
			return before
		}
		return word
	}
	return word
}

func stemEnd(word string) string {
	if before, ok := strings.CutSuffix(word, "e"); ok {
		if m := measure(before); m > 1 || m == 1 && !endsShort(before) {
			word = before
		}
	}
	if strings.HasSuffix(word, "ll") && measure(word[:len(word)-1]) > 1 {
		word = word[:len(word)-1]
	}
	return word
}
