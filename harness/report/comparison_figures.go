package report

import (
	"fmt"

	"evalctl/harness/compare"
	"evalctl/internal/markdown"
)

// figures writes what is known about each pair besides its pass rates.
func (c Comparison) figures(p *summary) {
	c.keys(p)
	for i := range c.Pairs {
		c.certainty(p, &c.Pairs[i])
	}
	p.printf("\n")
	c.measures(p)
	c.latencies(p)
}

// keys writes a row for each key in which the runs differ.
func (c Comparison) keys(p *summary) {
	header, align := []string{"differs"}, "l"
	for i := range c.Runs {
		header, align = append(header, markdown.Cell(c.name(i))), align+"l"
	}
	t := markdown.NewTable(align+"l", append(header, "")...)
	for _, k := range c.Keys {
		if k.State != compare.Differs {
			continue
		}
		row := []string{markdown.Cell(k.Name)}
		for _, v := range k.Values {
			if v == "" {
				v = "not recorded"
			}
			row = append(row, markdown.Cell(v))
		}
		remark := k.Note
		if k.Accepted {
			remark = "accepted"
		}
		t.Row(append(row, remark)...)
	}
	p.part(t.Write)
}

// certainty writes what decides a pair besides its test: clusters, margin and power.
func (c Comparison) certainty(p *summary, pair *compare.Pair) {
	title := markdown.Code(c.title(pair))
	if k := pair.Clustered; k != nil {
		p.printf("- %s: clustered by %s, %s, %s\n", title, markdown.Code(c.ClusterTag),
			markdown.Count(k.Clusters, "cluster"), pointsInterval(k.Interval))
	}
	if m := pair.Margin; m != nil {
		p.printf("- %s: margin %.1f pp, interval %s\n", title, 100*m.Margin, pointsInterval(m.Interval))
	}
	if power := pair.Power; power != nil && pair.Verdict == compare.NotSeen {
		p.printf("- %s: %.0f%% disagreement", title, 100*power.Disagreement)
		if power.Detectable != nil {
			p.printf("; only about %.0f pp could have been seen", 100**power.Detectable)
		}
		if power.Needed != nil {
			p.printf("; to confirm %.1f pp at %.0f%% power, run %s", 100**power.Confirm, 100*power.Power,
				markdown.Count(*power.Needed, "question"))
		}
		p.printf("\n")
	}
}

// measures writes a row for each measure of a pair.
func (c Comparison) measures(p *summary) {
	var rows [][]string
	for i := range c.Pairs {
		for _, m := range c.Pairs[i].Measures {
			if m.Interval == nil || m.Interval.Low == 0 && m.Interval.High == 0 {
				continue // the same for every question
			}
			within := fmt.Sprintf("%+.3f to %+.3f", m.Interval.Low, m.Interval.High)
			rows = append(rows, []string{
				m.Name, markdown.Cell(c.title(&c.Pairs[i])), fmt.Sprint(m.N), fmt.Sprintf("%.3f", m.RunMean),
				fmt.Sprintf("%.3f", m.ReferenceMean), fmt.Sprintf("%+.3f", m.Difference), within,
				markdown.Probability(m.Adjusted), m.Verdict.Words(),
			})
		}
	}
	t := markdown.NewTable("llrrrrrrl", "mean of", "run vs reference", "n", "run", "reference", "difference", "95% CI (bootstrap)", "p (adjusted)", "verdict")
	p.rows(t, len(rows), "rows", func(i int) []string { return rows[i] })
}

// latencies writes a row for each latency of a pair.
func (c Comparison) latencies(p *summary) {
	var rows [][]string
	for i := range c.Pairs {
		for _, l := range c.Pairs[i].Latencies {
			within, adjusted := markdown.None, markdown.None
			if l.Interval != nil {
				within = fmt.Sprintf("%.2f to %.2f", l.Interval.Low, l.Interval.High)
			}
			if l.Adjusted != nil {
				adjusted = markdown.Probability(*l.Adjusted)
			}
			words := map[compare.Verdict]string{compare.Better: "faster", compare.Worse: "slower", compare.NotSeen: l.Verdict.Words()}
			rows = append(rows, []string{
				l.Name, markdown.Cell(c.title(&c.Pairs[i])), fmt.Sprint(l.N), markdown.Milliseconds(&l.RunP50),
				markdown.Milliseconds(&l.ReferenceP50), fmt.Sprintf("×%.2f", l.Ratio), within, adjusted, words[l.Verdict],
			})
		}
	}
	t := markdown.NewTable("llrrrrrrl", "latency", "run vs reference", "n", "run p50", "reference p50", "ratio", "95% CI (log-ratio)", "p (adjusted)", "verdict")
	p.rows(t, len(rows), "rows", func(i int) []string { return rows[i] })
}
