// Package svg draws the charts of HTML pages as inline SVG elements.
//
// Colours and widths of lines come from CSS classes, which the page must define: track, value,
// whisker, floor and zero of bars; axis, grid, line and point of charts, where series are c0 to c3;
// and the classes of Span. No chart has an attribute style, so that a page can forbid inline
// styles. Numbers that are not finite are left out.
package svg

import (
	"fmt"
	"html"
	"html/template"
	"math"
	"strconv"
	"strings"
)

// drawing is an SVG element that is being written.
type drawing struct{ b strings.Builder }

// start opens the element. A chart with a title is an image with that name for screen readers. One
// without is hidden from them: then the page says the same in words beside it.
func start(class string, width, height float64, stretch bool, title string) *drawing {
	d := &drawing{}
	fmt.Fprintf(&d.b, `<svg class="%s" viewBox="0 0 %s %s"`, class, num(width), num(height))
	if stretch {
		d.b.WriteString(` preserveAspectRatio="none"`)
	}
	if title == "" {
		d.b.WriteString(` aria-hidden="true">`)
	} else {
		fmt.Fprintf(&d.b, ` role="img" aria-label="%s">`, html.EscapeString(title))
	}
	return d
}

func (d *drawing) end() template.HTML {
	d.b.WriteString("</svg>")
	return template.HTML(d.b.String())
}

func (d *drawing) rect(class string, x, y, width, height float64) {
	if finite(x, y, width, height) {
		fmt.Fprintf(&d.b, `<rect class="%s" x="%s" y="%s" width="%s" height="%s"/>`,
			class, num(x), num(y), num(max(0, width)), num(height))
	}
}

func (d *drawing) line(class string, x1, y1, x2, y2 float64) {
	if finite(x1, y1, x2, y2) {
		fmt.Fprintf(&d.b, `<path class="%s" d="M%s %sL%s %s"/>`, class, num(x1), num(y1), num(x2), num(y2))
	}
}

func (d *drawing) circle(class string, x, y, radius float64) {
	if finite(x, y) {
		fmt.Fprintf(&d.b, `<circle class="%s" cx="%s" cy="%s" r="%s"/>`, class, num(x), num(y), num(radius))
	}
}

// text writes a label. The anchor is start, middle or end.
func (d *drawing) text(anchor string, x, y float64, label string) {
	fmt.Fprintf(&d.b, `<text class="axis" text-anchor="%s" x="%s" y="%s">%s</text>`,
		anchor, num(x), num(y), html.EscapeString(label))
}

// num formats a coordinate with at most two decimals.
func num(f float64) string {
	s := strconv.FormatFloat(f, 'f', 2, 64)
	return strings.TrimSuffix(strings.TrimRight(s, "0"), ".")
}

func finite(values ...float64) bool {
	for _, v := range values {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return false
		}
	}
	return true
}
