package report

import (
	"fmt"

	"evalctl/harness/report/form"
	"evalctl/harness/result"
	"evalctl/internal/figure"
	"evalctl/internal/llm"
	"evalctl/internal/svg"
)

// quality is the quality of one of several arms or runs, and its cost.
type quality struct {
	name     string
	rate     *float64
	interval *result.Interval
	p50      *float64 // of the latency in milliseconds, nil if it is not known
	cost     *float64 // of a question in dollars, nil if it is not known
}

// qualityOf returns the quality of a result.
func qualityOf(name string, res *result.Result) quality {
	q := quality{name: name, rate: res.PassRate, interval: res.Believed(), p50: res.Latency.P50}
	if c := res.CostAccounting; c != nil && !res.Unmetered() && res.Total > 0 {
		if list := c.ListUSD(); list != nil {
			q.cost = new(inDollars(*list) / float64(res.Total))
		}
	}
	return q
}

func inDollars(u llm.USD) float64 { return float64(u) / float64(llm.Dollar) }

func dollarText(v float64) string { return dollars(v).String() }

// pareto draws pass rates against latency and against cost, if at least two values are known.
func pareto(s *form.Section, all []quality) {
	const how = "Whisker: the interval. Dotted line: those that no other beats in both."
	rate := svg.Dimension{Name: "pass rate", Zero: true, Format: func(v float64) string { return fmt.Sprintf("%.2f", v) }}
	latency := svg.XY{Title: "Pass rate against latency; the table has the values", Front: true,
		X: svg.Dimension{Name: "p50", Log: true, Format: figure.Duration}, Y: rate,
		Lines: []svg.Line{{Points: places(all, func(q quality) *float64 { return q.p50 })}}}
	if len(latency.Lines[0].Points) > 1 {
		draw(s, latency, "Pass rate against the median latency. "+how)
	}
	cost := svg.XY{Title: "Pass rate against cost; the table has the values", Front: true,
		X: svg.Dimension{Name: "list cost of a question", Zero: true, Format: dollarText}, Y: rate,
		Lines: []svg.Line{{Points: places(all, func(q quality) *float64 { return q.cost })}}}
	costs := false
	for _, p := range cost.Lines[0].Points {
		costs = costs || p.X > 0
	}
	if len(cost.Lines[0].Points) > 1 && costs {
		draw(s, cost, "Pass rate against what a question costs without cached replies. "+how)
	}
}

// places returns the points with a known pass rate and x.
func places(all []quality, x func(quality) *float64) (out []svg.Place) {
	for _, q := range all {
		at := x(q)
		if q.rate == nil || at == nil {
			continue
		}
		p := place(*at, *q.rate)
		if q.interval != nil {
			p.Low, p.High = q.interval.Low, q.interval.High
		}
		p.Label = form.F("%s", form.Name(q.name)).String()
		out = append(out, p)
	}
	return out
}

// pareto draws the arms with a score.
func (a Arms) pareto(s *form.Section) {
	var all []quality
	for _, arm := range a {
		if arm.Run != nil && arm.Run.scored() {
			all = append(all, qualityOf(arm.Name, &arm.Run.Result))
		}
	}
	pareto(s, all)
}

// pareto draws the runs by latency. Their figures lack the cost.
func (c Comparison) pareto(s *form.Section) {
	var all []quality
	for i, r := range c.Runs {
		all = append(all, quality{name: c.name(i), rate: r.PassRate, interval: r.Believed(), p50: r.Latency.P50})
	}
	pareto(s, all)
}

// totalUSD returns the cost of a result in dollars, nil if unknown.
func totalUSD(res *result.Result) *float64 {
	if res.GivenVerdicts() || res.Unmetered() {
		return nil
	}
	if c := res.CostAccounting; c != nil && res.Cost.TotalUSD == nil {
		return new(inDollars(c.TotalUSD))
	}
	if total, unknown := res.Cost.Total(); !unknown {
		return new(inDollars(total))
	}
	return nil
}
