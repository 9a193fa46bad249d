package harness

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"evalctl/harness/daemontest"
	"evalctl/harness/dataset"
	"evalctl/harness/journal"
	"evalctl/harness/result"
	"evalctl/internal/llm"
	"evalctl/scorer"
)

func ids(records []result.Record) []string {
	var out []string
	for _, r := range records {
		out = append(out, r.ID)
	}
	return out
}

// resumed opens the journal of a stopped run and finishes the run.
func resumed(t *testing.T, s *daemontest.Daemon, cfg rig, change func(*rig)) resultFile {
	t.Helper()
	next := reopened(t, s, cfg)
	if change != nil {
		change(&next)
	}
	path := next.finish(t)
	return readResult(t, path)
}

// TestRunKeepsTheOrderOfTheDataset checks the order of the result when even questions are answered
// before odd ones.
func TestRunKeepsTheOrderOfTheDataset(t *testing.T) {
	const n = 8
	answered := make([]chan struct{}, n+2)
	for i := range answered {
		answered[i] = make(chan struct{})
	}
	s := daemontest.New(t, func(w http.ResponseWriter, _ *http.Request, c daemontest.Call) {
		q := c.Body["question"].(string)
		if i := numberOf(q); i%2 == 1 {
			<-answered[i+1]
		}
		daemontest.Stream(w, daemontest.AnswerTo(q))
	})
	cfg := setUp(t, s, openDataset(t, writeDataset(t, n)), t.TempDir())
	var recorded []string
	cfg.Recorded = func(r result.Record) {
		recorded = append(recorded, r.ID)
		close(answered[numberOf(r.Question)])
	}
	res, path, err := cfg.run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	f := readResult(t, path)
	want := []string{"q1", "q2", "q3", "q4", "q5", "q6", "q7", "q8"}
	if diff := cmp.Diff(want, ids(f.Questions)); diff != "" {
		t.Error(diff)
	}
	if slices.IsSorted(recorded) || len(recorded) != n {
		t.Errorf("the questions finished in the order %v, which tests nothing", recorded)
	}
	if res.Passed != n || *res.PassRate != 1 || f.Stopped != "" || f.GoldMissed != 0 ||
		f.Grounded+f.GroundedIDsOnly != n || f.EffectiveModes["bm25"] != n || f.ReaderModels["fake"] != n {
		t.Errorf("got %+v", res)
	}
	if diff := cmp.Diff(result.TokenSums{InputTokens: 80, OutputTokens: 16, Reported: 8},
		f.ReaderUsage); diff != "" {
		t.Error(diff)
	}
}

// TestRunConcurrency checks that exactly the configured number of questions is asked concurrently.
func TestRunConcurrency(t *testing.T) {
	var now, most atomic.Int32
	full := make(chan struct{})
	var once sync.Once
	s := daemontest.New(t, func(w http.ResponseWriter, _ *http.Request, c daemontest.Call) {
		n := now.Add(1)
		most.Store(max(most.Load(), n))
		if n == 5 {
			once.Do(func() { close(full) })
		}
		<-full
		now.Add(-1)
		daemontest.Stream(w, daemontest.AnswerTo(c.Body["question"].(string)))
	})
	cfg := setUp(t, s, openDataset(t, writeDataset(t, 30)), t.TempDir())
	cfg.Concurrency = 5
	if _, _, err := cfg.run(t.Context()); err != nil || most.Load() != 5 {
		t.Errorf("%d concurrent questions, %v", most.Load(), err)
	}
}

func TestRunInterrupted(t *testing.T) {
	const n = 20
	s := daemontest.New(t, func(w http.ResponseWriter, r *http.Request, c daemontest.Call) {
		if q := c.Body["question"].(string); numberOf(q) <= 6 {
			daemontest.Stream(w, daemontest.AnswerTo(q))
		} else {
			<-r.Context().Done()
		}
	})
	cfg := setUp(t, s, openDataset(t, writeDataset(t, n)), t.TempDir())
	ctx, interrupt := context.WithCancel(t.Context())
	recorded := 0
	cfg.Recorded = func(result.Record) {
		if recorded++; recorded == 6 {
			interrupt()
		}
	}
	res, path, err := cfg.run(ctx)
	if !errors.Is(err, context.Canceled) || res.Stopped != result.StopInterrupted {
		t.Fatalf("got %v, stopped %q", err, res.Stopped)
	}
	f := readResult(t, path)
	if diff := cmp.Diff([]string{"q1", "q2", "q3", "q4", "q5", "q6"},
		ids(f.Questions)); diff != "" {
		t.Error(diff)
	}
	if f.Planned != n || f.Counts.Errors != 0 || f.Stopped != result.StopInterrupted {
		t.Errorf("got %+v", f.Result)
	}
	other := daemontest.Answering(t)
	var first []string
	f = resumed(t, other, cfg, func(c *rig) {
		c.Recorded = func(r result.Record) { first = append(first, r.ID) }
	})
	if f.Total != n || f.Resumed != 6 || f.Stopped != "" || !f.StartedAt.Equal(started) ||
		len(other.Asked()) != n-6 {
		t.Errorf("resumed: %+v after %d questions", f.Result, len(other.Asked()))
	}
	if len(first) != n || !slices.Equal(first[:6], []string{"q1", "q2", "q3", "q4", "q5", "q6"}) {
		t.Errorf("recorded %v: those of the journal must come first", first)
	}
}

// TestRunStoppedAfterTheLastQuestion checks that such a run counts as finished.
func TestRunStoppedAfterTheLastQuestion(t *testing.T) {
	cfg := setUp(t, daemontest.Answering(t), openDataset(t, writeDataset(t, 5)), t.TempDir())
	ctx, interrupt := context.WithCancel(t.Context())
	n := 0
	cfg.Recorded = func(result.Record) {
		if n++; n == 5 {
			interrupt()
		}
	}
	res, path, err := cfg.run(ctx)
	if err != nil || res.Stopped != "" || readResult(t, path).Total != 5 {
		t.Errorf("got %v, stopped %q", err, res.Stopped)
	}
}

// TestRunScorerFails checks that the run ends, and that no question is recorded as failed.
func TestRunScorerFails(t *testing.T) {
	s := daemontest.New(t, func(w http.ResponseWriter, r *http.Request, c daemontest.Call) {
		if q := c.Body["question"].(string); q == "question 1" {
			daemontest.Stream(w, daemontest.AnswerTo(q))
		} else {
			<-r.Context().Done()
		}
	})
	cfg := setUp(t, s, openDataset(t, writeDataset(t, 6)), t.TempDir())
	boom := errors.New("401 wrong key")
	cfg.Scorer = scripted(func(context.Context, scorer.Item) (scorer.Verdict, error) {
		return scorer.Verdict{Attempts: 1, Cost: 9}, boom
	})
	res, path, err := cfg.run(t.Context())
	if !errors.Is(err, boom) || res.Stopped != result.StopScorer ||
		!strings.Contains(err.Error(), "no answer can be scored") {
		t.Fatalf("got %v, stopped %q", err, res.Stopped)
	}
	f := readResult(t, path)
	if len(f.Questions) != 1 || f.Counts.Unscored != 1 || f.Questions[0].Reason != notJudged ||
		f.Cost.SpentUSD != 9 {
		t.Errorf("got %+v, %+v", f.Counts, f.Questions)
	}
	whole := daemontest.Answering(t)
	if f = resumed(t, whole, cfg, nil); f.Passed != 6 ||
		slices.Contains(whole.Asked(), "question 1") || f.Cost.SpentUSD != 9 {
		t.Errorf("resumed: %+v, asked %v, spent %v", f.Counts, whole.Asked(), f.Cost.SpentUSD)
	}
}

// TestRunBudgetReached checks that questions in progress finish and are recorded, that no others
// are asked, and that a resumed run judges an answer without a grade without asking again.
func TestRunBudgetReached(t *testing.T) {
	second, exceeded := make(chan struct{}), make(chan struct{})
	s := daemontest.New(t, func(w http.ResponseWriter, _ *http.Request, c daemontest.Call) {
		q := c.Body["question"].(string)
		if q == "question 2" {
			close(second)
			<-exceeded
		}
		daemontest.Stream(w, daemontest.AnswerTo(q))
	})
	cfg := setUp(t, s, openDataset(t, writeDataset(t, 6)), t.TempDir())
	cfg.Concurrency = 2
	cfg.Scorer = scripted(func(ctx context.Context, item scorer.Item) (scorer.Verdict, error) {
		if item.ID == "q1" {
			<-second
			// The other question continues once Score has returned.
			time.AfterFunc(20*time.Millisecond, func() { close(exceeded) })
			return scorer.Verdict{Attempts: 1, Cost: 4},
				fmt.Errorf("judge: %w: $0.01 left", llm.ErrBudgetExceeded)
		}
		return scorer.Verdict{Scored: true, Score: 1, Attempts: 1, Cost: 5}, nil
	})
	res, path, err := cfg.run(t.Context())
	if !errors.Is(err, llm.ErrBudgetExceeded) || res.Stopped != result.StopBudget {
		t.Fatalf("got %v, stopped %q", err, res.Stopped)
	}
	f := readResult(t, path)
	if diff := cmp.Diff([]string{"q1", "q2"}, ids(f.Questions)); diff != "" {
		t.Fatal(diff)
	}
	if f.Questions[0].Outcome != result.Unscored || f.Questions[0].Reason != notJudged ||
		!f.Questions[1].Passed || f.Cost.SpentUSD != 9 {
		t.Errorf("got %+v, spent %v", f.Questions, f.Cost.SpentUSD)
	}
	if diff := cmp.Diff([]string{"question 1", "question 2"}, sorted(s.Asked())); diff != "" {
		t.Error("asked after the budget was reached:\n" + diff)
	}
	other := daemontest.Answering(t)
	f = resumed(t, other, cfg, nil)
	if diff := cmp.Diff([]string{"question 3", "question 4", "question 5", "question 6"},
		sorted(other.Asked())); diff != "" {
		t.Error(diff)
	}
	if f.Passed != 6 || f.Cost.SpentUSD != 9 || f.Resumed != 1 {
		t.Errorf("resumed: %+v", f.Result)
	}
}

// TestRunCancelledWhileJudging checks that the cost of a cancelled judgement is recorded.
func TestRunCancelledWhileJudging(t *testing.T) {
	cfg := setUp(t, daemontest.Answering(t), openDataset(t, writeDataset(t, 1)), t.TempDir())
	ctx, interrupt := context.WithCancel(t.Context())
	cfg.Scorer = scripted(func(ctx context.Context, _ scorer.Item) (scorer.Verdict, error) {
		interrupt()
		return scorer.Verdict{Attempts: 1, Cost: 11}, ctx.Err()
	})
	res, path, err := cfg.run(ctx)
	if !errors.Is(err, context.Canceled) || res.Stopped != result.StopInterrupted ||
		readResult(t, path).Cost.SpentUSD != 11 {
		t.Errorf("got %v, stopped %q, cost %+v", err, res.Stopped, res.Cost)
	}
	_ = cfg.Journal.Close()
	j, err := journal.Open(cfg.Journal.Path())
	if err != nil || j.Spent() != 11 {
		t.Fatalf("the journal records %v, %v", j.Spent(), err)
	}
	_ = j.Close()
}

func TestRunOfOtherQuestions(t *testing.T) {
	s := daemontest.Answering(t)
	cfg := setUp(t, s, openDataset(t, writeDataset(t, 3)), t.TempDir())
	for _, d := range []dataset.Dataset{
		openDataset(t, writeDataset(t, 4)),
		{Path: cfg.Dataset.Path, SHA256: cfg.Dataset.SHA256, Selected: 5},
	} {
		cfg.Dataset = d
		if _, _, err := cfg.run(t.Context()); err == nil ||
			!strings.Contains(err.Error(), "belongs to other questions") {
			t.Errorf("got %v", err)
		}
	}
	if len(s.Asked()) != 0 {
		t.Errorf("asked %v", s.Asked())
	}
}

// TestRunDatasetTruncated checks a file that loses lines after it was opened.
func TestRunDatasetTruncated(t *testing.T) {
	path := writeDataset(t, 5)
	cfg := setUp(t, daemontest.Answering(t), openDataset(t, path), t.TempDir())
	if err := os.Truncate(path, 400); err != nil {
		t.Fatal(err)
	}
	res, written, err := cfg.run(t.Context())
	if err == nil || res.Stopped != result.StopFailed || written == "" {
		t.Errorf("got %v, stopped %q", err, res.Stopped)
	}
	readResult(t, written)
}

// TestRunJournalFails checks that a run that cannot record its answers ends with an error.
func TestRunJournalFails(t *testing.T) {
	cfg := setUp(t, daemontest.Answering(t), openDataset(t, writeDataset(t, 50)), t.TempDir())
	cfg.Recorded = func(result.Record) { _ = cfg.Journal.Close() }
	_, path, err := cfg.run(t.Context())
	if !errors.Is(err, os.ErrClosed) || path != "" {
		t.Errorf("got %q, %v", path, err)
	}
}

// TestNoMoreWorkersThanQuestions checks that a huge concurrency does no harm.
func TestNoMoreWorkersThanQuestions(t *testing.T) {
	cfg := setUp(t, mixed(t), openDataset(t, writeDataset(t, 3)), t.TempDir())
	cfg.Concurrency = math.MaxInt
	res, _, err := cfg.run(t.Context())
	if err != nil || res.Total != 3 {
		t.Errorf("%d of 3 questions, %v", res.Total, err)
	}
}

// notJudged is the reason of an answer that a stopped run has left without a grade.
const notJudged = "the run stopped before this answer was judged"
