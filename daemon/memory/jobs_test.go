package memory

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"evalctl/daemon/brain"
	"evalctl/daemon/protocol"
	"evalctl/daemon/store"
	"evalctl/daemon/store/fsstore"
	"evalctl/daemon/store/gitstore"
	"evalctl/internal/awaittest"
)

// onJob sets what jobs of the kind "test" do.
func (f *fixture) onJob(run runJob) {
	f.jobs.kinds["test"] = run
	f.jobs.retryAfter = time.Millisecond
}

// add adds a job of the kind "test" without starting it.
func (f *fixture) add(t testing.TB, payload any) string {
	t.Helper()
	var id string
	err := f.store(t).Batch(t.Context(), store.BatchOptions{}, func(b *store.Batch) error {
		var err error
		id, err = f.addJob(t.Context(), b, "test", payload)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// await starts the jobs of the brain, and returns one of them once it has ended.
func (f *fixture) await(t testing.TB, id string) (j protocol.Job) {
	t.Helper()
	f.startJobs(f.brain, nil)
	awaittest.Until(t, "the job "+id, func() bool {
		var err error
		if j, err = f.Job(t.Context(), f.brain, id); err != nil {
			t.Fatal(err)
		}
		return j.Status == protocol.JobCompleted || j.Status == protocol.JobFailed
	})
	return j
}

func TestJobRunsWithItsPayload(t *testing.T) {
	f := open(t)
	f.onJob(func(ctx context.Context, s *Service, h brain.Handle, j *job) (any, error) {
		var payload map[string]int
		return map[string]int{"got": payload["n"] + 1}, errors.Join(json.Unmarshal(j.Payload, &payload))
	})
	id := f.add(t, map[string]int{"n": 41})
	if !strings.HasPrefix(jobPath(id), "jobs/_") {
		t.Errorf("the file %s is not generated", jobPath(id))
	}
	j, err := f.Job(t.Context(), f.brain, id)
	if err != nil || j.Attempts > 1 || j.CreatedAt == "" {
		t.Errorf("got %+v, %v", j, err)
	}
	j = f.await(t, id)
	if j.Status != protocol.JobCompleted || j.Attempts != 1 || j.Error != nil || j.JobID != id || j.Kind != "test" {
		t.Errorf("got %+v", j)
	}
	data, err := f.store(t).Read(t.Context(), jobPath(id))
	if err != nil || strings.Contains(string(data), "payload") {
		t.Errorf("an ended job keeps its payload: %s, %v", data, err)
	}
}

// TestJobOfARejectedBatch: a job exists if and only if its batch was committed.
func TestJobOfARejectedBatch(t *testing.T) {
	f := open(t)
	f.onJob(func(context.Context, *Service, brain.Handle, *job) (any, error) {
		t.Error("ran")
		return nil, nil
	})
	var id string
	err := f.store(t).Batch(t.Context(), store.BatchOptions{}, func(b *store.Batch) (err error) {
		if id, err = f.addJob(t.Context(), b, "test", nil); err != nil {
			return err
		}
		return errors.New("rejected")
	})
	if err == nil {
		t.Fatal("the batch was committed")
	}
	f.startJobs(f.brain, nil)
	if _, err := f.Job(t.Context(), f.brain, id); !store.IsNotFound(err) {
		t.Errorf("got %v", err)
	}
}

func TestFailingJob(t *testing.T) {
	temporary := errors.New("temporary: /home/user/secret")
	for name, test := range map[string]struct {
		err      error
		panics   bool
		attempts int
		code     string
		detail   string
	}{
		"every attempt": {err: temporary, attempts: maxAttempts, code: protocol.CodeInternal, detail: "the daemon's log has the reason"},
		"permanent":     {err: &permanentError{temporary}, attempts: 1, code: protocol.CodeInternal, detail: "the daemon's log has the reason"},
		"argument":      {err: argumentErrorf("url", "is missing"), attempts: 1, code: protocol.CodeValidation, detail: "url: is missing"},
		"panic":         {panics: true, attempts: 1, code: protocol.CodeInternal, detail: "the daemon's log has the reason"},
		"too large":     {err: &permanentError{fmt.Errorf("%w: 3 pages", ErrTooLarge)}, attempts: 1, code: protocol.CodePayloadTooLarge, detail: "too large: 3 pages"},
	} {
		t.Run(name, func(t *testing.T) {
			f := open(t)
			f.onJob(func(_ context.Context, _ *Service, _ brain.Handle, j *job) (any, error) {
				if string(j.Payload) != `"bad"` {
					return "good", nil
				}
				if test.panics {
					panic("out of order")
				}
				return nil, test.err
			})
			bad, good := f.add(t, "bad"), f.add(t, "good")
			if j := f.await(t, good); j.Status != protocol.JobCompleted {
				t.Errorf("the job after it: %+v", j)
			}
			j := f.await(t, bad)
			if j.Status != protocol.JobFailed || j.Attempts != test.attempts || j.Result != nil {
				t.Errorf("got %+v", j)
			}
			if j.Error == nil || j.Error.Code != test.code || j.Error.Detail != test.detail {
				t.Errorf("error %+v", j.Error)
			}
		})
	}
}

func TestJobSucceedsAtALaterAttempt(t *testing.T) {
	f := open(t)
	var runs atomic.Int32
	f.onJob(func(context.Context, *Service, brain.Handle, *job) (any, error) {
		if runs.Add(1) < maxAttempts {
			return nil, errors.New("not yet")
		}
		return "done", nil
	})
	id := f.add(t, nil)
	j := f.await(t, id)
	if j.Status != protocol.JobCompleted || j.Attempts != maxAttempts || string(j.Result) != `"done"` || j.Error != nil {
		t.Errorf("got %+v", j)
	}
}

// TestWaitingJobDoesNotBlock: while a job waits for its next attempt, others run.
func TestWaitingJobDoesNotBlock(t *testing.T) {
	f := open(t)
	f.onJob(func(_ context.Context, _ *Service, _ brain.Handle, j *job) (any, error) {
		if string(j.Payload) == `"bad"` {
			return nil, errors.New("temporary")
		}
		return nil, nil
	})
	f.jobs.retryAfter = time.Hour
	bad, good := f.add(t, "bad"), f.add(t, "good")
	f.await(t, good)
	j, err := f.Job(t.Context(), f.brain, bad)
	if err != nil || j.Status != protocol.JobQueued || j.Attempts != 1 {
		t.Errorf("got %+v, %v", j, err)
	}
}

func TestJobsOfAKindRunInOrder(t *testing.T) {
	f := open(t)
	var order []string
	f.onJob(func(_ context.Context, _ *Service, _ brain.Handle, j *job) (any, error) {
		order = append(order, j.ID) // one at a time, or -race reports it
		return nil, nil
	})
	var ids []string
	for range 20 {
		ids = append(ids, f.add(t, nil))
	}
	f.await(t, ids[len(ids)-1])
	f.Close()
	if fmt.Sprint(order) != fmt.Sprint(ids) {
		t.Errorf("got  %v\nwant %v", order, ids)
	}
}

func TestJobsAreBounded(t *testing.T) {
	f := open(t)
	var running, most atomic.Int32
	for i := range 3 * jobWorkers {
		f.jobs.kinds[fmt.Sprint("kind", i)] = func(context.Context, *Service, brain.Handle, *job) (any, error) {
			if n := running.Add(1); n > most.Load() {
				most.Store(n)
			}
			time.Sleep(5 * time.Millisecond)
			running.Add(-1)
			return nil, nil
		}
	}
	var ids []string
	err := f.store(t).Batch(t.Context(), store.BatchOptions{}, func(b *store.Batch) error {
		for kind := range f.jobs.kinds {
			id, err := f.addJob(t.Context(), b, kind, nil)
			if err != nil {
				return err
			}
			if strings.HasPrefix(kind, "kind") {
				ids = append(ids, id)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range ids {
		f.await(t, id)
	}
	if most.Load() > jobWorkers {
		t.Errorf("%d jobs ran at a time", most.Load())
	}
}

// TestJobFinishedInItsBatch: the result is committed with the effect, so the job is not repeated.
func TestJobFinishedInItsBatch(t *testing.T) {
	f := open(t)
	f.onJob(func(ctx context.Context, s *Service, h brain.Handle, j *job) (any, error) {
		st, err := h.Store(ctx)
		if err != nil {
			return nil, err
		}
		err = st.Batch(ctx, store.BatchOptions{}, func(b *store.Batch) error {
			return errors.Join(b.Append(ctx, "effect.md", []byte("x")), j.finish(ctx, b, "result"))
		})
		if err != nil {
			return nil, err
		}
		return "ignored", errors.New("after the commit")
	})
	j := f.await(t, f.add(t, nil))
	if j.Status != protocol.JobCompleted || string(j.Result) != `"result"` {
		t.Errorf("got %+v", j)
	}
	f.Close()
	if data, err := f.store(t).Read(t.Context(), "effect.md"); err != nil || string(data) != "x" {
		t.Errorf("effect %q, %v", data, err)
	}
}

// TestEndedJobIsNotBegunAgain: another process has ended the job while this one waited to begin it.
func TestEndedJobIsNotBegunAgain(t *testing.T) {
	f := open(t)
	f.onJob(func(context.Context, *Service, brain.Handle, *job) (any, error) { return "done", nil })
	id := f.add(t, nil)
	late, err := f.readJob(t.Context(), f.store(t), id)
	if err != nil {
		t.Fatal(err)
	}
	f.await(t, id)
	late.Status, late.begun, late.Attempts = protocol.JobRunning, 1, 2 // read while the first attempt ran
	if err := late.store(t.Context(), f.store(t)); !errors.Is(err, errTakenOver) {
		t.Errorf("got %v", err)
	}
	if j, err := f.Job(t.Context(), f.brain, id); err != nil || j.Status != protocol.JobCompleted || string(j.Result) != `"done"` {
		t.Errorf("got %+v, %v", j, err)
	}
}

// TestFinishOfARejectedBatch: finish has no effect if its batch is not committed.
func TestFinishOfARejectedBatch(t *testing.T) {
	f := open(t)
	f.onJob(func(ctx context.Context, s *Service, h brain.Handle, j *job) (any, error) {
		st, err := h.Store(ctx)
		if err != nil {
			return nil, err
		}
		if string(j.Payload) != `"p"` {
			return nil, &permanentError{fmt.Errorf("payload %s", j.Payload)}
		}
		return nil, st.Batch(ctx, store.BatchOptions{}, func(b *store.Batch) error {
			if err := j.finish(ctx, b, "result"); err != nil || j.Attempts == maxAttempts {
				return err
			}
			return errors.New("rejected")
		})
	})
	j := f.await(t, f.add(t, "p"))
	if j.Status != protocol.JobCompleted || j.Attempts != maxAttempts {
		t.Errorf("got %+v", j)
	}
}

// stores are the engines that keep documents.
var stores = map[string]func(ctx context.Context, dir string) (*store.Store, error){
	"fs": func(ctx context.Context, dir string) (*store.Store, error) { return fsstore.Open(ctx, dir, nil) },
	"git": func(ctx context.Context, dir string) (*store.Store, error) {
		repo, err := gitstore.Open(ctx, dir, nil)
		if err != nil {
			return nil, err
		}
		return repo.Store, nil
	},
}

// openDir opens a brain whose documents are in dir. A later call continues with them.
func openDir(t testing.TB, dir string, openStore func(context.Context, string) (*store.Store, error)) *fixture {
	t.Helper()
	return openWith(t, brain.Config{
		Catalog:    new(brain.MemoryCatalog),
		Persistent: true,
		OpenStore: func(ctx context.Context, _ brain.Record) (*store.Store, error) {
			return openStore(ctx, dir)
		},
	}, Config{})
}

func (f *fixture) shutDown(t testing.TB) {
	t.Helper()
	f.Close()
	if err := f.brains.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestJobsContinueAfterARestart: a job that was interrupted by Close runs again, and the
// interrupted attempt does not count.
func TestJobsContinueAfterARestart(t *testing.T) {
	for name, openStore := range stores {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			f := openDir(t, dir, openStore)
			begun := make(chan struct{}, 1)
			f.onJob(func(ctx context.Context, _ *Service, _ brain.Handle, _ *job) (any, error) {
				begun <- struct{}{}
				<-ctx.Done()
				return nil, ctx.Err()
			})
			id, waiting := f.add(t, "first"), f.add(t, "second")
			f.startJobs(f.brain, nil)
			awaittest.Receive(t, "begun", begun)
			f.shutDown(t)

			f = openDir(t, dir, openStore)
			f.onJob(func(_ context.Context, _ *Service, _ brain.Handle, j *job) (any, error) {
				return j.Payload, nil
			})
			f.Resume(f.brain)
			for id, want := range map[string]string{id: `"first"`, waiting: `"second"`} {
				if j := f.await(t, id); j.Status != protocol.JobCompleted || string(j.Result) != want || j.Attempts != 1 {
					t.Errorf("got %+v", j)
				}
			}
		})
	}
}

// TestJobThatEndsTheDaemon: attempts are counted before they run.
func TestJobThatEndsTheDaemon(t *testing.T) {
	f := open(t)
	f.onJob(func(context.Context, *Service, brain.Handle, *job) (any, error) {
		t.Error("ran")
		return nil, nil
	})
	id := "0000000000001-000001-a"
	f.put(t, jobPath(id), fmt.Sprintf(`{"id":%q,"kind":"test","status":"running","attempts":%d}`, id, maxAttempts))
	j := f.await(t, id)
	if j.Status != protocol.JobFailed || j.Attempts != maxAttempts || j.Error == nil {
		t.Errorf("got %+v", j)
	}
}

func TestDeletedBrainEndsItsJobs(t *testing.T) {
	f := open(t)
	begun, ended := make(chan struct{}), make(chan error, 1)
	f.onJob(func(ctx context.Context, _ *Service, _ brain.Handle, _ *job) (any, error) {
		close(begun)
		<-ctx.Done()
		ended <- ctx.Err()
		return nil, ctx.Err()
	})
	f.add(t, nil)
	f.add(t, nil)
	f.startJobs(f.brain, nil)
	awaittest.Receive(t, "begun", begun)
	if err := f.brains.Delete(t.Context(), f.brain); err != nil {
		t.Fatal(err)
	}
	if err := awaittest.Receive(t, "ended", ended); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	f.Close() // waits: goleak reports a job that goes on
	if _, err := f.Job(t.Context(), f.brain, "x"); !errors.Is(err, brain.ErrNotFound) {
		t.Errorf("got %v", err)
	}
}

func TestFinishedJobsDoNotPileUp(t *testing.T) {
	f := open(t)
	f.onJob(func(context.Context, *Service, brain.Handle, *job) (any, error) { return nil, nil })
	var ids []string
	for range maxFinishedJobs + 5 {
		ids = append(ids, f.add(t, nil))
	}
	f.await(t, ids[len(ids)-1])
	awaittest.Until(t, "the removal of old jobs, after the last one has ended", func() bool {
		files, err := f.store(t).List(t.Context(), jobsDir, store.ListOptions{IncludeGenerated: true})
		if err != nil {
			t.Fatal(err)
		}
		return len(files) == maxFinishedJobs
	})
	f.Close()
	if _, err := f.Job(t.Context(), f.brain, ids[4]); !store.IsNotFound(err) {
		t.Errorf("got %v", err)
	}
	if _, err := f.Job(t.Context(), f.brain, ids[5]); err != nil {
		t.Error(err)
	}
}

// TestForeignJobFiles: clients can write any file into the folder of the jobs.
func TestForeignJobFiles(t *testing.T) {
	f := open(t)
	id := "0000000000001-000001-b"
	for path, text := range map[string]string{
		"jobs/_damaged.json":     `{"id":`,
		"jobs/_other-id.json":    `{"id":"../../x","kind":"test","status":"queued"}`,
		"jobs/_list.json":        `[]`,
		"jobs/_Upper Case.json":  `{"id":"Upper Case","kind":"test","status":"queued"}`,
		"jobs/notes.md":          "# Notes",
		"jobs/_folder.json/a.md": "a document",
		jobPath(id):              `{"id":"` + id + `","kind":"unknown","status":"queued"}`,
	} {
		f.put(t, path, text)
	}
	if j := f.await(t, id); j.Status != protocol.JobFailed {
		t.Errorf("got %+v", j)
	}
	for _, id := range []string{"damaged", "other-id", "list", "Upper Case", "folder", "", "../jobs/_list", strings.Repeat("a", 65)} {
		if _, err := f.Job(t.Context(), f.brain, id); !store.IsNotFound(err) {
			t.Errorf("job %q: got %v", id, err)
		}
	}
}

func TestClosedServiceStartsNoJobs(t *testing.T) {
	f := open(t)
	f.onJob(func(context.Context, *Service, brain.Handle, *job) (any, error) {
		t.Error("ran")
		return nil, nil
	})
	f.Close()
	f.Close()
	id := f.add(t, nil)
	f.startJobs(f.brain, nil)
	if j, err := f.Job(t.Context(), f.brain, id); err != nil || j.Status != protocol.JobQueued {
		t.Errorf("got %+v, %v", j, err)
	}
}
