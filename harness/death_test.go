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
	"evalctl/scorer"
)

// TestRunDaemonDies kills a real daemon under a question.
func TestRunDaemonDies(t *testing.T) {
	text := `{"id":"a","question":"question 1","expected_substrings":["answer"]}` + "\n" +
		`{"id":"b","question":"question 2","expected_substrings":["answer"]}` + "\n" +
		`{"id":"c","question":"hang","expected_substrings":["answer"]}` + "\n" +
		`{"id":"d","question":"question 4","expected_substrings":["answer"]}` + "\n"
	d := survey(t, writeFile(t, t.TempDir()+"/d.jsonl", text))
	daemon := startChild(t, "daemon", "DELAY=0s")
	e, err := NewEndpoint(daemon.firstLine, "", "evalctl-test", 2)
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	s := daemontest.Answering(t)
	cfg := setUp(t, s, d, t.TempDir())
	cfg.Target.Endpoint, cfg.Concurrency, cfg.Watched = e, 1, true
	ctx, cancel := context.WithCancelCause(t.Context())
	go func() {
		<-daemon.ended
		cancel(errors.Join(ErrDaemonDied, errors.New("signal: killed")))
	}()
	n := 0
	cfg.Recorded = func(Record) {
		if n++; n == 2 {
			_ = daemon.Process.Kill()
		}
	}
	res, path, err := cfg.run(ctx)
	if !errors.Is(err, ErrDaemonDied) || res.Stopped != StopDaemon || !strings.Contains(err.Error(), "signal: killed") {
		t.Fatalf("got %v, stopped %q", err, res.Stopped)
	}
	f := readResult(t, path)
	if diff := cmp.Diff([]string{"a", "b"}, ids(f.Questions)); diff != "" {
		t.Error("the question that died with the daemon must not count:\n" + diff)
	}
	if f = again(t, s, cfg, nil); f.Total != 4 || f.Passed != 4 || !slices.Equal(sorted(s.Asked()), []string{"hang", "question 4"}) {
		t.Errorf("resumed: %+v, asked %v", f.Counts, s.Asked())
	}
}

// TestDyingDaemonSaysSo: a daemon that is being stopped may answer with an
// error once more, just before its process ends.
func TestDyingDaemonSaysSo(t *testing.T) {
	for _, c := range []struct {
		name    string
		reply   func() *http.Response
		dies    time.Duration // after the answer
		watched bool
		errors  int
	}{
		{"error event", func() *http.Response { return reply(200, daemontest.Event("error", `{"message":"shutting down"}`)) }, answeringGrace / 2, true, 0},
		{"500", func() *http.Response { return reply(500, "shutting down") }, answeringGrace / 2, true, 0},
		{"503, and again", func() *http.Response { return reply(503, "shutting down") }, deathGrace + 50*time.Millisecond, true, 0},
		{"cut stream", func() *http.Response { return reply(200, daemontest.Event("token", `{"token":"half"}`)) }, deathGrace + 50*time.Millisecond, true, 0},
		{"it lives on", func() *http.Response { return reply(200, daemontest.Event("error", `{"message":"no"}`)) }, time.Hour, true, 1},
		{"400 is the question's fault", func() *http.Response { return reply(400, "no") }, deathGrace / 2, true, 1},
		{"nobody watches", func() *http.Response { return reply(500, "no") }, deathGrace / 2, false, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			d, dir := survey(t, writeDataset(t, 1)), t.TempDir()
			s := daemontest.Answering(t)
			synctest.Test(t, func(t *testing.T) {
				j, err := CreateJournal(dir, identityOf(d), started, nil)
				if err != nil {
					t.Fatal(err)
				}
				defer j.Close()
				m := &inMemory{reply: func(int) *http.Response { return c.reply() }}
				ctx, cancel := context.WithCancelCause(t.Context())
				stop := time.AfterFunc(c.dies, func() { cancel(ErrDaemonDied) })
				defer stop.Stop()
				res, _, err := Run(ctx, Config{
					Target: m.target(), Dataset: d, Scorer: scorer.Exact{}, Concurrency: 1, Timeout: time.Minute, Watched: c.watched,
				}, j)
				if res.Counts.Errors != c.errors || (err == nil) != (c.errors == 1) {
					t.Errorf("%d errors, %v", res.Counts.Errors, err)
				}
			})
			s.Close()
		})
	}
}

// TestRunAgainstNobody: where nobody answers at all, nothing is recorded, and
// everything can be asked on resume.
func TestRunAgainstNobody(t *testing.T) {
	t.Parallel()
	s := daemontest.Answering(t)
	cfg := setUp(t, s, survey(t, writeDataset(t, 3)), t.TempDir())
	s.Close()
	res, path, err := cfg.run(t.Context())
	if !errors.Is(err, ErrDaemonDied) || res.Stopped != StopDaemon || res.Total != 0 || res.MeanScore != nil || res.PassRate != nil {
		t.Fatalf("got %+v, %v", res, err)
	}
	if f := readResult(t, path); len(f.Questions) != 0 {
		t.Errorf("got %+v", f.Questions)
	}
}

// TestEndpointThatDies: a daemon that was not started here can die too.
func TestEndpointThatDies(t *testing.T) {
	s := daemontest.Answering(t)
	const many = 20_000 // more than are answered before the second is counted
	d := survey(t, writeDataset(t, many))
	cfg := setUp(t, s, d, t.TempDir())
	cfg.Concurrency = 1
	n := 0
	cfg.Recorded = func(Record) {
		if n++; n == 2 {
			s.Listener.Close()
			s.CloseClientConnections()
		}
	}
	res, _, err := cfg.run(t.Context())
	if !errors.Is(err, ErrDaemonDied) {
		t.Fatalf("got %v", err)
	}
	if res.Stopped != StopDaemon || res.Counts.Errors != 0 || res.Passed != res.Total || res.Total == many {
		t.Errorf("got %+v", res.Counts)
	}
}
