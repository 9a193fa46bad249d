package text

import (
	"fmt"
	"strings"

	"evalctl/harness/judging"
	"evalctl/harness/labels"
	"evalctl/internal/figure"
	"evalctl/internal/terminal"
)

// Answer shows an answer to a labeller, without its verdict.
func Answer(t *terminal.Terminal, number, size int, a *labels.Answer) {
	t.Blank()
	fmt.Fprintf(t, "%d of %d  %s\n", number, size, terminal.Short(a.ID, 60))
	part := func(name, text string) {
		if text != "" {
			fmt.Fprintf(t, "%-10s %s\n", name, strings.ReplaceAll(terminal.Lines(strings.TrimSpace(text)), "\n", "\n           "))
		}
	}
	part("question", a.Question)
	part("asked on", a.QuestionDate)
	part("reference", a.Reference)
	if a.Reference == "" {
		part("expected", strings.Join(a.Expected, "\n"))
	}
	part("answer", a.Text)
	if strings.TrimSpace(a.Text) == "" {
		fmt.Fprintf(t, "%-10s (empty)\n", "answer")
	}
	fmt.Fprintf(t, "right? (%s) ", labels.Replies)
}

// Estimated prints a pass rate as estimated from labels.
func Estimated(t *terminal.Terminal, e *labels.Estimate) {
	t.Field("result", "%s  %s of %s", terminal.Line(e.Path), figure.Count(e.Total, "question"), terminal.Short(e.SDK, 60))
	t.Field("labels", "%s", labelled(e))
	if e.Skipped > 0 {
		t.Field("warning", "%s skipped: the interval assumes that they are right as often as the others", was(e.Skipped))
	}
	if e.Sparse > 0 {
		t.Field("warning", "%d of %d strata have fewer than two labels: a random draw of as many gives no wider an interval", e.Sparse, e.Strata)
	}
	t.Field("judged", "%.3f  by the scorer of the result", e.Judged)
	t.Field("estimate", "%s  by labels and scorer, weight of the scorer %.2f", interval(e.Rate), e.Weight)
	t.Field("alone", "%s  by the labels alone", interval(e.Alone))
	t.Field("error", "±%s points by the choice of questions, ±%s by the answers without a label",
		points(e.QuestionSE), points(e.LabelSE))
}

func interval(r judging.Rate) string {
	return fmt.Sprintf("%.3f [%.3f %.3f]", r.Rate, r.Interval.Low, r.Interval.High)
}

func was(n int) string {
	if n == 1 {
		return "1 answer was"
	}
	return fmt.Sprintf("%d answers were", n)
}

// points returns half the width of a 95 % interval in percentage points.
func points(se float64) string { return strings.TrimPrefix(figure.Points(1.96*se), "+") }

func labelled(e *labels.Estimate) string {
	text := fmt.Sprintf("%d drawn %s, by %s", e.Labelled, e.Design, terminal.Short(strings.Join(e.Labellers, ", "), 80))
	if e.Several > 0 {
		text += fmt.Sprintf("; %d of %d with several labels agree", e.Agreed, e.Several)
		if e.Kappa != nil {
			text += ", kappa " + figure.Coefficient(e.Kappa)
		}
	}
	return text
}

// EstimatedDifference prints the difference of two pass rates as estimated from labels.
func EstimatedDifference(t *terminal.Terminal, d *labels.Difference) {
	for _, e := range []*labels.Estimate{&d.First, &d.Second} {
		Estimated(t, e)
		t.Blank()
	}
	t.Field("difference", "second minus first, %s in both, %d with labels of both answers",
		figure.Count(d.Questions, "question"), d.Labelled)
	t.Field("judged", "%s points by the scorers", figure.Points(d.Judged))
	t.Field("estimate", "%s  by labels and scorers, weight of the scorers %.2f", difference(d.Difference), d.Weight)
	t.Field("alone", "%s  by the labels alone", difference(d.Alone))
	verdict := "no difference is shown: the interval includes 0"
	if d.Shown() {
		verdict = "the results differ: the interval is on one side of 0"
	}
	t.Field("verdict", "%s", verdict)
}

func difference(r judging.Rate) string {
	return fmt.Sprintf("%s points [%s %s]", figure.Points(r.Rate), figure.Points(r.Interval.Low), figure.Points(r.Interval.High))
}

// LabelPlan prints how many labels an interval needs.
func LabelPlan(t *terminal.Terminal, p *labels.Plan) {
	t.Field("result", "%s  %s, pass rate %.3f", terminal.Line(p.Path), figure.Count(p.Answers, "answer"), p.Rate)
	t.Field("width", "%.3f at 95 %%; with all answers labelled it is %.3f", p.Width, p.Least)
	rows := [][]string{{"if the scorer", "labels"}}
	for _, n := range p.Rows {
		need := "more questions are needed"
		if n.Labels != nil {
			need = fmt.Sprint(*n.Labels)
		}
		rows = append(rows, []string{n.Judge, need})
	}
	t.Blank()
	fmt.Fprint(t, terminal.Table(rows, 1))
}
