package harness

import (
	"context"
	"time"
)

// syncEvery is how long lines wait to be put on the disk together.
const syncEvery = 10 * time.Millisecond

// record is the only writer of the journal and the tally. Lines are written as
// they come, all that wait at once, so that they outlive this process, and
// counted once they are on the disk.
func (r *runner) record(entries <-chan entryLine, abort context.CancelCauseFunc) (failed error) {
	var written, batch []entryLine
	var due <-chan time.Time
	for open := true; open; {
		var e entryLine
		select {
		case e, open = <-entries:
		case <-due:
		}
		switch {
		case failed != nil: // draining, so that no worker waits for ever
			e.told()
		case e.Kind != "":
			batch = append(batch[:0], e)
			for range len(entries) {
				batch = append(batch, <-entries)
			}
			failed = r.cfg.Journal.add(batch...)
			for _, e := range batch {
				e.told()
			}
			written = append(written, batch...)
			if due == nil {
				due = time.After(syncEvery)
			}
		default: // the wait is over, or the run
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

// count takes the questions that these lines finish.
func (r *runner) count(lines []entryLine) error {
	if err := r.cfg.Journal.Sync(); err != nil {
		return err
	}
	for _, e := range lines {
		if e.Kind == kindGrade || e.Kind == kindAnswer && e.Record.Outcome == Errored {
			r.finish(*e.Record)
		}
	}
	return nil
}

// told lets whoever waits for the line go on.
func (e entryLine) told() {
	if e.written != nil {
		close(e.written)
	}
}
