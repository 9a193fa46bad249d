package svg

import (
	"fmt"
	"html/template"
	"math"
)

// Scale is the horizontal scale that the rows of a plot share. Rows and axis stretch to the width of
// the page without changing the size of points and letters.
type Scale struct {
	Low, High float64
	// Zero and Floor are drawn in each row unless they are NaN.
	Zero, Floor float64
}

// rowHeight and axisHeight are in pixels.
const (
	rowHeight  = 22
	axisHeight = 20
)

// at returns a place on the scale in percent. Values outside are drawn at the end.
func (s Scale) at(v float64) float64 {
	const margin = 2 // percent, for a point at the end
	share := (v - s.Low) / (s.High - s.Low)
	if math.IsNaN(share) {
		return share
	}
	return margin + (100-2*margin)*max(0, min(1, share))
}

// Row draws a value with its interval. An uncertain value is a hollow circle. The page says the
// same in words beside it.
func (s Scale) Row(v Interval, certain bool) template.HTML {
	d := s.start("dots", rowHeight)
	d.percentLine("grid", s.at(s.Low), rowHeight/2, s.at(s.High), rowHeight/2)
	d.percentLine("zero", s.at(s.Zero), 0, s.at(s.Zero), rowHeight)
	d.percentLine("floor", s.at(s.Floor), 0, s.at(s.Floor), rowHeight)
	d.percentLine("whisker", s.at(v.Low), rowHeight/2, s.at(v.High), rowHeight/2)
	for _, end := range []float64{v.Low, v.High} {
		if end >= s.Low && end <= s.High {
			d.percentLine("whisker", s.at(end), rowHeight/2-4, s.at(end), rowHeight/2+4)
		}
	}
	class := "point"
	if !certain {
		class = "point hollow"
	}
	if finite(v.Value) {
		fmt.Fprintf(&d.b, `<circle class="%s" cx="%s%%" cy="%d" r="4.5"/>`, class, num(s.at(v.Value)), rowHeight/2)
	}
	return d.end()
}

// Axis draws the values of the scale.
func (s Scale) Axis(label func(float64) string) template.HTML {
	d := s.start("dots", axisHeight)
	ticks := axis{low: s.Low, high: s.High}.ticks()
	for i, v := range ticks {
		anchor := "middle"
		switch {
		case i == 0 && s.at(v) < 6:
			anchor = "start"
		case i == len(ticks)-1 && s.at(v) > 94:
			anchor = "end"
		}
		d.percentLine("zero", s.at(v), 0, s.at(v), 4)
		fmt.Fprintf(&d.b, `<text class="axis" text-anchor="%s" x="%s%%" y="16">%s</text>`, anchor, num(s.at(v)), template.HTMLEscapeString(label(v)))
	}
	return d.end()
}

func (s Scale) start(class string, height int) *drawing {
	d := &drawing{}
	fmt.Fprintf(&d.b, `<svg class="%s" width="100%%" height="%d" aria-hidden="true">`, class, height)
	return d
}

// percentLine draws a line between places in percent of the width.
func (d *drawing) percentLine(class string, x1, y1, x2, y2 float64) {
	if finite(x1, y1, x2, y2) {
		fmt.Fprintf(&d.b, `<line class="%s" x1="%s%%" y1="%s" x2="%s%%" y2="%s"/>`, class, num(x1), num(y1), num(x2), num(y2))
	}
}
