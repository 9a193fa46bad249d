package queue

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"

	"evalctl/harness/result"
)

// sighting is what a worker has observed of the daemon of an arm: one of both.
type sighting struct {
	*result.Admission
	// Restarts is how often a running daemon was started again, as the worker noticed.
	Restarts int `json:"daemon_restarts,omitempty"`
}

// Admit records a worker's observations of the daemon that it started for an arm.
func (b *Books) Admit(ctx context.Context, arm string, a *result.Admission) error {
	if err := b.note(ctx, arm, sighting{Admission: a}); err != nil {
		return fmt.Errorf("record whether the daemon of %s finds a text: %w", arm, err)
	}
	return nil
}

// NoteRestarts records how often a worker has noticed that the running daemon of an arm was started
// again.
func (b *Books) NoteRestarts(ctx context.Context, arm string, n int) error {
	if err := b.note(ctx, arm, sighting{Restarts: n}); err != nil {
		return fmt.Errorf("record the restarts of the daemon of %s: %w", arm, err)
	}
	return nil
}

func (b *Books) note(ctx context.Context, arm string, s sighting) error {
	data, err := json.Marshal(s)
	if err != nil {
		return err
	}
	return b.q.change(ctx, `INSERT INTO @sightings VALUES ($1, $2, $3)`, b.run, arm, data)
}

// Admission returns the workers' observations of their daemons of an arm, nil if there are none.
func (b *Books) Admission(ctx context.Context, arm string) (*result.Admission, error) {
	seen, err := b.sightings(ctx, arm)
	if err != nil {
		return nil, fmt.Errorf("read whether the daemons of %s find a text: %w", arm, err)
	}
	var all []result.Admission
	for _, s := range seen {
		if s.Admission != nil {
			all = append(all, *s.Admission)
		}
	}
	return joinAdmissions(all), nil
}

// Restarts returns how often the running daemon of an arm was started again: the highest number
// that a worker has noticed, because all workers ask the same daemon.
func (b *Books) Restarts(ctx context.Context, arm string) (n int, err error) {
	seen, err := b.sightings(ctx, arm)
	if err != nil {
		return 0, fmt.Errorf("read the restarts of the daemon of %s: %w", arm, err)
	}
	for _, s := range seen {
		n = max(n, s.Restarts)
	}
	return n, nil
}

func (b *Books) sightings(ctx context.Context, arm string) (all []sighting, err error) {
	rows, err := b.q.pool.Query(ctx, in(`SELECT admission FROM @sightings WHERE run = $1 AND arm = $2`), b.run, arm)
	if err != nil {
		return nil, err
	}
	var data []byte
	_, err = pgx.ForEachRow(rows, []any{&data}, func() error {
		var one sighting
		err := json.Unmarshal(data, &one)
		all = append(all, one)
		return err
	})
	return all, err
}

// joinAdmissions joins the observations of several daemons of one target by taking the worst
// sighting of each kind. It returns nil for none.
func joinAdmissions(all []result.Admission) *result.Admission {
	if len(all) == 0 {
		return nil
	}
	joined := all[0]
	for _, a := range all[1:] {
		joined.Before, joined.After = worse(joined.Before, a.Before), worse(joined.After, a.After)
		if a.Brain == result.CanaryAmong {
			joined.Brain = a.Brain
		}
	}
	return &joined
}

// worse returns the worse of two sightings. CanaryUnknown is the best, because it says nothing
// about other daemons.
func worse(s, other result.Sighting) result.Sighting {
	rank := []result.SightingState{result.CanaryUnknown, result.CanaryFound, result.CanaryMissing}
	if slices.Index(rank, other.State) > slices.Index(rank, s.State) {
		return other
	}
	return s
}
