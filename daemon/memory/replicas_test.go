package memory

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"evalctl/daemon/brain"
	"evalctl/daemon/brain/pgcatalog"
	"evalctl/daemon/convert"
	"evalctl/daemon/protocol"
	"evalctl/daemon/store"
	"evalctl/daemon/store/pgstore"
	"evalctl/daemon/store/storetest"
	"evalctl/internal/awaittest"
	"evalctl/internal/postgres/postgrestest"
)

const (
	// replicaCrashEnv makes the test binary work on a database, whose URL is its value, until it is
	// killed. replicaRoundsEnv sets the number of kills.
	replicaCrashEnv  = "MEMORY_REPLICA_CRASH"
	replicaRoundsEnv = "MEMORY_REPLICA_CRASH_ROUNDS"
	// A process that vanishes has a shortLease. With a longLease, statements may take longer.
	shortLease = 2 * time.Second
	longLease  = 8 * time.Second
)

// inDatabase configures brains in a database, which the service closes, with leases of this length.
func inDatabase(ctx context.Context, url string, lease time.Duration) (cfg brain.Config, db *pgstore.DB, err error) {
	db, err = pgstore.Open(ctx, url, slog.New(slog.DiscardHandler))
	if err != nil {
		return brain.Config{}, nil, err
	}
	logger := slog.New(slog.DiscardHandler)
	return brain.Config{
		Catalog: pgcatalog.New(db, logger), Leases: pgcatalog.NewLeases(db.Pool(), lease, logger),
		Persistent: true,
		OpenStore: func(ctx context.Context, r brain.Record) (*store.Store, error) {
			return db.Open(ctx, r.UID, nil)
		},
	}, db, nil
}

// openReplica opens a service on a database that it shares with others.
func openReplica(t testing.TB, url string, m *model) (f *fixture, db *pgstore.DB) {
	t.Helper()
	return openLeased(t, url, m, longLease)
}

// openLeased is openReplica with leases of this length.
func openLeased(t testing.TB, url string, m *model, lease time.Duration) (f *fixture, db *pgstore.DB) {
	t.Helper()
	cfg, db, err := inDatabase(t.Context(), url, lease)
	if err != nil {
		t.Fatal(err)
	}
	f = withModel(t, cfg, m)
	ctx, cancel := context.WithCancel(context.Background())
	var watching sync.WaitGroup
	watching.Go(func() { f.brains.TakeOver(ctx, f.TakeOver) })
	t.Cleanup(func() {
		cancel()
		watching.Wait()
	})
	return f, db
}

// ended waits, without asking for any job to be run, until all jobs of the brain have ended.
func (f *fixture) ended(t testing.TB) (jobs []*job) {
	t.Helper()
	awaittest.Until(t, "the end of all jobs", func() bool {
		files, err := f.store(t).List(t.Context(), jobsDir, store.ListOptions{IncludeGenerated: true, Glob: "_*.json"})
		if err != nil {
			t.Fatal(err)
		}
		jobs = nil
		for _, file := range files {
			id := strings.TrimSuffix(strings.TrimPrefix(path.Base(file.Path), "_"), ".json")
			j, err := f.readJob(t.Context(), f.store(t), id)
			if err != nil {
				t.Fatal(err)
			}
			jobs = append(jobs, j)
		}
		return !slices.ContainsFunc(jobs, func(j *job) bool { return !j.ended() })
	})
	return jobs
}

// TestSessionOverReplicas: messages that two replicas add at the same time are numbered without gap
// or duplicate, and facts are extracted from each once.
func TestSessionOverReplicas(t *testing.T) {
	t.Parallel()
	url := postgrestest.Database(t)
	var asked atomic.Int32
	m := &model{reply: func(call int32, input string) (string, error) {
		if asked.Add(1) > 1 {
			t.Error("two processes extract facts from the session at the same time")
		}
		time.Sleep(5 * time.Millisecond)
		asked.Add(-1)
		return factPerMessage(call, input)
	}}
	one, _ := openReplica(t, url, m)
	two, _ := openReplica(t, url, m)
	var wg sync.WaitGroup
	const clients, each = 4, 6
	for c := range clients {
		wg.Go(func() {
			for i := range each {
				f := []*fixture{one, two}[(c+i)%2]
				text := fmt.Sprintf("%d of client %d", i, c)
				if _, err := f.AddMessages(t.Context(), f.brain, "s", []protocol.SessionMessage{final(text)}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	awaittest.Wait(t, "the goroutines", wg.Wait)
	one.ended(t)
	all := one.stored(t, "s")
	next := map[string]int{} // by client
	for i, m := range all {
		if m.Index != i {
			t.Errorf("message %d has index %d", i, m.Index)
		}
		number, client, _ := strings.Cut(m.Content, " of ")
		if number != strconv.Itoa(next[client]) {
			t.Errorf("%s: message %s follows %d others", client, number, next[client])
		}
		next[client]++
	}
	if lines := two.factLines(t, "s"); len(all) != clients*each || len(lines) != len(all) {
		t.Errorf("%d messages and %d facts, want %d", len(all), len(lines), clients*each)
	}
}

// TestJobOfVanishedReplica: a replica that is cut off from the database loses its job to another
// one, and what it does afterwards has no effect.
func TestJobOfVanishedReplica(t *testing.T) {
	t.Parallel()
	url := postgrestest.Database(t)
	one, db := openLeased(t, url, &model{reply: factPerMessage}, shortLease)
	two, _ := openReplica(t, url, &model{reply: factPerMessage})
	begun, begunAgain, lost := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	one.onJob(func(ctx context.Context, _ *Service, _ brain.Handle, j *job) (any, error) {
		close(begun)
		<-ctx.Done()
		<-begunAgain
		lost <- two.store(t).Batch(t.Context(), store.BatchOptions{}, func(b *store.Batch) error {
			if err := b.Write(t.Context(), "effect.md", []byte("late")); err != nil {
				return err
			}
			return j.finish(t.Context(), b, "late")
		})
		return nil, ctx.Err()
	})
	var runs atomic.Int32
	release := make(chan struct{})
	two.onJob(func(ctx context.Context, _ *Service, h brain.Handle, j *job) (any, error) {
		if runs.Add(1) == 1 {
			close(begunAgain)
		}
		<-release
		st, err := h.Store(ctx)
		if err != nil {
			return nil, err
		}
		return "ignored", st.Batch(ctx, store.BatchOptions{}, func(b *store.Batch) error {
			return errors.Join(b.Write(ctx, "effect.md", []byte("done")), j.finish(ctx, b, "done"))
		})
	})
	var id string
	err := one.addingJobs(t.Context(), one.brain, func() error {
		id = one.add(t, "payload")
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	awaittest.Receive(t, "begun", begun)
	if j, err := two.Job(t.Context(), two.brain, id); err != nil || j.Status != protocol.JobRunning || j.Attempts != 1 {
		t.Errorf("the other replica sees %+v, %v, want a running job", j, err)
	}
	time.Sleep(shortLease * 3 / 2)
	if n := runs.Load(); n != 0 {
		t.Errorf("the job of a replica that lives ran %d times elsewhere", n)
	}
	go db.Close() // the connections in use remain until they are given back
	if err := awaittest.Receive(t, "lost", lost); !errors.Is(err, errTakenOver) {
		t.Errorf("the effect of the first replica: got %v, want errTakenOver", err)
	}
	close(release)
	two.ended(t)
	j, err := two.Job(t.Context(), two.brain, id)
	if err != nil || j.Status != protocol.JobCompleted || j.Attempts != 2 || string(j.Result) != `"done"` || runs.Load() != 1 {
		t.Errorf("got %+v with result %s after %d runs, %v", j, j.Result, runs.Load(), err)
	}
	if got := two.read(t, "effect.md"); got != "done" {
		t.Errorf("the effect is %q", got)
	}
}

// TestReflectOverReplicas: of concurrent calls through two replicas, one asks the model.
func TestReflectOverReplicas(t *testing.T) {
	t.Parallel()
	url := postgrestest.Database(t)
	m := &model{reply: factPerMessage, prompted: func(prompt, _ string) (string, error) {
		time.Sleep(200 * time.Millisecond)
		return "not JSON", nil
	}}
	one, _ := openReplica(t, url, m)
	two, _ := openReplica(t, url, m)
	one.say(t, "s", user("hello"))
	var wg sync.WaitGroup
	for _, f := range []*fixture{one, two, one, two} {
		wg.Go(func() {
			r, err := f.Reflect(t.Context(), f.brain, "s")
			if err != nil || r.ReflectionStatus != protocol.ReflectionFailed {
				t.Errorf("got %+v, %v", r, err)
			}
		})
	}
	awaittest.Wait(t, "the goroutines", wg.Wait)
	state, err := readSession(t.Context(), two.store(t), "s")
	if err != nil || state.Reflection.Attempts != 1 {
		t.Errorf("%d reflections, %v, want 1", state.Reflection.Attempts, err)
	}
}

// TestConsolidateOverReplicas: a brain is consolidated by one replica at a time.
func TestConsolidateOverReplicas(t *testing.T) {
	t.Parallel()
	url := postgrestest.Database(t)
	one, _ := openReplica(t, url, &model{reply: factPerMessage})
	two, _ := openReplica(t, url, &model{reply: factPerMessage})
	_, release, err := one.brain.Lease(t.Context(), "consolidate")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := two.Consolidate(t.Context(), two.brain, protocol.ConsolidateRequest{}); !errors.Is(err, store.ErrConflict) {
		t.Errorf("while another replica consolidates: got %v, want ErrConflict", err)
	}
	release()
	if _, err := two.Consolidate(t.Context(), two.brain, protocol.ConsolidateRequest{}); err != nil {
		t.Error(err)
	}
}

// TestOriginalsOverReplicas: originals leave with documents that another replica has ingested, or
// ingested and renamed.
func TestOriginalsOverReplicas(t *testing.T) {
	t.Parallel()
	url := postgrestest.Database(t)
	one, _ := openReplica(t, url, &model{reply: factPerMessage})
	two, _ := openReplica(t, url, &model{reply: factPerMessage})
	kept := two.ingestFile(t, "kept.txt", "kept") // from here on, it follows the others
	deleted, moved := one.ingestFile(t, "deleted.txt", "walrus"), one.ingestFile(t, "moved.txt", "otter")
	one.Close()
	if err := two.store(t).Rename(t.Context(), moved.Path, "elsewhere.md"); err != nil {
		t.Fatal(err)
	}
	if err := two.store(t).Delete(t.Context(), deleted.Path); err != nil {
		t.Fatal(err)
	}
	two.awaitFiles(t, "elsewhere.md", kept.Path,
		originalPath(kept.Hash, convert.Text), recordPath(kept.Hash, convert.Text),
		originalPath(moved.Hash, convert.Text), recordPath(moved.Hash, convert.Text))
	if again := two.ingestFile(t, "moved.txt", "otter"); !again.Reused || again.Path != "elsewhere.md" {
		t.Errorf("a file whose document was renamed: got %+v", again)
	}
}

// workUntilKilled queues an ingest and then adds messages to the session s. It returns an exit
// code.
func workUntilKilled(url string) int {
	err := func() error {
		ctx := context.Background()
		cfg, _, err := inDatabase(ctx, url, shortLease)
		if err != nil {
			return err
		}
		brains, err := brain.Open(ctx, cfg)
		if err != nil {
			return err
		}
		if err := brains.Refresh(ctx, "", "eval"); err != nil {
			return err
		}
		h, err := brains.Find("eval")
		if err != nil {
			return err
		}
		s, err := New(Config{Reader: &model{reply: factPerMessage}, Model: "model"})
		if err != nil {
			return err
		}
		file := protocol.IngestFile{Path: fmt.Sprintf("file-%d.txt", os.Getpid()), Content: []byte(large(fmt.Sprint("walrus ", os.Getpid())))}
		if _, err := s.IngestFile(ctx, h, file); err != nil {
			return err
		}
		for n := 0; ; n++ {
			text := fmt.Sprintf("%d of process %d", n, os.Getpid())
			if _, err := s.AddMessages(ctx, h, "s", []protocol.SessionMessage{final(text)}); err != nil {
				return err
			}
			fmt.Println("added")
		}
	}()
	fmt.Fprintln(os.Stderr, err)
	return 1
}

// TestReplicaCrash kills replicas that have queued a file and extract facts. Another one, which
// only adds messages to the same session meanwhile, completes all of their work.
func TestReplicaCrash(t *testing.T) {
	t.Parallel()
	url := postgrestest.Database(t)
	f, _ := openReplica(t, url, &model{reply: factPerMessage})
	rounds := storetest.Rounds(t, os.Getenv(replicaRoundsEnv), 2)
	for round := range rounds {
		f.say(t, "s", user(fmt.Sprint("not yet, in round ", round)))
		storetest.Kill(t, replicaCrashEnv, url, 2, 100*time.Millisecond)
		for _, j := range f.ended(t) {
			if j.Status != protocol.JobCompleted {
				t.Errorf("job %s of kind %s: %s %+v", j.ID, j.Kind, j.Status, j.Error)
			}
		}
	}
	state, err := readSession(t.Context(), f.store(t), "s")
	if err != nil {
		t.Fatal(err)
	}
	all, lines := f.stored(t, "s"), f.factLines(t, "s")
	if len(all) != state.Messages || len(lines) != state.Final {
		t.Errorf("%d messages are stored of %d, and %d facts of %d", len(all), state.Messages, len(lines), state.Final)
	}
	for i, m := range all[:min(len(all), len(lines))] {
		if m.Index != i || !strings.HasSuffix(lines[i], ": Said: "+m.Content) {
			t.Errorf("message %d has index %d, and its fact is %q", i, m.Index, lines[i])
		}
	}
	documents := 0
	for _, path := range f.files(t, "") {
		if strings.HasPrefix(path, "raw/documents/file-") {
			documents++
		}
	}
	if documents != rounds {
		t.Errorf("%d files were ingested, want %d", documents, rounds)
	}
	if data, err := json.Marshal(state); err != nil || state.Extracted != state.Final {
		t.Errorf("state %s, %v", data, err)
	}
}
