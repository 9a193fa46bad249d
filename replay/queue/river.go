package queue

import (
	"context"
	"log/slog"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
)

// The settings of River. Vanished workers are noticed by their lease, long before River's rescuer
// finds their jobs, which then have nothing left to do.
const (
	// jobTimeout limits the work on one question, a brain that is filled for it included.
	jobTimeout  = 2 * time.Hour
	rescueAfter = 3 * time.Hour
	// maxAttempts is how often River delivers a job whose worker could not reach the database. How
	// often a question is begun is limited by maxTries.
	maxAttempts = 5
)

// quiet drops what River logs: failures of jobs are reported by the run.
var quiet = slog.New(slog.DiscardHandler)

// jobArgs is what River keeps of a job: that some question of a run is to be asked. Which one it is
// is decided when a worker claims it, so that all arms are near the same question.
type jobArgs struct {
	Run string `json:"run"`
}

// Kind implements river.JobArgs.
func (jobArgs) Kind() string { return "evalctl_question" }

// enqueue inserts n jobs, one for each question that nobody works on.
func (r *Run) enqueue(ctx context.Context, tx pgx.Tx, n int64) error {
	if n == 0 {
		return nil
	}
	client, err := river.NewClient(riverpgxv5.New(r.q.pool), &river.Config{Schema: schemaName, Logger: quiet})
	if err != nil {
		return err
	}
	jobs := make([]river.InsertManyParams, n)
	for i := range jobs {
		jobs[i] = river.InsertManyParams{Args: jobArgs{r.run}, InsertOpts: &river.InsertOpts{Queue: r.run, MaxAttempts: maxAttempts}}
	}
	_, err = client.InsertManyFastTx(ctx, tx, jobs)
	return err
}

// riverWorker hands River's jobs to a worker.
type riverWorker struct {
	river.WorkerDefaults[jobArgs]
	worker *worker
}

// Work implements river.Worker.
func (w *riverWorker) Work(ctx context.Context, job *river.Job[jobArgs]) error {
	return w.worker.work(ctx, job.Args.Run)
}
