package pgcatalog

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"evalctl/daemon/brain"
	"evalctl/internal/postgres"
)

// LeaseTime is how long the leases of a daemon outlast it if it vanishes. Only the clock of the
// database counts.
const LeaseTime = 15 * time.Second

// errLeaseLost is the cause of the context of a lease that could not be renewed.
var errLeaseLost = errors.New("the lease was lost: the database did not answer in time")

// Leases implements brain.Leases with a table. A lease is a row that the process renews; an
// announcement is a lease of a name that only this process has.
//
// Advisory locks would end with the connection, even if the process lives and could go on after a
// moment. They would also last until the server notices that a machine has vanished. A row needs
// neither the same connection nor a direct one.
type Leases struct {
	pool   *pgxpool.Pool
	owner  string // of this process
	time   time.Duration
	logger *slog.Logger
	stop   context.CancelFunc
	ended  sync.WaitGroup

	// marking is held while rows of announcements are added and removed, so that this happens in
	// the same order in the database as here.
	marking sync.Mutex

	mu     sync.Mutex
	closed bool
	held   map[leaseKey]*lease
	marks  map[int64]*mark // announcements by UID
}

type leaseKey struct {
	uid  int64
	name string
}

// lease is a name that this process has.
type lease struct {
	cancel  context.CancelCauseFunc
	renewed time.Time // when the last statement that renewed it was sent
}

// NewLeases returns the leases of one process in the database of a pool. They last for a time such
// as LeaseTime. The caller must Close them before the pool.
func NewLeases(pool *pgxpool.Pool, duration time.Duration, logger *slog.Logger) *Leases {
	ctx, stop := context.WithCancel(context.Background())
	l := &Leases{
		pool: pool, owner: rand.Text(), time: duration, logger: logger, stop: stop,
		held: map[leaseKey]*lease{}, marks: map[int64]*mark{},
	}
	l.ended.Go(func() { l.renew(ctx) })
	return l
}

// beat is the interval at which leases are renewed, and the time that a statement may take.
func (l *Leases) beat() time.Duration { return l.time / 5 }

// fresh reports whether a lease renewed then is certainly not taken by others. The rest of the time
// is for holders of a lease to notice its end.
func (l *Leases) fresh(renewed time.Time) bool { return time.Since(renewed) < l.time*3/5 }

// Take implements brain.Leases.
func (l *Leases) Take(
	ctx context.Context, key, name string,
) (held context.Context, release func(), err error) {
	uid, err := parseUID(key)
	if err != nil {
		return nil, nil, err
	}
	sent := time.Now()
	if err := l.insert(ctx, uid, name); err != nil {
		return nil, nil, err
	}
	held, cancel := context.WithCancelCause(ctx)
	own := &lease{cancel, sent}
	l.mu.Lock()
	l.held[leaseKey{uid, name}] = own
	if l.closed {
		cancel(brain.ErrClosed)
	}
	l.mu.Unlock()
	return held, sync.OnceFunc(func() {
		cancel(nil)
		if l.forget(uid, name, own) {
			l.delete(uid, name)
		}
	}), nil
}

// insert adds a row that does not exist or has expired.
func (l *Leases) insert(ctx context.Context, uid int64, name string) error {
	ctx, cancel := context.WithTimeout(ctx, l.beat())
	defer cancel()
	tag, err := l.pool.Exec(ctx, `INSERT INTO evalctl.leases (brain, name, owner, expires) VALUES ($1, $2, $3, now() + $4)
		ON CONFLICT (brain, name) DO UPDATE SET owner = excluded.owner, expires = excluded.expires
		WHERE leases.expires < now()`, uid, name, l.owner, l.time)
	const foreignKey = "23503"
	switch {
	case postgres.IsCode(err, foreignKey):
		return brain.ErrNotFound
	case err != nil:
		return failed("take the lease of "+name, err)
	case tag.RowsAffected() == 0:
		return brain.ErrLeased
	}
	return nil
}

// forget reports whether the lease was still held.
func (l *Leases) forget(uid int64, name string, own *lease) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	key := leaseKey{uid, name}
	if l.held[key] != own {
		return false
	}
	delete(l.held, key)
	return true
}

// delete removes a row of this process. If that fails, the row expires.
func (l *Leases) delete(uid int64, name string) {
	ctx, cancel := context.WithTimeout(context.Background(), l.beat())
	defer cancel()
	_, err := l.pool.Exec(ctx, "DELETE FROM evalctl.leases WHERE brain = $1 AND name = $2 AND owner = $3", uid, name, l.owner)
	if err != nil {
		l.logger.Debug("a lease cannot be released; it expires", "name", name, "because", err)
	}
}

// renew renews the leases and the announcements that the process has until ctx ends.
func (l *Leases) renew(ctx context.Context) {
	l.everyBeat(ctx, func() {
		if err := errors.Join(l.renewMarks(ctx), l.renewLeases(ctx)); err != nil && ctx.Err() == nil {
			l.logger.Warn("leases cannot be renewed; trying again", "because", postgres.Line(err))
		}
		l.loseStale()
	})
}

// everyBeat calls do at each beat until ctx ends.
func (l *Leases) everyBeat(ctx context.Context, do func()) {
	ticker := time.NewTicker(l.beat())
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			do()
		}
	}
}

// renewLeases renews the held leases only. The rows of leases that the process has lost, or does not
// know it has, must expire.
func (l *Leases) renewLeases(ctx context.Context) error {
	var brains []int64
	var names []string
	l.mu.Lock()
	for k := range l.held {
		brains, names = append(brains, k.uid), append(names, k.name)
	}
	l.mu.Unlock()
	if len(names) == 0 {
		return nil
	}
	sent := time.Now()
	ctx, cancel := context.WithTimeout(ctx, l.beat())
	defer cancel()
	rows, err := l.pool.Query(ctx, `UPDATE evalctl.leases AS l SET expires = now() + $2
		FROM unnest($3::bigint[], $4::text[]) AS held (brain, name)
		WHERE l.brain = held.brain AND l.name = held.name AND l.owner = $1 AND l.expires > now()
		RETURNING l.brain, l.name`, l.owner, l.time, brains, names)
	if err != nil {
		return err
	}
	keys, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (k leaseKey, err error) {
		return k, row.Scan(&k.uid, &k.name)
	})
	if err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, k := range keys {
		if own := l.held[k]; own != nil {
			own.renewed = sent
		}
	}
	return nil
}

// loseStale ends leases that have not been renewed for too long.
func (l *Leases) loseStale() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for k, own := range l.held {
		if !l.fresh(own.renewed) {
			own.cancel(errLeaseLost)
			delete(l.held, k)
		}
	}
}

// Close ends all leases, and leaves announced work to the other processes at once.
func (l *Leases) Close() {
	l.stop()
	l.ended.Wait()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return
	}
	l.closed = true
	used := []int64{} // nil would be NULL, which compares with nothing
	for _, own := range l.held {
		own.cancel(brain.ErrClosed)
	}
	for uid, m := range l.marks {
		if m.users > 0 {
			used = append(used, uid)
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), l.beat())
	defer cancel()
	_, err := l.pool.Exec(ctx, `WITH left_over AS (UPDATE evalctl.leases SET expires = '-infinity'
			WHERE name = $1 AND brain = ANY ($2))
		DELETE FROM evalctl.leases WHERE owner = $3 AND NOT (name = $1 AND brain = ANY ($2))`, l.pending(), used, l.owner)
	if err != nil {
		l.logger.Warn("leases cannot be released; they expire", "because", postgres.Line(err))
	}
}

func parseUID(key string) (int64, error) {
	uid, err := strconv.ParseInt(key, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("%.40q is not the UID of a brain", key)
	}
	return uid, nil
}
