package distill

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// cut divides a text after at most most bytes: at the last end of a sentence in the second half,
// else at a space there, else between two characters. White space at the cut is dropped.
func cut(text string, most int) (first, rest string) {
	if len(text) <= most {
		return text, ""
	}
	end := most
	for end > 0 && !utf8.RuneStart(text[end]) {
		end--
	}
	head := text[:end]
	best := -1
	for i := len(head) - 1; i > len(head)/2; i-- {
		if !isSpace(text[i]) {
			continue
		}
		if text[i] == '\n' || strings.IndexByte(".!?", text[i-1]) >= 0 {
			best = i
			break
		}
		if best < 0 {
			best = i
		}
	}
	if best > 0 {
		end = best
	}
	return strings.TrimRightFunc(text[:end], unicode.IsSpace), strings.TrimLeftFunc(text[end:], unicode.IsSpace)
}

func isSpace(c byte) bool { return c == ' ' || c == '\n' || c == '\t' || c == '\r' }

// shorten returns the beginning of a text that is longer than most bytes, with a mark at its end.
func shorten(text string, most int) string {
	first, rest := cut(text, most)
	if rest == "" {
		return first
	}
	return first + cutMark
}

// sentences returns the sentences of a text, each as one line. Lines are boundaries; the marks of
// headings, list items and quotations are left out, and so are blocks of code.
func sentences(text string) []string {
	var list []string
	lines := strings.Split(text, "\n")
	for i := 0; i < len(lines); i++ {
		if end := codeEnd(lines, i); end > i {
			i = end
			continue
		}
		for line := withoutMarks(oneLine(lines[i])); line != ""; {
			n := sentenceEnd(line)
			list = append(list, line[:n])
			line = strings.TrimLeft(line[n:], " ")
		}
	}
	return list
}

// codeEnd returns the last line of the block of code that begins with line i, or i if there is
// none. A fence that is never closed does not begin a block.
func codeEnd(lines []string, i int) int {
	for _, fence := range []string{"```", "~~~"} {
		if !strings.HasPrefix(strings.TrimSpace(lines[i]), fence) {
			continue
		}
		for end := i + 1; end < len(lines); end++ {
			if strings.HasPrefix(strings.TrimSpace(lines[end]), fence) {
				return end
			}
		}
	}
	return i
}

func withoutMarks(line string) string {
	for {
		mark, rest, _ := strings.Cut(line, " ")
		if mark == "" || strings.Trim(mark, "#>") != "" && mark != "-" && mark != "*" && mark != "+" {
			return line
		}
		line = rest
	}
}

// sentenceEnd returns the length of the first sentence. It ends at a full stop, question mark or
// exclamation mark that a space follows and that does not end an abbreviation.
func sentenceEnd(line string) int {
	for i := 0; i < len(line); i++ {
		if strings.IndexByte(".!?", line[i]) < 0 {
			continue
		}
		end := i + 1
		for end < len(line) && strings.IndexByte(".!?\"')]", line[end]) >= 0 {
			end++
		}
		if end == len(line) {
			return end
		}
		if line[end] != ' ' {
			continue
		}
		next, _ := utf8.DecodeRuneInString(line[end+1:])
		if line[i] != '.' || !unicode.IsLower(next) && !abbreviated(line[:i]) {
			return end
		}
	}
	return len(line)
}

// abbreviated reports whether the last word of text, which a full stop follows, is an abbreviation
// or an initial.
func abbreviated(text string) bool {
	word := strings.TrimLeft(text[strings.LastIndexByte(text, ' ')+1:], `"'(`)
	switch strings.ToLower(word) {
	case "mr", "mrs", "ms", "dr", "prof", "st", "no", "vs", "approx", "e.g", "i.e":
		return true
	}
	r, size := utf8.DecodeRuneInString(word)
	return size == len(word) && unicode.IsUpper(r)
}
