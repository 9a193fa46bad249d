package pipeline

import (
	"context"
	"slices"
	"time"

	"evalctl/harness/journal"
	"evalctl/internal/intake"
)

// syncEvery is how long entries wait to be synced together.
const syncEvery = 10 * time.Millisecond

// entry is an Entry on its way to the recorder.
type entry struct {
	journal.Entry
	written chan<- error // receives the outcome of writing the entry, unless it is nil
	hold    *intake.Hold // ended when the record is no longer needed, may be nil
}

// recorder is the state of record.
type recorder struct {
	*Pipeline
	waiting []entry         // the entries of the last write
	written []journal.Entry // written since the current or last sync began
	syncing []journal.Entry // covered by the current sync
	holds   []*intake.Hold  // of syncing and of written
	covered int             // how many of holds belong to syncing
	// due fires when the next sync is due, nil if none is planned. synced receives the result of
	// the current sync, nil if there is none.
	due    <-chan time.Time
	synced chan error
}

// record is the only goroutine that appends to the keeper and reports finished records. It writes
// entries as they arrive, with all waiting ones in one write, so that they survive the end of this
// process. Records are reported once they are on disk, while other entries are being written. If
// the keeper fails, those that it has are reported too: a result is made of them.
func (p *Pipeline) record(entries <-chan entry, abort context.CancelCauseFunc) (failed error) {
	rec := recorder{Pipeline: p}
	for entries != nil || rec.synced != nil {
		due := rec.due
		if rec.synced != nil {
			due = nil // one after the other
		}
		var err error
		select {
		case e, open := <-entries:
			switch {
			case !open:
				entries = nil
			case failed != nil: // drain, so that no worker waits forever
				e.signalWritten(failed)
				e.hold.End()
			default:
				err = rec.write(e, entries)
			}
		case <-due:
			rec.sync()
		case err = <-rec.synced:
			rec.synced = nil
			rec.count() // also after an error: the keeper has the entries, and so has the result
		}
		if err != nil && failed == nil {
			failed = err
			abort(failed)
		}
		if failed != nil {
			rec.report(rec.written)
			rec.written, rec.due = nil, nil
			rec.end(len(rec.holds))
			rec.covered = 0 // a sync under way has no holds to end any more
		}
		if entries == nil && rec.synced == nil && len(rec.written) > 0 {
			rec.sync()
		}
	}
	return failed
}

// write appends an entry and all entries waiting behind it to the keeper.
func (r *recorder) write(first entry, entries <-chan entry) error {
	r.waiting = append(r.waiting[:0], first)
	for range len(entries) {
		r.waiting = append(r.waiting, <-entries)
	}
	begin := len(r.written)
	for _, e := range r.waiting {
		r.written = append(r.written, e.Entry)
	}
	err := r.Keeper.Append(r.written[begin:]...)
	if err != nil {
		r.written = r.written[:begin]
	}
	for _, e := range r.waiting {
		e.signalWritten(err)
		r.holds = append(r.holds, e.hold)
	}
	clear(r.waiting)
	if r.due == nil {
		r.due = time.After(syncEvery)
	}
	return err
}

// sync starts to sync the written entries.
func (r *recorder) sync() {
	r.syncing, r.written, r.due = r.written, r.syncing, nil
	r.covered = len(r.holds)
	done := make(chan error, 1)
	r.synced = done
	go func() { done <- r.Keeper.Sync() }()
}

// report reports the questions finished by entries.
func (r *recorder) report(entries []journal.Entry) {
	for _, e := range entries {
		if e.Finishes() {
			r.Observer.Recorded(*e.Record)
		}
	}
}

// count reports the questions finished by the synced entries.
func (r *recorder) count() {
	r.report(r.syncing)
	clear(r.syncing)
	r.syncing = r.syncing[:0]
	r.end(r.covered)
}

// end ends the first n holds.
func (r *recorder) end(n int) {
	for _, h := range r.holds[:n] {
		h.End()
	}
	r.holds = slices.Delete(r.holds, 0, n)
}

// signalWritten releases the worker waiting for the entry.
func (e entry) signalWritten(err error) {
	if e.written != nil {
		e.written <- err
	}
}
