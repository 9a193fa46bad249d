package document

import (
	"slices"
	"strings"

	"evalctl/internal/printable"
	"evalctl/internal/prose"
)

// maxHeading bounds one heading of a heading path, maxHeadingPath the whole path, in code points:
// it is stored and indexed once per chunk.
const (
	maxHeading     = 100
	maxHeadingPath = 256
)

const headingSeparator = " > "

// section is a part of a text under one heading.
type section struct {
	start, end int
	headings   string
}

// sections cuts Markdown before each heading. A heading with nothing below it stays with the next
// section, so only the last section can consist of headings alone.
func sections(text string) []section {
	var (
		out   []section
		open  section
		body  bool // open has text besides headings
		fence prose.Fence
		path  [6]string
	)
	for start, end := 0, 0; start < len(text); start = end {
		end = lineEnd(text, start)
		line := text[start:end]
		level, title := 0, ""
		if !fence.Inside(line) {
			level, title = heading(line)
		}
		if level == 0 {
			body = body || strings.TrimSpace(line) != ""
			continue
		}
		if body {
			open.end = start
			out = append(out, open)
			open, body = section{start: start}, false
		}
		path[level-1] = printable.First(title, maxHeading)
		clear(path[level:])
		open.headings = joinHeadings(path)
	}
	open.end = len(text)
	return append(out, open)
}

func joinHeadings(path [6]string) string {
	set := slices.DeleteFunc(path[:], func(title string) bool { return title == "" })
	return printable.First(strings.Join(set, headingSeparator), maxHeadingPath)
}

// firstHeading returns the text of the first heading, "" if there is none.
func firstHeading(text string) string {
	var fence prose.Fence
	for start, end := 0, 0; start < len(text); start = end {
		end = lineEnd(text, start)
		if fence.Inside(text[start:end]) {
			continue
		}
		if level, title := heading(text[start:end]); level > 0 && title != "" {
			return title
		}
	}
	return ""
}

// heading parses an ATX heading ("## Day 2") and returns its level and text. The level is 0 if the
// line is not a heading. Underlined headings are not recognised: a rule below a list or a table
// looks the same.
func heading(line string) (level int, title string) {
	s := strings.TrimLeft(line, " ")
	if len(line)-len(s) > 3 {
		return 0, ""
	}
	rest := strings.TrimLeft(s, "#")
	level = len(s) - len(rest)
	if level == 0 || level > 6 {
		return 0, ""
	}
	title = strings.TrimSpace(rest)
	if title != "" && rest[0] != ' ' && rest[0] != '\t' {
		return 0, ""
	}
	if cut := strings.TrimRight(title, "#"); cut == "" || strings.HasSuffix(cut, " ") {
		title = strings.TrimSpace(cut)
	}
	return level, oneLine(title)
}

// fencedMost is the share of a text that is code in fences if the text is code and not prose with
// code in it.
const fencedMost = 0.9

// Prose returns the part of a text that shows its language: what is outside fenced code, or all of
// it if that is little.
func Prose(text string) string {
	var rest strings.Builder
	var fence prose.Fence
	for start, end := 0, 0; start < len(text); start = end {
		end = lineEnd(text, start)
		if !fence.Inside(text[start:end]) {
			rest.WriteString(text[start:end])
		}
	}
	if float64(rest.Len()) <= (1-fencedMost)*float64(len(text)) {
		return text
	}
	return rest.String()
}

// lineEnd returns the offset after the line that begins at start.
func lineEnd(text string, start int) int {
	if i := strings.IndexByte(text[start:], '\n'); i >= 0 {
		return start + i + 1
	}
	return len(text)
}

// oneLine joins the words of s with single spaces.
func oneLine(s string) string {
	return strings.Join(strings.Fields(s), " ")
}
