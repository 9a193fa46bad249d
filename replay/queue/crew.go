package queue

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"evalctl/internal/figure"
	"evalctl/internal/llm"
)

// ErrNoWorkers means that no worker takes the questions of a run.
var ErrNoWorkers = errors.New("no worker takes the questions")

const (
	// settled is how long a run may be without a worker before this is reported. After a failure of
	// the database nobody has a lease for a moment.
	settled = 3 * time.Second
	// remind is the interval of reminders why a run is blocked.
	remind = time.Minute
	// named limits the number of workers named in a notice.
	named = 5
)

// Status is the state of a run, as its owner last saw it.
type Status struct {
	Workers int // that are alive and have not refused the run
	Refused int // workers that have
	Asking  int // questions that workers have begun
	Spent   llm.USD
}

// Status returns the state of the run.
func (r *Run) Status() Status {
	r.waitMu.Lock()
	defer r.waitMu.Unlock()
	return r.status
}

// member is a live worker.
type member struct {
	ID      string
	Problem string // why it has refused the run, "" if it has not
	Asking  int
}

// refusal says why the worker takes no questions of the run.
func (m member) refusal() string {
	return fmt.Sprintf("worker %s refuses the run: %s", m.ID, m.Problem)
}

// crew has the reported state of a run's workers.
type crew struct {
	members      []member
	aloneSince   time.Time // since when no worker takes questions, zero if one does
	waitingSince time.Time // since when questions have waited for one
	remindedAt   time.Time
}

// workers checks whether anybody takes the questions, and reports the obstacles.
func (w *watcher) workers(ctx context.Context) error {
	rows, err := w.q.pool.Query(ctx, in(`
		SELECT m.id, coalesce(f.problem, ''),
			(SELECT count(*) FROM @tasks t WHERE t.run = $1 AND t.worker = m.id AND t.record IS NULL)
		FROM @members m LEFT JOIN @refusals f ON f.run = $1 AND f.owner = $2 AND f.worker = m.id
		WHERE m.works AND m.seen + m.lease > clock_timestamp() ORDER BY m.id`), w.run, w.q.id)
	if err != nil {
		return err
	}
	members, err := pgx.CollectRows(rows, pgx.RowToStructByPos[member])
	if err != nil {
		return err
	}
	var s Status
	err = w.q.row(ctx, `SELECT spent FROM @runs WHERE id = $1`, w.run).Scan(&s.Spent)
	if err != nil {
		return err
	}
	for _, m := range members {
		s.Asking += m.Asking
		if m.Problem == "" {
			s.Workers++
		}
	}
	s.Refused = len(members) - s.Workers
	w.waitMu.Lock()
	w.status = s
	w.waitMu.Unlock()
	w.reportChanges(members)
	return w.checkAlone(s)
}

// reportChanges reports workers that have come, gone or refused the run.
func (w *watcher) reportChanges(members []member) {
	before := w.crew.members
	w.crew.members = members
	var came, gone, refusals []string
	for _, m := range members {
		i := indexOf(before, m.ID)
		if i < 0 {
			came = append(came, m.ID)
		}
		if m.Problem != "" && (i < 0 || before[i].Problem == "") {
			refusals = append(refusals, m.refusal())
		}
	}
	for _, m := range before {
		if indexOf(members, m.ID) < 0 {
			gone = append(gone, m.ID)
		}
	}
	if len(came) > 0 {
		w.notice(fmt.Sprintf("%s came: %s", figure.Count(len(came), "worker"), list(came)))
	}
	for _, r := range refusals {
		w.notice(r)
	}
	if len(gone) > 0 {
		w.notice(fmt.Sprintf("%s left: %s; others get the questions that were begun", figure.Count(len(gone), "worker"), list(gone)))
	}
}

func indexOf(members []member, id string) int {
	return slices.IndexFunc(members, func(m member) bool { return m.ID == id })
}

func list(ids []string) string { return figure.List(ids, named, strings.Clone) }

// checkAlone reports that no worker takes questions, and returns an error once the questions have
// waited too long.
func (w *watcher) checkAlone(s Status) error {
	now := time.Now()
	if s.Workers > 0 {
		w.crew.aloneSince, w.crew.waitingSince, w.crew.remindedAt = time.Time{}, time.Time{}, time.Time{}
		return nil
	}
	if w.crew.aloneSince.IsZero() {
		w.crew.aloneSince = now
	}
	if w.crew.waitingSince.IsZero() && len(w.awaited()) > 0 {
		w.crew.waitingSince = now
	}
	if !w.crew.waitingSince.IsZero() && now.Sub(w.crew.waitingSince) > w.q.wait {
		return fmt.Errorf("%w within %v: %s", ErrNoWorkers, w.q.wait, w.why())
	}
	if now.Sub(w.crew.aloneSince) < min(settled, w.q.wait/2) || now.Sub(w.crew.remindedAt) < remind {
		return nil
	}
	w.crew.remindedAt = now
	missing := "no worker is there; start one on any machine with: evalctl serve worker"
	if s.Refused > 0 {
		missing = fmt.Sprintf("no worker takes the questions, %d refused; fix the problem that a worker reports and start the worker again, or start another one",
			s.Refused)
	}
	ends := w.q.wait
	if !w.crew.waitingSince.IsZero() {
		ends -= now.Sub(w.crew.waitingSince)
	}
	w.notice(fmt.Sprintf("%s; in %v the run ends and can be resumed", missing, ends.Round(time.Second)))
	return nil
}

// why returns why no worker takes questions.
func (w *watcher) why() string {
	var problems []string
	for _, m := range w.crew.members {
		problems = append(problems, m.refusal())
	}
	switch n := len(problems); n {
	case 0:
		return "no worker is there"
	case 1:
		return problems[0]
	default:
		return fmt.Sprintf("all %d workers refuse the run: %s", n, strings.Join(problems[:min(n, named)], "; "))
	}
}
