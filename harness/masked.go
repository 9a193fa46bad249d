package harness

import (
	"context"

	"evalctl/harness/pipeline"
	"evalctl/harness/result"
	"evalctl/internal/redact"
)

// maskedAsker removes secrets from an Asker's records and errors, so that no later stage sees them.
// It works on the record, since a daemon may send a secret in two parts and only the record has the
// whole answer.
type maskedAsker struct {
	pipeline.Asker
	secrets *redact.Redactor
}

// Ask implements pipeline.Asker.
func (m maskedAsker) Ask(ctx context.Context, j pipeline.Job) (result.Record, error) {
	rec, err := m.Asker.Ask(ctx, j)
	return redact.Values(m.secrets, rec), m.secrets.Error(err)
}

// Stop implements pipeline.Stopper.
func (m maskedAsker) Stop(reason error) {
	if s, ok := m.Asker.(pipeline.Stopper); ok {
		s.Stop(reason)
	}
}

// maskedScorer removes secrets from a Scorer's grades and errors.
type maskedScorer struct {
	pipeline.Scorer
	secrets *redact.Redactor
}

// Score implements pipeline.Scorer.
func (m maskedScorer) Score(ctx context.Context, rec result.Record) (result.Record, error) {
	rec, err := m.Scorer.Score(ctx, rec)
	return redact.Values(m.secrets, rec), m.secrets.Error(err)
}
