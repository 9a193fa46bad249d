package harness

import (
	"context"
	"time"

	"evalctl/harness/journal"
	"evalctl/harness/result"
)

// syncEvery is how long entries wait to be synced together.
const syncEvery = 10 * time.Millisecond

// entry is an Entry on its way to the recorder.
type entry struct {
	journal.Entry
	written chan<- struct{} // closed once the entry is written, unless it is nil
}

// record is the only goroutine that appends to the journal and adds to the aggregate. Entries are
// written as they arrive, all that are waiting in one write, so that they survive the end of this
// process. They are counted once they are on the disk.
func (r *runner) record(entries <-chan entry, abort context.CancelCauseFunc) (failed error) {
	var waiting []entry
	var written, batch []journal.Entry
	var due <-chan time.Time
	for open := true; open; {
		var e entry
		select {
		case e, open = <-entries:
		case <-due:
		}
		switch {
		case failed != nil: // drain, so that no worker waits forever
			e.signalWritten()
		case e.Kind != "":
			waiting = append(waiting[:0], e)
			for range len(entries) {
				waiting = append(waiting, <-entries)
			}
			batch = batch[:0]
			for _, e := range waiting {
				batch = append(batch, e.Entry)
			}
			failed = r.kept.Append(batch...)
			for _, e := range waiting {
				e.signalWritten()
			}
			written = append(written, batch...)
			if due == nil {
				due = time.After(syncEvery)
			}
		default: // the wait is over, or the run has ended
			failed = r.count(written)
			clear(written)
			written, due = written[:0], nil
		}
		if failed != nil {
			abort(failed)
		}
	}
	return failed
}

// count syncs the journal and counts the questions that these entries finish.
func (r *runner) count(entries []journal.Entry) error {
	if err := r.kept.Sync(); err != nil {
		return err
	}
	for _, e := range entries {
		if e.Kind == journal.KindGrade || e.Kind == journal.KindAnswer && e.Record.Outcome == result.Errored {
			r.finish(*e.Record)
		}
	}
	return nil
}

// signalWritten releases the worker that waits for the entry.
func (e entry) signalWritten() {
	if e.written != nil {
		close(e.written)
	}
}
