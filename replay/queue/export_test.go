package queue

import "context"

// ChargeLost counts open requests as lost, as if every process had vanished.
func (r *Run) ChargeLost(ctx context.Context) error {
	_, err := r.q.exec(ctx, `
		WITH lost AS (
			UPDATE @charges SET kind = 'lost', usd = worst, lost_usd = worst WHERE run = $1 AND kind = 'open' RETURNING worst
		), total AS (SELECT coalesce(sum(worst), 0)::bigint AS usd FROM lost)
		UPDATE @runs SET reserved = reserved - total.usd, spent = spent + total.usd FROM total WHERE id = $1`, r.run)
	return err
}

// Vanish ends the signs of life, as a kill would.
func (q *Queue) Vanish(ctx context.Context) {
	q.stop()
	<-q.done
	_, _ = q.exec(ctx, `UPDATE @members SET seen = '-infinity' WHERE id = $1`, q.id)
}
