package replay

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"evalctl/harness/ledger"
	"evalctl/internal/llm"
)

// Session is a replay that was begun or resumed. The caller must call End, or Close to keep the
// replay in any case.
type Session struct {
	storedReplay
	plan  *Plan
	files Files
	fresh bool // not resumed
	over  bool // nothing is left to resume
}

// Begin begins a replay, whose files must be locked. options are stored for Store.Find. Begin adds
// missing model names to them, because workers and later processes must use the same models.
func (p *Plan) Begin(ctx context.Context, s Store, f Files, options map[string]any) (*Session, error) {
	for name, m := range map[string]*llm.Config{"model": p.Reader, "judge": p.Judge} {
		if m != nil && options != nil && options[name] == nil {
			options[name] = m.Provider + "/" + m.Model
		}
	}
	data, err := json.Marshal(options)
	if err != nil {
		return nil, err
	}
	k, err := s.create(ctx, f, data, p.Cap)
	if err != nil {
		return nil, err
	}
	return &Session{storedReplay: k, plan: p, files: f, fresh: true}, nil
}

// Resume continues the replay id, whose files must be locked, with the plan's cap. It returns a
// DifferentError if an arm was begun as a different experiment.
func (p *Plan) Resume(ctx context.Context, s Store, f Files, id string) (*Session, error) {
	k, err := s.resume(ctx, id)
	if err != nil {
		return nil, err
	}
	r := &Session{storedReplay: k, plan: p, files: f}
	if err := r.check(ctx); err != nil {
		return nil, errors.Join(err, r.Close())
	}
	return r, nil
}

// Unchained reports whether the replay's ledger has lines that are not linked (see
// ledger.Ledger.Unchained).
func (r *Session) Unchained() bool {
	l, ok := r.storedReplay.(ledgerReplay)
	return ok && l.Unchained()
}

// check checks that the files belong to the resumed replay, and updates its cap.
func (r *Session) check(ctx context.Context) error {
	if _, err := r.plan.begin(r.files, r.storedReplay); err != nil {
		return err
	}
	options := r.plan.CapOptions
	limit, err := ledger.NewCap(r.Cap(), r.plan.Cap, options != nil)
	if limit == nil {
		return err
	}
	return r.SetCap(ctx, *limit, options)
}

// Run measures the arms and returns their outcomes in configuration order.
//
// The first arm with a healthy daemon checks the scorer while the others wait. If too many answers
// known to be right or wrong are misjudged or have no verdict, nothing more is spent: each arm
// writes a result without further questions and ends with harness.ErrControls or
// scorer.ErrUnusable. A resumed replay checks the scorer again.
//
// A failing arm does not stop the others. Run returns an error, and asks no question, only if the
// scorer cannot be checked or files cannot be read.
func (r *Session) Run(ctx context.Context, o Observer) ([]Outcome, error) {
	var outcomes []Outcome
	shared, err := r.plan.begin(r.files, r.storedReplay)
	if err == nil {
		outcomes, err = shared.run(ctx, o)
	}
	r.over = r.fresh && !begun(outcomes, r.storedReplay) || err == nil && finished(outcomes)
	return outcomes, err
}

// End removes the replay from its store if every arm has finished or there is nothing to resume.
// Otherwise it keeps the replay and returns true.
func (r *Session) End() (resumable bool, err error) {
	if r.over {
		return false, r.Remove()
	}
	return true, r.Close()
}

// Files returns the location of the replay's files: output if given, else the files of the resumed
// replay in s, else the day's folder in root.
func (p *Plan) Files(ctx context.Context, s Store, resume, output, root string) (Files, error) {
	switch {
	case output != "" && len(p.Arms) == 1:
		return fileOf(output)
	case output != "":
		return Files{Dir: output}, nil
	case resume != "":
		return s.files(ctx, resume, root, p.Arms)
	}
	return defaultFiles(root, p.Arms, time.Now().UTC()), nil
}
