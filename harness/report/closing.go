package report

import (
	"errors"
	"slices"
	"strings"

	"evalctl/harness/compare"
	"evalctl/harness/key"
	"evalctl/harness/report/form"
	"evalctl/harness/result"
	"evalctl/harness/wording"
	"evalctl/internal/terminal"
)

// Conclusion is a document whose closing a command prints after everything else: *Run, Replay
// or Trend.
type Conclusion interface {
	// closing returns the verdict, its reason and the next command. next is empty for the usual
	// one.
	closing(next string) form.Section
}

// Closing prints the verdict on a document, its reason and the next command. If next is empty, that
// is the command that shows more of the document.
func Closing(t *terminal.Terminal, d Conclusion, next string) {
	if !t.Quiet() {
		s := d.closing(next)
		s.Close(t)
	}
}

// lastGap is an empty line before the closing of a report.
func lastGap() form.Section {
	s := form.Section{Place: form.Last}
	s.Show(form.Terminal, form.Gap{})
	return s
}

func (r *Run) closing(next string) form.Section { return r.arms()[0].closing(next) }

func (a *Arm) closing(next string) form.Section {
	v := a.verdict()
	if a.Run == nil {
		return form.Closing(form.F("%s: %s", form.Toned(form.Bad, v.Word), v.Title), v.Sentences[0], next)
	}
	if next == "" {
		next = a.Run.next()
	}
	g := a.Run.Result.Gate
	if g == nil {
		return form.Closing(form.F("%s", v.Word), v.Sentences[0], next)
	}
	return form.Closing(a.headline(form.Toned(v.Tone, v.Word)), a.reason(), next)
}

// reason says why an arm has its verdict, without how certain that is.
func (a *Arm) reason() form.Text {
	res, g := &a.Run.Result, a.Run.Result.Gate
	if i := res.Believed(); i != nil && g.Word() == result.Measured {
		return form.F("pass rate %.3f, %s", *res.PassRate, wording.Interval(i))
	}
	text := g.Sentence
	if proof := wording.Proof(g); proof != "" {
		text = strings.ReplaceAll(text, ", "+proof, "")
	}
	if a.Problem != "" && g.Stopped != "" {
		text += ": " + a.Problem
	}
	return form.F("%s", form.Data(text))
}

// next returns the command that shows more of a run: against its baseline, or else as a page.
func (r *Run) next() string {
	if g := r.Result.Gate; g != nil && g.Baseline != nil {
		return comparing(g.Baseline.Path, r.Path)
	}
	return terminal.CommandLine("evalctl", "show", r.Path, "--html", "report.html")
}

// closing returns the closing of the arm that ended worst, or of the comparison if all passed.
func (r Replay) closing(next string) form.Section {
	if worst := r.worst(); worst != nil {
		if next == "" && worst.Run == nil {
			next = r.next()
		}
		return worst.closing(next)
	}
	if next == "" {
		next = r.next()
	}
	compared := armComparison{Arms: r.Compared}
	reason := form.Text{}
	switch {
	case r.Compared == nil:
		return r.Arms[0].closing(next)
	case r.Compared.Comparison != nil:
		reason = Comparison{r.Compared.Comparison}.reason()
	case r.Compared.Refused != nil:
		reason = form.F("%s", form.Data(r.Compared.Refused.Reasons()))
	case len(r.Compared.NotCompared) > 0:
		reason = form.F("%s", form.Data(r.Compared.NotCompared[0]))
	}
	return form.Closing(compared.headline(), reason, next)
}

// worst returns the arm that ended worst: without a result, invalid, stopped, or below a floor. It
// is nil if all arms passed or were measured.
func (r Replay) worst() (worst *Arm) {
	bad := map[result.Verdict]int{result.Fail: 1, result.Inconclusive: 2, result.Invalid: 3}
	most := 0
	for i := range r.Arms {
		rank := 4
		if run := r.Arms[i].Run; run != nil && run.Result.Gate != nil {
			rank = bad[run.Result.Gate.Verdict]
		}
		if rank > most {
			most, worst = rank, &r.Arms[i]
		}
	}
	return worst
}

// next returns the command that shows more of the arms.
func (r Replay) next() string {
	if r.Compared != nil && r.Compared.Comparison != nil {
		return Comparison{r.Compared.Comparison}.next()
	}
	var files []string
	for _, a := range r.Arms {
		if a.Run != nil {
			files = append(files, a.Run.Path)
		}
	}
	switch {
	case len(files) == 0:
		return "evalctl replay --help"
	case len(files) == 1:
		return terminal.CommandLine("evalctl", "show", files[0], "--html", "report.html")
	}
	return comparing(files...)
}

// comparing returns the command that compares results, with the flags without which they are
// refused.
func comparing(paths ...string) string {
	command := append([]string{"evalctl", "compare"}, paths...)
	runs, err := compare.OpenAll(paths)
	if err == nil {
		err = compare.Comparable(runs, compare.Options{})
	}
	if refused, ok := errors.AsType[*key.IncomparableError](err); ok && len(refused.Final()) == 0 {
		if refused.Common == 0 {
			return terminal.CommandLine("evalctl", "show", paths[len(paths)-1], "--html", "report.html")
		}
		command = append(command, acceptFlags(refused)...)
	}
	return terminal.CommandLine(command...)
}

// acceptFlags returns the flags with which evalctl compare accepts all differences.
func acceptFlags(e *key.IncomparableError) (flags []string) {
	ofQuestions := func(name string) bool { return slices.Contains(key.OfQuestions(), name) }
	if slices.ContainsFunc(e.Differing, ofQuestions) {
		flags = append(flags, "--intersect")
	}
	if others := slices.DeleteFunc(slices.Clone(e.Differing), ofQuestions); len(others) > 0 {
		flags = append(flags, "--accept", strings.Join(others, ","))
	}
	return flags
}
