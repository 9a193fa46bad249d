package report

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"evalctl/harness/result"
	"evalctl/internal/figure"
	"evalctl/internal/printable"
)

// suite is a list of test cases with common properties.
type suite struct {
	name       string
	started    time.Time
	ms         float64 // elapsed time
	properties []property
	cases      []testCase
}

// property is a fact about a suite.
type property struct{ name, value string }

// add adds a property unless its value is empty.
func (s *suite) add(name, value string) {
	if value != "" {
		s.properties = append(s.properties, property{name, value})
	}
}

// status is the outcome of a test case.
type status int

const (
	passed status = iota
	failed
	errored // without a verdict
	skipped // not run
)

// testCase is one thing that passes or fails.
type testCase struct {
	class, name string
	ms          float64
	untimed     bool // ms is not known
	status      status
	// kind is a permanent name for the problem, message describes it in one line, and text has all
	// details.
	kind, message, text string
}

// The limits of texts, in characters. The result file has the whole text.
const (
	messageLength = 300
	partLength    = 2000
)

// suites returns a suite for each arm.
func (a Arms) suites() []suite {
	var out []suite
	for _, arm := range a {
		out = append(out, arm.suite())
	}
	return out
}

// suite returns the questions of an arm. An arm without a result is one case with an error.
func (a *Arm) suite() suite {
	if a.Run == nil {
		problem := cmp.Or(a.Problem, "it was not measured")
		return suite{name: a.Name, cases: []testCase{{
			class: a.Name, name: "result", status: errored, kind: "no_result", message: printable.Line(problem, messageLength), text: problem,
		}}}
	}
	res := &a.Run.Result
	s := suite{
		name: a.Name + "." + string(res.Identity.Scenario), started: res.StartedAt,
		ms: float64(res.FinishedAt.Sub(res.StartedAt).Microseconds()) / 1000, properties: properties(a.Run),
	}
	for i := range a.Run.Questions {
		s.cases = append(s.cases, a.question(&a.Run.Questions[i]))
	}
	if missing := res.Planned - len(a.Run.Questions); missing > 0 {
		// The result has no ids for questions that were not asked.
		message := fmt.Sprintf("the run was stopped (%s)", res.Stopped)
		if a.Problem != "" {
			message += ": " + a.Problem
		}
		s.cases = append(s.cases, testCase{
			class: a.Name + ".not_run", name: figure.Count(missing, "question") + " not run", status: skipped,
			kind: "not_run", message: printable.Line(message, messageLength),
		})
	}
	return s
}

// question returns the case of a question.
func (a *Arm) question(r *result.Record) testCase {
	c := testCase{class: a.Name + "." + group(r), name: caseName(r), ms: r.LatencyMS, untimed: !r.Timed()}
	switch {
	case r.Passed:
		return c
	case r.Outcome == result.NoGold:
		c.status, c.kind, c.message = skipped, "no_gold", "not asked: the question has no expected_paths, or errata exclude it"
		return c
	case r.Outcome == result.NotMeasurable:
		c.status, c.kind, c.message = skipped, string(result.NotMeasurable), cmp.Or(r.Reason, "the target lacks an operation")
		return c
	case r.Outcome == result.Unjudged:
		c.status, c.kind, c.message = skipped, string(result.Unjudged), r.Reason
		return c
	case r.Outcome == result.Errored:
		c.status, c.kind, c.message = errored, "error", "the daemon returned no usable answer"
		if r.Error != nil {
			c.kind, c.message = string(r.Error.Kind), r.Error.Message
		}
	case r.Outcome == result.Unscored:
		c.status, c.kind, c.message = errored, "unscored", cmp.Or(r.Reason, "the scorer returned no usable verdict")
	default:
		c.status, c.kind, c.message = failed, a.Run.stage(r), cmp.Or(r.Reason, "did not pass")
		if r.Score != nil {
			c.message = fmt.Sprintf("score %.3g: %s", *r.Score, c.message)
		}
	}
	c.message = printable.Line(c.message, messageLength)
	c.text = a.Run.details(r)
	return c
}

// group returns the first tag of a question, which is the class of its case.
func group(r *result.Record) string {
	if len(r.Tags) > 0 && r.Tags[0] != "" {
		return r.Tags[0]
	}
	return cmp.Or(r.Type, "untagged")
}

// caseName returns the id of a question and the number of its repeat.
func caseName(r *result.Record) string {
	if r.Repeat > 0 {
		return fmt.Sprintf("%s #%d", r.ID, r.Repeat)
	}
	return r.ID
}

// stage names the stage or cause that lost a question.
func (run *Run) stage(r *result.Record) string {
	id := run.Result.Identity
	return string(cmp.Or(r.Cause, result.Cause(r.LostAt(id.Scenario, id.TopK))))
}

// part is one text about a question.
type part struct{ what, text string }

// parts returns the texts about a question that did not pass.
func (run *Run) parts(r *result.Record) []part {
	parts := []part{{"question", r.Question}, {"expected", wantedText(r, run.Result.ScorerName)}}
	if o := r.Original; o != nil && o.Reference != r.Reference {
		parts = append(parts, part{"expected by the dataset", o.Reference})
	}
	parts = append(parts, part{"got", r.Answer})
	if r.Error != nil {
		parts = append(parts, part{"error", r.Error.Message})
	}
	parts = append(parts, part{"reason", r.Reason}, part{"came back", leaksOf(r)}, part{"gold", goldRanks(r)},
		part{"retrieved instead", retrievedInstead(r, run.Result.Identity.TopK)}, part{"lost at", run.stage(r)})
	kept := parts[:0]
	for _, p := range parts {
		if p.text != "" {
			kept = append(kept, p)
		}
	}
	return kept
}

// goldRanks lists the ranks of the gold, beyond the top-k if they were searched for.
func goldRanks(r *result.Record) string {
	text := ranksOfGold(r)
	if r.DeepRank != nil && *r.DeepRank > 0 {
		text += fmt.Sprintf("; the first missing one is at rank %d", *r.DeepRank)
	}
	return text
}

// details formats the parts as lines of text.
func (run *Run) details(r *result.Record) string {
	var b strings.Builder
	for i, p := range run.parts(r) {
		if i > 0 {
			b.WriteByte('\n')
		}
		fmt.Fprintf(&b, "%s: %s", p.what, shortened(p.text))
	}
	return b.String()
}

// shortened returns the beginning of a text, and the number of omitted bytes.
func shortened(text string) string {
	first := printable.First(text, partLength)
	if first == text {
		return text
	}
	return fmt.Sprintf("%s… (%d more bytes)", first, len(text)-len(first))
}
