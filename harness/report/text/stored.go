package text

import (
	"fmt"

	"evalctl/harness/result"
	"evalctl/harness/wording"
	"evalctl/internal/figure"
	"evalctl/internal/terminal"
)

// Stored prints a result's path and the setup of its measurement.
func Stored(t *terminal.Terminal, path string, res result.Result) {
	id := res.Identity
	took := figure.Duration(float64(res.FinishedAt.Sub(res.StartedAt).Microseconds()) / 1000)
	t.Field("result", "%s  %s UTC  took %s", terminal.Line(path), res.StartedAt.UTC().Format("2006-01-02 15:04:05"), took)
	asked := id.Dataset.Questions()
	questions := figure.Count(asked, "question")
	if id.Dataset.Selection.Partial(asked) {
		questions = "selection: " + terminal.Line(wording.Selection(id.Dataset))
	}
	if id.Dataset.Repeats > 1 {
		questions += fmt.Sprintf(", each asked %d times", id.Dataset.Repeats)
	}
	t.Field("dataset", "%s  %s  sha256 %s", terminal.Line(id.Dataset.Path), questions, terminal.Short(id.Dataset.SHA256, 9))
	if c := id.Corpus; c != nil {
		t.Field("corpus", "%s  %s  sha256 %s", terminal.Line(c.Path), figure.Count(c.Documents, "document"), terminal.Short(c.SHA256, 9))
	}
	if j := id.Judge; j != nil {
		t.Field("judge", "%s", judgeName(*j))
	}
	panel := Recipes(id.Panel)
	panel.Text(t)
	Imported(t, &res)
	daemon := id.Daemon.Program
	if daemon == "" {
		daemon = id.Daemon.Endpoint
	}
	if daemon != "" {
		t.Field("daemon", "%s  %s", terminal.Short(daemon, 120), terminal.Short(id.Daemon.Version, 80))
	}
}

// Answers prints which answers of a result are scored again, and the dataset with the right
// answers, "" to use the result's.
func Answers(t *terminal.Terminal, path string, was *result.Result, dataset string) {
	t.Field("answers", "%s  %s, scored by %s", terminal.Line(path), figure.Count(was.Planned, "answer"), terminal.Line(wording.ScoredBy(was.Identity)))
	if g := was.Gate; g != nil && g.Baseline != nil {
		t.Field("note", "the comparison with the baseline %s is not made again; use evalctl compare", terminal.Line(g.Baseline.Path))
	}
	if dataset != "" {
		t.Field("dataset", "%s has the expected_substrings, reference_answers and checks", terminal.Line(dataset))
	}
}
