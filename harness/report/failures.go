package report

import (
	"fmt"

	"evalctl/harness/report/form"
	"evalctl/harness/result"
	"evalctl/harness/resultfile"
	"evalctl/internal/figure"
	"evalctl/internal/terminal"
	"evalctl/scorer"
)

// ListedFailures limits the failed questions in the report.
const ListedFailures = 20

// Failures are the first questions that did not pass, in the order of the dataset, and the number
// of the others.
type Failures struct {
	failed []result.Record
	more   int
	same   int   // failed for a cause that is listed already, if that stopped the run
	Err    error // why there may be fewer than there should be
}

// ReadFailures reads the first limit questions that did not pass from a result file, none if the
// terminal is quiet. They are not collected during the run, because questions finish in any order.
func ReadFailures(t *terminal.Terminal, path string, limit int) Failures {
	if t.Quiet() {
		return Failures{}
	}
	r, err := resultfile.Open(path)
	if err != nil {
		return Failures{Err: err}
	}
	defer r.Close()
	return FailuresOf(r, limit)
}

// FailuresOf returns the first limit questions that did not pass.
func FailuresOf(r *resultfile.Reader, limit int) (f Failures) {
	res := r.Result()
	f.more = res.Total - res.Passed
	same := map[string]bool{} // the causes that are listed already
	for rec, err := range r.Questions() {
		if err != nil {
			f.Err = err
			return f
		}
		if f.more == 0 || len(f.failed) == limit {
			return f
		}
		if !rec.Passed && rec.Outcome.Counts() {
			f.more--
			if cause := failureText(rec); res.Stopped == result.StopSystematic && same[cause] {
				f.same++
				continue
			} else if cause != "" {
				same[cause] = true
			}
			f.failed = append(f.failed, rec)
		}
	}
	return f
}

// failureText returns why a question has no score, "" if it has one.
func failureText(r result.Record) string {
	if r.Error != nil {
		return string(r.Error.Kind) + " " + r.Error.Message
	}
	if r.Outcome == result.Unscored && r.JudgeUnanswered {
		return r.Reason
	}
	return ""
}

// failures returns the questions that did not pass. A terminal shows the first ones.
func (run *Run) failures(arm string) form.Section {
	s := form.Section{Place: form.First}
	s.Show(form.Terminal, form.Print(run.printFailures))
	var lost []*result.Record
	failures, errors, unscored := 0, 0, 0
	for i := range run.Questions {
		r := &run.Questions[i]
		switch {
		case !isLost(r):
			continue
		case r.Outcome == result.Errored:
			errors++
		case r.Outcome == result.Unscored:
			unscored++
		default:
			failures++
		}
		lost = append(lost, r)
	}
	s.Show(form.Markdown, form.List{
		Title: fmt.Sprintf("%s: %s, %s, %d unscored", arm, figure.Count(failures, "failure"), figure.Count(errors, "error"), unscored),
		N:     len(lost), More: form.F("the result file"), Item: func(i int) form.Item { return run.item(lost[i]) },
	})
	return s
}

// isLost reports whether a question did not pass.
func isLost(r *result.Record) bool { return !r.Passed && r.Outcome.Counts() }

// outcomeWord names the outcome of a question that did not pass.
func outcomeWord(r *result.Record) string {
	if r.Outcome == result.Scored {
		return "failed"
	}
	return string(r.Outcome)
}

// item returns a list item for a question that did not pass.
func (run *Run) item(r *result.Record) form.Item {
	return form.Item{Head: form.F("%s %s, %s", form.Name(caseName(r)), form.Name(group(r)), form.Toned(form.Bad, outcomeWord(r))), Below: factsOf(run.parts(r))}
}

func factsOf(parts []part) (facts []form.Fact) {
	for _, p := range parts {
		facts = append(facts, form.Fact{Name: p.what, Value: form.F("%s", form.Data(p.text)), In: form.Everywhere})
	}
	return facts
}

// printFailures prints the first questions that did not pass.
func (run *Run) printFailures(t *terminal.Terminal) {
	f := run.Failures
	t.Blank()
	for _, r := range f.failed {
		mark, text := run.failureLine(t, r)
		fmt.Fprintln(t, t.Wrap("  "+mark+" ", text))
	}
	printOthers(t, f)
}

// printOthers ends a list of failures.
func printOthers(t *terminal.Terminal, f Failures) {
	if f.Err != nil {
		t.Field("warning", "the questions that did not pass cannot be listed: %s", terminal.Short(f.Err.Error(), 400))
	}
	if f.same > 0 {
		fmt.Fprintf(t, "  … and %d for the same reason\n", f.same)
	}
	if f.more > 0 && f.Err == nil {
		fmt.Fprintf(t, "  … and %d more, see the result file\n", f.more)
	}
	if len(f.failed) > 0 || f.Err != nil {
		t.Blank()
	}
}

// failureLine returns a mark for the outcome of a failed question, and its description.
func (run *Run) failureLine(t *terminal.Terminal, r result.Record) (mark, text string) {
	name, replay := terminal.Short(r.ID, 40), run.Result.Replay != nil
	if r.Repeat > 0 {
		name += fmt.Sprintf(" #%d", r.Repeat)
	}
	switch {
	case replay:
		name += " " + terminal.Short(r.Type, 26)
	case len(r.Tags) > 0:
		name += " " + terminal.Short(r.Tags[0], 24)
	}
	switch {
	case r.Outcome == result.Errored && replay:
		mark, text = "ERR ", errorText(r)
	case r.Outcome == result.Errored:
		mark, text = "ERR ", fmt.Sprintf("%s (%s)", errorText(r), figure.Count(r.Attempts, "attempt"))
	case r.Outcome == result.Unscored:
		mark, text = "UNSCORED", terminal.Short(r.Reason, 200)
	case replay:
		mark, text = "FAIL", lossText(r)+instead(run.Result.Identity, r)
	default:
		mark, text = "FAIL", failText(run.Result.Identity, r)
	}
	return t.Tint(false, mark), name + "  " + text
}

// lossText describes a failed question of a replay, which knows the cause of each loss.
func lossText(r result.Record) string {
	want := fmt.Sprintf("expected \"%s\"", terminal.Short(r.Reference, 48))
	if r.Reference == "" { // a scorer that needs none says what it found
		want = terminal.Short(r.Reason, 200)
	}
	return fmt.Sprintf("%s  got \"%s\"  → %s", want, terminal.Short(r.Answer, 72), terminal.Short(string(r.Cause), 40))
}

// failText describes a failed question of a run.
func failText(id result.Identity, r result.Record) string {
	got, want := fmt.Sprintf("got \"%s\"", terminal.Short(r.Answer, 72)), wantedText(&r, id.Scorer)
	if broken := r.Broken(); broken != "" {
		return fmt.Sprintf("%s  %s", terminal.Short(broken, 200), got)
	}
	switch needs := scorer.NeedOf(id.Scorer); {
	case needs == scorer.NeedChecks || id.External != nil: // their reasons say what was expected
		return fmt.Sprintf("%s  %s%s", terminal.Short(r.Reason, 200), got, instead(id, r))
	case needs == scorer.NeedGold:
		return fmt.Sprintf("%s: expected \"%s\"%s", terminal.Short(r.Reason, 200), terminal.Short(want, 72), instead(id, r))
	}
	return fmt.Sprintf("expected \"%s\"  %s%s%s", terminal.Short(want, 48), got, blame(id, r), instead(id, r))
}

// instead lists the documents retrieved instead of missing gold for a failed question.
func instead(id result.Identity, r result.Record) string {
	text := retrievedInstead(&r, id.TopK)
	if text == "" {
		return ""
	}
	return "  retrieved instead: " + terminal.Short(text, 200)
}

// errorText returns why a question has no answer.
func errorText(r result.Record) string {
	if r.Error == nil {
		return "no reason is recorded"
	}
	return terminal.Short(r.Error.Message, 200)
}

func count(list []int, value int) (n int) {
	for _, v := range list {
		if v == value {
			n++
		}
	}
	return n
}

// blame names the stage that lost a failed question, if its gold documents show it.
func blame(id result.Identity, r result.Record) string {
	if r.LacksEvidence() {
		found := len(r.Evidence.Ranks) - count(r.Evidence.Ranks, 0)
		return fmt.Sprintf("  %d of %d pieces of evidence returned → retrieval", found, len(r.Evidence.Ranks))
	}
	if r.Retrieval == nil {
		return ""
	}
	rank, gold := r.GoldRank(), len(r.Retrieval.Gold)
	switch r.LostAt(id.Scenario, id.TopK) {
	case result.StageRetrieval:
		if rank == 0 {
			return "  gold not retrieved → retrieval"
		}
		found := 0
		for _, g := range r.Retrieval.Gold {
			if g.Rank > 0 {
				found++
			}
		}
		return fmt.Sprintf("  %d of %d gold retrieved → retrieval", found, gold)
	case result.StageReader:
		return fmt.Sprintf("  gold at rank %d → reader", rank)
	}
	return fmt.Sprintf("  gold at rank %d", rank)
}
