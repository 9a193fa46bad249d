package queue

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"

	"evalctl/harness/result"
)

// Admit records a worker's observations of the daemon that it started for an arm.
func (b *Books) Admit(ctx context.Context, arm string, a *result.Admission) error {
	data, err := json.Marshal(a)
	if err == nil {
		err = b.q.change(ctx, `INSERT INTO @sightings VALUES ($1, $2, $3)`, b.run, arm, data)
	}
	if err != nil {
		return fmt.Errorf("record whether the daemon of %s finds a text: %w", arm, err)
	}
	return nil
}

// Admission returns the workers' observations of their daemons of an arm, nil if there are none.
func (b *Books) Admission(ctx context.Context, arm string) (*result.Admission, error) {
	var all []result.Admission
	rows, err := b.q.pool.Query(ctx, in(`SELECT admission FROM @sightings WHERE run = $1 AND arm = $2`), b.run, arm)
	if err != nil {
		return nil, err
	}
	var data []byte
	_, err = pgx.ForEachRow(rows, []any{&data}, func() error {
		var one result.Admission
		err := json.Unmarshal(data, &one)
		all = append(all, one)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read whether the daemons of %s find a text: %w", arm, err)
	}
	return joinAdmissions(all), nil
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
