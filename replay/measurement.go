package replay

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"evalctl/harness"
	"evalctl/harness/dataset"
	"evalctl/harness/key"
	"evalctl/harness/ledger"
	"evalctl/harness/pipeline"
	"evalctl/harness/result"
	"evalctl/replay/ingest"
	"evalctl/replay/verdict"
	"evalctl/scorer"
)

// measurement is an arm with its questions and its subject.
type measurement struct {
	*instruments
	arm     Arm
	data    dataset.Dataset
	subject subject
}

// newMeasurement returns an arm with nothing opened. uses turns a daemon into the subject of this
// process.
func (m *instruments) newMeasurement(a Arm, d dataset.Dataset, uses func(*daemon) subject) measurement {
	if !a.hasDaemon() {
		return measurement{m, a, d, baseline{m.plan, a}}
	}
	return measurement{m, a, d, uses(&daemon{instruments: m, arm: a})}
}

// identity identifies the measurement. The subject must be open.
func (m *measurement) identity() armIdentity {
	id, build := m.subject.program()
	return armIdentity{m.plan.identity(m.arm, id, m.data), build, m.arm.Models}
}

// fill makes all brains ready. with sets where filled brains are recorded.
func (m *measurement) fill(ctx context.Context, o Observer, with func(*ingest.Config)) (*ingest.FilledBrains, error) {
	filled, err := m.subject.fill(ctx, func(c *ingest.Config) {
		c.Progress = func(n int) { o.Ingested(m.arm.Name, n) }
		with(c)
	}, m.haystacks())
	if err == nil {
		m.subject.admit(ctx, filled)
	}
	return filled, err
}

// haystacks returns the ids of all haystacks.
func (m *measurement) haystacks() []string {
	ids := make([]string, len(m.plan.Haystacks))
	for i, h := range m.plan.Haystacks {
		ids[i] = h.ID
	}
	return ids
}

// brains returns the brains of the arm's questions, nil if none are filled.
func (m *measurement) brains(filled *ingest.FilledBrains) ([]dataset.Brain, error) {
	if len(filled.Brains) == 0 {
		return nil, nil
	}
	return m.data.Brains(nil)
}

// harnessSubject returns the subject that answers the arm's questions.
func (m *measurement) harnessSubject(filled *ingest.FilledBrains) (harness.Subject, error) {
	reader, err := m.meteredModel(m.plan.reader, m.plan.Reader, ledger.Actor, m.arm.Name, m.cache.Wrap)
	if err != nil {
		return harness.Subject{}, err
	}
	s, err := m.subject.harnessSubject(reader, filled)
	s.Timeout = m.plan.Timeout
	return s, err
}

// dualScorer returns the scorer of the arm's answers, which also scores by the references before
// errata.
func (m *measurement) dualScorer() (scorer.Scorer, error) {
	sc, err := m.scorer(m.arm.Name)
	if err != nil {
		return nil, err
	}
	return scorer.NewDual(sc, m.originals()), nil
}

// scoringStage returns the pipeline stage that scores with sc and adds verdicts and losses.
func (m *measurement) scoringStage(sc scorer.Scorer, filled *ingest.FilledBrains) pipeline.Scorer {
	p := m.plan
	return verdict.Scorer{
		Scorer: pipeline.Grader{Scorer: sc}, Questions: p.byID, TopK: p.TopK,
		Reads: p.scenario(m.arm).Reads(), Judged: p.judgePlan != nil && p.Prompts != nil, Retrieves: m.arm.hasDaemon(),
		Gold: p.Scorer.Needs == scorer.NeedGold, Evidence: p.evidence(), Documents: filled,
	}
}

// originals returns the references before errata.
func (m *measurement) originals() map[string]scorer.Reference {
	out := map[string]scorer.Reference{}
	for _, q := range m.plan.Questions {
		if e := q.Erratum; e != nil && !e.Exclude && e.OriginalAnswer != q.Answer {
			out[q.ID] = scorer.Reference{
				Answer: e.OriginalAnswer, Expected: e.OriginalExpected, Checks: e.OriginalChecks, Type: q.JudgeType(),
			}
		}
	}
	return out
}

// armIdentity identifies the measurement of an arm. A worker must measure the same for its records
// to belong to the run.
type armIdentity struct {
	Identity result.Identity `json:"identity"`
	// Build and Models are as in ingest.Daemon.
	Build  string   `json:"build"`
	Models []string `json:"models"`
}

// check returns an error if a worker would measure something else.
func (want armIdentity) check(have armIdentity) error {
	diff := key.Differences(want.Identity, have.Identity)
	if a, b := want.Identity.Tool, have.Identity.Tool; a.Version != b.Version || a.Commit != b.Commit {
		diff = append(diff, fmt.Sprintf("evalctl was %s (commit %s) and is now %s (commit %s)", a.Version, a.Commit, b.Version, b.Commit))
	}
	if !slices.Equal(want.Models, have.Models) {
		diff = append(diff, fmt.Sprintf("the daemon's models were %q and are now %q", want.Models, have.Models))
	}
	if len(diff) == 0 && want.Build != have.Build {
		diff = append(diff, "the daemon's program has changed: "+
			"install the same build, with SVC_SDK_<SDK>_CMD naming the same arguments")
	}
	if len(diff) > 0 {
		return &differentWorker{diff}
	}
	return nil
}

// differentWorker means that a worker would measure something else than the run.
type differentWorker struct{ differences []string }

func (e *differentWorker) Error() string {
	return "it would measure something else: " + strings.Join(e.differences, "; ") +
		"; give it the same evalctl, files, models and daemon"
}
