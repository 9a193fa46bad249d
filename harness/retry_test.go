package harness

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"evalctl/harness/daemontest"
	"evalctl/harness/journal"
	"evalctl/harness/result"
	"evalctl/internal/filetest"
	"evalctl/scorer"
)

// ailing is a daemon that hangs up on questions 2 and 5 and answers 404 to question 3 and wrongly
// to question 4, until it is repaired. It is alive all the time.
func ailing(tb testing.TB, repaired *atomic.Bool) *daemontest.Daemon {
	return daemontest.New(tb, func(w http.ResponseWriter, r *http.Request, c daemontest.Call) {
		if !strings.HasSuffix(r.URL.Path, "/ask") {
			_, _ = w.Write([]byte(`{"ok":true}`))
			return
		}
		q := c.Body["question"].(string)
		switch n := numberOf(q); {
		case n == 3:
			http.Error(w, "no such thing", http.StatusNotFound)
		case repaired.Load():
			daemontest.Stream(w, daemontest.AnswerTo(q))
		case n == 2 || n == 5:
			daemontest.HangUp(w)
		case n == 4:
			daemontest.Stream(w, daemontest.AnswerTo("question 9"))
		default:
			daemontest.Stream(w, daemontest.AnswerTo(q))
		}
	})
}

// outageGrader passes right answers at 3 nano-dollars, except that its provider does not answer for
// question 1 until it is repaired, which costs 7.
func outageGrader(repaired *atomic.Bool) scripted {
	return func(_ context.Context, item scorer.Item) (scorer.Verdict, error) {
		n := numberOf(item.Question)
		if n == 1 && !repaired.Load() {
			return scorer.Verdict{Attempts: 3, Cost: 7, Unanswered: true, Reason: "the judge did not answer: 503"}, nil
		}
		v := scorer.Verdict{Attempts: 1, Cost: 3, Scored: true}
		if item.Answer == strings.Replace(item.Question, "question", "answer", 1) {
			v.Score = 1
		}
		return v, nil
	}
}

// finishKept runs n questions to the end and returns the rig, whose journal is kept.
func finishKept(t *testing.T, s *daemontest.Daemon, n int, judge scripted) (rig, resultFile) {
	t.Helper()
	cfg := setUp(t, s, openDataset(t, writeDataset(t, n)), t.TempDir())
	cfg.Scorer, cfg.Paid, cfg.KeepForRetry = judge, true, true
	path := cfg.finish(t)
	return cfg, readResult(t, path)
}

func TestRetryErrors(t *testing.T) {
	var repaired atomic.Bool
	s := ailing(t, &repaired)
	judge := outageGrader(&repaired)
	cfg, before := finishKept(t, s, 6, judge)
	if before.Stopped != "" || before.Total != 6 || before.Passed != 1 || before.FirstTryRate != nil {
		t.Fatalf("got %q, %d of %d, %+v", before.Stopped, before.Passed, before.Total, before.FirstTryRate)
	}
	asked := len(s.Asked())
	repaired.Store(true)
	after := resumed(t, s, cfg, func(r *rig) {
		if n := r.Journal.Outages(); n != 3 || !r.Journal.Complete() {
			t.Errorf("%d questions can be tried again, complete %v", n, r.Journal.Complete())
		}
		r.Scorer, r.Paid, r.KeepForRetry, r.RetryErrors = judge, true, true, true
	})
	again := s.Asked()[asked:]
	if len(again) != 2 || strings.Contains(strings.Join(again, " "), "question 1") {
		t.Errorf("asked again: %q", again)
	}
	if after.Passed != 4 || after.Total != 6 || after.Resumed != 3 || after.FirstTryRate == nil ||
		*after.FirstTryRate != (result.FirstTryRate{Passed: 1, Total: 6, PassRate: 1. / 6, TriedAgain: 3}) {
		t.Errorf("got %d of %d, resumed %d, first tries %+v", after.Passed, after.Total, after.Resumed, after.FirstTryRate)
	}
	for i, want := range []int{2, 2, 0, 0, 2, 0} {
		q := after.Questions[i]
		if q.Tries != want || (q.FirstTry != nil) != (want > 1) {
			t.Errorf("%s: %d tries, first %+v", q.ID, q.Tries, q.FirstTry)
		}
	}
	if f := after.Questions[1].FirstTry; f == nil || f.Error == nil || f.Error.Kind != result.KindTransport {
		t.Errorf("the first try of q2 was %+v", f)
	}
	if f := after.Questions[0].FirstTry; f == nil || f.Outcome != result.Unscored || f.Reason == "" {
		t.Errorf("the first try of q1 was %+v", f)
	}
	// 7 for the judge that did not answer, and 3 for each verdict.
	if after.Cost.SpentUSD != 7+5*3 || len(after.Cost.Unassigned) != 1 {
		t.Errorf("spent %v, %+v", after.Cost.SpentUSD, after.Cost.Unassigned)
	}
	if _, err := os.Stat(cfg.Journal.Path()); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the journal of the repaired run is kept: %v", err)
	}
}

// TestRetryFailsAgain: a question that fails again stays one that can be tried again, and counts
// its tries.
func TestRetryFailsAgain(t *testing.T) {
	var never atomic.Bool
	s := ailing(t, &never)
	judge := outageGrader(&never)
	cfg, before := finishKept(t, s, 6, judge)
	after := before
	for range 2 {
		after = resumed(t, s, cfg, func(r *rig) {
			r.Scorer, r.Paid, r.KeepForRetry, r.RetryErrors = judge, true, true, true
			cfg.Journal = r.Journal
		})
	}
	if after.Counts != before.Counts || after.Questions[1].Tries != 3 || after.Questions[0].Tries != 3 ||
		after.FirstTryRate.TriedAgain != 3 || after.Cost.SpentUSD != 3*7+2*3 {
		t.Errorf("got %+v, %d and %d tries, %+v, spent %v", after.Counts, after.Questions[1].Tries,
			after.Questions[0].Tries, after.FirstTryRate, after.Cost.SpentUSD)
	}
	if cfg.Journal.Outages() != 3 {
		t.Errorf("%d can be tried again", cfg.Journal.Outages())
	}
}

// TestRetryCutAtEveryLine kills the process in which questions are tried again, after every line
// and within it. Whatever was written, a resume completes the run, asks no question that has its
// answer, and counts all money that the journal has.
func TestRetryCutAtEveryLine(t *testing.T) {
	t.Parallel()
	var repaired atomic.Bool
	s := ailing(t, &repaired)
	judge := outageGrader(&repaired)
	cfg, _ := finishKept(t, s, 6, judge)
	kept := filetest.Read(t, cfg.Journal.Path())
	repaired.Store(true)
	var lines []byte
	n := 0
	resumed(t, s, cfg, func(r *rig) {
		r.Scorer, r.Paid, r.RetryErrors = judge, true, true
		r.Recorded = func(result.Record) {
			if n++; n == 6 {
				lines, _ = os.ReadFile(r.Journal.Path())
			}
		}
	})
	if !bytes.HasPrefix(lines, kept) || bytes.Count(lines[len(kept):], []byte(`"kind":"reopened"`)) != 3 {
		t.Fatalf("the journal has no three lines that reopen questions:\n%s", lines[min(len(lines), len(kept)):])
	}
	every := 97
	if testing.Short() { // no cut is more concurrent than another
		every = 971
	}
	for _, retry := range []bool{false, true} {
		for at := len(kept); at <= len(lines); at++ {
			if at < len(lines) && lines[at-1] != '\n' && at%every != 0 {
				continue
			}
			path := filetest.Write(t, filepath.Join(t.TempDir(), "go.journal"), string(lines[:at]))
			j, err := journal.Open(path)
			if err != nil {
				t.Fatalf("%d bytes: %v", at, err)
			}
			open := j.Outages()
			next := resumeWith(t, s, cfg.Dataset, j)
			next.Scorer, next.Paid, next.RetryErrors, next.KeepForRetry = judge, true, retry, true
			asked := len(s.Asked())
			_, file, err := next.run(t.Context())
			if err != nil {
				t.Fatalf("%d bytes: %v", at, err)
			}
			got := readResult(t, file)
			passed := 4
			if !retry {
				passed -= open
			}
			if got.Passed != passed || got.Total != 6 || got.Cost.SpentUSD < 7+2*3 || got.Cost.SpentUSD > 7+5*3 {
				t.Errorf("%d bytes, retry %v: passed %d, want %d, of %d, spent %v", at, retry, got.Passed, passed, got.Total, got.Cost.SpentUSD)
			}
			if n := len(s.Asked()) - asked; n > 2 {
				t.Errorf("%d bytes: asked %d questions", at, n)
			}
			for _, q := range got.Questions {
				if (q.Tries > 1) != (q.FirstTry != nil) {
					t.Errorf("%d bytes: %s has %d tries, first %+v", at, q.ID, q.Tries, q.FirstTry)
				}
			}
		}
	}
}

// TestRetryStopped: a run that is interrupted before it has tried all questions again has them all
// in its result nevertheless, with the failures of the earlier tries.
func TestRetryStopped(t *testing.T) {
	var repaired atomic.Bool
	s := ailing(t, &repaired)
	judge := outageGrader(&repaired)
	cfg, before := finishKept(t, s, 6, judge)
	next := reopened(t, s, cfg)
	next.Scorer, next.Paid, next.KeepForRetry, next.RetryErrors = judge, true, true, true
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, path, err := next.run(ctx)
	if !errors.Is(err, context.Canceled) {
		t.Fatalf("got %v", err)
	}
	if got := readResult(t, path); got.Stopped != result.StopInterrupted || got.Counts != before.Counts || got.Questions[1].Tries != 0 {
		t.Errorf("got %q, %+v, %d tries", got.Stopped, got.Counts, got.Questions[1].Tries)
	}
}

// TestSystematicFailure: the same failure ends a run after eight questions, any other outcome
// between them does not, and the questions that ended with it can be asked again.
func TestSystematicFailure(t *testing.T) {
	var repaired atomic.Bool
	s := daemontest.New(t, func(w http.ResponseWriter, r *http.Request, c daemontest.Call) {
		q := c.Body["question"].(string)
		if n := numberOf(q); !repaired.Load() && n != 5 {
			http.Error(w, "the key is not valid", http.StatusUnauthorized)
			return
		}
		daemontest.Stream(w, daemontest.AnswerTo(q))
	})
	cfg := setUp(t, s, openDataset(t, writeDataset(t, 40)), t.TempDir())
	cfg.Concurrency, cfg.KeepForRetry = 1, true
	_, path, err := cfg.run(t.Context())
	same, ok := errors.AsType[*SystematicError](err)
	if !ok || same.Judge || !strings.Contains(err.Error(), "the key is not valid") {
		t.Fatalf("got %v", err)
	}
	got := readResult(t, path)
	if got.Stopped != result.StopSystematic || got.Total != 13 || got.Counts.Errors != 12 {
		t.Errorf("got %q after %d questions, %d errors", got.Stopped, got.Total, got.Counts.Errors)
	}
	repaired.Store(true)
	after := resumed(t, s, cfg, func(r *rig) {
		if n := r.Journal.Outages(); n != maxSame {
			t.Errorf("%d questions can be tried again", n)
		}
		r.RetryErrors = true
	})
	// The four before question 5 were no streak: each has a failure of its own.
	if after.Passed != 36 || after.Counts.Errors != 4 || after.FirstTryRate.TriedAgain != maxSame {
		t.Errorf("got %+v, %+v", after.Counts, after.FirstTryRate)
	}
}

// TestSystematicJudge: a judge that does not answer stops a run too.
func TestSystematicJudge(t *testing.T) {
	cfg := setUp(t, daemontest.Answering(t), openDataset(t, writeDataset(t, 40)), t.TempDir())
	cfg.Concurrency = 1
	cfg.Scorer = scripted(func(_ context.Context, item scorer.Item) (scorer.Verdict, error) {
		return scorer.Verdict{Unanswered: true, Reason: "the judge did not answer: 429 quota"}, nil
	})
	_, path, err := cfg.run(t.Context())
	if same, ok := errors.AsType[*SystematicError](err); !ok || !same.Judge {
		t.Fatalf("got %v", err)
	}
	if got := readResult(t, path); got.Stopped != result.StopSystematic || got.Counts.Unscored != maxSame {
		t.Errorf("got %q, %+v", got.Stopped, got.Counts)
	}
}

// TestStreak checks which failures are the same.
func TestStreak(t *testing.T) {
	failed := func(kind result.Kind, message string) *result.Record {
		return &result.Record{Outcome: result.Errored, Error: &result.Failure{Kind: kind, Message: message}}
	}
	for name, c := range map[string]struct {
		record func(i int) *result.Record
		stops  bool
	}{
		"ports": {func(i int) *result.Record { return failed(result.KindTransport, "127.0.0.1:"+strings.Repeat("4", i+1)) }, true},
		"lengths": {func(i int) *result.Record {
			return failed(result.KindIncomplete, "the stream ended without done, after "+strings.Repeat("4", i+1)+" bytes of answer")
		}, true},
		"events":    {func(int) *result.Record { return failed(result.KindDaemon, "model m: 404") }, true},
		"messages":  {func(i int) *result.Record { return failed(result.KindDaemon, strings.Repeat("m", i)) }, false},
		"timeouts":  {func(int) *result.Record { return failed(result.KindTimeout, "no answer in time") }, false},
		"verdicts":  {func(int) *result.Record { return &result.Record{Outcome: result.Unscored, Reason: "no JSON"} }, false},
		"successes": {func(int) *result.Record { return &result.Record{Outcome: result.Scored, Passed: true} }, false},
		"mixed": {func(i int) *result.Record {
			if i%8 == 7 {
				return &result.Record{Outcome: result.Scored}
			}
			return failed(result.KindStatus, "401")
		}, false},
	} {
		var s streak
		stopped := -1
		for i := range 30 {
			if s.add(i, c.record(i)) != nil {
				stopped = i
			}
		}
		if want := map[bool]int{true: maxSame - 1, false: -1}[c.stops]; stopped != want {
			t.Errorf("%s: stopped at %d, want %d", name, stopped, want)
		}
	}
}
