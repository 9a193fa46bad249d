package brain

import (
	"time"

	"evalctl/daemon/store"
)

// entryIdle is how long an unused brain without an open store is kept in memory. It is much longer
// than a caller takes from Find to Handle.Acquire.
const entryIdle = time.Minute

// errIdle is the error of a handle that was not acquired in time.
var errIdle = store.Unavailable(nil, "the brain was not used for a while and was closed: try again")

// endIdle ends the entries of unused brains, and with them the state that other packages keep for
// their handles. Otherwise a process would keep some state of every brain that it has ever used. A
// brain that is used again gets a new entry.
func (s *Service) endIdle() {
	now := s.now()
	before := now.Add(-entryIdle).UnixNano()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || now.Sub(s.tidied) < idleCheck { // there may be many brains
		return
	}
	s.tidied = now
	for id, e := range s.brains {
		used := e.used.Load()
		if e.busy || used == 0 || used > before {
			continue
		}
		switch {
		case !e.endUnused():
		case s.shared != nil:
			s.forget(e) // the next lookup finds it
		default:
			s.brains[id] = newEntry(e.record(), &s.entries)
		}
	}
}

// endUnused ends the entry unless it is acquired or its store is open, and reports whether it
// did. It never waits for a lock.
func (e *entry) endUnused() bool {
	if !e.mu.TryLock() {
		return false // about to be used
	}
	defer e.mu.Unlock()
	if e.users.Load() > 0 || e.store != nil {
		return false
	}
	e.cancel(errIdle)
	return true
}
