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

	"evalctl/internal/figure"
	"evalctl/internal/llm"
	"evalctl/replay/ledger"
	"evalctl/replay/queue"
)

// Store is where replays are kept until they have finished: Ledgers, or a queue.
type Store interface {
	// Find returns the options with which a replay was begun, and when. id is what --resume takes.
	Find(ctx context.Context, id string) (options json.RawMessage, begun time.Time, err error)
	Close() error

	create(ctx context.Context, f Files, options json.RawMessage, limit *llm.USD) (kept, error)
	resume(ctx context.Context, id string) (kept, error)
	// files returns the files of a replay that is resumed and names no output. Folders of a day are in
	// root.
	files(ctx context.Context, id, root string, arms []Arm) (Files, error)
}

// kept is a replay in a store.
type kept interface {
	ledger.Books
	// ID is what --resume takes.
	ID() string
	SetCap(ctx context.Context, limit llm.USD) error
	// Status returns what was spent, without asking a database, and what workers do, if there are any.
	Status() (spent llm.USD, workers []string)
	// Resumed returns how many questions are known to have finished before. If counted is false, Hooks
	// say so of each.
	Resumed() (n int, counted bool)
	// Close keeps the replay. Remove deletes it.
	Close() error
	Remove() error

	place() place
}

// Ledgers keeps each replay in a ledger beside its results, and has this process do everything.
type Ledgers struct{}

var _ Store = Ledgers{}

// Find implements Store.
func (Ledgers) Find(_ context.Context, id string) (json.RawMessage, time.Time, error) {
	l, err := ledger.Open(id)
	if errors.Is(err, os.ErrNotExist) && !strings.HasSuffix(id, ledgerExt) {
		err = fmt.Errorf("%w; a run on a queue is resumed with --queue or SVC_QUEUE", err)
	}
	if err != nil {
		return nil, time.Time{}, err
	}
	return l.Options(), l.StartedAt(), l.Close()
}

// Close implements Store.
func (Ledgers) Close() error { return nil }

func (Ledgers) create(_ context.Context, f Files, options json.RawMessage, limit *llm.USD) (kept, error) {
	l, err := ledger.Create(f.ledger(), options, time.Now().UTC(), limit)
	return inLedger{l}, err
}

func (Ledgers) resume(_ context.Context, id string) (kept, error) {
	l, err := ledger.Open(id)
	return inLedger{l}, err
}

func (Ledgers) files(_ context.Context, id, _ string, arms []Arm) (Files, error) {
	name, ok := strings.CutSuffix(filepath.Base(id), ledgerExt)
	if !ok {
		return Files{}, fmt.Errorf("%s: the name of a ledger ends in %s", id, ledgerExt)
	}
	if len(arms) > 1 {
		name = ""
	}
	return Files{filepath.Dir(id), name}, nil
}

// inLedger is a replay in a ledger.
type inLedger struct{ *ledger.Ledger }

func (l inLedger) ID() string { return l.Path() }

func (l inLedger) SetCap(_ context.Context, limit llm.USD) error { return l.Ledger.SetCap(limit) }

func (l inLedger) Status() (spent llm.USD, workers []string) { return l.Spent(), nil }

func (inLedger) Resumed() (n int, counted bool) { return 0, false }

func (inLedger) place() place { return here{} }

// onQueue is the queue that workers take questions from.
type onQueue struct {
	*queue.Queue
	notice func(string)
}

var _ Store = onQueue{}

// OnQueue keeps replays on a queue, and has its workers ask and score, see Handler. A process
// that begins or resumes a replay checks the scorer, fills the brains of daemons that are running
// already, and collects the records. Its other files may be missing in a replay that is resumed on
// another machine. Arms are only roughly at the same question. notice is that of queue.Queue.Create.
func OnQueue(q *queue.Queue, notice func(string)) Store { return onQueue{q, notice} }

func (q onQueue) create(ctx context.Context, _ Files, options json.RawMessage, limit *llm.USD) (kept, error) {
	run, err := q.Create(ctx, options, time.Now().UTC(), limit, q.notice)
	return queuedRun{run}, err
}

func (q onQueue) resume(ctx context.Context, id string) (kept, error) {
	run, err := q.Resume(ctx, id, q.notice)
	return queuedRun{run}, err
}

func (q onQueue) files(ctx context.Context, id, root string, arms []Arm) (Files, error) {
	_, begun, err := q.Find(ctx, id)
	return defaultFiles(root, arms, begun), err
}

// queuedRun is a replay on a queue.
type queuedRun struct{ *queue.Run }

func (r queuedRun) Status() (spent llm.USD, workers []string) {
	s := r.Run.Status()
	workers = []string{figure.Count(s.Workers, "worker"), fmt.Sprintf("%d in progress", s.Asking)}
	if s.Refused > 0 {
		workers = append(workers, fmt.Sprintf("%d refused", s.Refused))
	}
	return s.Spent, workers
}

func (r queuedRun) Resumed() (n int, counted bool) { return r.Run.Resumed(), true }

func (r queuedRun) place() place { return workers{r.Run} }
