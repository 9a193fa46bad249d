package svg

import (
	"fmt"
	"html/template"
	"math"
	"strings"
)

// The size of a chart and its margins, in units that the page shows as about one pixel.
const (
	chartWidth  = 480
	chartHeight = 240
	left        = 44
	right       = 12
	top         = 14
	bottom      = 34
)

// axis maps values to coordinates.
type axis struct {
	low, high float64
	log       bool
	step      float64 // the least distance of ticks, 0 for any
	from, to  float64 // the coordinates of low and high
}

func (a axis) at(v float64) float64 {
	low, high := a.low, a.high
	if a.log {
		v, low, high = math.Log(v), math.Log(low), math.Log(high)
	}
	return a.from + (a.to-a.from)*(v-low)/(high-low)
}

// ticks returns round values on the axis, at most about seven, and none on an empty axis.
func (a axis) ticks() []float64 {
	var out []float64
	if a.low >= a.high {
		return nil
	}
	if a.log {
		decades := math.Log10(a.high / a.low)
		for e := math.Floor(math.Log10(a.low)); e <= math.Log10(a.high); e++ {
			for _, m := range []float64{1, 2, 5} {
				v := m * math.Pow(10, e)
				if v >= a.low && v <= a.high && (m == 1 || decades < 2.5) {
					out = append(out, v)
				}
			}
		}
		return out
	}
	step := math.Pow(10, math.Floor(math.Log10((a.high-a.low)/3)))
	for _, m := range []float64{1, 2, 5, 10} {
		if (a.high-a.low)/(m*step) <= 6 {
			step *= m
			break
		}
	}
	step = max(step, a.step)
	for i := int(math.Ceil(a.low/step - 1e-9)); float64(i)*step <= a.high*(1+1e-9); i++ {
		out = append(out, float64(i)*step)
	}
	return out
}

// frame draws the grid with its labels.
func (d *drawing) frame(x, y axis, xLabel, yLabel func(float64) string) {
	for _, v := range y.ticks() {
		d.line("grid", left, y.at(v), chartWidth-right, y.at(v))
		d.text("end", left-6, y.at(v)+4, yLabel(v))
	}
	for _, v := range x.ticks() {
		d.line("grid", x.at(v), top, x.at(v), chartHeight-bottom)
		if xLabel != nil {
			d.text("middle", x.at(v), chartHeight-bottom+16, xLabel(v))
		}
	}
}

// Series are sorted values of one kind. A logarithmic axis leaves out values that are not above 0.
type Series struct {
	Name   string
	Sorted []float64
}

// skewed is the ratio of the largest value to the median above which an axis is logarithmic.
const skewed = 20

// ECDF draws empirical distribution functions: the share of values that are at most x. Series must
// not be empty; at most four can be distinguished. Label formats a value.
func ECDF(title string, series []Series, label func(float64) string) template.HTML {
	low, high, median := math.Inf(1), 0.0, 0.0
	for _, s := range series {
		n := len(s.Sorted)
		high, median = max(high, s.Sorted[n-1]), max(median, s.Sorted[n/2])
		for _, v := range s.Sorted {
			if v > 0 {
				low = min(low, v)
				break
			}
		}
	}
	x := axis{low: 0, high: high, from: left, to: chartWidth - right}
	if high > skewed*median && low < high {
		x.log, x.low = true, low
	}
	if high <= 0 {
		x.high = 1
	}
	y := axis{low: 0, high: 1, from: chartHeight - bottom, to: top}
	d := start("chart", chartWidth, chartHeight, false, title)
	d.frame(x, y, label, func(v float64) string { return fmt.Sprintf("%.0f%%", 100*v) })
	for i, s := range series {
		fmt.Fprintf(&d.b, `<path class="line c%d" d="%s"/>`, i%4, steps(s.Sorted, x, y))
		legend := top + 12 + 16*float64(i)
		d.line(fmt.Sprintf("line c%d", i%4), left+8, legend-4, left+28, legend-4)
		d.text("start", left+34, legend, s.Name)
	}
	if x.log {
		d.text("end", chartWidth-right, chartHeight-4, "logarithmic axis")
	}
	return d.end()
}

// steps returns the path of a distribution function. Steps of less than half a unit are merged.
func steps(sorted []float64, x, y axis) string {
	var b strings.Builder
	n, drawn := float64(len(sorted)), math.Inf(-1)
	fmt.Fprintf(&b, "M%s %s", num(x.from), num(y.at(0)))
	for i, v := range sorted {
		if x.log && v < x.low {
			continue
		}
		at := x.at(v)
		last := i == len(sorted)-1
		if last || at-drawn >= 0.5 {
			fmt.Fprintf(&b, "H%sV%s", num(at), num(y.at(float64(i+1)/n)))
			drawn = at
		}
	}
	fmt.Fprintf(&b, "H%s", num(x.to))
	return b.String()
}

// Point is a rate from 0 to 1 at one place of a trend. Change marks the first point after a change.
type Point struct {
	Label string
	Rate  Interval
	// Change is set where the rates before and from this point on differ.
	Change bool
}

// Trend draws rates in order, with their intervals and the changes. Points must not be empty. The
// vertical axis is as narrow as the intervals allow; floor is drawn unless it is NaN.
func Trend(title string, points []Point, floor float64) template.HTML {
	low, high := 1.0, 0.0
	for _, p := range points {
		for _, v := range []float64{p.Rate.Value, p.Rate.Low, p.Rate.High, floor} {
			if finite(v) {
				low, high = min(low, v), max(high, v)
			}
		}
	}
	y := axis{low: max(0, math.Floor(low*20-1e-9)/20), high: min(1, math.Ceil(high*20+1e-9)/20), from: chartHeight - bottom, to: top}
	if y.low >= y.high {
		y.low, y.high = 0, 1
	}
	step := float64(chartWidth-left-right) / float64(len(points))
	at := func(i int) float64 { return left + step*(float64(i)+0.5) }
	d := start("chart", chartWidth, chartHeight, false, title)
	d.frame(axis{}, y, nil, func(v float64) string { return fmt.Sprintf("%.2f", v) })
	d.line("floor", left, y.at(floor), chartWidth-right, y.at(floor))
	var path strings.Builder
	for i, p := range points {
		if p.Change {
			d.line("change", at(i)-step/2, top, at(i)-step/2, chartHeight-bottom)
			d.text("middle", at(i)-step/2, top-3, "change")
		}
		d.line("whisker", at(i), y.at(p.Rate.Low), at(i), y.at(p.Rate.High))
		if finite(p.Rate.Value) {
			fmt.Fprintf(&path, "%s%s %s", move(path.Len()), num(at(i)), num(y.at(p.Rate.Value)))
			d.circle("point", at(i), y.at(p.Rate.Value), 3.5)
		}
	}
	fmt.Fprintf(&d.b, `<path class="line c0" d="%s"/>`, path.String())
	d.text("start", left, chartHeight-bottom+16, points[0].Label)
	if n := len(points); n > 1 {
		d.text("end", chartWidth-right, chartHeight-bottom+16, points[n-1].Label)
	}
	return d.end()
}

// move returns the command of a path's first point, or of a later one.
func move(written int) string {
	if written == 0 {
		return "M"
	}
	return "L"
}
