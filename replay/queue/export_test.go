package queue

import "context"

// ChargeLost counts open requests as lost, as if every process had vanished.
func (r *Run) ChargeLost(ctx context.Context) error {
	return r.q.chargeOpen(ctx, r.run, `true`)
}

// Vanish ends the signs of life, as a kill would.
func (q *Queue) Vanish(ctx context.Context) {
	q.stop()
	<-q.done
	_, _ = q.exec(ctx, `UPDATE @members SET seen = '-infinity' WHERE id = $1`, q.id)
}

// HandedBack returns how often workers have handed a job back.
func (r *Run) HandedBack(ctx context.Context) (n int64, err error) {
	return n, r.q.row(ctx, `SELECT coalesce(sum((metadata->>'snoozes')::bigint), 0)::bigint FROM @river_job WHERE queue = $1`, r.run).Scan(&n)
}
