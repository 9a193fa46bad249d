package text

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"evalctl/harness/bench/record"
	"evalctl/internal/figure"
	"evalctl/internal/terminal"
)

// Bench returns the tables of a bench.
func Bench(f *record.File) string {
	var b strings.Builder
	for _, table := range []string{
		benchLatency(f), benchStreams(f), benchResources(f), benchComparison(f), benchGrowth(f), benchLimits(f), benchFaults(f),
		benchBaseline(f), benchVerdicts(f),
	} {
		if table != "" && b.Len() > 0 {
			b.WriteString("\n")
		}
		b.WriteString(table)
	}
	return b.String()
}

// BenchNotes prints what the tables do not say: what was left out, and what their marks mean.
func BenchNotes(t *terminal.Terminal, f *record.File) {
	for _, x := range f.Targets {
		w, name := x.WarmUp, terminal.Line(x.Name)
		if w.Method == "none" {
			t.Field("warm-up", "%s: not looked for (--warm-up 0)", name)
		} else if w.Method != "" {
			t.Field("warm-up", "%s: %s in %.1f s left out (%s)", name, figure.Count(int(w.Requests), "request"), w.Seconds, strings.ToUpper(w.Method))
			if !w.Steady {
				t.Field("warning", "%s: the latency was still changing when the warm-up ended; allow more with --warm-up", name)
			}
		}
		for _, why := range x.Lacks {
			t.Field("note", "%s: left out of the mix: %s", name, terminal.Line(why))
		}
	}
	if left := benchLeftOut(f); left > 0 {
		t.Field("left out", "%s at the beginnings of blocks", figure.Count(int(left), "request"))
	}
	for _, s := range f.Summaries {
		for _, o := range s.Ops {
			if o.FirstError != "" && o.Op != record.All {
				t.Field("error", "%s %s: %s, first: %s", terminal.Line(f.Targets[s.Target].Name), terminal.Line(o.Op), errorKinds(o.Errors), terminal.Short(o.FirstError, 200))
			}
		}
	}
	if nearLimit(f) {
		t.Field("note", "* is within 2 × of what the null daemon reaches: the generator may be what is measured")
	}
}

func benchLeftOut(f *record.File) (n int64) {
	for _, b := range f.Blocks {
		n += b.LeftOut
	}
	return n
}

func nearLimit(f *record.File) bool {
	for _, s := range f.Summaries {
		for _, o := range s.Ops {
			for _, t := range []*record.Times{o.Latency, o.Service, o.FirstDelta} {
				if t != nil && slices.ContainsFunc([]*record.Quantity{t.P50, t.P90, t.P99, t.P999}, func(q *record.Quantity) bool { return q != nil && q.Near }) {
					return true
				}
			}
			if o.Rate.Near {
				return true
			}
		}
	}
	return false
}

// errorKinds returns the numbers of errors by kind.
func errorKinds(errors map[string]int64) string {
	var parts []string
	for _, kind := range slices.Sorted(maps.Keys(errors)) {
		parts = append(parts, fmt.Sprintf("%s ×%d", terminal.Line(kind), errors[kind]))
	}
	return strings.Join(parts, ", ")
}

// benchKey are the first columns of a row: target, and stage and size if there are several.
func benchKey(f *record.File, target, stage, size int) []string {
	row := []string{terminal.Line(f.Targets[target].Name)}
	if len(f.Plan.Stages) > 1 {
		row = append(row, stageName(f.Plan.Stages[stage]))
	}
	if len(f.Plan.Sizes) > 1 {
		row = append(row, fmt.Sprint(size))
	}
	return row
}

// benchHeader is the header of benchKey, columns its letters for terminal.Aligned.
func benchHeader(f *record.File) (header []string, columns string) {
	header, columns = []string{"target"}, "l"
	if len(f.Plan.Stages) > 1 {
		header, columns = append(header, "rate"), columns+"l"
	}
	if len(f.Plan.Sizes) > 1 {
		header, columns = append(header, "documents"), columns+"r"
	}
	return header, columns
}

func stageName(s record.Stage) string {
	if s.From == s.To {
		return fmt.Sprintf("%g/s", s.From)
	}
	return fmt.Sprintf("%g/s..%g/s", s.From, s.To)
}

// quantity returns a figure with its interval, "-" if it is not known.
func quantity(q *record.Quantity) string {
	if q == nil {
		return "-"
	}
	text := threeDigits(q.Value)
	if q.Near {
		text += "*"
	}
	if q.Low != nil && q.High != nil {
		text += fmt.Sprintf(" [%s, %s]", threeDigits(*q.Low), threeDigits(*q.High))
	}
	return text
}

// threeDigits returns a value with three digits.
func threeDigits(v float64) string {
	switch {
	case v >= 100:
		return fmt.Sprintf("%.0f", v)
	case v >= 10:
		return fmt.Sprintf("%.1f", v)
	}
	return fmt.Sprintf("%.2f", v)
}

func benchLatency(f *record.File) string {
	open := f.Plan.Arrival != record.Closed
	header, columns := benchHeader(f)
	header = append(header, "operation", "done/s", "errors", "dropped", "p50 ms", "p90", "p99 ms", "p99.9", "max")
	columns += "lrrrrrrrr"
	if open {
		header, columns = append(header, "service p50", "service p99"), columns+"rr"
	}
	rows := [][]string{header}
	for _, s := range f.Summaries {
		for _, o := range s.Ops {
			row := append(benchKey(f, s.Target, s.Stage, s.Size), terminal.Line(o.Op), quantity(o.Rate), share(o), fmt.Sprint(o.Dropped))
			row = append(row, quantiles(o.Latency)...)
			if open {
				service := o.Service
				if service == nil {
					service = &record.Times{}
				}
				row = append(row, plain(service.P50), plain(service.P99))
			}
			rows = append(rows, row)
		}
	}
	if len(rows) == 1 {
		return ""
	}
	return terminal.Aligned(rows, columns)
}

func quantiles(t *record.Times) []string {
	if t == nil {
		return []string{"-", "-", "-", "-", "-"}
	}
	return []string{quantity(t.P50), plain(t.P90), quantity(t.P99), plain(t.P999), threeDigits(t.Max)}
}

// plain returns a figure without its interval.
func plain(q *record.Quantity) string {
	if q == nil {
		return "-"
	}
	return quantity(&record.Quantity{Value: q.Value, Near: q.Near})
}

// share returns the number of errors with their share of what was offered.
func share(o record.OpFigures) string {
	n := int64(0)
	for _, k := range o.Errors {
		n += k
	}
	if n == 0 || o.Offered == 0 {
		return fmt.Sprint(n)
	}
	return fmt.Sprintf("%d (%.2g %%)", n, 100*float64(n)/float64(o.Offered))
}

func benchStreams(f *record.File) string {
	header, columns := benchHeader(f)
	rows := [][]string{append(header, "operation", "first delta p50 ms", "p99", "gap p50 ms", "p99", "stream p50 ms", "p99", "bytes", "$ per 1,000")}
	for _, s := range f.Summaries {
		for _, o := range s.Ops {
			if o.FirstDelta == nil {
				continue
			}
			row := append(benchKey(f, s.Target, s.Stage, s.Size), terminal.Line(o.Op), quantity(o.FirstDelta.P50), plain(o.FirstDelta.P99))
			for _, t := range []*record.Times{o.Gap, o.Stream} {
				if t == nil {
					t = &record.Times{}
				}
				row = append(row, plain(t.P50), plain(t.P99))
			}
			cost := "not reported"
			if o.CostPer1000 != nil {
				cost = fmt.Sprintf("%.4g", *o.CostPer1000)
			}
			rows = append(rows, append(row, fmt.Sprintf("%.0f", o.BytesMean), cost))
		}
	}
	if len(rows) == 1 {
		return ""
	}
	return terminal.Aligned(rows, columns+"lrrrrrrrr")
}

func benchResources(f *record.File) string {
	header, columns := benchHeader(f)
	rows := [][]string{append(header, "processors", "resident memory", "open files")}
	for _, s := range f.Summaries {
		if r := s.Resources; r != nil {
			rows = append(rows, append(benchKey(f, s.Target, s.Stage, s.Size), quantity(r.CPU), figure.Bytes(r.RSSBytes), fmt.Sprint(r.OpenFiles)))
		}
	}
	if len(rows) == 1 {
		return ""
	}
	return terminal.Aligned(rows, columns+"rrr")
}

func benchComparison(f *record.File) string {
	header, columns := benchHeader(f)
	rows := [][]string{append(header, "operation", "figure", "ratio to", "", "95 % interval", "p", "adjusted", "")}
	for _, c := range f.Comparisons {
		rows = append(rows, append(benchKey(f, c.Target, c.Stage, c.Size), terminal.Line(c.Op), c.Figure,
			terminal.Line(f.Targets[c.Reference].Name), fmt.Sprintf("×%.3f", c.Ratio), within(c.Difference),
			probability(c.P), probability(c.Adjusted), c.Verdict))
	}
	if len(rows) == 1 {
		return ""
	}
	return terminal.Aligned(rows, columns+"lllrrrrl")
}

func within(d record.Difference) string {
	if d.Low == nil || d.High == nil {
		return "-"
	}
	return fmt.Sprintf("×%.3f to ×%.3f", *d.Low, *d.High)
}

func probability(p *float64) string {
	if p == nil {
		return "-"
	}
	return figure.Probability(*p)
}

func benchGrowth(f *record.File) string {
	if len(f.Growth) == 0 {
		return ""
	}
	header := []string{"target", "figure"}
	for _, n := range f.Plan.Sizes {
		header = append(header, fmt.Sprint(n))
	}
	rows := [][]string{append(header, "grows as documents^", "95 % interval")}
	for _, g := range f.Growth {
		row := []string{terminal.Line(f.Targets[g.Target].Name), strings.TrimSpace(terminal.Line(g.Op) + " " + g.Figure)}
		for _, size := range f.Plan.Sizes {
			cell := "-"
			if i := slices.Index(g.Sizes, size); i >= 0 {
				cell = grown(g.Figure, g.Values[i])
			}
			row = append(row, cell)
		}
		interval := "-"
		if g.Low != nil && g.High != nil {
			interval = fmt.Sprintf("%.2f to %.2f", *g.Low, *g.High)
		}
		rows = append(rows, append(row, fmt.Sprintf("%.2f", g.Exponent), interval))
	}
	return terminal.Table(rows, 2)
}

// grown returns a value of a growth in its unit.
func grown(name string, v float64) string {
	switch name {
	case "rss", "disk", "index":
		return figure.Bytes(int64(v))
	}
	return figure.Duration(v)
}

func benchLimits(f *record.File) string {
	if len(f.Limits) == 0 {
		return ""
	}
	curve := [][]string{{"target", "offered/s", "done/s", "errors", "p50 ms", "p99 ms", "max", "kept"}}
	for _, p := range f.Probes {
		s := record.Summarise(p.Block)
		o := s.Ops[len(s.Ops)-1]
		q := quantiles(o.Latency)
		kept := map[bool]string{true: "yes", false: "no"}[p.Kept]
		if p.Confirm {
			kept += " (confirming)"
		}
		curve = append(curve, []string{
			terminal.Line(f.Targets[p.Target].Name), threeDigits(p.Rate), threeDigits(o.Rate.Value), fmt.Sprintf("%.2g %%", 100*o.ErrorShare), q[0], q[2], q[4], kept,
		})
	}
	var b strings.Builder
	b.WriteString(terminal.Aligned(curve, "lrrrrrrl"))
	for _, l := range f.Limits {
		name := terminal.Line(f.Targets[l.Target].Name)
		switch {
		case l.Rate == 0:
			fmt.Fprintf(&b, "%s keeps %s at no rate that was tried\n", name, terminal.Line(f.Plan.Search))
		case !l.Confirmed:
			fmt.Fprintf(&b, "%s kept %s at %s/s once, and not each time again\n", name, terminal.Line(f.Plan.Search), threeDigits(l.Rate))
		default:
			fmt.Fprintf(&b, "%s keeps %s up to %s/s, confirmed %d times", name, terminal.Line(f.Plan.Search), threeDigits(l.Rate), record.Confirmations)
			if l.Above > 0 {
				fmt.Fprintf(&b, "; not at %s/s", threeDigits(l.Above))
			}
			b.WriteString("\n")
		}
	}
	return b.String()
}

func benchFaults(f *record.File) string {
	rows := [][]string{{"target", "fault", "at s", "lasted s", "recovery s", "acknowledged writes", "checked", "lost"}}
	for _, x := range f.Faults {
		recovery := "never"
		if x.RecoverySeconds != nil {
			recovery = fmt.Sprintf("%.2f", *x.RecoverySeconds)
		}
		rows = append(rows, []string{
			terminal.Line(f.Targets[x.Target].Name), x.Kind, fmt.Sprintf("%.1f", x.AtSeconds), fmt.Sprintf("%.2f", x.LastedSeconds), recovery,
			fmt.Sprint(x.Acknowledged), fmt.Sprint(x.Checked), fmt.Sprint(x.Lost),
		})
	}
	if len(rows) == 1 {
		return ""
	}
	return terminal.Table(rows, 2)
}

func benchBaseline(f *record.File) string {
	if f.Baseline == nil {
		return ""
	}
	rows := [][]string{{"against the baseline", "figure", "ratio", "95 % interval", "p", "adjusted", ""}}
	add := func(name string, series []record.Series) {
		for i, d := range record.Differences(series) {
			rows = append(rows, []string{name + terminal.Line(series[i].Op), series[i].Figure, fmt.Sprintf("×%.3f", d.Ratio), within(d),
				probability(d.P), probability(d.Adjusted), d.Verdict})
		}
	}
	add("", f.Baseline.Series)
	add("null daemon ", f.Baseline.Null)
	return terminal.Aligned(rows, "llrrrrl")
}

func benchVerdicts(f *record.File) string {
	var b strings.Builder
	for _, v := range f.Verdicts {
		word := "PASS"
		if v.Unjudged {
			word = "----"
		} else if !v.Held {
			word = "FAIL"
		}
		fmt.Fprintf(&b, "%s  %s\n", word, terminal.Line(v.Sentence))
	}
	return b.String()
}
