package harness

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"sync/atomic"
	"testing"

	"evalctl/harness/daemontest"
	"evalctl/harness/journal"
	"evalctl/harness/result"
	"evalctl/internal/filetest"
	"evalctl/internal/llm"
	"evalctl/scorer"
)

// panelGrader passes every answer by two recipes, each at 1 nano-dollar. The second one's provider
// does not answer for question 2 until it is repaired, and the headline passes the answer all the
// same.
func panelGrader(repaired *atomic.Bool) scripted {
	return func(_ context.Context, item scorer.Item) (scorer.Verdict, error) {
		good := scorer.Verdict{Scored: true, Score: 1, Reason: "right"}
		v := good
		v.Attempts, v.Cost = 2, 2
		second := good
		if numberOf(item.Question) == 2 && !repaired.Load() {
			second = scorer.Verdict{Unanswered: true, Reason: "the judge did not answer: 503"}
			v.Unanswered = true
		}
		v.Recipes = []scorer.RecipeVerdict{{Recipe: "strict", Verdict: good}, {Recipe: "generous", Verdict: second}}
		return v, nil
	}
}

// panelRun runs three questions, of which the second lacks the verdict of the second recipe, and
// returns the rig, whose journal is kept.
func panelRun(t *testing.T, s *daemontest.Daemon, judge scripted) (rig, resultFile) {
	t.Helper()
	return finishKept(t, s, 3, judge)
}

// TestRetryPanel: an answer that a further recipe has not judged is judged again, and not asked
// again.
func TestRetryPanel(t *testing.T) {
	var repaired atomic.Bool
	s := daemontest.Answering(t)
	judge := panelGrader(&repaired)
	cfg, before := panelRun(t, s, judge)
	if q := before.Questions[1]; before.Passed != 3 || !q.Passed || !q.JudgeUnanswered || len(q.Panel) != 2 || q.Panel[1].Score != nil {
		t.Fatalf("passed %d, %+v", before.Passed, q)
	}
	asked := len(s.Asked())
	repaired.Store(true)
	after := resumed(t, s, cfg, func(r *rig) {
		if n := r.Journal.Outages(); n != 1 {
			t.Errorf("%d questions can be tried again", n)
		}
		r.Scorer, r.Paid, r.KeepForRetry, r.RetryErrors = judge, true, true, true
	})
	if n := len(s.Asked()) - asked; n != 0 {
		t.Errorf("asked %d questions again", n)
	}
	q := after.Questions[1]
	if !q.Passed || q.JudgeUnanswered || q.Tries != 2 || len(q.Panel) != 2 || !q.Panel[1].Passed || q.Answer != before.Questions[1].Answer {
		t.Errorf("got %+v", q)
	}
	if f := q.FirstTry; f == nil || f.Outcome != result.Scored || !f.Passed {
		t.Errorf("the first try was %+v", f)
	}
	if after.Passed != 3 || after.Total != 3 || after.Resumed != 2 || after.Cost.SpentUSD != 4*2 || len(after.Cost.Unassigned) != 1 {
		t.Errorf("got %d of %d, resumed %d, spent %v, %+v", after.Passed, after.Total, after.Resumed, after.Cost.SpentUSD, after.Cost.Unassigned)
	}
	if _, err := os.Stat(cfg.Journal.Path()); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the journal of the repaired run is kept: %v", err)
	}
}

// TestRetryPanelCut kills the process that judges the answer again, after every line. Whatever was
// written, a resume completes the run, asks nothing, and counts all money that the journal has.
func TestRetryPanelCut(t *testing.T) {
	var repaired atomic.Bool
	s := daemontest.Answering(t)
	judge := panelGrader(&repaired)
	cfg, _ := panelRun(t, s, judge)
	asked := len(s.Asked())
	kept := filetest.Read(t, cfg.Journal.Path())
	repaired.Store(true)
	var lines []byte
	n := 0
	resumed(t, s, cfg, func(r *rig) {
		r.Scorer, r.Paid, r.RetryErrors = judge, true, true
		r.Recorded = func(result.Record) {
			if n++; n == 3 {
				lines, _ = os.ReadFile(r.Journal.Path())
			}
		}
	})
	if !bytes.HasPrefix(lines, kept) || bytes.Count(lines[len(kept):], []byte(`"kind":"reopened"`)) != 1 {
		t.Fatalf("the journal has no line that reopens a question:\n%s", lines[min(len(lines), len(kept)):])
	}
	for at := len(kept); at <= len(lines); at++ {
		if at < len(lines) && lines[at-1] != '\n' {
			continue
		}
		for _, retry := range []bool{false, true} {
			j, err := journal.Open(filetest.Write(t, filepath.Join(t.TempDir(), "go.journal"), string(lines[:at])))
			if err != nil {
				t.Fatalf("%d bytes: %v", at, err)
			}
			unjudged := j.Outages() > 0 && !retry
			next := resumeWith(t, s, cfg.Dataset, j)
			next.Scorer, next.Paid, next.RetryErrors, next.KeepForRetry = judge, true, retry, true
			got := readResult(t, next.finish(t))
			if q := got.Questions[1]; got.Passed != 3 || q.JudgeUnanswered != unjudged || q.Panel[1].Passed == unjudged ||
				got.Cost.SpentUSD < 3*2 || got.Cost.SpentUSD > 4*2 {
				t.Errorf("%d bytes, retry %v: passed %d, spent %v, %+v", at, retry, got.Passed, got.Cost.SpentUSD, q)
			}
		}
	}
	if n := len(s.Asked()) - asked; n != 0 {
		t.Errorf("asked %d questions again", n)
	}
}

// TestRetryPanelStopped: a run that is stopped while it judges the answer again has the verdict
// before in its result.
func TestRetryPanelStopped(t *testing.T) {
	var repaired atomic.Bool
	s := daemontest.Answering(t)
	judge := panelGrader(&repaired)
	cfg, before := panelRun(t, s, judge)
	repaired.Store(true)
	next := reopened(t, s, cfg)
	ctx, cancel := context.WithCancel(t.Context())
	next.Scorer = scripted(func(context.Context, scorer.Item) (scorer.Verdict, error) {
		cancel()
		return scorer.Verdict{}, ctx.Err()
	})
	next.Paid, next.KeepForRetry, next.RetryErrors = true, true, true
	_, path, err := next.run(ctx)
	if !errors.Is(err, context.Canceled) {
		t.Fatalf("got %v", err)
	}
	got := readResult(t, path)
	if q := got.Questions[1]; got.Total != 3 || got.Passed != 3 || !reflect.DeepEqual(q, before.Questions[1]) {
		t.Errorf("passed %d of %d, %+v", got.Passed, got.Total, q)
	}
}

// downProvider is a model provider whose connection breaks.
type downProvider struct{}

func (downProvider) Name() string { return llm.ProviderOpenAI }

func (downProvider) Complete(context.Context, llm.Request) (llm.Response, error) {
	return llm.Response{}, errors.New("the connection broke")
}

// meteredDown is a judge at a provider that is down, whose requests the journal witnesses.
func meteredDown(t *testing.T) scripted {
	t.Helper()
	meter, err := llm.NewMeter(downProvider{}, llm.Prices{"m": {Input: llm.Dollar, Output: llm.Dollar}}, llm.NewBudget(llm.Dollar))
	if err != nil {
		t.Fatal(err)
	}
	return func(ctx context.Context, _ scorer.Item) (scorer.Verdict, error) {
		resp, err := meter.Complete(ctx, llm.Request{Model: "m", MaxTokens: 10, Messages: []llm.Message{{Role: llm.RoleUser, Content: "right?"}}})
		if err == nil {
			return scorer.Verdict{}, errors.New("it was answered")
		}
		return scorer.Verdict{Unanswered: true, Reason: "the judge did not answer", Attempts: 1, Cost: resp.Cost}, nil
	}
}

// TestRetryPanelUnansweredAgain: if no judge answers when the answer is judged again, it keeps its
// verdict, and the run can be retried again. Both tries are paid for, each once.
func TestRetryPanelUnansweredAgain(t *testing.T) {
	for name, down := range map[string]scripted{
		"not witnessed": func(context.Context, scorer.Item) (scorer.Verdict, error) {
			return scorer.Verdict{Unanswered: true, Reason: "the judge did not answer: 503", Attempts: 1, Cost: 1}, nil
		},
		"witnessed": meteredDown(t),
	} {
		t.Run(name, func(t *testing.T) {
			var repaired atomic.Bool
			s := daemontest.Answering(t)
			cfg, before := panelRun(t, s, panelGrader(&repaired))
			var cost llm.USD // of one vain try
			next := reopened(t, s, cfg)
			next.Scorer = scripted(func(ctx context.Context, item scorer.Item) (scorer.Verdict, error) {
				v, err := down(ctx, item)
				cost = v.Cost
				return v, err
			})
			next.Paid, next.KeepForRetry, next.RetryErrors = true, true, true
			after := readResult(t, next.finish(t))
			q, was := after.Questions[1], before.Questions[1]
			if after.Passed != 3 || q.Tries != 2 || !q.JudgeUnanswered || !reflect.DeepEqual(q.Panel, was.Panel) || q.Reason != was.Reason {
				t.Errorf("passed %d, %+v", after.Passed, q)
			}
			if _, err := os.Stat(cfg.Journal.Path()); err != nil {
				t.Errorf("the run cannot be retried again: %v", err)
			}
			c := after.Cost
			if want := 3*2 + cost; cost == 0 || c.SpentUSD != want || c.JudgeRequests != 3*2+1 || next.Journal.Spent() != want {
				t.Errorf("spent %s with %d requests, by the journal %s, want %s: %+v", c.SpentUSD, c.JudgeRequests, next.Journal.Spent(), want, c.Unassigned)
			}
			if len(c.Unassigned) != 1 || c.Unassigned[0].USD != 2 || q.JudgeUSD != cost || q.JudgeAttempts != 1 {
				t.Errorf("the question has %s for %d requests, without a verdict are %+v", q.JudgeUSD, q.JudgeAttempts, c.Unassigned)
			}
		})
	}
}
