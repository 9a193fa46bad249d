package memory

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"evalctl/daemon/brain"
	"evalctl/daemon/protocol"
	"evalctl/daemon/store"
)

// A job is work on a brain that continues after the response. Its file jobs/_<id>.json is written
// in the same batch as the data that the job is about. The file counts an attempt before it begins,
// so a job that crashes the process is not repeated for ever. Jobs of one brain and kind run one
// after the other, in the order in which they were added. A job that waits for its next attempt
// lets the others pass.
//
// If several processes use the brain, a lease decides which one runs its jobs of a kind, including
// jobs that others have added. Jobs are announced before they are added, so that another process
// continues the jobs of a process that has vanished. A process that has lost its lease without
// noticing has no effect: the file of a job counts its attempts, and only the last one can write
// it.

const (
	jobsDir = "jobs"
	// maxAttempts is how often a job is begun before it fails for good.
	maxAttempts = 3
	// maxFinishedJobs is how many finished jobs a brain keeps, the latest ones. Job does not find
	// older ones.
	maxFinishedJobs = 256
	// jobWorkers is how many jobs run at a time in all brains.
	jobWorkers = 4
	// retryJobAfter is the pause after the first failed attempt. It quadruples after each.
	retryJobAfter = time.Second
)

// runJob does the work of a job. After an error that is not permanent (see isPermanent), the job is
// attempted again. ctx ends with the brain and with the service. A job may run again although its
// effect was committed, unless the same commit has its result, see job.finish.
type runJob func(ctx context.Context, s *Service, h brain.Handle, j *job) (result any, err error)

// jobKinds returns the functions of the kinds of jobs.
func jobKinds() map[string]runJob {
	return map[string]runJob{protocol.JobExtract: runExtract, protocol.JobIngest: runIngest}
}

// job is one attempt at a job. Its exported fields are the content of its file.
type job struct {
	ID        string            `json:"id"`
	Kind      string            `json:"kind"`
	Status    string            `json:"status"`
	Attempts  int               `json:"attempts"`
	Payload   json.RawMessage   `json:"payload,omitempty"` // until the job has ended
	Result    json.RawMessage   `json:"result,omitempty"`
	Error     *protocol.Problem `json:"error,omitempty"`
	CreatedAt string            `json:"created_at"`
	UpdatedAt string            `json:"updated_at"`

	now      func() time.Time
	begun    int  // Attempts in the file, as written or read last
	finished bool // by finish
}

func jobPath(id string) string { return jobsDir + "/_" + id + ".json" }

// jobDataPath is the path for data that is too large for the payload of a job. The caller of addJob
// writes the file in the same batch.
func jobDataPath(id string) string { return jobsDir + "/_" + id + ".data" }

// isJobID reports whether an id has the form of addJob's ids.
func isJobID(id string) bool {
	return id != "" && len(id) <= 64 && strings.Trim(id, "0123456789abcdefghijklmnopqrstuvwxyz-") == ""
}

func (j *job) ended() bool {
	return j.Status == protocol.JobCompleted || j.Status == protocol.JobFailed
}

// errTakenOver means that another process has begun the job again, or has ended it, and has changed
// its file.
var errTakenOver = errors.New("another process has taken the job over")

// write stores the state of the job, and removes its data once it has ended.
func (j *job) write(ctx context.Context, b *store.Batch) error {
	data, err := b.Read(ctx, jobPath(j.ID))
	if err != nil && !store.IsNotFound(err) {
		return err
	}
	var current job
	if err == nil && json.Unmarshal(data, &current) == nil && (current.Attempts != j.begun || current.ended()) {
		return errTakenOver
	}
	j.UpdatedAt = protocol.FormatTime(j.now())
	text, err := json.Marshal(j)
	if err != nil {
		return fmt.Errorf("job %s: %w", j.ID, err)
	}
	if j.ended() {
		if err := b.Delete(ctx, jobDataPath(j.ID)); err != nil && !store.IsNotFound(err) {
			return err
		}
	}
	return b.Write(ctx, jobPath(j.ID), text)
}

// store is write in a batch of its own.
func (j *job) store(ctx context.Context, st *store.Store) error {
	err := st.Batch(ctx, store.BatchOptions{Reason: "job " + j.Kind}, func(b *store.Batch) error {
		return j.write(ctx, b)
	})
	if err == nil {
		j.begun = j.Attempts
	}
	return err
}

// finish records the result in the batch with the effect of the job, so that a crash after the
// commit does not repeat the job. The result that the job returns is then ignored.
func (j *job) finish(ctx context.Context, b *store.Batch, result any) error {
	if err := j.complete(result); err != nil {
		return err
	}
	j.finished = true
	return j.write(ctx, b)
}

// complete sets the state of a job that was successful.
func (j *job) complete(result any) error {
	data, err := json.Marshal(result)
	if err != nil {
		return fmt.Errorf("result of job %s: %w", j.ID, err)
	}
	j.Status, j.Result, j.Payload = protocol.JobCompleted, data, nil
	return nil
}

// jobs is the state of a Service's jobs in memory. Everything that must last is in the files of the
// brains.
type jobs struct {
	kinds      map[string]runJob
	retryAfter time.Duration
	slots      chan struct{} // holds a token for each job that runs
	ctx        context.Context
	cancel     context.CancelFunc
	running    sync.WaitGroup

	mu     sync.Mutex
	closed bool
	count  int // of added jobs, part of their ids
	brains perBrain[brainJobs]
}

// brainJobs are the jobs of one brain. jobs.mu guards it.
type brainJobs struct {
	scanning, scanAgain bool
	scanned             bool                // the last scan was successful
	known               map[string]bool     // ids of the jobs that scans have found; nil before the first
	finished            []string            // ids, oldest first
	queues              map[string][]string // ids by kind; a kind has a worker while it has a queue
	waiting             int                 // what a timer will start again
	announced           []func()            // to be called when there is nothing left to do, see brain.Leases
}

func newJobs() *jobs {
	ctx, cancel := context.WithCancel(context.Background())
	return &jobs{
		kinds: jobKinds(), retryAfter: retryJobAfter, slots: make(chan struct{}, jobWorkers),
		ctx: ctx, cancel: cancel,
	}
}

// Close ends the running jobs and waits for them. A later process continues them. The service
// remains usable, but starts no jobs. It must be closed before its brains. Further calls do
// nothing.
func (s *Service) Close() {
	s.jobs.mu.Lock()
	s.jobs.closed = true
	s.jobs.mu.Unlock()
	s.jobs.cancel()
	s.jobs.running.Wait()
}

// addingJobs calls commit, which adds jobs to the brain, and then starts them.
func (s *Service) addingJobs(ctx context.Context, h brain.Handle, commit func() error) error {
	done, err := h.Announce(ctx)
	if err != nil {
		return err
	}
	if err := commit(); err != nil {
		done()
		return err
	}
	s.startJobs(h, done)
	return nil
}

// addJob adds a job to a batch, within addingJobs. The payload must be JSON. The job's file keeps
// it.
func (s *Service) addJob(
	ctx context.Context, b *store.Batch, kind string, payload any,
) (id string, err error) {
	data, err := json.Marshal(payload)
	if err != nil {
		return "", fmt.Errorf("payload of a job %s: %w", kind, err)
	}
	s.jobs.mu.Lock()
	s.jobs.count++
	count := s.jobs.count
	s.jobs.mu.Unlock()
	now := s.cfg.Now()
	// Ids in ascending order are in the order in which a process added its jobs. Across processes
	// that order is approximate.
	id = fmt.Sprintf("%013d-%06d-%s", now.UnixMilli(), count, strings.ToLower(rand.Text()[:10]))
	j := &job{
		ID: id, Kind: kind, Status: protocol.JobQueued, Payload: data,
		CreatedAt: protocol.FormatTime(now), now: s.cfg.Now,
	}
	return id, j.write(ctx, b)
}

// Job describes a job of the brain, or fails with store.ErrNotFound. A brain keeps the latest 256
// finished jobs.
func (s *Service) Job(ctx context.Context, h brain.Handle, id string) (protocol.Job, error) {
	defer h.Acquire()()
	st, err := h.Store(ctx)
	if err != nil {
		return protocol.Job{}, err
	}
	s.Resume(h)
	j, err := s.readJob(ctx, st, id)
	if err != nil {
		return protocol.Job{}, err
	}
	return protocol.Job{
		JobID: j.ID, Kind: j.Kind, Status: j.Status, Attempts: j.Attempts,
		Result: j.Result, Error: j.Error, CreatedAt: j.CreatedAt, UpdatedAt: j.UpdatedAt,
	}, nil
}

// readJob reads the file of a job. Clients can write to it, as to every path.
func (s *Service) readJob(ctx context.Context, st *store.Store, id string) (*job, error) {
	if !isJobID(id) {
		return nil, fmt.Errorf("%w: no job has this id", store.ErrNotFound)
	}
	data, err := st.Read(ctx, jobPath(id))
	if store.IsNotFound(err) {
		return nil, fmt.Errorf("%w: no job has this id", store.ErrNotFound)
	}
	if err != nil {
		return nil, err
	}
	return s.parseJob(id, data)
}

// parseJob returns store.ErrNotFound if data does not describe the job.
func (s *Service) parseJob(id string, data []byte) (*job, error) {
	j := &job{now: s.cfg.Now}
	if err := json.Unmarshal(data, j); err != nil || j.ID != id {
		return nil, fmt.Errorf("%w: the file of job %s is damaged", store.ErrNotFound, id)
	}
	j.begun = j.Attempts
	return j, nil
}
