package pipeline

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"evalctl/harness/journal"
	"evalctl/harness/result"
)

// slowDisk is a keeper whose syncs end when the test says.
type slowDisk struct {
	Memory
	lines []int // indices of questions, as they were written
	full  error // of further lines, nil while there is space
	end   chan error
}

func (d *slowDisk) Append(entries ...journal.Entry) error {
	if d.full != nil {
		return d.full
	}
	for _, e := range entries {
		d.lines = append(d.lines, e.Index)
	}
	return nil
}

func (d *slowDisk) Sync() error { return <-d.end }

// recording is a recorder over a slow disk.
type recording struct {
	disk    *slowDisk
	entries chan entry
	counted []int // lines of the records
	aborted error
	ended   chan error
}

func startRecording() *recording {
	rec := &recording{
		disk: &slowDisk{end: make(chan error)}, entries: make(chan entry), ended: make(chan error, 1),
	}
	r := &Pipeline{Keeper: rec.disk, Observer: rec}
	_, abort := context.WithCancelCause(context.Background())
	go func() {
		rec.ended <- r.record(rec.entries, func(err error) { rec.aborted = err; abort(err) })
	}()
	return rec
}

func (r *recording) Asking(string, bool) {}

func (r *recording) Recorded(rec result.Record) { r.counted = append(r.counted, rec.Line) }

// grade sends the grade of a question and returns what receives the outcome of writing it.
func (r *recording) grade(i int) <-chan error {
	written := make(chan error, 1)
	line := journal.Entry{Kind: journal.KindGrade, Index: i}
	line.Record = &result.Record{Line: i, Outcome: result.Scored}
	r.entries <- entry{Entry: line, written: written}
	return written
}

func (r *recording) want(t *testing.T, lines, counted []int) {
	t.Helper()
	synctest.Wait()
	if !slices.Equal(r.disk.lines, lines) || !slices.Equal(r.counted, counted) {
		t.Errorf("written %v and counted %v, want %v and %v", r.disk.lines, r.counted, lines, counted)
	}
}

func TestRecorderWritesAtOnceAndCountsWhatIsSynced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := startRecording()
		r.grade(1)
		r.want(t, []int{1}, nil)
		time.Sleep(syncEvery) // the first sync begins, without 2
		<-r.grade(2)
		time.Sleep(10 * syncEvery)
		r.want(t, []int{1, 2}, nil)
		r.disk.end <- nil
		r.want(t, []int{1, 2}, []int{1})
		r.disk.end <- nil
		r.want(t, []int{1, 2}, []int{1, 2})
		r.grade(3)
		close(r.entries)
		r.want(t, []int{1, 2, 3}, []int{1, 2})
		r.disk.end <- nil
		if err := <-r.ended; err != nil || r.aborted != nil {
			t.Errorf("ended with %v, aborted with %v", err, r.aborted)
		}
		r.want(t, []int{1, 2, 3}, []int{1, 2, 3})
	})
}

// TestRecorderCountsWhatTheKeeperHas: after a failed sync, too, so that a result that is made of
// the keeper's records counts all of them.
func TestRecorderCountsWhatTheKeeperHas(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := startRecording()
		r.grade(1)
		time.Sleep(syncEvery)
		r.grade(2) // written, but not by the sync that fails
		broken := errors.New("broken disk")
		r.disk.end <- broken
		synctest.Wait()
		if err := <-r.grade(3); !errors.Is(err, broken) { // no worker waits for ever, nor spends money
			t.Errorf("got %v", err)
		}
		close(r.entries)
		if err := <-r.ended; !errors.Is(err, broken) || !errors.Is(r.aborted, broken) {
			t.Errorf("ended with %v, aborted with %v", err, r.aborted)
		}
		r.want(t, []int{1, 2}, []int{1, 2})
	})
}

func TestRecorderCountsWhatASyncCoveredBeforeTheDiskWasFull(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := startRecording()
		r.grade(1)
		time.Sleep(syncEvery) // the sync begins
		synctest.Wait()
		r.disk.full = errors.New("disk full")
		if err := <-r.grade(2); !errors.Is(err, r.disk.full) {
			t.Errorf("got %v", err)
		}
		r.disk.end <- nil
		close(r.entries)
		if err := <-r.ended; !errors.Is(err, r.disk.full) || !errors.Is(r.aborted, r.disk.full) {
			t.Errorf("ended with %v, aborted with %v", err, r.aborted)
		}
		r.want(t, []int{1}, []int{1})
	})
}
