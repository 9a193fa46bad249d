package report

import (
	"fmt"
	"io"
	"strconv"

	"evalctl/harness/compare"
	"evalctl/harness/report/rows"
	"evalctl/harness/result"
	"evalctl/internal/terminal"
)

// CSV writes a row for each difference of a comparison, with CRLF (RFC 4180).
func CSV(w io.Writer, c *compare.Comparison) error {
	out := rows.NewTable(w, "\r\n")
	out.Row(
		"figure", "tag", "reference", "run", "n", "reference_value", "run_value", "difference", "ratio",
		"low", "high", "interval", "confidence", "both", "only_run", "only_reference", "neither", "tied", "unscored",
		"test", "p", "p_adjusted", "verdict", "margin_verdict",
	)
	for _, p := range c.Pairs {
		margin := ""
		if p.Margin != nil {
			margin = string(p.Margin.Verdict)
		}
		names := []string{csvText(c.Runs[p.Reference].Name), csvText(c.Runs[p.Run].Name)}
		row := passRateRow(c.Tag, names, p.ReferenceRate, p.RunRate, p.Table)
		out.Row(append(row, margin)...)
		for _, m := range p.Measures {
			row := measureRow(m.Name, c.Tag, names, m.N, &m.ReferenceMean, &m.RunMean, m.Interval)
			row[7] = csvNumber(&m.Difference)
			out.Row(append(row, m.Test, csvNumber(&m.P), csvNumber(&m.Adjusted), string(m.Verdict), "")...)
		}
		for _, l := range p.Latencies {
			row := measureRow("latency_"+l.Name+"_ms", c.Tag, names, l.N, &l.ReferenceP50, &l.RunP50, l.Interval)
			row[8] = csvNumber(&l.Ratio)
			switch {
			case l.Interval != nil:
			case l.Runs != nil:
				row[9], row[10], row[11] = csvNumber(&l.Runs.Low), csvNumber(&l.Runs.High), "range_over_runs"
			case l.Questions != nil:
				row[9], row[10], row[11] = csvNumber(&l.Questions.Low), csvNumber(&l.Questions.High), "quartiles_over_questions"
			}
			out.Row(append(row, l.Test, csvNumber(l.P), csvNumber(l.Adjusted), string(l.Verdict), "")...)
		}
	}
	for _, t := range c.Tags {
		for _, p := range t.Pairs {
			names := []string{csvText(c.Runs[p.Reference].Name), csvText(c.Runs[p.Run].Name)}
			row := passRateRow(t.Tag, names, t.Counts[p.Reference].PassRate(), t.Counts[p.Run].PassRate(), p.Table)
			out.Row(append(row, "")...)
		}
	}
	return out.Flush()
}

func passRateRow(tag string, names []string, reference, run *float64, t compare.Table) []string {
	row := measureRow("pass_rate", tag, names, t.N, reference, run, t.Interval)
	row[7] = csvNumber(t.Difference)
	for i, n := range []int{t.Both, t.OnlyRun, t.OnlyReference, t.Neither, t.Tied, t.Unscored} {
		row[13+i] = strconv.Itoa(n)
	}
	return append(row, t.Test, csvNumber(t.P), csvNumber(t.Adjusted), string(t.Verdict))
}

// measureRow returns the columns before test. Columns that do not apply to the figure are empty.
func measureRow(
	figure, tag string, names []string, n int, reference, run *float64, within *result.Interval,
) []string {
	row := make([]string, 19)
	copy(row, []string{figure, csvText(tag), names[0], names[1], strconv.Itoa(n), csvNumber(reference), csvNumber(run)})
	if within != nil {
		row[9], row[10], row[11] = csvNumber(&within.Low), csvNumber(&within.High), within.Method
		row[12] = fmt.Sprint(within.Confidence)
	}
	return row
}

// csvText formats foreign text for a cell, on one line.
func csvText(s string) string {
	return terminal.Line(rows.Text(s))
}

func csvNumber(v *float64) string {
	if v == nil {
		return ""
	}
	return strconv.FormatFloat(*v, 'g', -1, 64)
}
