package store

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"time"

	"evalctl/internal/wakeup"
)

// sharedBackend is implemented by backends whose documents other processes change as well. Each
// commit has a number, which all processes see, and the changes of all commits can be read.
// Backend.Commit is not called.
type sharedBackend interface {
	// Mutate commits one valid operation and returns its event. ok is false if nothing has changed
	// and the store must plan the operation in a transaction, which also finds out why it fails. An
	// error means that nothing has changed, unless it says that the outcome is unknown.
	Mutate(ctx context.Context, op Op, when time.Time) (ev ChangeEvent, ok bool, err error)

	// MutateTogether is Mutate of several operations, in their order and in one transaction.
	// Without an error it returns the outcome of each. ErrUnavailable concerns all of them; any
	// other error may be due to one.
	MutateTogether(ctx context.Context, ops []Op, when time.Time) ([]Mutation, error)

	// Begin locks the documents against all other mutations until Commit or Rollback.
	Begin(ctx context.Context) (Transaction, error)

	// Changes returns the events of the next commits after a commit, in order. It may return only
	// some of them, but returns none only if there are none. If they are no longer kept, or that
	// commit was undone, it returns ErrPruned.
	Changes(ctx context.Context, after Position) ([]ChangeEvent, error)

	// Head returns the number of the last commit, or ErrPruned if the commit known was undone.
	Head(ctx context.Context, known Position) (uint64, error)

	// Watch calls Announce of the watcher until stop is called, soon after each commit and possibly
	// more often. Now and then it also checks whether the watcher's Position was undone, and then
	// calls Undone. opened is the last commit at the time when the backend was opened.
	Watch(w Watcher) (opened Position, stop func())

	// Server changes when the backend reaches another server, or a restarted one, which may lack
	// commits. It changes before any operation uses that server. It is never 0.
	Server() uint64
}

// Mutation is the outcome of an operation, as Mutate returns it.
type Mutation struct {
	Event ChangeEvent
	OK    bool
	Err   error
}

// Position is a commit. A server that lacks the commit can have another one with the same number,
// at another time: after a failover to a server that had not received everything, or after an older
// state of a database was restored.
type Position struct {
	Seq  uint64
	When time.Time // zero if not known
}

// Watcher is called by a shared backend about its commits. Its methods do not block.
type Watcher interface {
	// Announce says that there is a commit with this number.
	Announce(head uint64)
	// Position returns the last commit whose events were delivered.
	Position() Position
	// Undone says that the commit at Position was undone.
	Undone()
}

// Transaction is a commit in preparation on a backend that other processes change too. It MUST NOT
// be used by two goroutines at once.
type Transaction interface {
	// Read, Stat and List follow the rules of Backend.
	Read(ctx context.Context, path string) ([]byte, error)
	Stat(ctx context.Context, path string) (FileInfo, error)
	List(ctx context.Context, dir string) ([]FileInfo, error)

	// ReadMany reads documents of the transaction.
	manyReader

	// Prefetch announces calls of Stat, which it makes faster.
	Prefetch(ctx context.Context, paths []string) error

	// Commit is Backend.Commit with these differences: Ops may be empty, Expect has been checked,
	// and it also stores the events, at least one. It ends the transaction and returns the number
	// of the commit.
	Commit(ctx context.Context, c Commit, events []ChangeEvent) (seq uint64, err error)

	// Rollback ends the transaction unless it has ended.
	Rollback()
}

// Missed is the kind of the last event of a store whose following events are lost: the backend no
// longer keeps them, or commits were undone after their events were delivered. Its path is empty.
// The store is Broken then, and its followers must start over with a reopened one.
const Missed ChangeKind = "missed"

// feed delivers the events of a shared backend, each once, in the order of their commits.
type feed struct {
	backend sharedBackend
	turn    chan struct{} // holds a token while events are delivered
	// server identifies the server on which delivered was last found not to be undone. The turn
	// guards it.
	server uint64
	// delivered is the last commit whose events all sinks have got; announced is the highest known
	// number.
	delivered atomic.Pointer[Position]
	announced atomic.Uint64
	undone    atomic.Bool
	wake      wakeup.Signal // when announced or undone has changed
	stop      context.CancelFunc
}

// follow begins to deliver the events of all commits since the backend was opened.
func (s *Store) follow(backend sharedBackend) {
	f := &feed{backend: backend, turn: make(chan struct{}, 1), wake: wakeup.New()}
	f.delivered.Store(&Position{})
	s.feed = f
	ctx, cancel := context.WithCancel(context.Background())
	opened, unwatch := backend.Watch(f)
	s.seq.Store(opened.Seq)
	f.delivered.Store(&opened)
	f.stop = func() {
		unwatch()
		cancel()
	}
	go func() {
		for {
			select {
			case <-f.wake:
			case <-ctx.Done():
				return
			}
			var err error
			if f.undone.Swap(false) {
				err = s.lose(ctx)
			} else {
				err = s.catchUp(ctx, f.announced.Load())
			}
			// The backend announces the same number again until its commit is delivered.
			if err != nil && ctx.Err() == nil && !s.Broken() && !errors.Is(err, ErrUnavailable) && !errors.Is(err, ErrGone) {
				s.hub.logger.Warn("the changes of a store cannot be read; tried again", slog.Any("because", err))
			}
		}
	}()
}

// Announce implements Watcher.
func (f *feed) Announce(head uint64) {
	for {
		known := f.announced.Load()
		if head <= known || f.announced.CompareAndSwap(known, head) {
			break
		}
	}
	if head > f.Position().Seq {
		f.wake.Set()
	}
}

// Position implements Watcher.
func (f *feed) Position() Position { return *f.delivered.Load() }

// Undone implements Watcher.
func (f *feed) Undone() {
	f.undone.Store(true)
	f.wake.Set()
}

// Sync returns once the sinks have the events of all commits that any process made before the call,
// and no delivered commit was found to be undone. It does nothing on a store that no other process
// changes. ErrPruned means that some events are lost; see Missed. It MUST NOT be called by a sink.
func (s *Store) Sync(ctx context.Context) error {
	if s.feed == nil {
		return nil
	}
	head, err := within(ctx, s.gate, func() (uint64, error) { return s.feed.backend.Head(ctx, s.feed.Position()) })
	if errors.Is(err, ErrPruned) {
		err = s.lose(ctx)
	}
	if err == nil {
		err = s.catchUp(ctx, head)
	}
	return wrap("sync", "", err)
}

// Shared reports whether other processes change the same documents.
func (s *Store) Shared() bool { return s.feed != nil }

// ChangesAfter returns the events of the next commits after a commit, in order. It may return only
// some of them, but returns none only if there are none. If they are no longer kept, or the store
// is not Shared, it returns ErrPruned.
func (s *Store) ChangesAfter(ctx context.Context, seq uint64) ([]ChangeEvent, error) {
	if s.feed == nil {
		return nil, wrap("sync", "", ErrPruned)
	}
	events, err := within(ctx, s.gate, func() ([]ChangeEvent, error) { return s.feed.backend.Changes(ctx, Position{Seq: seq}) })
	return events, wrap("sync", "", err)
}

// Server changes when the store reaches another server, or a restarted one. Documents read before
// may then belong to commits that were undone, for which no event was delivered. It is 0 on a store
// that no other process changes.
func (s *Store) Server() uint64 {
	if s.feed == nil {
		return 0
	}
	return s.feed.backend.Server()
}

// catchUp delivers the events of all commits up to a number that exists.
func (s *Store) catchUp(ctx context.Context, to uint64) error {
	for s.feed.Position().Seq < to {
		if err := s.deliverNext(ctx, to); err != nil {
			return err
		}
	}
	if s.Broken() {
		return ErrPruned
	}
	return nil
}

// deliverNext delivers some of the events that are due, up to a number that exists.
func (s *Store) deliverNext(ctx context.Context, to uint64) error {
	return s.inTurn(ctx, func() error {
		if s.Broken() {
			return ErrPruned
		}
		if err := s.gate.enter(ctx); err != nil {
			return err
		}
		server, delivered := s.feed.backend.Server(), s.feed.Position()
		events, err := s.feed.backend.Changes(ctx, delivered)
		s.gate.mu.RUnlock()
		switch {
		case err != nil:
		case len(events) > 0 && events[0].Seq != delivered.Seq+1:
			err = ErrPruned
		case len(events) == 0 && delivered.Seq < to: // it was undone
			err = ErrPruned
		}
		if errors.Is(err, ErrPruned) {
			s.missed()
		}
		if err != nil {
			return err
		}
		s.feed.server = server
		s.deliver(events)
		return nil
	})
}

// published delivers the events of a commit of this store, and of the commits before it. server is
// the backend's Server before the commit.
func (s *Store) published(ctx context.Context, server, seq uint64, events []ChangeEvent) {
	ctx = context.WithoutCancel(ctx)
	same := true
	err := s.inTurn(ctx, func() error {
		// On another server, the commit before this one may differ from the delivered one.
		same = server == s.feed.server && server == s.feed.backend.Server()
		if same && s.feed.Position().Seq+1 == seq && !s.Broken() {
			s.deliver(events)
		}
		return nil
	})
	if err == nil && !same {
		err = s.deliverNext(ctx, seq)
	}
	if err == nil {
		err = s.catchUp(ctx, seq)
	}
	if err != nil {
		// The commit was made nevertheless. Its events are delivered as soon as they can be read.
		s.feed.Announce(seq)
	}
}

// deliver calls the sinks with the events of one or more whole commits. The caller has the turn.
func (s *Store) deliver(events []ChangeEvent) {
	if len(events) == 0 {
		return
	}
	last := events[len(events)-1]
	s.seq.Store(last.Seq)
	s.hub.publish(events)
	s.feed.delivered.Store(&Position{last.Seq, last.When})
}

// lose ends the feed.
func (s *Store) lose(ctx context.Context) error {
	err := s.inTurn(ctx, func() error {
		s.missed()
		return nil
	})
	if err == nil {
		err = ErrPruned
	}
	return err
}

// missed requires the turn.
func (s *Store) missed() {
	if s.gate.broken.Swap(true) {
		return
	}
	s.hub.publish([]ChangeEvent{{Seq: s.seq.Load(), Last: true, Kind: Missed, When: timestamp(s.now)}})
}

// inTurn calls use while no other goroutine delivers events.
func (s *Store) inTurn(ctx context.Context, use func() error) error {
	select {
	case s.feed.turn <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-s.feed.turn }()
	return use()
}

// mutateMembers sets the outcomes of mutations on a shared backend. The caller holds the write
// lock.
func (s *Store) mutateMembers(members []*member) {
	var alone, together []*member
	for _, m := range members {
		if m.op.Kind == OpRename || m.op.Expect != "" || m.op.check() != nil || m.ctx.Err() != nil {
			alone = append(alone, m)
		} else {
			together = append(together, m)
		}
	}
	begin := time.Now()
	if len(together) > 1 && s.mutateTogether(together) {
		s.noteStall(begin, together[0].err)
		together = nil
	}
	for _, m := range append(together, alone...) {
		if s.stalls.Load() != m.stalls {
			m.err = errStalled // while it waited
			continue
		}
		begin := time.Now()
		m.err = s.mutateShared(m.ctx, m.op)
		s.noteStall(begin, m.err)
	}
}

// mutateTogether reports whether it has set the outcomes of mutations. If not, nothing has changed.
func (s *Store) mutateTogether(members []*member) bool {
	ops := make([]Op, len(members))
	for i, m := range members {
		ops[i] = m.op
	}
	ctx := context.Background() // a caller that gives up must not cancel the others
	if s.gate.enter(ctx) != nil {
		return false
	}
	server := s.feed.backend.Server()
	outcomes, err := s.feed.backend.MutateTogether(ctx, ops, timestamp(s.now))
	s.gate.mu.RUnlock()
	if err != nil && !errors.Is(err, ErrUnavailable) {
		return false
	}
	for i, m := range members {
		switch {
		case err != nil:
			m.err = err
		case outcomes[i].Err != nil:
			m.err = outcomes[i].Err
		case outcomes[i].OK:
			s.published(ctx, server, outcomes[i].Event.Seq, []ChangeEvent{outcomes[i].Event})
		default:
			m.err = s.mutatePlanned(m.ctx, m.op)
		}
	}
	return true
}

// mutateShared is mutate on a shared backend. The caller holds the write lock.
func (s *Store) mutateShared(ctx context.Context, op Op) error {
	if err := op.check(); err != nil {
		return err
	}
	if err := s.gate.enter(ctx); err != nil {
		return err
	}
	server := s.feed.backend.Server()
	ev, ok, err := s.feed.backend.Mutate(ctx, op, timestamp(s.now))
	s.gate.mu.RUnlock()
	if err != nil {
		return err
	}
	if ok {
		s.published(ctx, server, ev.Seq, []ChangeEvent{ev})
		return nil
	}
	return s.mutatePlanned(ctx, op)
}

// commitShared is commit on a shared backend.
func (s *Store) commitShared(ctx context.Context, h *heldTx, c Commit, events []ChangeEvent) error {
	stamp(events, 0, c.Reason, c.When)
	server := s.feed.backend.Server()
	seq, err := h.commit(ctx, c, events)
	if err != nil {
		return err
	}
	for i := range events {
		events[i].Seq = seq
	}
	s.published(ctx, server, seq, events)
	return nil
}
