package svg

import (
	"fmt"
	"html"
	"unicode/utf8"
)

// Tone is the colour of a badge.
type Tone string

// The tones.
const (
	Good    Tone = "#2e7d32"
	Bad     Tone = "#c62828"
	Neutral Tone = "#455a64"
)

// badgeLetter is the approximate width of a letter of 11 pixels, and badgeHeight the height of a
// badge.
const (
	badgeLetter = 6.6
	badgeHeight = 20
	badgePad    = 6
)

// Badge returns a whole SVG file with a label and a value beside it, for pages of others: it needs
// no style sheet, and screen readers read the same text.
func Badge(label, value string, tone Tone) string {
	width := func(text string) float64 { return float64(utf8.RuneCountInString(text))*badgeLetter + 2*badgePad }
	left, right := width(label), width(value)
	text := func(x, width float64, s string) string {
		return fmt.Sprintf(`<text x="%s" y="14" textLength="%s" lengthAdjust="spacingAndGlyphs">%s</text>`,
			num(x+badgePad), num(width-2*badgePad), html.EscapeString(s))
	}
	name := html.EscapeString(label + ": " + value)
	return fmt.Sprintf(`<svg xmlns="http://www.w3.org/2000/svg" width="%[1]s" height="%[2]d" role="img" aria-label="%[3]s"><title>%[3]s</title>`+
		`<rect width="%[1]s" height="%[2]d" rx="3" fill="#37474f"/><path d="M%[4]s 0h%[5]sa3 3 0 0 1 3 3v14a3 3 0 0 1-3 3h-%[5]sz" fill="%[6]s"/>`+
		`<g fill="#fff" font-family="Verdana,DejaVu Sans,sans-serif" font-size="11">%[7]s%[8]s</g></svg>`+"\n",
		num(left+right), badgeHeight, name, num(left), num(right-3), tone, text(0, left, label), text(left, right, value))
}
