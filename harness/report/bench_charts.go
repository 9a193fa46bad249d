package report

import (
	"fmt"
	"html/template"
	"math"
	"strings"

	"evalctl/harness/bench/record"
	"evalctl/harness/report/form"
	"evalctl/internal/figure"
	"evalctl/internal/svg"
)

// charts adds the charts of a bench to the section with a title.
func (b Bench) charts(s *form.Section) {
	switch s.Title {
	case "Latency":
		draw(s, b.distribution(), "Share of all requests that had ended with success after this time. Dashed line: an objective.")
		draw(s, b.course(), "Median of each block (line) and its slowest request (points), from the begin of the bench.")
		draw(s, b.stages(), "99th percentile against the rate of requests that succeeded, a point for each rate that was offered.")
	case "Rates":
		draw(s, b.knee(), "99th percentile against the rate of requests that succeeded, a point for each rate that was tried.")
	case "Growth":
		draw(s, b.growth(func(g record.Growth) bool { return g.Op != "" }, "Latency", figure.Duration), "Latencies by the number of documents.")
		draw(s, b.growth(func(g record.Growth) bool { return g.Op == "" && g.Figure != "fill" }, "Size",
			func(v float64) string { return figure.Bytes(int64(v)) }), "What the daemon holds by the number of documents.")
	}
}

// draw adds a chart if it has points.
func draw(s *form.Section, chart svg.XY, caption string) {
	drawn := chart.Draw()
	if drawn != "" {
		s.Show(form.HTML, form.Chart{SVG: func() template.HTML { return drawn }, Caption: caption})
	}
}

// limitsOf returns the objectives for the given quantiles as lines of a chart.
func limitsOf(objectives string, ofX bool, figures ...string) (out []svg.Limit) {
	parsed, err := record.ParseObjectives(objectives)
	if err != nil {
		return nil // the file has none that can be drawn
	}
	for _, o := range parsed {
		for _, f := range figures {
			if o.Figure == f {
				out = append(out, svg.Limit{Name: o.String(), At: o.Limit, OfX: ofX})
			}
		}
	}
	return out
}

func (b Bench) named(target int) string {
	return form.F("%s", form.Name(b.File.Targets[target].Name)).String()
}

// place returns a point without an interval.
func place(x, y float64) svg.Place { return svg.Place{X: x, Y: y, Low: math.NaN(), High: math.NaN()} }

// distribution draws the latencies of each target at the last stage and the largest size.
func (b Bench) distribution() svg.XY {
	f := b.File
	c := svg.XY{Title: "Share of requests by latency; the table has the percentiles",
		X:      svg.Dimension{Name: "latency", Log: true, Format: figure.Duration},
		Y:      svg.Dimension{Name: "share of requests", Zero: true, Format: percent},
		Limits: limitsOf(f.Plan.Objectives, true, "p50", "p90", "p99", "p99.9")}
	if len(f.Plan.Sizes) == 0 || len(f.Plan.Stages) == 0 {
		return c
	}
	for target := range f.Targets {
		line := svg.Line{Name: b.named(target), Joined: true}
		for _, p := range f.Curve(target, len(f.Plan.Stages)-1, f.Plan.Sizes[len(f.Plan.Sizes)-1]) {
			line.Points = append(line.Points, place(p.MS, p.Share))
		}
		if len(line.Points) > 0 {
			c.Lines = append(c.Lines, line)
		}
	}
	return c
}

func percent(v float64) string { return fmt.Sprintf("%.0f%%", 100*v) }

// course draws the latencies of the blocks over time.
func (b Bench) course() svg.XY {
	f := b.File
	c := svg.XY{Title: "Latency in the course of the bench; the table has the percentiles",
		X:      svg.Dimension{Name: "time", Format: func(v float64) string { return fmt.Sprintf("%.4g s", v) }},
		Y:      svg.Dimension{Name: "latency", Log: true, Format: figure.Duration},
		Limits: limitsOf(f.Plan.Objectives, false, "p50", "max")}
	medians, slowest := make([]svg.Line, len(f.Targets)), make([]svg.Line, len(f.Targets))
	for _, block := range f.Blocks {
		x := block.AtSeconds
		medians[block.Target].Points = append(medians[block.Target].Points, place(x, record.Median(block)/1e6))
		slowest[block.Target].Points = append(slowest[block.Target].Points, place(x, float64(record.Slowest(block))/1e6))
	}
	for target := range f.Targets {
		if len(medians[target].Points) == 0 {
			continue
		}
		medians[target].Name, medians[target].Joined = b.named(target), true
		c.Lines = append(c.Lines, medians[target])
	}
	for target, line := range slowest {
		if len(line.Points) > 0 && !f.Targets[target].Null {
			line.Name = b.named(target) + ", slowest"
			c.Lines = append(c.Lines, line)
		}
	}
	return c
}

// stages draws a bench with several rates.
func (b Bench) stages() svg.XY {
	f := b.File
	c := throughput(f.Plan.Objectives)
	if len(f.Plan.Stages) < 2 {
		return c
	}
	for target := range f.Targets {
		line := svg.Line{Name: b.named(target), Joined: true}
		for _, s := range f.Summaries {
			if s.Target == target && len(s.Ops) > 0 {
				line.Points = append(line.Points, rateAndP99(s.Ops[len(s.Ops)-1])...)
			}
		}
		if len(line.Points) > 0 {
			c.Lines = append(c.Lines, line)
		}
	}
	return c
}

// knee draws the rates that were tried, with the highest one that was kept.
func (b Bench) knee() svg.XY {
	f := b.File
	c := throughput(f.Plan.Search)
	for target := range f.Targets {
		line := svg.Line{Name: b.named(target)}
		for _, p := range f.Probes {
			if s := f.Summarise(p); p.Target == target && len(s.Ops) > 0 {
				line.Points = append(line.Points, rateAndP99(s.Ops[len(s.Ops)-1])...)
			}
		}
		if len(line.Points) > 0 {
			c.Lines = append(c.Lines, line)
		}
	}
	for _, l := range f.Limits {
		if l.Rate > 0 && !f.Targets[l.Target].Null {
			c.Limits = append(c.Limits, svg.Limit{Name: b.named(l.Target) + " keeps it", At: l.Rate, OfX: true})
		}
	}
	return c
}

// throughput returns a chart of the 99th percentile against the rate.
func throughput(objectives string) svg.XY {
	return svg.XY{Title: "99th percentile of the latency against the rate; the table has the values",
		X:      svg.Dimension{Name: "requests a second", Zero: true, Format: func(v float64) string { return fmt.Sprintf("%.4g", v) }},
		Y:      svg.Dimension{Name: "p99", Log: true, Format: figure.Duration},
		Limits: limitsOf(objectives, false, "p99")}
}

// rateAndP99 returns the point of an operation, none if its percentile is unknown.
func rateAndP99(o record.OpFigures) []svg.Place {
	if o.Latency == nil || o.Latency.P99 == nil || o.Rate == nil {
		return nil
	}
	p := place(o.Rate.Value, o.Latency.P99.Value)
	if q := o.Latency.P99; q.Low != nil && q.High != nil {
		p.Low, p.High = *q.Low, *q.High
	}
	return []svg.Place{p}
}

// growth draws some of the figures that grow.
func (b Bench) growth(of func(record.Growth) bool, unit string, label func(float64) string) svg.XY {
	c := svg.XY{Title: unit + " by the number of documents; the table has the values",
		X: svg.Dimension{Name: "documents", Log: true, Format: func(v float64) string { return fmt.Sprintf("%.4g", v) }},
		Y: svg.Dimension{Name: strings.ToLower(unit), Log: true, Format: label}}
	for _, g := range b.File.Growth {
		if !of(g) {
			continue
		}
		line := svg.Line{Name: strings.TrimSpace(b.named(g.Target) + " " + strings.TrimSpace(g.Op+" "+g.Figure)), Joined: true}
		for i, size := range g.Sizes {
			if i < len(g.Values) {
				line.Points = append(line.Points, place(float64(size), g.Values[i]))
			}
		}
		c.Lines = append(c.Lines, line)
	}
	return c
}
