// Package prose divides text that people wrote into sentences.
package prose

import (
	"iter"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Sentences yields the sentences of a Markdown document, each on one line, without front matter and
// the marks before headings, quotations and list items. A wrapped sentence is joined; none goes
// beyond its paragraph, heading, list item or row of a table.
func Sentences(markdown string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for block := range blocks(body(markdown)) {
			for s := range Split(block) {
				if !yield(s) {
					return
				}
			}
		}
	}
}

// body returns a document without its front matter.
func body(markdown string) string {
	if rest, ok := strings.CutPrefix(strings.ReplaceAll(markdown, "\r\n", "\n"), "---\n"); ok {
		if _, body, closed := strings.Cut(rest, "\n---\n"); closed {
			return body
		}
	}
	return markdown
}

// blocks yields the paragraphs of Markdown, with single spaces, and other blocks line by line.
func blocks(body string) iter.Seq[string] {
	return func(yield func(string) bool) {
		var paragraph []string
		fenced := false
		end := func() bool {
			text := strings.Join(paragraph, " ")
			paragraph = nil
			return text == "" || yield(text)
		}
		for line := range strings.Lines(body) {
			line = strings.TrimSpace(line)
			fence := strings.HasPrefix(line, "```") || strings.HasPrefix(line, "~~~")
			fenced = fenced != fence
			text, begins := unmarked(line)
			if (begins || fence || fenced || text == "") && !end() {
				return
			}
			if !fence && text != "" {
				paragraph = append(paragraph, strings.Join(strings.Fields(text), " "))
			}
			// Nothing continues a heading.
			if strings.HasPrefix(line, "#") && !end() {
				return
			}
		}
		end()
	}
}

// unmarked returns a line without the marks at its start, and whether these begin a block. A line of
// marks alone is empty.
func unmarked(line string) (text string, begins bool) {
	text = strings.TrimLeft(line, "#>")
	begins = text != line || strings.HasPrefix(line, "|")
	for _, mark := range []string{"* ", "- ", "+ "} {
		text = strings.TrimSpace(text)
		if rest, ok := strings.CutPrefix(text, mark); ok {
			text, begins = rest, true
		}
	}
	digits := strings.TrimLeft(text, "0123456789")
	if rest, ok := strings.CutPrefix(digits, ". "); ok && len(digits) < len(text) {
		text, begins = rest, true
	}
	if strings.Trim(text, "*-_=+ ") == "" {
		return "", true
	}
	return strings.TrimSpace(text), begins
}

// Split yields the sentences of running text without the spaces around them. A sentence ends after
// a full stop, an exclamation or question mark, or an ellipsis, and closing quotation marks and
// parentheses, before a space; in Chinese and Japanese without one. A full stop does not end a
// sentence before a small letter or after a possible abbreviation: an initial, a word with a full
// stop in it, or a capitalized one of up to three letters.
func Split(text string) iter.Seq[string] {
	return func(yield func(string) bool) {
		start := 0
		for i, r := range text {
			if !strings.ContainsRune(".!?…。！？｡", r) || i < start {
				continue
			}
			end := i + utf8.RuneLen(r)
			end += len(text[end:]) - len(strings.TrimLeft(text[end:], ".!?…。！？｡\"'”’»)]」』）"))
			if !ends(r, text[start:i], text[end:]) {
				continue
			}
			if s := strings.TrimSpace(text[start:end]); s != "" && !yield(s) {
				return
			}
			start = end
		}
		if s := strings.TrimSpace(text[start:]); s != "" {
			yield(s)
		}
	}
}

// ends reports whether a mark between two texts ends a sentence.
func ends(mark rune, before, after string) bool {
	if strings.ContainsRune("。！？｡", mark) || after == "" {
		return true
	}
	first, _ := utf8.DecodeRuneInString(after)
	if !unicode.IsSpace(first) {
		return false
	}
	next, _ := utf8.DecodeRuneInString(strings.TrimLeftFunc(after, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }))
	if mark != '.' {
		return true
	}
	if unicode.IsLower(next) {
		return false
	}
	word := before[strings.LastIndexFunc(before, func(r rune) bool { return unicode.IsSpace(r) || strings.ContainsRune("(\"“'", r) })+1:]
	capital, _ := utf8.DecodeRuneInString(word)
	letters := utf8.RuneCountInString(word)
	initial, short := letters == 1 && unicode.IsLetter(capital), unicode.IsUpper(capital) && letters <= 3
	return !initial && !short && !strings.Contains(word, ".")
}
