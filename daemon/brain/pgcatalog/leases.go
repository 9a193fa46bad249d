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
// The alternative, advisory locks of a session, would end with the connection, also when the
// process lives and could go on after a moment, and would last for as long as the server takes to
// notice that a machine has vanished. A row needs neither the same connection nor a direct one.
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

// mark is an announcement.
type mark struct {
	users   int
	unused  time.Time // since when users is 0
	renewed time.Time
}

// NewLeases returns the leases in the database of a pool, for one process, which last for a time
// such as LeaseTime. The caller must Close them before the pool.
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

// fresh reports whether what was renewed then is certainly not taken by others. The rest of the
// time is for those who work under a lease to notice that it has ended.
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

// pendingPrefix begins the names of announcements.
const pendingPrefix = "pending/"

func (l *Leases) pending() string { return pendingPrefix + l.owner }

// Announce implements brain.Leases.
func (l *Leases) Announce(ctx context.Context, key string) (done func(), err error) {
	uid, err := parseUID(key)
	if err != nil {
		return nil, err
	}
	if m := l.use(uid); m != nil {
		return l.doneWith(m), nil
	}
	l.marking.Lock()
	defer l.marking.Unlock()
	if m := l.use(uid); m != nil {
		return l.doneWith(m), nil
	}
	sent := time.Now()
	if err := l.announce(ctx, []int64{uid}); err != nil {
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	m := l.marks[uid]
	if m == nil {
		m = &mark{}
		l.marks[uid] = m
	}
	m.users++
	m.renewed = sent
	return l.doneWith(m), nil
}

// use counts another user of an announcement, if there is one that is certain to be in the database.
func (l *Leases) use(uid int64) *mark {
	l.mu.Lock()
	defer l.mu.Unlock()
	m := l.marks[uid]
	if m == nil || !l.fresh(m.renewed) {
		return nil
	}
	m.users++
	return m
}

func (l *Leases) doneWith(m *mark) func() {
	return sync.OnceFunc(func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		m.users--
		m.unused = time.Now()
	})
}

// announce adds or renews rows of announcements. Without a brain it is brain.ErrNotFound.
func (l *Leases) announce(ctx context.Context, uids []int64) error {
	ctx, cancel := context.WithTimeout(ctx, l.beat())
	defer cancel()
	tag, err := l.pool.Exec(ctx, `INSERT INTO evalctl.leases (brain, name, owner, expires)
		SELECT uid, $2, $3, now() + $4 FROM evalctl.brains WHERE uid = ANY ($1)
		ON CONFLICT (brain, name) DO UPDATE SET expires = excluded.expires`, uids, l.pending(), l.owner, l.time)
	if err != nil {
		return failed("announce work", err)
	}
	if tag.RowsAffected() == 0 {
		return brain.ErrNotFound
	}
	return nil
}

// renew renews all that the process has until ctx ends.
func (l *Leases) renew(ctx context.Context) {
	ticker := time.NewTicker(l.beat())
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		if err := errors.Join(l.renewMarks(ctx), l.renewLeases(ctx)); err != nil && ctx.Err() == nil {
			l.logger.Warn("leases cannot be renewed; trying again", "because", err)
		}
		l.loseStale()
	}
}

// renewMarks renews announcements, and removes those that have not been used for a while. Most work
// is followed by more on the same brain, which should not have to wait for another row.
func (l *Leases) renewMarks(ctx context.Context) error {
	l.marking.Lock()
	defer l.marking.Unlock()
	var used, unused []int64
	l.mu.Lock()
	for uid, m := range l.marks {
		if m.users == 0 && time.Since(m.unused) > l.time {
			delete(l.marks, uid)
			unused = append(unused, uid)
		} else {
			used = append(used, uid)
		}
	}
	l.mu.Unlock()
	if len(used) == 0 && len(unused) == 0 {
		return nil
	}
	sent := time.Now()
	err := l.announce(ctx, used)
	if errors.Is(err, brain.ErrNotFound) {
		err = nil
	}
	if err == nil {
		l.mu.Lock()
		for _, uid := range used {
			l.marks[uid].renewed = sent
		}
		l.mu.Unlock()
	}
	return errors.Join(err, l.withdraw(ctx, unused))
}

func (l *Leases) withdraw(ctx context.Context, uids []int64) error {
	if len(uids) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, l.beat())
	defer cancel()
	_, err := l.pool.Exec(ctx, "DELETE FROM evalctl.leases WHERE brain = ANY ($1) AND name = $2", uids, l.pending())
	return err
}

// renewLeases renews the leases that are held.
func (l *Leases) renewLeases(ctx context.Context) error {
	l.mu.Lock()
	count := len(l.held)
	l.mu.Unlock()
	if count == 0 {
		return nil
	}
	sent := time.Now()
	ctx, cancel := context.WithTimeout(ctx, l.beat())
	defer cancel()
	rows, err := l.pool.Query(ctx, `UPDATE evalctl.leases SET expires = now() + $2
		WHERE owner = $1 AND expires > now() AND NOT starts_with(name, $3) RETURNING brain, name`, l.owner, l.time, pendingPrefix)
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

// Watch implements brain.Leases.
func (l *Leases) Watch(ctx context.Context, resume func(ctx context.Context, tenant, id string) error) {
	ticker := time.NewTicker(l.beat())
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		if err := l.takeOver(ctx, resume); err != nil && ctx.Err() == nil {
			l.logger.Warn("the work of another process cannot be taken over; trying again", "because", err)
		}
	}
}

// abandoned is an announcement of a process that has vanished.
type abandoned struct {
	uid              int64
	name, tenant, id string
}

func (l *Leases) takeOver(ctx context.Context, resume func(ctx context.Context, tenant, id string) error) error {
	rows, err := l.pool.Query(ctx, `SELECT uid, name, tenant, id FROM evalctl.leases JOIN evalctl.brains ON uid = brain
		WHERE starts_with(name, $1) AND expires < now() ORDER BY expires`, pendingPrefix)
	if err != nil {
		return err
	}
	list, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (a abandoned, err error) {
		return a, row.Scan(&a.uid, &a.name, &a.tenant, &a.id)
	})
	if err != nil {
		return err
	}
	var errs []error
	for _, a := range list {
		err := resume(ctx, a.tenant, a.id)
		if err == nil {
			// By now this process has announced what it has found.
			_, err = l.pool.Exec(ctx, "DELETE FROM evalctl.leases WHERE brain = $1 AND name = $2 AND expires < now()", a.uid, a.name)
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("brain %s: %w", a.id, err))
		}
	}
	return errors.Join(errs...)
}

// Close ends all leases, and leaves the work that is announced to the other processes at once.
func (l *Leases) Close() {
	l.stop()
	l.ended.Wait()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return
	}
	l.closed = true
	var used []int64
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
		l.logger.Warn("leases cannot be released; they expire", "because", err)
	}
}

func parseUID(key string) (int64, error) {
	uid, err := strconv.ParseInt(key, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("%.40q is not the UID of a brain", key)
	}
	return uid, nil
}
