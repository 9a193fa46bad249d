// Package table formats the results of a bench as tables of texts, which each form of a report
// escapes and draws in its own way.
package table

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"evalctl/harness/bench/record"
	"evalctl/internal/figure"
)

// Table is a table. Its first row is the header.
type Table struct {
	Title string
	// Columns has a letter for each column: l for texts, r for figures.
	Columns string
	Rows    [][]string
	Below   []string // sentences
}

// Of returns the tables of a bench that have rows.
func Of(f *record.File) []Table {
	all := []Table{
		latency(f), streams(f), resources(f), comparison(f), growth(f), limits(f), faults(f), baseline(f),
	}
	return slices.DeleteFunc(all, func(t Table) bool { return len(t.Rows) < 2 })
}

// NearNote explains the mark of figures near the generator's limit.
const NearNote = "* is within 2 × of the null daemon's figure: the generator may be the bottleneck, not the target"

// Near reports whether a figure has this mark.
func Near(f *record.File) bool {
	marked := func(s record.Summary) bool { return slices.ContainsFunc(s.Ops, record.OpFigures.Near) }
	return slices.ContainsFunc(f.Summaries, marked) ||
		slices.ContainsFunc(f.Limits, func(l record.Limit) bool { return l.Near != nil && *l.Near }) ||
		slices.ContainsFunc(f.Probes, func(p record.Probe) bool { return marked(f.Summarise(p)) })
}

// head returns a table with the columns of key, followed by columns, whose names and letters are
// given.
func head(f *record.File, title string, columns string, names ...string) Table {
	t := Table{Title: title, Columns: "l"}
	header := []string{"target"}
	if len(f.Plan.Stages) > 1 {
		header, t.Columns = append(header, "rate"), t.Columns+"l"
	}
	if len(f.Plan.Sizes) > 1 {
		header, t.Columns = append(header, "documents"), t.Columns+"r"
	}
	t.Columns += columns
	t.Rows = [][]string{append(header, names...)}
	return t
}

// key returns the first cells of a row: the target, and the stage and size if there are several.
func key(f *record.File, target, stage, size int) []string {
	row := []string{f.Targets[target].Name}
	if len(f.Plan.Stages) > 1 {
		row = append(row, f.Plan.Stages[stage].String())
	}
	if len(f.Plan.Sizes) > 1 {
		row = append(row, fmt.Sprint(size))
	}
	return row
}

func (t *Table) add(first []string, more ...string) { t.Rows = append(t.Rows, append(first, more...)) }

// never is the time of a failed request.
const never = "∞"

// Quantity formats a figure with its interval, "-" if unknown.
func Quantity(q *record.Quantity) string {
	if q == nil {
		return "-"
	}
	if q.Low == nil {
		return plain(q)
	}
	high := never
	if q.High != nil {
		high = number(*q.High)
	}
	return plain(q) + fmt.Sprintf(" [%s, %s]", number(*q.Low), high)
}

// plain formats a figure without its interval.
func plain(q *record.Quantity) string {
	switch {
	case q == nil:
		return "-"
	case q.Near:
		return number(q.Value) + "*"
	}
	return number(q.Value)
}

// number formats a value with three digits.
func number(v float64) string {
	switch {
	case v >= 100:
		return fmt.Sprintf("%.0f", v)
	case v >= 10:
		return fmt.Sprintf("%.1f", v)
	}
	return fmt.Sprintf("%.2f", v)
}

func latency(f *record.File) Table {
	t := head(f, "Latency", "lrrrrrrrr", "operation", "done/s", "errors", "dropped", "p50 ms", "p90", "p99 ms", "p99.9", "max")
	open := f.Plan.Arrival != record.Closed
	if open {
		t.Columns += "rr"
		t.Rows[0] = append(t.Rows[0], "service p50", "service p99")
	}
	for _, s := range f.Summaries {
		for _, o := range s.Ops {
			row := append(key(f, s.Target, s.Stage, s.Size), o.Op, Quantity(o.Rate), errorsOf(o), fmt.Sprint(o.Dropped))
			row = append(row, quantiles(o, o.Latency)...)
			if open {
				row = append(row, plain(times(o.Service).P50), plain(times(o.Service).P99))
			}
			t.add(row)
		}
	}
	t.Below = infinite(t)
	return t
}

// infinite explains the mark of infinite times if a table has one.
func infinite(t Table) []string {
	for _, row := range t.Rows {
		if slices.ContainsFunc(row, func(cell string) bool { return strings.Contains(cell, never) }) {
			return []string{never + ": requests that failed or were dropped count as slower than any"}
		}
	}
	return nil
}

// times returns t, or an empty value for nil.
func times(t *record.Times) *record.Times {
	if t == nil {
		return &record.Times{}
	}
	return t
}

// quantiles returns p50, p90, p99, p99.9 and the maximum of a time of an operation. A quantile that
// falls on a failed request is infinite.
func quantiles(o record.OpFigures, t *record.Times) []string {
	own := times(t)
	cells := []string{Quantity(own.P50), plain(own.P90), Quantity(own.P99), plain(own.P999), "-"}
	for i, p := range []float64{0.5, 0.9, 0.99, 0.999} {
		if cells[i] == "-" && o.Never(p) {
			cells[i] = never
		}
	}
	if t != nil {
		cells[4] = number(t.Max)
	}
	return cells
}

// errorsOf returns the number of errors and their share of the offered requests.
func errorsOf(o record.OpFigures) string {
	n := int64(0)
	for _, k := range o.Errors {
		n += k
	}
	if n == 0 || o.Offered == 0 {
		return fmt.Sprint(n)
	}
	return fmt.Sprintf("%d (%.3g %%)", n, 100*float64(n)/float64(o.Offered))
}

func streams(f *record.File) Table {
	t := head(f, "Streams", "lrrrrrrrr", "operation", "first delta p50 ms", "p99", "gap p50 ms", "p99", "stream p50 ms", "p99", "bytes", "$ per 1,000")
	for _, s := range f.Summaries {
		for _, o := range s.Ops {
			if o.FirstDelta == nil {
				continue
			}
			cost := "not reported"
			if o.CostPer1000 != nil {
				cost = fmt.Sprintf("%.4g", *o.CostPer1000)
			}
			gap, stream := times(o.Gap), times(o.Stream)
			t.add(key(f, s.Target, s.Stage, s.Size), o.Op, Quantity(o.FirstDelta.P50), plain(o.FirstDelta.P99),
				plain(gap.P50), plain(gap.P99), plain(stream.P50), plain(stream.P99), fmt.Sprintf("%.0f", o.BytesMean), cost)
		}
	}
	return t
}

func resources(f *record.File) Table {
	t := head(f, "Daemons", "rrr", "processors", "resident memory", "open files")
	for _, s := range f.Summaries {
		if r := s.Resources; r != nil {
			t.add(key(f, s.Target, s.Stage, s.Size), Quantity(r.CPU), figure.Bytes(r.RSSBytes), fmt.Sprint(r.OpenFiles))
		}
	}
	return t
}

func comparison(f *record.File) Table {
	t := head(f, "Comparison", "lllrrrrl", "operation", "figure", "relative to", "ratio", "95 % interval", "p", "adjusted", "")
	for _, c := range f.Comparisons {
		t.add(key(f, c.Target, c.Stage, c.Size), append([]string{c.Op, c.Figure, f.Targets[c.Reference].Name}, difference(c.Difference)...)...)
	}
	if fewest := f.Plan.FewestRounds(len(f.Targets) - 1); f.Plan.Rounds < fewest {
		t.Below = []string{fmt.Sprintf("with %d rounds no difference can be shown: give --rounds %d or more", f.Plan.Rounds, fewest)}
	}
	return t
}

func difference(d record.Difference) []string {
	within := "-"
	if d.Low != nil && d.High != nil {
		within = fmt.Sprintf("×%.3f to ×%.3f", *d.Low, *d.High)
	}
	return []string{fmt.Sprintf("×%.3f", d.Ratio), within, figure.Probability(d.P), figure.Probability(d.Adjusted), d.Verdict}
}

func growth(f *record.File) Table {
	t := Table{Title: "Growth", Columns: "ll" + strings.Repeat("r", len(f.Plan.Sizes)+2)}
	header := []string{"target", "figure"}
	for _, n := range f.Plan.Sizes {
		header = append(header, fmt.Sprint(n))
	}
	t.add(header, "grows as documents^", "95 % interval")
	if len(f.Plan.Sizes) < 2 {
		return t
	}
	for target, x := range f.Targets {
		unknown := []string{"rss", "disk", "index"}
		for _, g := range f.Growth {
			if g.Target == target {
				t.add(grownRow(f, g))
				unknown = slices.DeleteFunc(unknown, func(figure string) bool { return figure == g.Figure })
			}
		}
		for _, figure := range unknown {
			if !x.Null && slices.ContainsFunc(f.Fills, func(fill record.Fill) bool { return fill.Target == target }) {
				t.add(unknownRow(f, target, figure))
			}
		}
	}
	return t
}

// grownRow returns the row of a figure with an exponent.
func grownRow(f *record.File, g record.Growth) []string {
	row := []string{f.Targets[g.Target].Name, strings.TrimSpace(g.Op + " " + g.Figure)}
	for _, size := range f.Plan.Sizes {
		cell := "-"
		if i := slices.Index(g.Sizes, size); i >= 0 && i < len(g.Values) {
			cell = grown(g.Figure, g.Values[i])
		}
		row = append(row, cell)
	}
	interval := "-"
	if g.Low != nil && g.High != nil {
		interval = fmt.Sprintf("%.2f to %.2f", *g.Low, *g.High)
	}
	exponent := fmt.Sprintf("%.2f", g.Exponent)
	switch {
	case g.Constant != nil:
		exponent += " above " + grown(g.Figure, *g.Constant)
	case g.Steps != nil:
		steps := make([]string, len(g.Steps))
		for i, s := range g.Steps {
			steps[i] = fmt.Sprintf("%.2f", s)
		}
		exponent, interval = strings.Join(steps, ", then "), "no single one fits"
	}
	return append(row, exponent, interval)
}

// unknownRow returns the row for a daemon's memory or disk use if it is not known for each size, or
// is 0.
func unknownRow(f *record.File, target int, name string) []string {
	row := []string{f.Targets[target].Name, name}
	for _, size := range f.Plan.Sizes {
		cell := "not known"
		for _, x := range f.Fills {
			held := map[string]*int64{"rss": x.RSSBytes, "disk": x.DiskBytes, "index": x.IndexBytes}[name]
			if x.Target == target && x.Size == size && held != nil {
				cell = figure.Bytes(*held)
			}
		}
		row = append(row, cell)
	}
	return append(row, "-", "-")
}

// grown formats a value of a growth in its unit.
func grown(name string, v float64) string {
	switch name {
	case "rss", "disk", "index":
		return figure.Bytes(int64(v))
	}
	return figure.Duration(v)
}

func limits(f *record.File) Table {
	t := Table{Title: "Rates", Columns: "lrrrrrrl"}
	t.add([]string{"target", "offered/s", "done/s", "errors", "p50 ms", "p99 ms", "max", "kept"})
	for _, p := range f.Probes {
		s := f.Summarise(p)
		if len(s.Ops) == 0 {
			continue
		}
		o := s.Ops[len(s.Ops)-1] // all together, if there are several
		q := quantiles(o, o.Latency)
		kept := map[bool]string{true: "yes", false: "no"}[p.Kept]
		if p.Block.Grows() {
			kept += ", its queue grows"
		}
		if p.Confirm {
			kept += " (confirming)"
		}
		t.add([]string{f.Targets[p.Target].Name}, number(p.Rate), number(o.Rate.Value), fmt.Sprintf("%.3g %%", 100*o.ErrorShare), q[0], q[2], q[4], kept)
	}
	t.Below = infinite(t)
	for _, l := range f.Limits {
		t.Below = append(t.Below, limit(f, l))
	}
	return t
}

// limit describes the limit of a target in a sentence.
func limit(f *record.File, l record.Limit) string {
	name, rate := f.Targets[l.Target].Name, number(l.Rate)+"/s"
	if l.Near != nil && *l.Near {
		rate += "*"
	}
	switch {
	case l.Unfinished:
		return fmt.Sprintf("%s: the search was not finished; %s", name, shown(f, l))
	case f.Stopped != "" && l.Near == nil:
		rate += " (not compared with the null daemon)"
	}
	switch {
	case l.Rate == 0:
		return fmt.Sprintf("%s did not keep %s at any rate that was tried, down to %s/s", name, f.Plan.Search, number(lowest(f, l)))
	case !l.Confirmed:
		return fmt.Sprintf("%s kept %s at %s once, but not in every confirmation", name, f.Plan.Search, rate)
	case l.Above == 0:
		return fmt.Sprintf("%s keeps %s at %s%s, the highest rate that was tried, confirmed %d times", name, f.Plan.Search, rate, done(f, l), record.Confirmations)
	}
	return fmt.Sprintf("%s keeps %s up to %s%s, confirmed %d times; not at %s/s%s",
		name, f.Plan.Search, rate, done(f, l), record.Confirmations, number(l.Above), dropped(f, l))
}

// lowest returns the lowest rate that was tried at a target.
func lowest(f *record.File, l record.Limit) float64 {
	rate := math.Inf(1)
	for _, p := range f.Probes {
		if p.Target == l.Target {
			rate = min(rate, p.Rate)
		}
	}
	return rate
}

// last returns the last try of a rate at a target.
func last(f *record.File, l record.Limit, rate float64) (s record.OpFigures) {
	for _, p := range f.Probes {
		if p.Target == l.Target && p.Rate == rate {
			if ops := f.Summarise(p).Ops; len(ops) > 0 {
				s = ops[len(ops)-1] // all together, if there are several
			}
		}
	}
	return s
}

// done says how many requests succeed at a limit whose objectives allow errors.
func done(f *record.File, l record.Limit) string {
	if o := last(f, l, l.Rate); o.ErrorShare >= record.Served {
		return fmt.Sprintf(" (%s/s succeed)", number(o.OfferedRate*(1-o.ErrorShare)))
	}
	return ""
}

// dropped says that the rate above a limit may have failed because of the bench's own limit.
func dropped(f *record.File, l record.Limit) string {
	if o := last(f, l, l.Above); o.Dropped > 0 {
		return fmt.Sprintf(", where %d requests were dropped because %d were in flight (--max-in-flight)", o.Dropped, f.Plan.MaxInFlight)
	}
	return ""
}

// shown describes the findings of a search that was stopped.
func shown(f *record.File, l record.Limit) string {
	kept := fmt.Sprintf("%s was kept at %s/s", f.Plan.Search, number(l.Rate))
	switch above := number(l.Above); {
	case l.Rate == 0 && l.Above == 0:
		return "no rate was tried to the end"
	case l.Rate == 0:
		return fmt.Sprintf("%s was not kept at %s/s or above", f.Plan.Search, above)
	case l.Above == 0:
		return kept + ", and no higher rate was tried to the end"
	default:
		return fmt.Sprintf("%s and not at %s/s, neither of them confirmed", kept, above)
	}
}

func faults(f *record.File) Table {
	t := Table{Title: "Faults", Columns: "llrrrrrr"}
	t.add([]string{"target", "fault", "at s", "lasted s", "recovery s", "acknowledged writes", "checked", "lost"})
	for _, x := range f.Faults {
		recovery := "never"
		if x.RecoverySeconds != nil {
			recovery = fmt.Sprintf("%.2f", *x.RecoverySeconds)
		}
		t.add([]string{f.Targets[x.Target].Name}, x.Kind, fmt.Sprintf("%.1f", x.AtSeconds), fmt.Sprintf("%.2f", x.LastedSeconds), recovery,
			fmt.Sprint(x.Acknowledged), fmt.Sprint(x.Checked), fmt.Sprint(x.Lost))
	}
	return t
}

func baseline(f *record.File) Table {
	t := Table{Title: "Baseline", Columns: "llrrrrl"}
	t.add([]string{"against the baseline", "figure", "ratio", "95 % interval", "p", "adjusted", ""})
	if f.Baseline == nil {
		return t
	}
	add := func(name string, changes []record.Change) {
		for _, c := range changes {
			t.add([]string{name + c.Op, c.Figure}, difference(c.Difference)...)
		}
	}
	add("", f.Baseline.Series)
	add("null daemon ", f.Baseline.Null)
	return t
}
