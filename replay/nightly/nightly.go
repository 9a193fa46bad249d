// Package nightly writes the report of a replay: quality and cost of each arm, the arms side by
// side, and the trend of the nights before.
//
// The report is Markdown as GitHub renders it. Text of datasets, daemons and models is data: it is
// shown as it is, and cannot become a link, a heading, a mention or HTML.
package nightly

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"

	"evalctl/harness/compare"
	"evalctl/harness/result"
	"evalctl/internal/atomicfile"
	"evalctl/internal/markdown"
)

// Arm is one of the things that a replay measured.
type Arm struct {
	Name string
	// Path is that of the result file, empty if the arm has none.
	Path string
	// Problem is what ended the arm early, empty if nothing did.
	Problem string
}

// sentenceLength is the most that is shown of a sentence with names or messages in it.
const sentenceLength = 600

// GitHub shows at most 1 MiB of a job's summary. maxShown is the number of questions that are
// shown of an arm's failures, and of those that arms disagree about; maxFailures is that of the
// failures of all arms.
const (
	maxShown    = 50
	maxFailures = 200
)

// Write replaces the file at path by the report of the arms, and creates its folder. See Report.
func Write(path string, arms []Arm, compared *compare.Arms, history string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return atomicfile.Write(path, 0o644, func(w io.Writer) error { return Report(w, arms, compared, history) })
}

// Report writes the report of the arms of one replay to w. History is the folder of results, in
// which the earlier nights are in one folder each, named by date; it may be empty or missing.
//
// compared is how the arms compare, nil for one arm. Results that cannot be read are named in the
// report. The error is that of w.
func Report(w io.Writer, arms []Arm, compared *compare.Arms, history string) error {
	page := bufio.NewWriter(w)
	var measured []*measured
	for _, a := range arms {
		measured = append(measured, measure(a, min(maxShown, maxFailures/len(arms))))
	}
	title(page, measured)
	sentences(page, compared)
	for _, m := range measured {
		m.verdict(page)
	}
	if err := comparison(page, measured, compared); err != nil {
		return err
	}
	trends(page, measured, history)
	sections(page, withResult(measured))
	return page.Flush()
}

// measured is an arm with what its result file contains.
type measured struct {
	Arm
	res *result.Result // nil without a result
	// ids are those of the finished questions in order, outcomes their outcomes.
	ids      []string
	outcomes map[string]outcome
	// failures are the first records that did not pass, at most shown; failed counts all.
	failures []result.Record
	shown    int
	failed   int
}

// outcome is how a question ended.
type outcome struct {
	kind   result.Outcome
	passed bool
	typ    string
}

// measure reads the result of an arm, with this number of failures. What cannot be read becomes a
// problem of the arm.
func measure(a Arm, failures int) *measured {
	m := &measured{Arm: a, shown: failures, outcomes: map[string]outcome{}}
	if a.Path == "" {
		return m
	}
	r, err := result.Open(a.Path)
	if err != nil {
		m.problem(err.Error())
		return m
	}
	defer r.Close()
	m.res = new(r.Result())
	for rec, err := range r.Questions() {
		if err != nil {
			m.problem(err.Error())
			break
		}
		m.add(rec)
	}
	return m
}

func (m *measured) problem(text string) {
	if m.Problem != "" {
		text = m.Problem + "; " + text
	}
	m.Problem = text
}

func (m *measured) add(rec result.Record) {
	m.ids = append(m.ids, rec.ID)
	m.outcomes[rec.ID] = outcome{kind: rec.Outcome, passed: rec.Passed, typ: rec.Type}
	if rec.Passed || rec.Outcome == result.NoGold {
		return
	}
	if m.failed++; m.failed <= m.shown {
		m.failures = append(m.failures, rec)
	}
}

// title writes the heading, which says what was asked.
func title(w io.Writer, arms []*measured) {
	i := slices.IndexFunc(arms, func(m *measured) bool { return m.res != nil })
	if i < 0 {
		fmt.Fprint(w, "# Replay without a result\n\n")
		return
	}
	res := arms[i].res
	fmt.Fprintf(w, "# Replay of %s\n\n", markdown.Code(filepath.Base(res.Identity.Dataset.Path)))
	fmt.Fprintf(w, "%s UTC", res.StartedAt.UTC().Format("2006-01-02 15:04"))
	if r := res.Replay; r != nil {
		s := r.Sample
		fmt.Fprintf(w, ", %d of %s", s.Size, markdown.Count(s.Population, "question"))
		if !s.Listed && s.Size < s.Population {
			fmt.Fprintf(w, " drawn with seed %d", s.Seed)
		}
	}
	fmt.Fprintf(w, ", scorer %s\n\n", markdown.Code(res.Identity.ScoredBy()))
}

// sections writes all that is known of each arm, and once what several arms have in common: inputs,
// and the questions that they did not pass.
func sections(w io.Writer, arms []*measured) {
	common := commonInputs(arms)
	for _, m := range arms {
		fmt.Fprintf(w, "## Arm %s\n\n", markdown.Code(m.Name))
		m.quality(w)
		m.losses(w)
		m.cost(w)
		m.inputs(w, common)
		if len(arms) == 1 {
			m.failuresOf(w)
		}
	}
	if len(arms) > 1 {
		inputsOfAll(w, arms, common)
		failuresOfAll(w, arms)
	}
}

// dayOf returns the day of a result, in UTC.
func dayOf(res *result.Result) time.Time {
	return res.StartedAt.UTC().Truncate(24 * time.Hour)
}
