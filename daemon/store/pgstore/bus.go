package pgstore

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"evalctl/daemon/store"
	"evalctl/internal/retry"
	"evalctl/internal/wakeup"
)

// Channels of NOTIFY. Notifications only wake processes early: nothing depends on their arrival.
const (
	// Commits are announced on changesChannel as the key of the brain, a colon and the number.
	changesChannel = "evalctl_changes"
	// BrainsChannel is for the catalogue of brains, see DB.Listen.
	BrainsChannel = "evalctl_brains"
)

const (
	pollEvery   = time.Second           // without any notification
	notifyEvery = 10 * time.Millisecond // commits in between are announced together
)

// bus sends and receives notifications.
type bus struct {
	pool     *pgxpool.Pool
	answered atomic.Int64 // time of the server's last answer to a poll, in nanoseconds of Unix time; 0 after an error

	mu      sync.Mutex
	next    int
	follows map[int64]map[int]store.Watcher // calls of Watch, by brain
	sinks   map[int]func(payload string)    // calls of Listen
	heads   map[int64]uint64                // commits to announce, by brain
	brains  map[string]struct{}             // payloads to send on BrainsChannel
	due     wakeup.Signal                   // when there is something to send
}

func newBus(pool *pgxpool.Pool) *bus {
	return &bus{
		pool: pool, follows: map[int64]map[int]store.Watcher{}, sinks: map[int]func(string){},
		heads: map[int64]uint64{}, brains: map[string]struct{}{}, due: wakeup.New(),
	}
}

// Watch implements an optional method of store.Backend.
func (b *backend) Watch(w store.Watcher) (opened store.Position, stop func()) {
	bus := b.db.bus
	bus.mu.Lock()
	defer bus.mu.Unlock()
	id := bus.next
	bus.next++
	if bus.follows[b.brain] == nil {
		bus.follows[b.brain] = map[int]store.Watcher{}
	}
	bus.follows[b.brain][id] = w
	return b.opened, func() {
		bus.mu.Lock()
		defer bus.mu.Unlock()
		delete(bus.follows[b.brain], id)
		if len(bus.follows[b.brain]) == 0 {
			delete(bus.follows, b.brain)
		}
	}
}

// Listen calls sink with the payloads that any process sends on BrainsChannel, and with "" if some
// may have been missed, until stop is called. sink must not block.
func (db *DB) Listen(sink func(payload string)) (stop func()) {
	bus := db.bus
	bus.mu.Lock()
	defer bus.mu.Unlock()
	id := bus.next
	bus.next++
	bus.sinks[id] = sink
	return func() {
		bus.mu.Lock()
		defer bus.mu.Unlock()
		delete(bus.sinks, id)
	}
}

// Notify sends a payload on BrainsChannel, a moment later. The change that it announces must be
// committed before: NOTIFY within a transaction makes all commits of the server wait for each
// other.
func (db *DB) Notify(payload string) {
	db.bus.mu.Lock()
	defer db.bus.mu.Unlock()
	db.bus.brains[payload] = struct{}{}
	db.bus.due.Set()
}

// committed announces a commit to the other processes.
func (db *DB) committed(brain int64, seq uint64) {
	db.bus.mu.Lock()
	defer db.bus.mu.Unlock()
	db.bus.heads[brain] = max(db.bus.heads[brain], seq)
	db.bus.due.Set()
}

// send sends pending notifications until ctx ends.
func (b *bus) send(ctx context.Context) {
	for {
		select {
		case <-b.due:
		case <-ctx.Done():
			return
		}
		// An error does no harm, because the receivers also poll.
		_ = b.flush(ctx)
		if retry.Sleep(ctx, notifyEvery) != nil {
			return
		}
	}
}

func (b *bus) flush(ctx context.Context) error {
	var channels, payloads []string
	b.mu.Lock()
	for brain, seq := range b.heads {
		channels, payloads = append(channels, changesChannel), append(payloads, fmt.Sprintf("%d:%d", brain, seq))
	}
	for payload := range b.brains {
		channels, payloads = append(channels, BrainsChannel), append(payloads, payload)
	}
	clear(b.heads)
	clear(b.brains)
	b.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	// The commit of a notification need not reach the disk.
	_, err := b.pool.Exec(ctx, `WITH quick AS MATERIALIZED (SELECT set_config('synchronous_commit', 'off', true))
		SELECT pg_notify(channel, payload) FROM quick, unnest($1::text[], $2::text[]) AS n (channel, payload)`,
		channels, payloads)
	return err
}

// listen receives notifications until ctx ends. It connects again when the connection is lost.
func (b *bus) listen(ctx context.Context) {
	for delay := 50 * time.Millisecond; ctx.Err() == nil; delay = min(2*delay, pollEvery) {
		connected, _ := b.receive(ctx)
		if connected {
			delay = 50 * time.Millisecond
		}
		select {
		case <-time.After(delay):
		case <-ctx.Done():
		}
	}
}

// receive receives notifications on a connection of its own, so that the pool has one more for
// requests. It returns only with an error.
func (b *bus) receive(ctx context.Context) (connected bool, err error) {
	conn, err := pgx.ConnectConfig(ctx, b.pool.Config().ConnConfig)
	if err != nil {
		return false, err
	}
	defer func() {
		ended, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		_ = conn.Close(ended)
	}()
	if err := subscribe(ctx, conn); err != nil {
		return false, err
	}
	b.dispatch(BrainsChannel, "")
	defer b.answered.Store(0)
	for {
		if err := b.poll(ctx, conn); err != nil {
			return true, err
		}
		b.answered.Store(time.Now().UnixNano())
		if err := b.wait(ctx, conn); err != nil {
			return true, err
		}
	}
}

func subscribe(ctx context.Context, conn *pgx.Conn) error {
	ctx, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	_, err := conn.Exec(ctx, "LISTEN "+changesChannel+"; LISTEN "+BrainsChannel)
	return err
}

// wait dispatches notifications until it is time to poll.
func (b *bus) wait(ctx context.Context, conn *pgx.Conn) error {
	waiting, cancel := context.WithTimeout(ctx, pollEvery)
	defer cancel()
	for {
		n, err := conn.WaitForNotification(waiting)
		if err != nil && waiting.Err() != nil && ctx.Err() == nil && !conn.IsClosed() {
			return nil
		}
		if err != nil {
			return err
		}
		b.dispatch(n.Channel, n.Payload)
	}
}

// poll reads the heads of the followed brains, if any, and checks whether their delivered commits
// are still there.
func (b *bus) poll(ctx context.Context, conn *pgx.Conn) error {
	watchers, brains := b.watchers()
	known, numbers := make([]store.Position, len(brains)), make([]uint64, len(brains))
	for i, w := range watchers {
		known[i] = w.Position() // before the query, which has all commits until then
		numbers[i] = known[i].Seq
	}
	ctx, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	rows, err := conn.Query(ctx, "SELECT w.n - 1, "+head+", h.pruned, "+commitTime("w.seq")+`
		FROM unnest($1::bigint[], $2::bigint[]) WITH ORDINALITY AS w (brain, seq, n)
		JOIN evalctl.heads h ON h.brain = w.brain`, brains, numbers)
	if err != nil {
		return err
	}
	var i int
	var head, pruned uint64
	var at *int64
	_, err = pgx.ForEachRow(rows, []any{&i, &head, &pruned, &at}, func() error {
		if undone(known[i], head, pruned, at) {
			watchers[i].Undone()
		} else {
			watchers[i].Announce(head)
		}
		return nil
	})
	return err
}

// watchers returns all watchers, and the brain of each.
func (b *bus) watchers() (watchers []store.Watcher, brains []int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for brain, follows := range b.follows {
		for _, w := range follows {
			watchers, brains = append(watchers, w), append(brains, brain)
		}
	}
	return watchers, brains
}

func (b *bus) dispatch(channel, payload string) {
	if channel == changesChannel {
		if brain, head, err := parseCommit(payload); err == nil {
			b.wake(brain, head)
		}
		return
	}
	b.mu.Lock()
	sinks := slices.Collect(maps.Values(b.sinks))
	b.mu.Unlock()
	for _, sink := range sinks {
		sink(payload)
	}
}

func (b *bus) wake(brain int64, head uint64) {
	b.mu.Lock()
	watchers := slices.Collect(maps.Values(b.follows[brain]))
	b.mu.Unlock()
	for _, w := range watchers {
		w.Announce(head)
	}
}

func parseCommit(payload string) (brain int64, head uint64, err error) {
	key, number, _ := strings.Cut(payload, ":")
	brain, err = strconv.ParseInt(key, 10, 64)
	head, err2 := strconv.ParseUint(number, 10, 64)
	return brain, head, errors.Join(err, err2)
}
