package svg

import (
	"fmt"
	"html/template"
	"math"
)

const (
	barWidth  = 200
	barHeight = 16
)

// Interval is a value with the ends of its interval. Ends that are NaN are not drawn.
type Interval struct{ Value, Low, High float64 }

// Bar draws a rate from 0 to 1 with its interval, and a floor unless that is NaN. It is for a cell
// of a table that has the numbers, and stretches to the cell.
func Bar(rate Interval, floor float64) template.HTML {
	d := start("bar", barWidth, barHeight, true, "")
	d.rect("track", 0, 4, barWidth, 8)
	d.rect("value", 0, 4, barWidth*rate.Value, 8)
	d.line("whisker", barWidth*rate.Low, barHeight/2, barWidth*rate.High, barHeight/2)
	d.line("whisker", barWidth*rate.Low, 5, barWidth*rate.Low, 11)
	d.line("whisker", barWidth*rate.High, 5, barWidth*rate.High, 11)
	d.line("floor", barWidth*floor, 0, barWidth*floor, barHeight)
	return d.end()
}

// Difference draws a difference with its interval on a scale from -most to most, with a line at 0
// and one at -margin unless that is NaN. Like Bar it is for a cell. Parts outside the scale are cut
// off.
func Difference(diff Interval, margin, most float64) template.HTML {
	at := func(v float64) float64 {
		return barWidth / 2 * (1 + max(-1, min(1, v/most)))
	}
	d := start("bar", barWidth, barHeight, true, "")
	d.rect("track", 0, 4, barWidth, 8)
	d.line("zero", barWidth/2, 0, barWidth/2, barHeight)
	d.line("floor", at(-margin), 0, at(-margin), barHeight)
	d.line("whisker", at(diff.Low), barHeight/2, at(diff.High), barHeight/2)
	d.line("whisker", at(diff.Low), 5, at(diff.Low), 11)
	d.line("whisker", at(diff.High), 5, at(diff.High), 11)
	d.rect("value", at(diff.Value)-2, 4, 4, 8)
	return d.end()
}

// Span is a part of a timeline: of one instant if From and To are equal. Class is its colour.
type Span struct {
	Class    string
	From, To float64
}

const (
	timelineWidth = 500
	instant       = 2 // the width of an instant
)

// Timeline draws spans between 0 and end, which is above 0, as one path for each class. The page
// says the same in words.
func Timeline(spans []Span, end float64) template.HTML {
	d := start("tl", timelineWidth, 1, true, "")
	var classes []string
	paths := map[string]string{}
	for _, s := range spans {
		width := max(instant, math.Round(timelineWidth*(s.To-s.From)/end))
		from := min(math.Round(timelineWidth*s.From/end), timelineWidth-width)
		if paths[s.Class] == "" {
			classes = append(classes, s.Class)
		}
		paths[s.Class] += fmt.Sprintf("M%s 0h%sv1h-%sz", num(from), num(width), num(width))
	}
	for _, c := range classes {
		fmt.Fprintf(&d.b, `<path class="%s" d="%s"/>`, c, paths[c])
	}
	return d.end()
}
