package report

import (
	"math"
	"time"

	"evalctl/harness/bench/record"
	tables "evalctl/harness/bench/table"
	"evalctl/harness/history"
	"evalctl/harness/report/form"
	"evalctl/internal/figure"
	"evalctl/internal/svg"
)

// benchLine returns the nights of an operation of a target under one load.
func benchLine(id string, l *history.BenchLine) form.Section {
	s := form.Section{ID: id, Title: form.F("%s: %s", form.Name(l.Target), form.Name(l.Op)).String()}
	title := form.F("%s  bench  %s  %s  %s", form.Name(l.Target), form.Name(l.Op), form.Data(l.Arrival), figure.Count(l.Documents, "document"))
	s.Show(form.Terminal, form.Sentences{title})
	s.Show(form.Terminal, form.Gap{})
	s.Note(form.Pages, "%s", title)
	t := form.NewTable(form.F("Benches of the same work by night"), "night", ">done/s", ">p50 ms", ">p99 ms", ">p99 of the null daemon", "daemon")
	own, null := svg.Line{Name: "p99", Joined: true}, svg.Line{Name: "null daemon", Joined: true}
	for i, n := range l.Nights {
		nullP99, in := none, form.Everywhere
		if i < len(l.Nights)-maxNights {
			in = form.Terminal
		}
		if n.NullP99 != nil {
			nullP99 = tables.Quantity(&record.Quantity{Value: n.NullP99.Value})
			null.Points = append(null.Points, onDay(n.Date, n.NullP99.Value))
		}
		if n.P99 != nil {
			own.Points = append(own.Points, onDay(n.Date, n.P99.Value))
		}
		t.RowIn(in, n.Date, tables.Quantity(n.Rate), tables.Quantity(n.P50), tables.Quantity(n.P99), nullP99, nameOrNone(n.Daemon))
	}
	if len(own.Points) > 1 {
		draw(&s, byNight("p99 by night; the table has the values", svg.Dimension{Name: "p99", Zero: true, Format: figure.Duration}, own, null), "p99 of each night.")
	}
	s.Show(form.Everywhere, t)
	older(&s, l.Older, max(0, len(l.Nights)-maxNights))
	return s
}

// secondsOfDay are the seconds of a day in UTC.
const secondsOfDay = 24 * 60 * 60

// byNight returns a chart of values at days, in order. The first line has at least two.
func byNight(title string, y svg.Dimension, lines ...svg.Line) svg.XY {
	layout, points := "01-02", lines[0].Points
	if points[len(points)-1].X-points[0].X > 365 {
		layout = "2006-01"
	}
	return svg.XY{Title: title, Lines: lines, Y: y, X: svg.Dimension{Name: "night", Step: 1, Format: func(v float64) string {
		return time.Unix(int64(math.Round(v))*secondsOfDay, 0).UTC().Format(layout)
	}}}
}

// onDay returns a value at a date of time.DateOnly.
func onDay(date string, v float64) svg.Place {
	day, _ := time.Parse(time.DateOnly, date)
	return place(float64(day.Unix()/secondsOfDay), v)
}
