package pdf

import (
	"math"
	"strings"
	"unicode"
	"unicode/utf8"

	"evalctl/internal/prose"
)

// maxHeading bounds the text of a heading, in code points. Longer text in a large font is text.
const maxHeading = 200

// blocks joins the lines of pages to paragraphs.
func blocks(pages [][]line) []Block {
	body := bodySize(pages)
	var out []Block
	for _, page := range pages {
		for start := 0; start < len(page); {
			end := start + 1
			for end < len(page) && joins(page, start, end) {
				end++
			}
			out = append(out, paragraph(page[start:end], body))
			start = end
		}
	}
	return out
}

// bodySize returns the font size of most of the text.
func bodySize(pages [][]line) float64 {
	sizes := map[float64]int{}
	best := 0.0
	for _, page := range pages {
		for _, l := range page {
			size := math.Round(l.size*2) / 2
			if sizes[size] += len(l.text); sizes[size] > sizes[best] {
				best = size
			}
		}
	}
	return best
}

// joins reports whether line i of a page continues the paragraph that begins with line start.
func joins(page []line, start, i int) bool {
	a, b := page[i-1], page[i]
	if !sameDirection(a, b) || math.Abs(a.size-b.size) > 0.12*math.Max(a.size, b.size) {
		return false
	}
	down := a.base - b.base
	if down < 0.5*a.size {
		// The text continues in another column, unless it ended there.
		return down < 0 && b.start > a.start && endsOpen(a.text) && startsLower(b.text)
	}
	if overlap := math.Min(a.end, b.end) - math.Max(a.start, b.start); overlap < 0 {
		return false
	}
	// The first two lines of the paragraph set its line distance, unless that is larger than usual.
	usual := 1.7 * a.size
	if i-start >= 2 {
		usual = math.Min(usual, 1.25*(page[start].base-page[start+1].base))
	}
	if down > usual {
		return false
	}
	// The first line of a paragraph is often indented.
	return i-start < 2 && b.start < a.start+0.5*a.size || i-start >= 2 && b.start < a.start+0.8*a.size || startsLower(b.text)
}

func endsOpen(s string) bool { return !strings.HasSuffix(s, ":") && !prose.Ends(s) }

func startsLower(s string) bool {
	first, _ := utf8.DecodeRuneInString(s)
	return unicode.IsLower(first)
}

// paragraph joins lines. A line break is kept where the next word would have fitted on the line.
func paragraph(lines []line, body float64) Block {
	right := rightEdges(lines)
	var b Block
	text := lines[0].text
	for i := 1; i < len(lines); i++ {
		a, next := lines[i-1], lines[i]
		word := next.firstWord + 0.8*a.size // with a space, and with room for inexact widths
		if startsWide(next.text) {
			word = next.size // a line may end after any sign
		}
		fits := a.end+word < right[i-1] && next.base < a.base
		switch {
		case fits, startsItem(next.text), a.cells || next.cells:
			b.Lines = append(b.Lines, text)
			text = next.text
		case endsHyphen(text) && startsLower(next.text):
			text = strings.TrimRight(text, "-\u00ad\u2010") + next.text
		case isWide(text) && startsWide(next.text), endsHyphen(text):
			text += next.text
		default:
			text += " " + next.text
		}
	}
	b.Lines = append(b.Lines, text)
	if utf8.RuneCountInString(strings.Join(b.Lines, " ")) <= maxHeading && strings.ContainsFunc(text, unicode.IsLetter) {
		b.Level = level(lines[0].size / body)
	}
	return b
}

// rightEdges returns for each line the right edge of the text in its column.
func rightEdges(lines []line) []float64 {
	edges := make([]float64, len(lines))
	for start := 0; start < len(lines); {
		end, right := start, lines[start].end
		for ; end < len(lines) && (end == start || lines[end].base < lines[end-1].base); end++ {
			right = math.Max(right, lines[end].end)
		}
		for ; start < end; start++ {
			edges[start] = right
		}
	}
	return edges
}

// level returns the level of a heading by the ratio of its size to the size of the text.
func level(ratio float64) int {
	switch {
	case ratio >= 1.7:
		return 1
	case ratio >= 1.35:
		return 2
	case ratio >= 1.15:
		return 3
	}
	return 0
}

// startsItem reports whether text begins with the sign of a list item.
func startsItem(s string) bool {
	first, size := utf8.DecodeRuneInString(s)
	return strings.ContainsRune("•◦▪‣●○■–-", first) && strings.HasPrefix(s[size:], " ")
}

// endsHyphen reports whether text ends within a word.
func endsHyphen(s string) bool {
	cut := strings.TrimRight(s, "-\u00ad\u2010")
	last, _ := utf8.DecodeLastRuneInString(cut)
	return len(cut) < len(s) && unicode.IsLetter(last)
}

// isWide reports whether text ends in a script that has no spaces between words.
func isWide(s string) bool {
	last, _ := utf8.DecodeLastRuneInString(s)
	return wide(last)
}

func startsWide(s string) bool {
	first, _ := utf8.DecodeRuneInString(s)
	return wide(first)
}

func wide(r rune) bool {
	return unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana) || r >= 0x3000 && r <= 0x303f || r >= 0xff00 && r <= 0xffef
}
