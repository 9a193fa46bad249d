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
