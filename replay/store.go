package replay

import (
	"context"
	"encoding/json"
	"time"

	"evalctl/harness"
	"evalctl/harness/journal"
	"evalctl/harness/result"
	"evalctl/internal/llm"
	"evalctl/replay/ingest"
	"evalctl/replay/ledger"
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

// kept is a replay in a store: its money, and what asks its questions.
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

	// What follows is how the questions are answered: in this process, or by workers.

	// uses returns how this process uses the daemon of an arm.
	uses(d *daemon) subject
	// prepare fills the brains that this process has to fill. Afterwards the questions can be asked.
	prepare(ctx context.Context, m *measured, j *journal.Journal, o Observer) (*ingest.Filled, error)
	// stages sets the stages of an arm's run that are not those of its subject.
	stages(m *measured, c *harness.Config, filled *ingest.Filled, p pace) error
	// together says with which arms the questions of an arm were asked at the same time, nil for none.
	together(p *Plan, steps *lockstep) *result.Together
	// settle ends the accounts of a replay that has finished.
	settle(ctx context.Context) error
}
