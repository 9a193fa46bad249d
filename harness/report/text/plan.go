package text

import (
	"fmt"
	"io"
	"strconv"

	"evalctl/harness/aggregate"
	"evalctl/internal/figure"
	"evalctl/internal/terminal"
)

// Plan prints how a gate judges.
func Plan(w io.Writer, o aggregate.GatePlan) error {
	rule := fmt.Sprintf("passes with %d or more of %s", o.Required, figure.Count(o.N, "question"))
	if o.Required > o.N {
		rule = fmt.Sprintf("never passes with %s", figure.Count(o.N, "question"))
	}
	fmt.Fprintf(w, "gate    floor %v, mode %s: %s\n", o.Floor, o.Mode, rule)
	proof := "no result on so few questions proves the floor"
	if o.Proves != nil {
		proof = fmt.Sprintf("%d/%d proves the floor", *o.Proves, o.N)
	}
	if o.Refutes != nil {
		proof += fmt.Sprintf(", %d/%d refutes it", *o.Refutes, o.N)
	}
	fmt.Fprintf(w, "proof   %s (one-sided 95%% bounds, Clopper-Pearson)\n\n", proof)
	rows := [][]string{{"true rate", "passes"}}
	for _, p := range o.Passes {
		rows = append(rows, []string{fmt.Sprintf("%.3f", p.Rate), percent(p.Passes)})
	}
	fmt.Fprintln(w, terminal.Table(rows, 0))
	if s := o.Separating; s != nil {
		fmt.Fprintf(w, "size    %s: a true rate of %v passes %s of the time, one of %v %s\n",
			figure.Count(s.N, "question"), s.Worse.Rate, percent(s.Worse.Passes), s.Better.Rate, percent(s.Better.Passes))
	} else {
		fmt.Fprintf(w, "size    no number of questions has a rate 0.05 below this floor pass less than %s of the time and one 0.05 above it more than %s\n",
			percent(aggregate.MostWorse), percent(aggregate.LeastBetter))
	}
	d := o.Paired
	fmt.Fprintf(w, "paired  a difference of %s points needs %s, if only one of the two passes %s of them (two-sided test at %v, power %v)\n",
		fmt.Sprintf("%.4g", 100*d.Difference), figure.Count(d.Questions, "question"), percent(d.Discordant), d.Alpha, d.Power)
	at := fmt.Sprintf("%s show", figure.Count(o.N, "question"))
	if o.N == 1 {
		at += "s"
	}
	shown := "no difference with that power"
	if d.Detectable != nil {
		shown = fmt.Sprintf("a difference of %s points or more", strconv.FormatFloat(100**d.Detectable, 'f', 1, 64))
	}
	_, err := fmt.Fprintf(w, "        %s %s\n%s", at, shown, marginText(o.Margin, o.N))
	return err
}

// marginText says how often an unchanged daemon passes the gate against a baseline.
func marginText(m aggregate.MarginDesign, n int) string {
	rows := [][]string{{"outcomes that change from run to run", fmt.Sprintf("passes with %d", n), fmt.Sprintf("passes %s of the time with", percent(m.Power))}}
	for _, r := range m.Rows {
		questions := "more than 100,000 questions"
		if r.Questions != nil {
			questions = figure.Count(*r.Questions, "question")
		}
		rows = append(rows, []string{percent(r.Discordant), percent(r.Passes), questions})
	}
	return fmt.Sprintf("\nmargin  --margin %v, and how often an unchanged daemon with the pass rate %v passes it\n\n%s\n",
		m.Margin, m.Rate, terminal.Table(rows, 0))
}

// percent formats a probability, with more decimals close to 0 and 1.
func percent(p float64) string {
	if p > 0 && p < 0.001 {
		return "<0.1%"
	}
	if p > 0.999 && p < 1 {
		return ">99.9%"
	}
	return fmt.Sprintf("%.1f%%", 100*p)
}
