package actor

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"evalctl/harness"
	"evalctl/harness/dataset"
	"evalctl/harness/pipeline"
	"evalctl/harness/result"
	"evalctl/internal/awaittest"
	"evalctl/internal/llm"
	"evalctl/internal/llm/llmtest"
	"evalctl/scorer"
)

// slow returns an actor whose model takes its time.
func slow(tb testing.TB, delay time.Duration) *Actor {
	srv := llmtest.NewServer(tb, func(llmtest.Call) llmtest.Reply {
		time.Sleep(delay)
		return llmtest.Reply{Text: "By the gate.", Input: 100, Output: 4}
	})
	return newActor(tb, Config{
		Style: RetrieveOnly, Target: targetOf(tb, search(tb, garden).URL, garden), Documents: byPath,
		Reader: metered(tb, srv.URL, "m", llm.Dollar), Model: "m", TopK: 2, QuestionDate: true,
	})
}

// drive asks n questions, 16 at a time.
func drive(tb testing.TB, a *Actor, n int) (result.Result, time.Duration) {
	tb.Helper()
	questions := make([]dataset.Question, n)
	for i := range questions {
		questions[i] = tulips
		questions[i].ID = fmt.Sprint(i)
		questions[i].ExpectedSubstrings, questions[i].ExpectedPaths = []string{"gate"}, []string{"a.md"}
	}
	d, err := dataset.FromQuestions("questions", "", questions)
	if err != nil {
		tb.Fatal(err)
	}
	start := time.Now()
	res, err := harness.Drive(tb.Context(), harness.Config{
		Subject: harness.Subject{Answerer: a, Documents: paths{}, Timeout: time.Minute},
		TopK:    2, Dataset: d, Scorer: pipeline.Grader{Scorer: scorer.Exact{}}, Concurrency: 16,
	}, result.Identity{Scenario: result.RetrieveOnly, TopK: 2})
	took := time.Since(start)
	if err != nil || res.Passed != n {
		tb.Fatalf("%d of %d passed, %v", res.Passed, n, err)
	}
	return res, took
}

// bare sends the model n requests, 16 at a time, without a run and without a daemon.
func bare(tb testing.TB, a *Actor, n int) time.Duration {
	tb.Helper()
	request := a.request(tulips, nil)
	request.Emit = func(string) error { return nil }
	start := time.Now()
	var group sync.WaitGroup
	for range 16 {
		group.Go(func() {
			for range n / 16 {
				if _, err := a.cfg.Reader.Complete(tb.Context(), request); err != nil {
					tb.Error(err)
				}
			}
		})
	}
	awaittest.Wait(tb, "group", group.Wait)
	return time.Since(start)
}

// TestDrive checks that a run can ask an actor concurrently.
func TestDrive(t *testing.T) {
	res, _ := drive(t, slow(t, 0), 64)
	if r := res.Retrieval; r == nil || r.Macro["recall@2"] != 1 || res.Counts.Errors != 0 {
		t.Errorf("got %+v", res)
	}
}

// BenchmarkUtilisation asks 640 questions, 16 concurrently, of a model that takes 50 ms for each,
// which takes 2 s at best. Utilisation is the share of the workers' time in which the model works.
// A bare loop, which only sends requests, shows what the machine allows; daemon and model run in
// the same process.
func BenchmarkUtilisation(b *testing.B) {
	const n, delay = 640, 50 * time.Millisecond
	var run, loop time.Duration
	for b.Loop() {
		a := slow(b, delay)
		loop += bare(b, a, n)
		_, took := drive(b, a, n)
		run += took
	}
	utilisation := func(t time.Duration) float64 { return n * delay.Seconds() / 16 * float64(b.N) / t.Seconds() }
	b.ReportMetric(utilisation(loop), "bare-utilisation")
	b.ReportMetric(utilisation(run), "utilisation")
	b.ReportMetric(0, "ns/op")
}
