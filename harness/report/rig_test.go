package report

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"evalctl/harness/aggregate"
	"evalctl/harness/result"
	"evalctl/internal/llm"
	"evalctl/internal/longtest"
	"evalctl/internal/terminal"
	"evalctl/scorer"
)

func TestMain(m *testing.M) {
	longtest.CollectRarely()
	m.Run()
}

// tags are those of the questions in these tests, in turn.
var tags = []string{"fact", "update", "temporal"}

// runOf returns a run of n questions of which every seventh fails. A question whose number is a
// multiple of 20 has an error, one of 30 is unscored.
func runOf(n int) *Run {
	run := &Run{Path: "results/2026-09-21/go.json", Result: result.Result{
		SDK: "go", ScorerName: "judge", StartedAt: time.Date(2026, 9, 21, 3, 0, 4, 0, time.UTC), Planned: n,
		FinishedAt: time.Date(2026, 9, 21, 3, 0, 35, 400e6, time.UTC),
		Identity: result.Identity{
			SchemaVersion: result.SchemaVersion, SDK: "go", Scorer: "judge", Scenario: result.AskBasic, Mode: "auto", TopK: 5,
			Dataset: result.DatasetID{Path: "datasets/smoke.jsonl", SHA256: strings.Repeat("9f", 32), Selected: n},
			Daemon:  result.DaemonID{Program: "evalctl", Version: "1.4.0"},
			Judge:   &result.JudgeModel{Provider: "openai", Model: "gpt-4o", PromptVersion: "6", PromptSHA256: strings.Repeat("7a", 32)},
			Tool:    result.ToolID{Version: "0.9.0", Commit: "abc1234"},
		},
		Settings: result.Settings{Floor: 0.8, MaxErrors: allowance("10%"), MaxUnscored: allowance("10%")},
		Cost: result.Cost{Spending: result.Spending{CapUSD: new(2 * llm.Dollar)}, Unassigned: []result.JudgeCall{
			{ID: "q1", Attempt: 1, Outcome: "answered", Charged: result.ByUsage, USD: 30 * llm.Dollar / 1000},
			{ID: "q2", Attempt: 1, Outcome: result.InFlight, Charged: result.ByWorstCase, USD: 4 * llm.Dollar / 1000},
		}},
	}}
	for i := range n {
		run.Questions = append(run.Questions, question(i))
	}
	run.fill()
	return run
}

func allowance(text string) result.Allowance {
	a, err := result.ParseAllowance(text)
	if err != nil {
		panic(err)
	}
	return a
}

// question returns the record of a question by its number.
func question(i int) result.Record {
	r := result.Record{
		ID: fmt.Sprintf("q-%03d", i), Question: fmt.Sprintf("What is in box %d?", i),
		Reply: result.Reply{Answer: "A lamp.", LatencyMS: 800 + 5*float64(i), Attempts: 1, EffectiveMode: "hybrid", Fusion: "score 0.2", FirstDeltaMS: new(200 + float64(i))}, Reference: "A lamp.",
		Score: new(1.0), Passed: true, Outcome: result.Scored, Line: i + 1, Tags: []string{tags[i%3]},
	}
	switch {
	case i%30 == 29:
		r.Score, r.Passed, r.Outcome, r.Reason = nil, false, result.Unscored, "the reply is no JSON"
	case i%20 == 19:
		r.Score, r.Passed, r.Outcome, r.Answer = nil, false, result.Errored, ""
		r.Error = &result.Failure{Kind: result.KindIncomplete, Message: "stream ended without done"}
	case i%7 == 6:
		r.Answer, r.Score, r.Passed, r.Reason = "A chair.", new(0.2), false, "It names another thing."
		r.Retrieval = &result.QuestionRetrieval{Documents: 5, Gold: scorer.Ranking{{Path: "s.md", Gain: 1, Rank: i % 2}}}
		r.Retrieved = []result.Chunk{{Path: "a.md"}, {Path: "a.md"}, {Path: "wiki/b.md"}}
	}
	return r
}

// fill sets the figures to those of the questions.
func (run *Run) fill() {
	sum := aggregate.New(run.Result.Identity.TopK)
	for _, r := range run.Questions {
		sum.Add(r)
	}
	sum.Fill(&run.Result)
	sum.Judge(&run.Result)
}

// rendered returns a document in each format.
func rendered(t *testing.T, d Document) (junit, page, commands string) {
	t.Helper()
	var j, m, a strings.Builder
	for _, err := range []error{JUnit(&j, d), Markdown(&m, d, MaxSummary), Annotations(&a, d, "/work/of/nobody")} {
		if err != nil {
			t.Fatal(err)
		}
	}
	return j.String(), m.String(), a.String()
}

// printed returns a document as a terminal shows it that is no file.
func printed(d Document) string {
	var b strings.Builder
	Text(terminal.New(&b, func(string) string { return "" }, false), d)
	return b.String()
}
