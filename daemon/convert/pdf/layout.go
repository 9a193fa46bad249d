package pdf

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"math"
	"slices"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/unicode/norm"
)

// line is text on one baseline. Positions are measured along the text and across it, upwards, so
// rotated text is handled like other text.
type line struct {
	text       string
	start, end float64 // along the text
	base       float64 // across it
	size       float64 // of the font
	dx, dy     float64 // direction
	firstWord  float64 // its width
	cells      bool    // it has gaps as between the cells of a table
	leftward   bool    // it is drawn from right to left, in the order of reading
}

// layout collects the lines of a page.
type layout struct {
	lines []line
	text  strings.Builder // of the line that is open
	open  line
	words int // spaces in it
	seen  map[placedGlyph]bool
}

// placedGlyph is a glyph at a place, in twentieths of its size. Some files draw a glyph twice to make it
// bold.
type placedGlyph struct {
	text string
	x, y int32
}

const (
	// wordGap is the least gap between words, as a share of the font size. Kerning is smaller.
	wordGap = 0.15
	// cellGap is the least gap between cells. Gaps of justified text are smaller.
	cellGap = 1.5
	// backStep is how far text may step back on its line, as for accents.
	backStep = 0.7
	// maxLine is the most text of a line, in bytes. No genuine line is longer.
	maxLine = 64 << 10
)

// add adds a glyph. The matrix maps a square of the font size.
func (l *layout) add(text string, m matrix, width, size float64) {
	blank := strings.TrimSpace(text) == ""
	if !blank && strings.TrimFunc(text, unicode.IsControl) == "" {
		return // a sign without text, such as an arrow mapped to U+0000, leaves a gap
	}
	if !blank && l.repeats(placedGlyph{text, int32(math.Round(m.e / size * 20)), int32(math.Round(m.f / size * 20))}) {
		return
	}
	length := math.Hypot(m.a, m.b)
	dx, dy := 1.0, 0.0
	if length > 0 {
		dx, dy = m.a/length, m.b/length
	}
	g := line{
		start: m.e*dx + m.f*dy, base: m.f*dx - m.e*dy,
		size: size, dx: dx, dy: dy,
	}
	g.end = g.start + width*length
	if l.continuesLeft(text, g) {
		if l.open.start-g.end > wordGap*math.Min(size, l.open.size) || blank {
			l.space(g.end)
		}
		end := l.open.end
		l.write(text, g)
		l.open.start, l.open.end, l.open.leftward = g.start, end, true
		return
	}
	if !l.continues(g) {
		if blank {
			return
		}
		l.endLine()
		l.open = g
		l.write(drawn(text), g)
		return
	}
	if gap := g.start - l.open.end; gap > wordGap*math.Min(size, l.open.size) {
		l.space(l.open.end)
		l.open.cells = l.open.cells || gap > cellGap*l.open.size
	}
	if blank {
		// Some files draw a ligature over a blank.
		if g.start > l.open.end-wordGap*size {
			l.space(g.start)
		}
		l.open.end = math.Max(l.open.end, g.end)
		return
	}
	l.write(drawn(text), g)
}

// maxSeen bounds the glyphs that are remembered. Text is repeated soon after it was drawn.
const maxSeen = 4096

// repeats reports whether the same glyph was drawn at the same place before, within a tenth of its
// size.
func (l *layout) repeats(g placedGlyph) bool {
	if l.seen == nil || len(l.seen) >= maxSeen {
		l.seen = map[placedGlyph]bool{}
	}
	for x := g.x - 1; x <= g.x+1; x++ {
		if l.seen[placedGlyph{g.text, x, g.y}] {
			return true
		}
	}
	l.seen[g] = true
	return false
}

// continues reports whether a glyph is on the line that is open.
func (l *layout) continues(g line) bool {
	o := &l.open
	return l.text.Len() > 0 && l.text.Len() < maxLine && g.dx*o.dx+g.dy*o.dy > 0.99 &&
		math.Abs(g.base-o.base) < 0.5*math.Max(g.size, o.size) && g.start > o.end-backStep*math.Max(g.size, o.size)
}

// continuesLeft reports whether a glyph is on the open line, directly to its left, in a
// right-to-left script.
func (l *layout) continuesLeft(text string, g line) bool {
	o := &l.open
	if l.text.Len() == 0 || l.text.Len() >= maxLine || !sameDirection(g, *o) || math.Abs(g.base-o.base) > 0.5*math.Max(g.size, o.size) {
		return false
	}
	first, _ := utf8.DecodeRuneInString(text)
	return (isRightToLeft(first) || o.leftward && !unicode.IsLetter(first)) &&
		g.end < o.start+0.3*o.size && g.end > o.start-0.5*o.size
}

func (l *layout) space(at float64) {
	s := l.text.String()
	if s == "" || s[len(s)-1] == ' ' {
		return
	}
	l.text.WriteByte(' ')
	if l.words++; l.words == 1 {
		l.open.firstWord = at - l.open.start
	}
}

func (l *layout) write(text string, g line) {
	for _, r := range text {
		if r == '\u00ad' { // what a page draws is seen: a hyphen
			r = '-'
		}
		switch {
		case unicode.IsSpace(r):
			l.space(g.start)
		case unicode.IsControl(r) || r == utf8.RuneError || r == '\u200b' || r == '\ufeff':
		case r >= '\ufb00' && r <= '\ufb4f' || r >= '\ufb50' && r <= '\ufdff' || r >= '\ufe70': // ligatures and forms
			l.text.WriteString(norm.NFKC.String(string(r)))
		default:
			l.text.WriteRune(r)
		}
	}
	// A small sign above or below does not change the line.
	if g.size > l.open.size {
		l.open.size, l.open.base = g.size, g.base
	}
	l.open.end = math.Max(l.open.end, g.end)
}

func (l *layout) endLine() {
	if text := strings.TrimSpace(l.text.String()); text != "" {
		l.open.text = norm.NFC.String(text)
		if !l.open.leftward {
			l.open.text = logical(l.open.text)
		}
		if l.words == 0 {
			l.open.firstWord = l.open.end - l.open.start
		}
		l.lines = append(l.lines, l.open)
	}
	l.text.Reset()
	l.words = 0
}

// finish returns the lines of the page in the order in which they are drawn. In nearly all files,
// this is the order of reading, also of columns. Lines that are mostly drawn upwards or in disorder
// are sorted by their place.
func (l *layout) finish() []line {
	l.endLine()
	l.joinLeft()
	up := 0
	for i := 1; i < len(l.lines); i++ {
		a, b := l.lines[i-1], l.lines[i]
		if sameDirection(a, b) && b.base > a.base+0.5*a.size {
			up++
		}
	}
	if up*3 > len(l.lines) && len(l.lines) > 3 {
		slices.SortStableFunc(l.lines, func(a, b line) int {
			return cmp.Or(cmp.Compare(math.Round(a.dy), math.Round(b.dy)), cmp.Compare(math.Round(b.base), math.Round(a.base)),
				cmp.Compare(a.start, b.start))
		})
	}
	return l.lines
}

func sameDirection(a, b line) bool { return a.dx*b.dx+a.dy*b.dy > 0.99 }

// textString decodes a text string of a PDF.
func textString(s []byte) string {
	switch {
	case bytes.HasPrefix(s, []byte("\xfe\xff")):
		var units []uint16
		for s = s[2:]; len(s) > 1; s = s[2:] {
			units = append(units, binary.BigEndian.Uint16(s))
		}
		return string(utf16.Decode(units))
	case bytes.HasPrefix(s, []byte("\xef\xbb\xbf")):
		return strings.ToValidUTF8(string(s[3:]), "\ufffd")
	}
	text, err := charmap.Windows1252.NewDecoder().Bytes(s)
	if err != nil {
		return ""
	}
	return string(text)
}
