package report

import (
	"fmt"
	"html/template"
	"math"

	"evalctl/harness/compare"
	"evalctl/harness/report/form"
	"evalctl/harness/result"
	"evalctl/internal/figure"
	"evalctl/internal/svg"
)

// none replaces a missing figure.
const none = "–"

// nameOrNone returns a name, or none if it is empty.
func nameOrNone(text string) form.Text {
	if text == "" {
		return form.F(none)
	}
	return form.F("%s", form.Name(text))
}

func rateWithin(rate *float64, within *result.Interval) string {
	switch {
	case rate == nil:
		return "n/a"
	case within == nil:
		return figure.Rate(rate)
	}
	return fmt.Sprintf("%.3f [%.3f %.3f]", *rate, within.Low, within.High)
}

// pointsWithin formats a difference of pass rates with its interval, in percentage points.
func pointsWithin(t compare.Table) string {
	text := figure.Points(*t.Difference) + "pp"
	if t.Interval != nil {
		text += fmt.Sprintf(" [%s %s]", figure.Points(t.Interval.Low), figure.Points(t.Interval.High))
	}
	return text
}

// rateBar draws a rate with its interval and a floor, which is NaN for none.
func rateBar(rate *float64, i *result.Interval, floor float64) form.Cell {
	if rate == nil {
		return form.Cell{}
	}
	v := svg.Interval{Value: *rate, Low: math.NaN(), High: math.NaN()}
	if i != nil {
		v.Low, v.High = i.Low, i.High
	}
	return bar(v, floor)
}

// share draws a part of a whole.
func share(part, whole float64) form.Cell {
	return bar(svg.Interval{Value: part / whole, Low: math.NaN(), High: math.NaN()}, math.NaN())
}

func bar(v svg.Interval, floor float64) form.Cell {
	return form.Cell{Bar: func() template.HTML { return svg.Bar(v, floor) }}
}
