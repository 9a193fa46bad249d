package harness

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"evalctl/harness/daemontest"
	"evalctl/harness/journal"
	"evalctl/harness/result"
	"evalctl/harness/target"
	"evalctl/internal/filetest"
	"evalctl/scorer"
)

// TestRunDaemonDies kills a real daemon while it is asked a question.
func TestRunDaemonDies(t *testing.T) {
	text := `{"id":"a","question":"question 1","expected_substrings":["answer"]}` + "\n" +
		`{"id":"b","question":"question 2","expected_substrings":["answer"]}` + "\n" +
		`{"id":"c","question":"hang","expected_substrings":["answer"]}` + "\n" +
		`{"id":"d","question":"question 4","expected_substrings":["answer"]}` + "\n"
	d := openDataset(t, filetest.Write(t, t.TempDir()+"/d.jsonl", text))
	daemon := startChild(t, "daemon", "DELAY=0s")
	e, err := target.NewEndpoint(daemon.firstLine, "", "evalctl-test", 2)
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	s := daemontest.Answering(t)
	cfg := setUp(t, s, d, t.TempDir())
	targetIn(cfg.Asker).Service, cfg.Concurrency, cfg.Watched = e, 1, true
	ctx, cancel := context.WithCancelCause(t.Context())
	go func() {
		<-daemon.ended
		cancel(errors.Join(ErrDaemonDied, errors.New("signal: killed")))
	}()
	n := 0
	cfg.Recorded = func(result.Record) {
		if n++; n == 2 {
			_ = daemon.Process.Kill()
		}
	}
	res, path, err := cfg.run(ctx)
	if !errors.Is(err, ErrDaemonDied) || res.Stopped != result.StopDaemon ||
		!strings.Contains(err.Error(), "signal: killed") {
		t.Fatalf("got %v, stopped %q", err, res.Stopped)
	}
	f := readResult(t, path)
	if diff := cmp.Diff([]string{"a", "b"}, ids(f.Questions)); diff != "" {
		t.Error("the question during which the daemon died must not count:\n" + diff)
	}
	if f = resumed(t, s, cfg, nil); f.Total != 4 || f.Passed != 4 ||
		!slices.Equal(sorted(s.Asked()), []string{"hang", "question 4"}) {
		t.Errorf("resumed: %+v, asked %v", f.Counts, s.Asked())
	}
}

// TestDyingDaemonAnswers checks a daemon that answers with an error just before its process ends.
func TestDyingDaemonAnswers(t *testing.T) {
	for _, c := range []struct {
		name    string
		answer  http.HandlerFunc
		dies    time.Duration // after the answer
		watched bool
		errors  int
	}{
		{"error event", func(w http.ResponseWriter, _ *http.Request) {
			daemontest.Stream(w, event("error", `{"message":"shutting down"}`))
		}, answeringGrace / 2, true, 0},
		{"500", func(w http.ResponseWriter, _ *http.Request) {
			http.Error(w, "shutting down", http.StatusInternalServerError)
		}, answeringGrace / 2, true, 0},
		{"503, and again", func(w http.ResponseWriter, _ *http.Request) {
			http.Error(w, "shutting down", http.StatusServiceUnavailable)
		}, deathGrace + 50*time.Millisecond, true, 0},
		{"incomplete stream", func(w http.ResponseWriter, _ *http.Request) {
			daemontest.Stream(w, event("token", `{"token":"half"}`))
		}, deathGrace + 50*time.Millisecond, true, 0},
		{"the process does not end", func(w http.ResponseWriter, _ *http.Request) {
			daemontest.Stream(w, event("error", `{"message":"no"}`))
		}, time.Hour, true, 1},
		{"400 does not announce the end", func(w http.ResponseWriter, _ *http.Request) {
			http.Error(w, "no", http.StatusBadRequest)
		},
			deathGrace / 2, true, 1},
		{"not watched", func(w http.ResponseWriter, _ *http.Request) {
			http.Error(w, "no", http.StatusInternalServerError)
		},
			deathGrace / 2, false, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			d, dir := openDataset(t, writeDataset(t, 1)), t.TempDir()
			synctest.Test(t, func(t *testing.T) {
				j, err := journal.Create(dir, identityOf(d), started, nil)
				if err != nil {
					t.Fatal(err)
				}
				defer j.Close()
				ctx, cancel := context.WithCancelCause(t.Context())
				stop := time.AfterFunc(c.dies, func() { cancel(ErrDaemonDied) })
				defer stop.Stop()
				res, _, err := rig{
					Journal: j, Asker: askBasic(inMemory(t, c.answer)), Scorer: scorer.Exact{}, Timeout: time.Minute, Watched: c.watched,
					Config: Config{TopK: 5, Dataset: d, Concurrency: 1},
				}.run(ctx)
				if res.Counts.Errors != c.errors || (err == nil) != (c.errors == 1) {
					t.Errorf("%d errors, %v", res.Counts.Errors, err)
				}
			})
		})
	}
}

// TestUnreachableDaemon checks that nothing is recorded, so that a resumed run asks everything.
func TestUnreachableDaemon(t *testing.T) {
	t.Parallel()
	s := daemontest.Answering(t)
	cfg := setUp(t, s, openDataset(t, writeDataset(t, 3)), t.TempDir())
	s.Close()
	res, path, err := cfg.run(t.Context())
	if !errors.Is(err, ErrDaemonDied) || res.Stopped != result.StopDaemon || res.Total != 0 ||
		res.MeanScore != nil || res.PassRate != nil {
		t.Fatalf("got %+v, %v", res, err)
	}
	if f := readResult(t, path); len(f.Questions) != 0 {
		t.Errorf("got %+v", f.Questions)
	}
}

// TestUnwatchedDaemonDies checks the end of a daemon whose process is not watched.
func TestUnwatchedDaemonDies(t *testing.T) {
	s := daemontest.Answering(t)
	const many = 20_000 // more than are answered before the second question is counted
	d := openDataset(t, writeDataset(t, many))
	cfg := setUp(t, s, d, t.TempDir())
	cfg.Concurrency = 1
	n := 0
	cfg.Recorded = func(result.Record) {
		if n++; n == 2 {
			s.Listener.Close()
			s.CloseClientConnections()
		}
	}
	res, _, err := cfg.run(t.Context())
	if !errors.Is(err, ErrDaemonDied) {
		t.Fatalf("got %v", err)
	}
	if res.Stopped != result.StopDaemon || res.Counts.Errors != 0 ||
		res.Passed != res.Total || res.Total == many {
		t.Errorf("got %+v", res.Counts)
	}
}

// inMemory returns the endpoint of a daemon that is reached without a socket.
func inMemory(t *testing.T, answer http.HandlerFunc) *target.Endpoint {
	t.Helper()
	daemontest.InMemory(t, answer)
	e, err := target.NewEndpoint("http://memory", "", "evalctl-test", 1)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(e.Close)
	return e
}
