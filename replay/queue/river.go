package queue

import (
	"context"
	"log/slog"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
)

// River's settings.
const (
	// jobTimeout is none, because filling a brain may take any time. Leases detect dead workers.
	jobTimeout = -1
	// maxAttempts limits how often River delivers a job whose worker could not connect to the
	// database. maxTries limits how often a question is begun.
	maxAttempts = 5
)

// quiet discards River's logs. The run reports failures of jobs.
var quiet = slog.New(slog.DiscardHandler)

// jobArgs are the arguments of a job: ask some question of a run. The worker chooses the question
// when it claims one, so that all arms progress at a similar pace.
type jobArgs struct {
	Run string `json:"run"`
}

// Kind implements river.JobArgs.
func (jobArgs) Kind() string { return "evalctl_question" }

// enqueue inserts n jobs, one for each unclaimed question.
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

// riverWorker passes River's jobs to a worker.
type riverWorker struct {
	river.WorkerDefaults[jobArgs]
	worker *worker
}

// Work implements river.Worker.
func (w *riverWorker) Work(ctx context.Context, job *river.Job[jobArgs]) error {
	return w.worker.work(ctx, job.Args.Run)
}
