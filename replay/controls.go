package replay

import (
	"context"
	"fmt"
	"strings"

	"evalctl/harness"
	"evalctl/harness/result"
	"evalctl/replay/control"
	"evalctl/scorer"
)

// controlsError means that the scorer misjudged answers known to be right or wrong, or gave no
// verdict on too many of them, so that no further question was asked. It wraps harness.ErrControls
// in the first case and scorer.ErrUnusable in the second.
type controlsError struct {
	Controls result.Controls
	// Model is set if a model judges.
	Model bool
}

// namedControls is the maximum number of misjudged answers in the error text.
const namedControls = 3

func (e *controlsError) Error() string {
	if e.Controls.Valid() {
		return e.unjudged()
	}
	failed := e.Controls.Failed
	var named []string
	for _, f := range failed[:min(len(failed), namedControls)] {
		must := "must fail"
		if f.Kind == control.KindReference {
			must = "must pass"
		}
		named = append(named, fmt.Sprintf("%s of question %.100q %s", f.Kind, f.ID, must))
	}
	if more := len(failed) - len(named); more > 0 {
		named = append(named, fmt.Sprintf("%d more", more))
	}
	what := "the scorer"
	if e.Model {
		what = "the judge's model and prompts (--judge, --judge-prompts)"
	}
	return fmt.Sprintf("no further question was asked; misjudged: %s; check %s, then continue", strings.Join(named, ", "), what)
}

// unjudged names the controls without a verdict and quotes the judge's provider.
func (e *controlsError) unjudged() string {
	c := e.Controls
	right, wrong := c.Judged()
	first := c.Unjudged[0]
	what := "scorer"
	if e.Model {
		what = "judge"
	}
	return fmt.Sprintf("no further question was asked, because the %s could not be checked: it gave a verdict on "+
		"%d of %d answers known to be right and on %d of %d known to be wrong; %s of question %.100q: %s",
		what, right, c.Right, wrong, c.Wrong, first.Kind, first.ID, first.Reason)
}

// Unwrap returns harness.ErrControls or scorer.ErrUnusable.
func (e *controlsError) Unwrap() error {
	if e.Controls.Valid() {
		return scorer.ErrUnusable
	}
	return harness.ErrControls
}

// checkScorer checks the scorer with answers known to be right or wrong and passes the outcome to
// report. It returns nil if the scorer needs no check. A resumed replay checks again, because the
// judge may have changed.
func (m *instruments) checkScorer(ctx context.Context, report func(result.Controls)) (*result.Controls, error) {
	if !m.plan.checksScorer() {
		return nil, nil
	}
	c, err := m.judgeControls(ctx, m.cache.Wrap)
	if err == nil && !c.Valid() && m.cache.Stats().Hits > 0 {
		// The cache may hold wrong replies from a judge that was out of order.
		c, err = m.judgeControls(ctx, m.cache.Refresh)
	}
	if err != nil {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		return nil, err
	}
	report(c)
	return &c, nil
}

func (m *instruments) judgeControls(ctx context.Context, wrap cacheFunc) (result.Controls, error) {
	sc, err := m.controlScorer(wrap)
	if err != nil {
		return result.Controls{}, err
	}
	items := control.Items(m.plan.Questions, m.plan.Drawn.Seed)
	return control.Check(ctx, sc, items, m.plan.Concurrency)
}
