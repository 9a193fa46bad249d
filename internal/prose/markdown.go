package prose

import (
	"iter"
	"strings"
)

// Sentences yields the sentences of a Markdown document, each on one line, without front matter and
// the marks before headings, quotations and list items. A wrapped sentence is joined; none goes
// beyond its paragraph, heading, list item or row of a table. Where lines are not wrapped, as in a
// chat, use Split of each Unmarked line.
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

// blocks yields the paragraphs of Markdown, with single spaces, and other blocks line by line.
func blocks(body string) iter.Seq[string] {
	return func(yield func(string) bool) {
		var paragraph []string
		var fence Fence
		end := func() bool {
			text := strings.Join(paragraph, " ")
			paragraph = nil
			return text == "" || yield(text)
		}
		for line := range strings.Lines(body) {
			line = strings.TrimSpace(line)
			outside := fence.size == 0
			code := fence.Inside(line)
			mark := code && (outside || fence.size == 0)
			text := Unmarked(line)
			begins := text != line || strings.HasPrefix(line, "|")
			if (begins || code || text == "") && !end() {
				return
			}
			if !mark && text != "" {
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

// Unmarked returns a line of Markdown without the marks of headings, quotations and list items at
// its start. A line of marks alone becomes "".
func Unmarked(line string) string {
	text := strings.TrimSpace(line)
	for {
		rest := strings.TrimLeft(text, "> ")
		marked := rest != text
		if mark, after, _ := strings.Cut(text, " "); mark != "" && strings.Trim(mark, "#") == "" {
			rest, marked = after, true
		}
		if item, ok := Item(text); ok {
			rest, marked = item, true
		}
		if !marked {
			break
		}
		text = strings.TrimSpace(rest)
	}
	if strings.Trim(text, "*-_=+ ") == "" {
		return ""
	}
	return text
}

// Item returns the text of a list item, and whether a line is one.
func Item(line string) (text string, ok bool) {
	mark, text, spaced := strings.Cut(strings.TrimSpace(line), " ")
	if !spaced {
		return "", false
	}
	const longest = len("999.")
	number := strings.TrimSuffix(strings.TrimSuffix(mark, ")"), ".")
	numbered := number != mark && number != "" && len(mark) <= longest && strings.Trim(number, "0123456789") == ""
	return strings.TrimSpace(text), numbered || mark == "-" || mark == "*" || mark == "+"
}
