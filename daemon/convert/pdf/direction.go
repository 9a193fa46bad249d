package pdf

import (
	"math"
	"slices"
	"strings"
	"unicode"
)

func isRightToLeft(r rune) bool {
	return r >= 0x0590 && r <= 0x08ff && unicode.IsLetter(r) || r >= 0xfb1d && r <= 0xfdff || r >= 0xfe70 && r <= 0xfeff
}

// logical returns a line in the order of reading. s is in the order of drawing, from left to right.
// Right-to-left scripts are reversed, and in a line that is mostly such a script, the order of
// other words is reversed too.
func logical(s string) string {
	runes := []rune(s)
	right, left := 0, 0
	for _, r := range runes {
		switch {
		case isRightToLeft(r):
			right++
		case unicode.IsLetter(r):
			left++
		}
	}
	if right == 0 {
		return s
	}
	if right < left {
		reverseRuns(runes, isRightToLeft, func(r rune) bool { return isRightToLeft(r) || unicode.IsMark(r) })
		return string(runes)
	}
	slices.Reverse(runes)
	isLeft := func(r rune) bool { return unicode.IsNumber(r) || unicode.IsLetter(r) && !isRightToLeft(r) }
	reverseRuns(runes, isLeft, isLeft)
	return string(runes)
}

// reverseRuns reverses each run of runes that begins and ends with runes of a kind, and contains no
// letters and numbers of another kind.
func reverseRuns(runes []rune, begins, ends func(rune) bool) {
	for start := 0; start < len(runes); start++ {
		if !begins(runes[start]) {
			continue
		}
		end := start + 1
		for i := start + 1; i < len(runes); i++ {
			r := runes[i]
			if ends(r) {
				end = i + 1
			} else if unicode.IsLetter(r) || unicode.IsNumber(r) {
				break
			}
		}
		slices.Reverse(runes[start:end])
		start = end
	}
}

// drawn returns the text of one glyph, such as a ligature, as it would be drawn glyph by glyph from
// left to right.
func drawn(text string) string {
	if len(text) < 3 || !strings.ContainsFunc(text, isRightToLeft) {
		return text
	}
	runes := []rune(text)
	slices.Reverse(runes)
	return string(runes)
}

// joinLeft joins lines to the one before if they continue it to the left, in a right-to-left
// script.
func (l *layout) joinLeft() {
	var joined []line
	for _, b := range l.lines {
		if n := len(joined); n > 0 {
			a := &joined[n-1]
			gap := a.start - b.end
			if sameDirection(*a, b) && math.Abs(a.base-b.base) < 0.5*a.size && gap > -0.3*a.size && gap < 1.5*a.size &&
				strings.ContainsFunc(a.text+b.text, isRightToLeft) {
				if gap > wordGap*a.size {
					a.text += " "
				}
				a.text += b.text
				a.start, a.size = b.start, math.Max(a.size, b.size)
				continue
			}
		}
		joined = append(joined, b)
	}
	l.lines = joined
}
