package replay

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"evalctl/harness"
	"evalctl/harness/journal"
	"evalctl/harness/ledger"
	"evalctl/harness/result"
	"evalctl/internal/llm"
	"evalctl/replay/ingest"
)

// Store keeps replays until they have finished: Ledgers or a queue.
type Store interface {
	// Find returns the options, the last cap and the start of a replay. id is the argument of
	// --resume.
	Find(ctx context.Context, id string) (options json.RawMessage, limit *llm.USD, begun time.Time, err error)
	Close() error

	create(ctx context.Context, f Files, options json.RawMessage, limit *llm.USD) (storedReplay, error)
	resume(ctx context.Context, id string) (storedReplay, error)
	// files returns the files of a resumed replay without an explicit output. root contains the day
	// folders.
	files(ctx context.Context, id, root string, arms []Arm) (Files, error)
}

// storedReplay is a replay in a store. It accounts for the money and decides who asks the
// questions.
type storedReplay interface {
	ledger.Books
	// ID is the argument of --resume.
	ID() string
	// SetCap replaces the cap. options are added to those of the replay, nil for none.
	SetCap(ctx context.Context, limit llm.USD, options json.RawMessage) error
	// Status returns the amount spent, from memory, and descriptions of the workers, if any.
	Status() (spent llm.USD, workers []string)
	// Resumed returns how many questions had finished before. If counted is false, the observer is
	// called for each.
	Resumed() (n int, counted bool)
	// Close keeps the replay. Remove deletes it.
	Close() error
	Remove() error

	// The methods below decide how questions are answered: in this process or by workers.

	// uses returns the subject for the daemon of an arm in this process.
	uses(d *daemon) subject
	// prepare fills the brains that this process must fill and makes the questions ready to ask.
	prepare(ctx context.Context, m *measurement, j *journal.Journal, o Observer) (*ingest.FilledBrains, error)
	// stages sets the stages of an arm's run that its subject does not set.
	stages(m *measurement, c *harness.Config, filled *ingest.FilledBrains, p pace) error
	// together says which arms were asked at the same time, nil for none.
	together(p *Plan, l *lockstep) *result.Together
	// settle closes the accounts of a finished replay.
	settle(ctx context.Context) error
}

// Ledgers is a Store with a ledger beside each replay's results. This process does all the work.
type Ledgers struct{}

var _ Store = Ledgers{}

// Find implements Store.
func (Ledgers) Find(_ context.Context, id string) (json.RawMessage, *llm.USD, time.Time, error) {
	l, err := ledger.Open(id)
	if errors.Is(err, os.ErrNotExist) && !strings.HasSuffix(id, ledger.Ext) {
		err = fmt.Errorf("%w; a run on a queue is resumed with --queue or SVC_QUEUE", err)
	}
	if err != nil {
		return nil, nil, time.Time{}, err
	}
	return l.Options(), l.Cap(), l.StartedAt(), l.Close()
}

// Close implements Store.
func (Ledgers) Close() error { return nil }

func (Ledgers) create(_ context.Context, f Files, options json.RawMessage, limit *llm.USD) (storedReplay, error) {
	l, err := ledger.Create(f.ledger(), options, f.start(), limit)
	return ledgerReplay{l}, err
}

func (Ledgers) resume(_ context.Context, id string) (storedReplay, error) {
	l, err := ledger.Open(id)
	return ledgerReplay{l}, err
}

func (Ledgers) files(_ context.Context, id, _ string, arms []Arm) (Files, error) {
	name, ok := strings.CutSuffix(filepath.Base(id), ledger.Ext)
	if !ok {
		return Files{}, fmt.Errorf("%s: the name of a ledger ends in %s", id, ledger.Ext)
	}
	if len(arms) > 1 {
		name = ""
	}
	return Files{Dir: filepath.Dir(id), name: name}, nil
}

// ledgerReplay is a replay in a ledger, which only this process works on.
type ledgerReplay struct{ *ledger.Ledger }

func (l ledgerReplay) ID() string { return l.Path() }

func (l ledgerReplay) SetCap(_ context.Context, limit llm.USD, options json.RawMessage) error {
	return l.Ledger.SetCap(limit, options)
}

func (l ledgerReplay) Status() (spent llm.USD, workers []string) { return l.Spent(), nil }

func (ledgerReplay) Resumed() (n int, counted bool) { return 0, false }

func (ledgerReplay) uses(d *daemon) subject { return d }

func (l ledgerReplay) prepare(ctx context.Context, m *measurement, j *journal.Journal, o Observer) (*ingest.FilledBrains, error) {
	return m.fill(ctx, o, func(c *ingest.Config) {
		c.Seeded, c.MarkSeeded = j.Seeded, j.MarkSeeded
		// The path of the journal may be spelled in another way when the replay is resumed.
		c.Owner = fmt.Sprintf("%d %s", j.StartedAt().UnixNano(), m.arm.Name)
		if m.plan.paid(m.arm) {
			c.Cost = func() *llm.USD { return listCost(l, m.arm) }
		}
	})
}

func (ledgerReplay) stages(m *measurement, c *harness.Config, filled *ingest.FilledBrains, p pace) error {
	c.Pace = p
	sc, err := m.dualScorer()
	if err == nil {
		c.Scorer = m.scoringStage(sc, filled)
	}
	return err
}

// together leaves out arms whose daemons were unusable and those that an earlier process finished.
func (ledgerReplay) together(p *Plan, l *lockstep) *result.Together {
	t := &result.Together{Started: []string{}, Concurrency: p.Concurrency}
	for _, a := range p.Arms {
		if !l.hasAsked(a.Name) {
			continue
		}
		t.Arms = append(t.Arms, a.Name)
		if a.started() {
			t.Started = append(t.Started, a.Name)
		}
	}
	if t.InFlight = len(t.Arms) * t.Concurrency; len(t.Arms) < 2 {
		return nil
	}
	return t
}

func (ledgerReplay) settle(context.Context) error { return nil }
