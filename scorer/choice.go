package scorer

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"evalctl/internal/llm"
)

// choiceOf returns the lower-case letter of the option chosen in an answer to a multiple-choice
// question, or "" for none or several. It takes the only option that the answer calls its final
// answer; else the only one it says it chooses or calls right; else the one it begins with; else
// the only one in parentheses. Options that the answer rejects, compares with or only considers do
// not count.
func choiceOf(answer string) string {
	text := choiceText(answer)
	mentions := mentionsIn(text)
	for _, chosen := range []func([]mention) ([]string, bool){finalOnes, chosenOnes, leadingOne, onlyOne} {
		if letters, decides := chosen(mentions); decides {
			if len(letters) == 1 {
				return letters[0]
			}
			return ""
		}
	}
	return ""
}

// stance is an answer's attitude to an option it mentions.
type stance int

const (
	neutral stance = iota
	chosen
	final // chosen, and called final
	rejected
)

// mention is an occurrence of an option in an answer.
type mention struct {
	letter string
	stance stance
	// bracketed is set for "(b)" and "[b]", begins at the start of a line, and first at the start
	// of the answer. joined is set if "and", "or" or a comma joins the mention to the previous one.
	bracketed, begins, first, joined bool
}

// lettersOf returns the distinct letters of the mentions that fit.
func lettersOf(mentions []mention, fits func(mention) bool) (out []string) {
	for _, m := range mentions {
		if fits(m) && !slices.Contains(out, m.letter) {
			out = append(out, m.letter)
		}
	}
	return out
}

func finalOnes(mentions []mention) (letters []string, decides bool) {
	letters = lettersOf(mentions, func(m mention) bool { return m.stance == final })
	return letters, len(letters) > 0
}

func chosenOnes(mentions []mention) (letters []string, decides bool) {
	letters = lettersOf(mentions, func(m mention) bool { return m.stance == chosen })
	return letters, len(letters) > 0
}

// leadingOne returns the option that the answer begins with, unless others follow it: "(a) or (b)",
// or a list of all options.
func leadingOne(mentions []mention) (letters []string, decides bool) {
	if len(mentions) == 0 || !mentions[0].first || mentions[0].stance == rejected {
		return nil, false
	}
	lead := mentions[0].letter
	for i, m := range mentions[1:] {
		if m.joined && i == 0 {
			return nil, false
		}
		if m.begins && m.letter != lead && lead == "a" {
			return nil, false
		}
	}
	return []string{lead}, true
}

// onlyOne returns the options in parentheses that are not rejected. They decide if there is exactly
// one.
func onlyOne(mentions []mention) (letters []string, decides bool) {
	letters = lettersOf(mentions, func(m mention) bool { return m.bracketed && m.stance != rejected })
	return letters, true
}

// choiceText returns an answer without thoughts and markup. It unifies similar characters and puts
// a label on the line of its text.
func choiceText(answer string) string {
	text := norm.NFKC.String(answer)
	said, err := llm.WithoutThoughts(text)
	if err != nil {
		return ""
	}
	said = boxed().ReplaceAllString(said, "\nfinal answer: ($1)\n")
	said = markedAnswer().ReplaceAllString(said, "\nfinal answer: ")
	said = closingMark().ReplaceAllString(said, "\n")
	said = latex().ReplaceAllString(said, " ")
	said = strings.ReplaceAll(said, "’", "'")
	said = strings.Map(func(r rune) rune {
		if strings.ContainsRune("*`\"“”„«»#", r) {
			return -1
		}
		return r
	}, said)
	said = labelLine().ReplaceAllString(said, "$1: ")
	return strings.TrimSpace(said)
}

// mentionsIn returns the options mentioned in a text from choiceText.
func mentionsIn(text string) (out []mention) {
	for start, end := range clauses(text) {
		c := clause{text: text, start: start, end: end, from: start}
		c.read(&out)
	}
	return out
}

// clauses yields the bounds of the clauses of a text.
func clauses(text string) func(yield func(start, end int) bool) {
	return func(yield func(start, end int) bool) {
		start := 0
		for i, r := range text {
			if strings.ContainsRune(".!?;\n。", r) && !within(text, i) {
				if end := i + utf8.RuneLen(r); !yield(start, end) {
					return
				} else {
					start = end
				}
			}
		}
		yield(start, len(text))
	}
}

// within reports whether the mark at i is inside a number or abbreviation, as in 3.5 and e.g.
func within(text string, i int) bool {
	next, _ := utf8.DecodeRuneInString(text[i+1:])
	return text[i] == '.' && (unicode.IsDigit(next) || unicode.IsLower(next))
}

// clause reads the mentions of a clause from left to right. from is the end of the previous
// mention, and last its stance.
type clause struct {
	text       string
	start, end int
	from       int
	had        bool
	last       stance
	compared   bool // the last rejection was a comparison, which a comma ends
}

func (c *clause) read(out *[]mention) {
	for _, at := range option().FindAllStringSubmatchIndex(c.text[c.start:c.end], -1) {
		from, to := c.start+at[0], c.start+at[1]
		letter := ""
		for g := 2; g < len(at); g += 2 {
			if at[g] >= 0 {
				letter = c.text[c.start+at[g] : c.start+at[g+1]]
			}
		}
		bracketed := to-from > 1
		if wordBefore(c.text, from) || !bracketed && wordAfter(c.text, to) || from < c.from {
			continue
		}
		m := mention{letter: strings.ToLower(letter), bracketed: bracketed}
		line := c.text[strings.LastIndexByte(c.text[:from], '\n')+1 : from]
		before := c.text[:from]
		if cut := speaksAt(line); cut >= 0 && ends(c.text, to) { // "Option b: …"
			line, before = line[:cut], before[:len(before)-len(line)+cut]
		}
		m.begins = strings.Trim(line, " \t-•>") == ""
		m.first = m.begins && strings.Trim(before, " \t\n-•>") == ""
		left, right := strings.ToLower(c.text[c.from:from]), strings.ToLower(c.text[to:c.end])
		if !bracketed && !c.isOption(letter, left, to, m.begins) {
			continue
		}
		m.joined = c.had && joins(left)
		m.stance = c.stanceOf(m, left, right)
		if m.begins && alone(c.text, to) && m.stance == neutral {
			m.stance = chosen
		}
		if m.joined && m.stance != c.last { // "(a) and (b) are wrong"
			for i := len(*out) - 1; i >= 0 && (*out)[i].stance == neutral; i-- {
				if (*out)[i].stance = m.stance; !(*out)[i].joined {
					break
				}
			}
		}
		*out = append(*out, m)
		if !m.joined {
			c.compared = compares(left)
		}
		c.from, c.had, c.last = to, true, m.stance
	}
}

// isOption reports whether a letter without brackets is an option rather than a word: at the start
// of a line, or after a word for an option.
func (c *clause) isOption(letter, left string, to int, begins bool) bool {
	ends := ends(c.text, to)
	if begins && (ends || dashed().MatchString(c.text[to:])) {
		return true
	}
	upper := letter != strings.ToLower(letter)
	word := strings.Contains("aeiouy", strings.ToLower(letter)) // one in some language
	right := strings.ToLower(c.text[to:c.end])
	if begins {
		return calledRight(right) || calledWrong(right) || (upper || !word) && gives(right)
	}
	about := speaksOfOption(left) || rejects(left) || chooses(left) || c.had && (joins(left) || contrasts(left)) ||
		upper && calledRight(right)
	if !about {
		return false
	}
	return ends || !word || upper && (continues(right) || calledRight(right))
}

// ends reports whether a letter is followed by the end of the text, a mark, or a CJK character.
func ends(text string, to int) bool {
	next, _ := utf8.DecodeRuneInString(text[to:])
	return to == len(text) || strings.ContainsRune(".,;:!?)]}\n|/", next) || isCJK(next)
}

// speaksAt returns the index of the word for an option at the end of a text, or -1.
func speaksAt(text string) int {
	if at := optionEnd().FindStringIndex(text); at != nil {
		return at[0]
	}
	return -1
}

// stanceOf returns the clause's stance on a mention, given the text before and after it.
func (c *clause) stanceOf(m mention, left, right string) stance {
	if next := option().FindStringIndex(right); next != nil && strings.HasPrefix(right[next[0]:], "(") {
		right = right[:next[0]]
	}
	switch {
	case calledWrong(right):
		return rejected
	case m.joined && c.last == rejected && c.compared && strings.Trim(left, " ,/") == "":
		return neutral
	case m.joined:
		if c.last == neutral && calledRight(right) {
			return chosen
		}
		return c.last
	case c.had && contrasts(left) && c.last == rejected && !rejects(left):
		return chosen
	case rejects(left):
		return rejected
	case hedges(left):
		return neutral
	case isFinal(left):
		return final
	case calledRight(right), chooses(left):
		return chosen
	}
	return neutral
}

// alone reports whether the rest of the line contains no words.
func alone(text string, to int) bool {
	line, _, _ := strings.Cut(text[to:], "\n")
	return strings.Trim(line, " \t.,:;!)]}") == ""
}

func wordBefore(text string, at int) bool {
	r, _ := utf8.DecodeLastRuneInString(text[:at])
	return at > 0 && (unicode.IsLetter(r) && !isCJK(r) || unicode.IsDigit(r) || strings.ContainsRune("'_-\\@", r) && r != '-' ||
		r == '-' && at > 1 && unicode.IsLetter(rune(text[at-2])))
}

func wordAfter(text string, at int) bool {
	r, n := utf8.DecodeRuneInString(text[at:])
	if r == '-' {
		r, _ = utf8.DecodeRuneInString(text[at+n:])
	}
	return at < len(text) && (unicode.IsLetter(r) && !isCJK(r) || unicode.IsDigit(r) || strings.ContainsRune("'_", r))
}

func isCJK(r rune) bool {
	return unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul)
}

// choiceIs reports whether an answer chooses an option.
func choiceIs(answer, want string) (holds bool, reason string) {
	got := choiceOf(answer)
	if got == "" {
		return false, "the answer chooses no option, or several"
	}
	return got == strings.ToLower(want), fmt.Sprintf("the answer chooses (%s)", got)
}
