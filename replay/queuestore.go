package replay

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"evalctl/harness"
	"evalctl/harness/journal"
	"evalctl/harness/result"
	"evalctl/internal/figure"
	"evalctl/internal/llm"
	"evalctl/replay/ingest"
	"evalctl/replay/queue"
)

// queueStore is a Store on a queue of questions for workers.
type queueStore struct {
	*queue.Queue
	notice func(string)
}

var _ Store = queueStore{}

// OnQueue returns a Store that keeps replays on a queue, whose workers ask and score; see Handler.
// The process that begins or resumes a replay checks the scorer, fills the brains of daemons that
// are already running, and collects the records. A replay may be resumed on another machine without
// its other files. Arms are only roughly in step. notice is passed to queue.Queue.Create.
func OnQueue(q *queue.Queue, notice func(string)) Store { return queueStore{q, notice} }

func (q queueStore) create(ctx context.Context, f Files, options json.RawMessage, limit *llm.USD) (storedReplay, error) {
	run, err := q.Create(ctx, options, f.start(), limit, q.notice)
	return queueReplay{run}, err
}

func (q queueStore) resume(ctx context.Context, id string) (storedReplay, error) {
	run, err := q.Resume(ctx, id, q.notice)
	return queueReplay{run}, err
}

func (q queueStore) files(ctx context.Context, id, root string, arms []Arm) (Files, error) {
	_, _, begun, err := q.Find(ctx, id)
	return defaultFiles(root, arms, begun), err
}

// queueReplay is a replay on a queue, whose workers ask and score.
type queueReplay struct{ *queue.Run }

func (r queueReplay) Status() (spent llm.USD, workers []string) {
	s := r.Run.Status()
	workers = []string{figure.Count(s.Workers, "worker"), fmt.Sprintf("%d in progress", s.Asking)}
	if s.Refused > 0 {
		workers = append(workers, fmt.Sprintf("%d refused", s.Refused))
	}
	return s.Spent, workers
}

func (r queueReplay) Resumed() (n int, counted bool) { return r.Run.Resumed(), true }

func (r queueReplay) uses(d *daemon) subject {
	if d.arm.started() {
		return describedDaemon{d, r.Run}
	}
	return sharedDaemon{d, r.Run}
}

// prepare fills the brains of a daemon that is already running, which all workers share, and puts
// the arm's questions on the queue.
func (r queueReplay) prepare(ctx context.Context, m *measurement, j *journal.Journal, o Observer) (*ingest.FilledBrains, error) {
	filled, err := m.fill(ctx, o, func(c *ingest.Config) {
		c.Seeded = func(brain string) bool { return r.Seeded(m.arm.Name, brain) }
		c.MarkSeeded = func(brain string) error { return r.MarkSeeded(m.arm.Name, brain) }
	})
	if err != nil {
		return nil, err
	}
	ids := make([]string, len(m.plan.Questions))
	for i, q := range m.plan.Questions {
		ids[i] = q.ID
	}
	want := m.identity()
	want.Identity = j.Identity()
	identity, err := json.Marshal(want)
	if err == nil && m.plan.RetryErrors {
		err = r.retryErrors(ctx, m.arm.Name, j)
	}
	if err == nil {
		err = r.recall(ctx, m.arm.Name, j)
	}
	if err == nil {
		err = r.Dispatch(ctx, m.arm.Name, identity, ids, unawaited(j, len(ids), m.plan.RetryErrors))
	}
	if err == nil {
		o.Queued(m.arm.Name)
	}
	return filled, err
}

// stages needs no lockstep: the queue keeps the order of the questions.
func (r queueReplay) stages(m *measurement, c *harness.Config, _ *ingest.FilledBrains, _ pace) error {
	c.Subject.Records, c.Concurrency = queuedAsker{r.Run, m.arm.Name}, len(m.plan.Questions)
	return nil
}

func (queueReplay) together(*Plan, *lockstep) *result.Together { return nil }

func (r queueReplay) settle(ctx context.Context) error { return r.Settle(ctx) }

// retryErrors puts failed questions back on the queue. The journal decides which, or their records
// if the run began on another machine.
func (r queueReplay) retryErrors(ctx context.Context, arm string, j *journal.Journal) error {
	found, err := r.Records(ctx, arm)
	if err != nil {
		return fmt.Errorf("find the errors of %s: %w", arm, err)
	}
	records := map[int]result.Record{}
	for i, data := range found {
		var rec result.Record
		if err := json.Unmarshal(data, &rec); err != nil {
			return fmt.Errorf("record of question %d of %s: %w", i+1, arm, err)
		}
		records[i] = rec
	}
	systematic := harness.Systematic(records)
	var again []int
	for i, rec := range records {
		retry := rec.Outage() || systematic[i]
		if s := j.State(i); s.Finished {
			was, err := j.Record(i)
			if err != nil {
				return err
			}
			if rec.Tries <= was.Tries { // else it was tried again, and the process that retried it ended
				retry = s.Outage
			}
		}
		if retry {
			again = append(again, i)
		}
	}
	if err := r.Retry(ctx, arm, again); err != nil {
		return fmt.Errorf("try the errors of %s again: %w", arm, err)
	}
	return nil
}

// recall completes the journal with the records of questions that were tried again, whose verdicts
// were paid for too: those from before the run was continued on another machine, and those that
// retryErrors has replaced before the journal had them.
func (r queueReplay) recall(ctx context.Context, arm string, j *journal.Journal) error {
	retried, err := r.Retried(ctx, arm)
	if err != nil {
		return fmt.Errorf("find the earlier tries of %s: %w", arm, err)
	}
	for _, i := range slices.Sorted(maps.Keys(retried)) {
		entries, err := missing(j, i, retried[i])
		if err == nil && len(entries) > 0 {
			err = j.Append(entries...)
		}
		if err != nil {
			return fmt.Errorf("earlier try at question %d of %s: %w", i+1, arm, err)
		}
	}
	return j.Sync()
}

// missing returns the entries with which the journal has the costs of all earlier tries at a
// question. If there is a newer record, or a live worker has the question, they reopen it, so that
// it is collected.
func missing(j *journal.Journal, i int, t queue.Repetition) (entries []journal.Entry, err error) {
	var last result.Record // of the journal
	known, s := 0, j.State(i)
	if s.Answered || s.Reopened {
		if last, err = j.Record(i); err != nil {
			return nil, err
		}
		if known = tries(&last); s.Answered && !s.Finished {
			known-- // it counts the try that is to come, see result.Record.JudgeAgain
		}
	}
	finished, stop := s.Finished, []int(nil)
	reopen := func() {
		if !finished {
			return
		}
		was := last
		if was.Outcome.Answered() {
			was = was.JudgeAgain()
		}
		entries = append(entries, journal.Entry{Kind: journal.KindReopened, Index: i, Record: &was})
		finished, stop = false, nil
	}
	for _, data := range t.Earlier {
		var earlier result.Record
		if err := json.Unmarshal(data, &earlier); err != nil {
			return nil, err
		}
		if tries(&earlier) <= known {
			continue
		}
		reopen()
		entries = append(entries, journal.Entry{Kind: journal.KindGrade, Index: i, Record: &earlier})
		last, known, finished = earlier, tries(&earlier), true
		if !earlier.Outage() { // the failure of many questions, see retryErrors
			stop = []int{i}
		}
	}
	newer := t.Held
	if t.Record != nil {
		var newest result.Record
		if err := json.Unmarshal(t.Record, &newest); err != nil {
			return nil, err
		}
		newer = tries(&newest) > known
	}
	if newer {
		reopen()
	}
	if len(stop) > 0 {
		entries = append(entries, journal.Entry{Kind: journal.KindStopped, Questions: stop})
	}
	return entries, nil
}

// tries returns how many tries at a question its record is the result of.
func tries(r *result.Record) int { return max(1, r.Tries) }

// unawaited returns the questions that the journal has finished and that are not tried again.
func unawaited(j *journal.Journal, questions int, retryErrors bool) (out []int) {
	for i := range questions {
		if s := j.State(i); s.Finished && (!retryErrors || !s.Outage) {
			out = append(out, i)
		}
	}
	return out
}
