package queue

import (
	"context"
	"encoding/json"
	"fmt"

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
	return result.JoinAdmissions(all), nil
}
