package nightly

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"evalctl/harness/aggregate"
	"evalctl/harness/compare"
	"evalctl/harness/report"
	"evalctl/harness/result"
	"evalctl/harness/resulttest"
	"evalctl/internal/llm"
	"evalctl/internal/stats"
	"evalctl/scorer"
)

// made is a result with its questions, as a file has them.
type made struct{ resulttest.File }

// tonight is the start of the replays in these tests.
var tonight = time.Date(2026, 9, 21, 3, 0, 4, 0, time.UTC)

// drawnTypes are a sample of 83 questions.
var drawnTypes = []result.StratumDraw{
	{Name: "knowledge-update", Population: 78, Sampled: 15},
	{Name: "multi-session", Population: 133, Sampled: 27},
	{Name: "single-session-user", Population: 70, Sampled: 14},
	{Name: "temporal-reasoning", Population: 133, Sampled: 27},
}

// replayOf returns the result of an arm. Its nth question passes unless fails returns true.
func replayOf(arm string, fails func(n int) bool) *made {
	m := &made{resulttest.File{Result: result.Result{
		SDK: arm, ScorerName: "judge", StartedAt: tonight, FinishedAt: tonight.Add(4 * time.Minute), Planned: 83,
		Identity: result.Identity{
			SchemaVersion: result.SchemaVersion, SDK: arm, Scorer: "judge", Scenario: result.RetrieveOnly,
			Mode: "auto", TopK: 5,
			Dataset: result.DatasetID{Path: "data/lme_s.json", SHA256: strings.Repeat("9f", 32)},
			Daemon:  result.DaemonID{Program: "evalctl", CommandSHA256: strings.Repeat("ef", 32), Version: "1.4.0"},
			Judge: &result.JudgeModel{Provider: "openai", Model: "gpt-4o", PromptVersion: "replay-1",
				PromptSHA256: strings.Repeat("7a", 32), Temperature: new(0.0)},
			Tool: result.ToolID{Version: "0.9.0", Commit: "abc1234", Go: "go1.26.8", OS: "linux", Arch: "amd64", CPUs: 2},
		},
		Settings: result.Settings{Concurrency: 16, TimeoutSeconds: 60, Floor: 0.8},
	}}}
	m.Replay = &result.Replay{
		SchemaVersion: 1, Arm: arm,
		Load: result.LoadReport{
			Format: "longmemeval", Questions: 414, Haystacks: 414, Sessions: 19758, Turns: 204309,
			Traps: []result.Trap{{Kind: "answer_number", Handling: "read as text", Count: 32, Examples: []string{"q1: 3"}}},
		},
		Sample: result.Sample{Size: 83, Population: 414, Seed: 42, Signature: strings.Repeat("5e", 32), Strata: drawnTypes},
		Ingest: &result.Ingest{Mode: "bulk", Brains: 83, Reused: 83, Sessions: 3970, Documents: 3970, Signature: strings.Repeat("1f", 32)},
		Actor: result.Actor{Style: "retrieve-only", Provider: "openai", Model: "gpt-4o-mini", Prompt: "reader-2",
			PromptSHA256: strings.Repeat("3c", 32), QuestionDate: true},
		Cache: result.CacheSetting{Mode: "write"},
		Controls: &result.Controls{Right: 5, RightPassed: 5, Wrong: 20, WrongFailed: 20,
			FalsePositiveRate: new(0.0), FalseNegativeRate: new(0.0)},
	}
	m.Identity.Replay = &result.ReplayID{Sample: m.Replay.Sample.Signature, Ingest: m.Replay.Ingest.Mode, Actor: m.Replay.Actor}
	m.ask(fails)
	m.fill()
	return m
}

// ask adds the questions.
func (m *made) ask(fails func(n int) bool) {
	n := 0
	for _, s := range drawnTypes {
		for range s.Sampled {
			r := result.Record{
				ID: fmt.Sprintf("q-%03d", n), Type: s.Name, Question: fmt.Sprintf("What is in box %d?", n),
				Reply: result.Reply{Answer: "A lamp.", LatencyMS: 800 + 5*float64(n), Attempts: 1, EffectiveMode: "bm25", Retrieval: &result.QuestionRetrieval{
					Documents: 5, Gold: scorer.Ranking{{Path: "s.md", Gain: 1, Rank: n % 6}},
				}}, Reference: "A lamp.", Score: new(1.0), Passed: true, Outcome: result.Scored, Tags: []string{"type:" + s.Name},
				ExpectedPaths: []string{"s.md"},
			}
			if fails(n) {
				r.Answer, r.Score, r.Passed, r.Reason = "A chair.", new(0.0), false, "It names another thing."
				r.JudgeVerdict, r.Cause = result.Incorrect, result.CauseReader
				if n%6 == 0 {
					r.Cause, r.DeepRank = result.CauseRankBurial, new(17)
					r.Retrieved = []result.Chunk{{Path: "a.md"}, {Path: "wiki/`b`.md"}}
				}
			}
			m.Questions = append(m.Questions, r)
			n++
		}
	}
}

// fill sets the figures to those of the questions.
func (m *made) fill() {
	sum, types := aggregate.New(m.Identity.TopK), map[string]*aggregate.Sum{}
	m.Replay.Losses, m.Replay.Verdicts, m.Replay.Strata = map[result.Cause]int{}, map[result.JudgeVerdict]int{}, nil
	for i := range m.Questions {
		r := &m.Questions[i]
		if r.JudgeVerdict == "" {
			r.JudgeVerdict = result.Correct
		}
		sum.Add(*r)
		if types[r.Type] == nil {
			types[r.Type] = aggregate.New(m.Identity.TopK)
		}
		types[r.Type].Add(*r)
		m.Replay.Verdicts[r.JudgeVerdict]++
		if r.Cause != "" {
			m.Replay.Losses[r.Cause]++
		}
	}
	sum.Fill(&m.Result)
	m.Replay.FirstAttempt, m.Replay.FirstAttemptPassed = m.Total, m.Passed
	sum.Judge(&m.Result)
	for _, d := range m.Replay.Sample.Strata {
		if types[d.Name] == nil {
			continue
		}
		var part result.Result
		types[d.Name].Fill(&part)
		s := result.Stratum{Name: d.Name, Counts: part.Counts, PassRate: part.PassRate, Interval: part.Interval, Latency: part.Latency}
		if part.Retrieval != nil {
			s.WithGold, s.Retrieval = part.Retrieval.Questions, part.Retrieval.Macro
		}
		m.Replay.Strata = append(m.Replay.Strata, s)
	}
	m.price()
}

// price sets a cost that depends on the number of questions that passed.
func (m *made) price() {
	c := &result.CostAccounting{
		ActorUSD: 26125 * llm.Dollar / 10000, JudgeUSD: 18 * llm.Dollar / 100, CachedSavingsUSD: llm.Dollar / 2,
		CapUSD: new(20 * llm.Dollar), CacheHits: 31, CacheMisses: 135, SharedUSD: llm.Dollar / 100,
		Tokens: map[string]result.ModelTokens{
			"gpt-4o":      {Requests: 83, InputTokens: 61340, OutputTokens: 2650, USD: 18 * llm.Dollar / 100},
			"gpt-4o-mini": {Requests: 83, InputTokens: 1734512, OutputTokens: 3911, Estimated: 2, USD: 26125 * llm.Dollar / 10000},
		},
	}
	c.TotalUSD = c.ActorUSD + c.JudgeUSD
	c.SetList(result.ListCost{SavedUSD: llm.Dollar / 2, SharedUSD: llm.Dollar / 100, SavedEstimated: 2}, llm.Dollar/4)
	if n := m.Passed; n > 0 {
		lo, hi := stats.Wilson(n, m.Total, 0.95)
		each := func(rate float64) float64 { return 3.3025 / (rate * float64(m.Total)) }
		c.PerCorrectUSD = new(*c.List.USD / llm.USD(n))
		c.PerCorrectInterval = &result.Interval{Method: "wilson", Confidence: 0.95, Low: each(hi), High: each(lo)}
	}
	m.CostAccounting = c
}

// at moves the replay to an earlier night.
func (m *made) at(daysBefore int) *made {
	m.StartedAt, m.FinishedAt = m.StartedAt.AddDate(0, 0, -daysBefore), m.FinishedAt.AddDate(0, 0, -daysBefore)
	return m
}

// Arm is an arm whose result file is read, if it has one.
type Arm struct{ Name, Path, Problem string }

// reportOf returns the report of some arms.
func reportOf(t *testing.T, history string, arms ...Arm) string {
	t.Helper()
	var b strings.Builder
	if err := Report(&b, readArms(arms), compared(arms, compare.Options{Resamples: 200}), history); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// readArms reads the results of arms.
func readArms(arms []Arm) (read report.Arms) {
	for _, a := range arms {
		var problem error
		if a.Problem != "" {
			problem = errors.New(a.Problem)
		}
		read = append(read, report.ReadArm(a.Name, a.Path, problem))
	}
	return read
}

// compared compares several arms.
func compared(arms []Arm, opts compare.Options) *compare.Arms {
	if len(arms) < 2 {
		return nil
	}
	var list []compare.Arm
	for _, a := range arms {
		list = append(list, compare.Arm{Name: a.Name, Path: a.Path})
	}
	return compare.OfArms(list, opts)
}

// every returns a function that is true for every nth question.
func every(n int) func(int) bool { return func(i int) bool { return i%n == 0 } }
