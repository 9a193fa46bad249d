package harness

import (
	"context"
	"errors"
	"time"

	"evalctl/harness/dataset"
	"evalctl/harness/lifecycle"
	"evalctl/harness/pipeline"
	"evalctl/harness/result"
	"evalctl/harness/seed"
	"evalctl/harness/target"
	"evalctl/scorer"
)

// Subject answers the questions of an experiment: a memory service, a reader, or a reader that uses
// a memory service. Records stands for answers obtained elsewhere.
type Subject struct {
	// Target is a memory service, nil if there is none. It answers unless Answerer is set.
	Target *target.Target
	// Session holds the service, nil for a service without a session.
	Session *Session
	// Answerer answers instead of Target, which it may search.
	Answerer Answerer
	// Reads is set if the service writes the answers even though Answerer is set.
	Reads bool
	// Documents finds the documents of passages. If nil, a Corpus of the questions is used.
	Documents Documents
	// Timeout limits one question, all attempts included.
	Timeout time.Duration
	// Settle is how long a service may take to find text written by operations, 0 for
	// lifecycle.DefaultSettle.
	Settle time.Duration

	// Answering is called around each question to the service, Filling around other requests before
	// a question. The returned function ends the phase. Both may be nil.
	Answering, Filling func() (end func())

	// Canary, if set, is looked for after the last question; the caller has looked for it before
	// the first. Held is the minimum number of texts found before anything was written, nil if
	// unknown.
	Canary *seed.Canary
	Held   *int

	// Records, if set, returns finished records: stored answers, or questions asked by other
	// processes.
	Records pipeline.Asker
}

// compose creates the stages that ask and score. The caller must call end after the last question.
func (r *runner) compose() (end func(), err error) {
	s, end := &r.cfg.Subject, func() {}
	if s.Documents == nil && s.Records == nil {
		s.Documents = newCorpus(r.cfg.Dataset, r.cfg.Brains, s.Session.mapped() != nil)
	}
	asker := s.Records
	if asker == nil {
		if asker, end, err = r.asker(); err != nil {
			return nil, err
		}
	}
	r.asked, r.scorer = asker, r.cfg.Scorer
	if r.secrets != nil {
		r.asked = maskedAsker{asker, r.secrets}
		if r.scorer != nil {
			r.scorer = maskedScorer{r.scorer, r.secrets}
		}
	}
	if r.cfg.RequireMode != "" {
		r.asked = modeAsker{r.asked, r.cfg.RequireMode}
	}
	return end, nil
}

// asker returns the Asker for a subject that is asked in this process.
func (r *runner) asker() (pipeline.Asker, func(), error) {
	s := r.cfg.Subject
	d := &daemon{
		answerer: s.Answerer, timeout: s.Timeout, topK: r.cfg.TopK, documents: s.Documents,
		several: len(Asked(r.cfg.Brains)) > 1, cluster: r.cfg.Notes.Settings.ClusterTag, watched: s.Session != nil && s.Session.Started(),
	}
	if s.Answerer == nil {
		d.answerer = s.Target
	}
	if s.Answering != nil {
		d.answerer = countingAnswerer{d.answerer, s.Answering}
	}
	if !r.cfg.Dataset.Lifecycle() {
		return d, func() {}, nil
	}
	if s.Answerer != nil {
		return nil, nil, errors.New("questions before which something happens to their brains can only be asked of a memory " +
			"service that answers them by itself; run them with evalctl run")
	}
	life := r.lifecycle()
	d.answerer = life
	r.paces = append(r.paces, life)
	return life.Around(d), func() {
		if err := life.Close(context.Background()); s.Session == nil || !s.Session.Started() {
			r.unremoved = err
		}
	}, nil
}

// countingAnswerer counts an Answerer's model requests as answers.
type countingAnswerer struct {
	Answerer
	answering func() (end func())
}

// Ask implements Answerer.
func (a countingAnswerer) Ask(ctx context.Context, q dataset.Question, timeout time.Duration) (target.Answer, error) {
	defer a.answering()()
	return a.Answerer.Ask(ctx, q, timeout)
}

// lifecycle returns the operations that run before questions.
func (r *runner) lifecycle() *lifecycle.Run {
	s := r.cfg.Subject
	c := lifecycle.Config{Dataset: r.cfg.Dataset, Brains: r.cfg.Brains, Target: s.Target, Settle: s.Settle, Filling: s.Filling, Answering: s.Answering}
	if r.cfg.Scorer != nil {
		c.Skips = func(q dataset.Question) bool { return errors.Is(r.cfg.Scorer.Check(q.Item()), scorer.ErrNoGold) }
	}
	if s.Session != nil && s.Session.Started() {
		c.Restart = func(ctx context.Context) (target.Service, error) {
			if err := s.Session.Restart(ctx); err != nil {
				return nil, err
			}
			return s.Session.Service(), nil
		}
	}
	return lifecycle.New(c)
}

// noteMapped records in the result how a mapped service was used.
func (r *runner) noteMapped() {
	s := &r.cfg.Subject // gets its Documents later
	m := s.Session.mapped()
	if m == nil {
		return
	}
	reads := s.Reads || s.Answerer == nil && s.Target.Scenario.Reads()
	r.mapped = func() *result.MappedService {
		seen := m.Seen()
		if s.Documents != nil {
			seen.ByText = s.Documents.ByText()
		}
		if reads {
			seen.NotMeasurable[result.Passages] = "the call that answers does not say what the answer rests on"
		}
		return &seen
	}
}
