// Package question reads the operators and times in the text of a query, and whether the text is a
// question. It does not depend on an index.
package question

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"evalctl/daemon/language"
	"evalctl/internal/prose"
)

// Conditions are what a passage must meet to be found. The zero value is met by every passage.
//
// A document meets them if one alternative of each group of All, and nothing of None, is in its
// text, title, path or tags. The found passages of such a document are those that contain an
// alternative of some group, or all if the title, path or tags contain one.
type Conditions struct {
	All  [][]Alternative
	None []language.Phrase
}

// Alternative is a part of a condition: words as they are written (see language.Phrase), or a
// single word in any of its forms.
type Alternative struct {
	Written language.Phrase
	Word    string // a word that is compared by its stem; empty for a phrase
}

// maxTypedWords is the largest number of words of a text with operators. Longer texts are pasted.
const maxTypedWords = 32

// ParseOperators reads the operators of a text that somebody typed into a search box:
//
//	"exact phrase"   the words as they are written, next to each other
//	-word            not this word; also -"exact phrase" and -prefix*
//	prefix*          a word that begins so
//	a OR b           at least one of them
//
// It returns the words to rank by, without excluded ones, and the conditions. operators has the
// operators as written; without any, words is the text itself.
//
// Prose has no operators: a text that ends like a sentence, that asks something, of several lines,
// or of more than 32 words. A phrase among other words is a quotation, unless there is another
// operator, which sentences do not contain. Nothing else that people write in plain text has a
// meaning, see docs/dev/ranking.md.
func ParseOperators(text string) (words string, c Conditions, operators []string) {
	if strings.ContainsAny(strings.TrimSpace(text), "\n\r\u2028\u2029") || len(strings.Fields(text)) > maxTypedWords {
		return text, Conditions{}, nil
	}
	tokens := readTokens(text)
	if len(tokens) == 0 || isProse(tokens) || quotes(tokens) {
		return text, Conditions{}, nil
	}
	return read(text, tokens)
}

// GivenOperators is ParseOperators for a text that is known to have operators, even if it looks
// like prose.
func GivenOperators(text string) (words string, c Conditions, operators []string) {
	return read(text, readTokens(text))
}

func read(text string, tokens []token) (words string, c Conditions, operators []string) {
	var ranked []string
	for i := 0; i < len(tokens); {
		end := alternatives(tokens, i)
		switch t := tokens[i]; {
		case t.excluded:
			c.None = append(c.None, language.NewPhrase(t.words, t.prefix))
			operators = append(operators, t.text)
		case t.written || end > i+1:
			var group []Alternative
			var spelled []string
			for _, t := range tokens[i:end] {
				if !t.or {
					group, ranked = append(group, t.alternative()), append(ranked, t.words)
				}
				spelled = append(spelled, t.text)
			}
			c.All, operators = append(c.All, group), append(operators, strings.Join(spelled, " "))
		default:
			ranked = append(ranked, t.text)
		}
		i = end
	}
	if len(operators) == 0 {
		return text, Conditions{}, nil
	}
	return strings.Join(ranked, " "), c, operators
}

// token is a part of a text between spaces: a phrase, or a run of other characters.
type token struct {
	raw      string // as it stands there
	text     string // without the marks that follow an operator
	words    string // without the operators
	excluded bool
	written  bool // a phrase or a prefix
	prefix   bool
	or       bool
}

func (t token) alternative() Alternative {
	if word := onlyWord(t.words); word != "" && !t.written {
		return Alternative{Word: word}
	}
	return Alternative{Written: language.NewPhrase(t.words, t.prefix)}
}

// onlyWord returns the word of a token, without the signs around it. It is empty if the token
// has more than one word, or none that has a stem.
func onlyWord(text string) (word string) {
	for start, end := range language.Words(text) {
		if word != "" || language.Share(text[start:end]) < 1 {
			return ""
		}
		word = text[start:end]
	}
	return word
}

func readTokens(text string) (tokens []token) {
	for i := 0; i < len(text); {
		if r, size := utf8.DecodeRuneInString(text[i:]); unicode.IsSpace(r) {
			i += size
			continue
		}
		end := i + phraseEnd(text[i:])
		if end == i {
			end = i + fieldEnd(text[i:])
		}
		tokens = append(tokens, readToken(text[i:end]))
		i = end
	}
	return tokens
}

func fieldEnd(text string) int {
	if end := strings.IndexFunc(text, unicode.IsSpace); end >= 0 {
		return end
	}
	return len(text)
}

// phraseEnd returns the end of the quoted phrase at the beginning of a text, including an exclusion
// and the marks that follow, or 0 if there is none.
func phraseEnd(text string) int {
	rest, _ := cutMinus(text)
	mark := ""
	switch {
	case strings.HasPrefix(rest, `"`):
		mark = `"`
	case strings.HasPrefix(rest, "“"):
		mark = "”"
	default:
		return 0
	}
	start := len(text) - len(rest) + strings.IndexAny(rest, `"“`)
	_, size := utf8.DecodeRuneInString(text[start:])
	inner := start + size
	for at := inner; ; {
		i := strings.Index(text[at:], mark)
		if i < 0 {
			return 0
		}
		closing := at + i
		at = closing + len(mark)
		after := text[at : at+fieldEnd(text[at:])]
		if strings.Trim(after, closingMarks) == "" {
			if language.NewPhrase(text[inner:closing], false).Empty() {
				return 0
			}
			return at + len(after)
		}
	}
}

// closingMarks may follow an operator and are not part of it.
const closingMarks = ",.;:!?)]…"

// cutMinus removes the sign of an exclusion.
func cutMinus(text string) (rest string, found bool) {
	if rest, found = strings.CutPrefix(text, "-"); found {
		return rest, true
	}
	return strings.CutPrefix(text, "−")
}

// readToken reads the text of a token: a phrase, or the characters up to the next space.
func readToken(text string) token {
	t := token{raw: text, text: text, words: text}
	if text == "OR" {
		t.or = true
		return t
	}
	rest, minus := cutMinus(strings.TrimRight(text, closingMarks))
	if phraseEnd(text) == len(text) {
		t.words = strings.Trim(rest, `"“”`)
		t.written, t.excluded, t.text = true, minus, strings.TrimRight(text, closingMarks)
		return t
	}
	core, star := strings.CutSuffix(rest, "*")
	first, _ := utf8.DecodeRuneInString(core)
	if !star && !minus || !isTyped(core) || minus && !unicode.IsLetter(first) || star && utf8.RuneCountInString(core) < 2 {
		return t
	}
	t.words, t.text = core, strings.TrimRight(text, closingMarks)
	t.prefix, t.written, t.excluded = star, star, minus
	return t
}

// isTyped reports whether a text is a word, or words with a hyphen or an apostrophe between them.
func isTyped(text string) bool {
	joined := true // at the beginning, or after a hyphen or an apostrophe
	for _, r := range text {
		switch {
		case unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r) || r == '\u200c' || r == '\u200d':
			joined = false
		case strings.ContainsRune("-'’", r) && !joined:
			joined = true
		default:
			return false
		}
	}
	return !joined
}

// alternatives returns the end of the alternatives that begin at token i, which is i+1 if OR does
// not follow it. Between words in capitals only, OR is an ordinary word.
func alternatives(tokens []token, i int) int {
	end, shouted := i+1, true
	for at := i; tokens[at].isOperand(); at += 2 {
		shouted = shouted && tokens[at].isShouted()
		if at > i {
			end = at + 1
		}
		if at+2 >= len(tokens) || !tokens[at+1].or {
			break
		}
	}
	if shouted {
		return i + 1
	}
	return end
}

// isOperand reports whether a token can be an alternative.
func (t token) isOperand() bool {
	return !t.or && !t.excluded && !language.NewPhrase(t.words, false).Empty()
}

// isShouted reports whether a token is a word in capitals.
func (t token) isShouted() bool {
	return !t.written && strings.ToUpper(t.words) == t.words && strings.ToLower(t.words) != t.words
}

// quotes reports whether the only operators are phrases, among other words.
func quotes(tokens []token) bool {
	words := false
	for i, t := range tokens {
		if t.excluded || t.prefix || alternatives(tokens, i) > i+1 {
			return false
		}
		words = words || !t.written
	}
	return words
}

// quotesAndBrackets may follow the last mark of a sentence.
const quotesAndBrackets = "\"'”’»)]"

// isProse reports whether tokens belong to a sentence or a question.
func isProse(tokens []token) bool {
	bare := false // whether there are words outside of operators
	for _, t := range tokens {
		bare = bare || !t.written && !t.excluded && !t.or
		outside := t.raw
		if t.written {
			outside = t.raw[len(t.text):]
		}
		outside = strings.TrimRight(outside, quotesAndBrackets)
		if endsWord(outside, "?") || asksInScript(outside) {
			return true
		}
	}
	last := tokens[len(tokens)-1]
	if last.written && !last.prefix && len(last.raw) == len(last.text) && !bare {
		return false // such as "Who is there?"
	}
	greek := strings.HasSuffix(strings.TrimRight(last.raw, quotesAndBrackets), ";") // its question mark
	return greek || prose.Ends(last.raw)
}
