package svg

import (
	"cmp"
	"fmt"
	"html/template"
	"math"
	"slices"
	"strings"
)

// XY is a chart of points on two axes. A point that an axis cannot show, such as 0 on a logarithmic
// one, is left out.
type XY struct {
	// Title names the chart for screen readers.
	Title string
	X, Y  Dimension
	Lines []Line
	// Limits are lines across the chart, such as objectives.
	Limits []Limit
	// Front joins the points that no other point beats with less of X and more of Y.
	Front bool
}

// Dimension is an axis.
type Dimension struct {
	Name   string
	Log    bool
	Zero   bool    // the axis begins at 0
	Step   float64 // the least distance of labels, 0 for any
	Format func(float64) string
}

// Line is a series. It differs from others in colour, dashes and the shape of its points.
type Line struct {
	Name   string
	Points []Place
	Joined bool
}

// Place is a point with the ends of an interval of Y, which may be NaN, and an optional label.
type Place struct {
	X, Y, Low, High float64
	Label           string
}

// Limit is a line at a value of an axis.
type Limit struct {
	Name string
	At   float64
	OfX  bool
}

// axis returns the axis that shows all values.
func (d Dimension) axis(values []float64, from, to float64) axis {
	a := axis{low: math.Inf(1), high: math.Inf(-1), log: d.Log, step: d.Step, from: from, to: to}
	for _, v := range values {
		if finite(v) && (!d.Log || v > 0) {
			a.low, a.high = min(a.low, v), max(a.high, v)
		}
	}
	switch {
	case a.low > a.high:
		a.low, a.high, a.log = 0, 1, false
	case d.Log:
		a.low, a.high = a.low/1.3, a.high*1.3
	case d.Zero:
		a.low, a.high = min(0, a.low), cmp.Or(a.high*1.08, 1)
	default:
		pad := cmp.Or((a.high-a.low)*0.08, math.Abs(a.high)*0.1, 1)
		a.low, a.high = a.low-pad, a.high+pad
	}
	return a
}

// Draw draws the chart. It is empty without a point.
func (c XY) Draw() template.HTML {
	var xs, ys []float64
	for _, l := range c.Lines {
		for _, p := range l.Points {
			xs, ys = append(xs, p.X), append(ys, p.Y, p.Low, p.High)
		}
	}
	if len(xs) == 0 {
		return ""
	}
	for _, l := range c.Limits {
		if l.OfX {
			xs = append(xs, l.At)
		} else {
			ys = append(ys, l.At)
		}
	}
	x, y := c.X.axis(xs, left, chartWidth-right), c.Y.axis(ys, chartHeight-bottom, top+14)
	d := c.start()
	d.frame(x, y, c.X.Format, c.Y.Format)
	d.text("end", chartWidth-right, chartHeight+8, c.X.Name+logNote(x))
	d.text("start", -wider, top, c.Y.Name+logNote(y))
	for _, l := range c.Limits {
		d.limit(l, x, y)
	}
	if c.Front {
		d.front(c.Lines, x, y)
	}
	for i, l := range c.Lines {
		d.series(l, i, x, y)
	}
	d.legend(c.Lines)
	return d.end()
}

// The labels of the vertical axis have more space than in other charts, and each series has a line
// below the chart.
const (
	wider      = 28
	legendTop  = chartHeight + 26
	legendLine = 18
)

// start opens the element.
func (c XY) start() *drawing {
	d := &drawing{}
	height := chartHeight + 14
	if len(c.Lines) > 1 {
		height = legendTop + legendLine*(len(c.Lines)-1) + 6
	}
	fmt.Fprintf(&d.b, `<svg class="chart" viewBox="%d 0 %d %d" role="img" aria-label="%s">`,
		-wider, chartWidth+wider, height, template.HTMLEscapeString(c.Title))
	return d
}

func logNote(a axis) string {
	if a.log {
		return " (logarithmic)"
	}
	return ""
}

func (a axis) shows(v float64) bool { return finite(v) && (!a.log || v > 0) }

func (d *drawing) limit(l Limit, x, y axis) {
	if l.OfX && x.shows(l.At) {
		d.line("floor", x.at(l.At), top+14, x.at(l.At), chartHeight-bottom)
		d.text("end", x.at(l.At)-4, top+24, l.Name)
	} else if !l.OfX && y.shows(l.At) {
		d.line("floor", left, y.at(l.At), chartWidth-right, y.at(l.At))
		d.text("end", chartWidth-right-2, y.at(l.At)-4, l.Name)
	}
}

// series draws a line, its points and their intervals.
func (d *drawing) series(l Line, i int, x, y axis) {
	var path strings.Builder
	for _, p := range l.Points {
		if !x.shows(p.X) || !y.shows(p.Y) {
			continue
		}
		px, py := x.at(p.X), y.at(p.Y)
		fmt.Fprintf(&path, "%s%s %s", move(path.Len()), num(px), num(py))
		if y.shows(p.Low) && y.shows(p.High) {
			d.line("whisker", px, y.at(p.Low), px, y.at(p.High))
		}
		if !l.Joined || len(l.Points) <= maxMarked {
			d.marker(i, px, py)
		}
		if p.Label != "" {
			anchor, off := "start", 8.0
			if px > chartWidth*0.7 {
				anchor, off = "end", -8
			}
			d.text(anchor, px+off, py-6, p.Label)
		}
	}
	if l.Joined {
		fmt.Fprintf(&d.b, `<path class="line c%d" d="%s"/>`, i%4, path.String())
	}
}

// maxMarked is how many points of a line have a marker.
const maxMarked = 60

// marker draws a point in the shape of a series: a circle, a square, a triangle or a rhombus, which
// is hollow from the fifth series on.
func (d *drawing) marker(series int, x, y float64) {
	shapes := []string{"", "M%s %sm-4 -4h8v8h-8z", "M%s %sm0 -5l5 9h-10z", "M%s %sm0 -5l5 5l-5 5l-5 -5z"}
	hollow := ""
	if series/4%2 == 1 {
		hollow = " hollow"
	}
	if series%4 == 0 {
		d.circle("point"+hollow, x, y, 3.5)
		return
	}
	fmt.Fprintf(&d.b, `<path class="mark%d%s" d="%s"/>`, series%4, hollow, fmt.Sprintf(shapes[series%4], num(x), num(y)))
}

// front draws a line through the points that no other beats.
func (d *drawing) front(lines []Line, x, y axis) {
	var all []Place
	for _, l := range lines {
		for _, p := range l.Points {
			if x.shows(p.X) && y.shows(p.Y) {
				all = append(all, p)
			}
		}
	}
	slices.SortFunc(all, func(a, b Place) int { return cmp.Or(cmp.Compare(a.X, b.X), cmp.Compare(b.Y, a.Y)) })
	best, path := math.Inf(-1), ""
	for _, p := range all {
		if p.Y <= best {
			continue
		}
		if path == "" {
			path = fmt.Sprintf("M%s %s", num(x.at(p.X)), num(y.at(p.Y)))
		} else {
			path += fmt.Sprintf("H%sV%s", num(x.at(p.X)), num(y.at(p.Y)))
		}
		best = p.Y
	}
	if path != "" {
		fmt.Fprintf(&d.b, `<path class="front" d="%sH%s"/>`, path, num(x.to))
	}
}

// legend names the series, if there are several.
func (d *drawing) legend(lines []Line) {
	if len(lines) < 2 {
		return
	}
	for i, l := range lines {
		at := float64(legendTop + legendLine*i)
		if l.Joined {
			d.line(fmt.Sprintf("line c%d", i%4), left+8, at-4, left+28, at-4)
		}
		d.marker(i, left+18, at-4)
		d.text("start", left+34, at, l.Name)
	}
}
