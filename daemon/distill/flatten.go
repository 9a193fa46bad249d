package distill

import (
	"strings"
	"unicode"
)

// flatten returns Markdown whose only structure is paragraphs, lists and emphasis. Headings and code
// fences become plain lines, and underlines and rules are dropped. So the text cannot change the
// structure of a document that contains it. Control characters become spaces.
func flatten(text string) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	text = strings.NewReplacer("\r\n", "\n", "\r", "\n", "\u2028", "\n", "\u2029", "\n", "\u0085", "\n").Replace(text)
	var lines []string
	for line := range strings.SplitSeq(text, "\n") {
		line = plainLine(line)
		if line == "" && (len(lines) == 0 || lines[len(lines)-1] == "") {
			continue
		}
		lines = append(lines, line)
	}
	return strings.TrimRight(strings.Join(lines, "\n"), "\n")
}

// plainLine keeps an indentation of up to three spaces, which nested list items need; more would
// make a code block.
func plainLine(line string) string {
	line = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, line)
	body := strings.TrimSpace(line)
	indent := min(len(line)-len(strings.TrimLeft(line, " ")), 3)
	for {
		plain := strings.TrimLeft(body, "#`~=>")
		if strings.Trim(plain, "-*_ ") == "" {
			return ""
		}
		plain = strings.TrimSpace(plain)
		if plain == body {
			break
		}
		body = plain
	}
	return strings.Repeat(" ", indent) + body
}
