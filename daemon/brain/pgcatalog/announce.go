package pgcatalog

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"evalctl/daemon/brain"
	"evalctl/internal/postgres"
)

// mark is an announcement.
type mark struct {
	users   int
	unused  time.Time // since when users is 0
	renewed time.Time
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

// use counts another user of an announcement, if there is one that is certain to be in the
// database.
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

// Watch implements brain.Leases.
func (l *Leases) Watch(ctx context.Context, resume func(ctx context.Context, tenant, id string) error) {
	l.everyBeat(ctx, func() {
		if err := l.takeOver(ctx, resume); err != nil && ctx.Err() == nil {
			l.logger.Warn("the work of another process cannot be taken over; trying again", "because", postgres.Line(err))
		}
	})
}

// orphan is an announcement of a process that has vanished.
type orphan struct {
	uid              int64
	name, tenant, id string
}

func (l *Leases) takeOver(ctx context.Context, resume func(ctx context.Context, tenant, id string) error) error {
	list, err := l.abandoned(ctx)
	if err != nil {
		return err
	}
	var errs []error
	for _, a := range list {
		err := resume(ctx, a.tenant, a.id)
		if err == nil {
			err = l.clear(ctx, a) // by now this process has announced what it has found
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("brain %s: %w", a.id, err))
		}
	}
	return errors.Join(errs...)
}

// abandoned returns the announcements that have expired.
func (l *Leases) abandoned(ctx context.Context) ([]orphan, error) {
	ctx, cancel := limit(ctx)
	defer cancel()
	rows, err := l.pool.Query(ctx, `SELECT uid, name, tenant, id FROM evalctl.leases JOIN evalctl.brains ON uid = brain
		WHERE starts_with(name, $1) AND expires < now() ORDER BY expires`, pendingPrefix)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (a orphan, err error) {
		return a, row.Scan(&a.uid, &a.name, &a.tenant, &a.id)
	})
}

// clear removes an announcement that has expired.
func (l *Leases) clear(ctx context.Context, a orphan) error {
	ctx, cancel := limit(ctx)
	defer cancel()
	_, err := l.pool.Exec(ctx, "DELETE FROM evalctl.leases WHERE brain = $1 AND name = $2 AND expires < now()", a.uid, a.name)
	return err
}
