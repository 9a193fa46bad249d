package verify

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"evalctl/daemon/protocol"
	"evalctl/harness"
	"evalctl/harness/aggregate"
	"evalctl/harness/dataset"
	"evalctl/harness/journal"
	"evalctl/harness/pipeline"
	"evalctl/harness/result"
	"evalctl/harness/resultfile"
	"evalctl/harness/target"
	"evalctl/internal/filetest"
	"evalctl/internal/llm"
	"evalctl/internal/longtest"
	"evalctl/scorer"
)

func TestMain(m *testing.M) {
	longtest.CollectRarely()
	m.Run()
}

var began = time.Date(2026, 3, 21, 10, 0, 0, 0, time.UTC)

// daemon answers question n: some fail, some are wrong, some lack the gold.
type daemon struct{ stopAt int }

func (d daemon) Health(context.Context) error { return nil }

func (d daemon) Ask(_ context.Context, q dataset.Question, _ time.Duration) (target.Answer, error) {
	var n int
	_, _ = fmt.Sscanf(q.ID, "q%d", &n)
	a := target.Answer{
		Reply: result.Reply{Answer: fmt.Sprintf("answer %d", n), EffectiveMode: "bm25", Fusion: "score 0.2", Model: "m", PromptSHA256: "ab", Usage: &protocol.Usage{InputTokens: 10 + n, OutputTokens: n}, Attempts: 1 + n%2, Citations: []json.RawMessage{json.RawMessage(`{"chunk_id":"c"}`)}, Retrieved: []result.Chunk{
			{ChunkID: "x", Path: "other.md", Score: 3, Text: "other"},
			{ChunkID: "c", Path: fmt.Sprintf("raw/documents/d%d.md", n), Score: 2, Text: "text"},
		}, Timeline: result.Timeline{
			{Event: "retrieve", AtMS: 5}, {Event: "answer_delta", AtMS: 10, LastMS: 30, N: 4, GapMS: 9}, {Event: "done", AtMS: 31},
		}},
		Latency: time.Duration(100+n*7) * time.Millisecond, FirstDelta: time.Duration(10+n) * time.Millisecond,
	}
	if a.Attempts == 2 {
		a.Waited = time.Duration(n) * time.Second
		a.Failed = []result.Failure{{Kind: result.KindStatus, Message: "busy", Status: 503}}
	}
	switch {
	case d.stopAt > 0 && n >= d.stopAt:
		return a, context.Canceled
	case n%7 == 0:
		return a, target.NewFailure(result.KindDaemon, "no")
	case n%5 == 0:
		a.Answer, a.Retrieved = "wrong", a.Retrieved[:1]
	}
	return a, nil
}

// openQuestions returns a dataset of n questions, with evidence if that scores.
func openQuestions(tb testing.TB, n int, sc scorer.Scorer) dataset.Dataset {
	tb.Helper()
	var b strings.Builder
	for i := 1; i <= n; i++ {
		evidence := ""
		if r, ok := sc.(scorer.Retrieval); ok && r.Evidence {
			evidence = fmt.Sprintf(`"expected_evidence":["text","%s"],`, []string{"other", "something else"}[i%2])
		}
		fmt.Fprintf(&b, `{"id":"q%d","question":"question %d","expected_substrings":["answer %d"],`+
			`"reference_answer":"answer %d","expected_paths":["d%d.md"],%s"tags":["t%d","a.b"]}`+"\n", i, i, i, i, i, evidence, i%2)
	}
	path := filetest.Write(tb, filepath.Join(tb.TempDir(), "questions.jsonl"), b.String())
	d, err := dataset.Open(path, dataset.Options{})
	if err != nil {
		tb.Fatal(err)
	}
	return d
}

// runFile returns the result file of a run over n questions, which stops early if stopAt is set.
func runFile(tb testing.TB, n, stopAt int, sc scorer.Scorer) string {
	tb.Helper()
	d := openQuestions(tb, n, sc)
	id := result.Identity{
		SchemaVersion: result.SchemaVersion, SDK: "go", Scorer: sc.Name(), Brain: "eval",
		Scenario: result.AskBasic, Mode: "auto", TopK: 2, Dialect: result.Auto,
		Dataset: result.DatasetID{Path: "questions.jsonl", SHA256: d.SHA256, Selected: d.Selected, Tags: d.Tags},
		Daemon:  result.DaemonID{Endpoint: "http://127.0.0.1:1", Version: "1"},
		Tool:    result.ToolID{Version: "0", Commit: "a", Go: "go", OS: "linux", Arch: "amd64", CPUs: 2},
	}
	if r, ok := sc.(scorer.Retrieval); ok && r.Evidence {
		id.Scenario = result.SearchOnly // the passages of an answer are scored by document
	}
	j, err := journal.Create(tb.TempDir(), id, began, nil)
	if err != nil {
		tb.Fatal(err)
	}
	defer j.Close()
	allowed, err := result.ParseAllowance("50%")
	if err != nil {
		tb.Fatal(err)
	}
	_, path, err := harness.Run(tb.Context(), harness.Config{
		Subject: harness.Subject{Answerer: daemon{stopAt}, Timeout: time.Minute},
		TopK:    2, Dataset: d, Scorer: pipeline.Grader{Scorer: sc}, Concurrency: 1,
		Notes: harness.Notes{
			Brains: []result.BrainInfo{{ID: "eval", Questions: n}},
			Settings: result.Settings{
				Concurrency: 1, TimeoutSeconds: 60, Floor: 0.6, MaxErrors: allowed, MaxUnscored: allowed,
			},
		},
	}, j)
	if path == "" {
		tb.Fatal(err)
	}
	return path
}

// judge is a scorer that gives halves of points and does not judge each 4th answer.
type judge struct{}

func (judge) Name() string            { return "judge" }
func (judge) Check(scorer.Item) error { return nil }
func (judge) Score(_ context.Context, item scorer.Item) (scorer.Verdict, error) {
	var n int
	_, _ = fmt.Sscanf(item.ID, "q%d", &n)
	v := scorer.Verdict{Attempts: 1, Cost: llm.USD(n), Usage: llm.Usage{InputTokens: 30, OutputTokens: 3, Estimated: n%2 == 0}}
	if v.Reason = "none"; n%4 != 0 {
		v.Scored, v.Score, v.Reason = true, float64(n%3)/2, "so"
	}
	return v, nil
}

// records returns the questions of a file.
func records(tb testing.TB, path string) (result.Result, []result.Record) {
	tb.Helper()
	res, questions, err := resultfile.ReadAll(path)
	if err != nil {
		tb.Fatal(err)
	}
	return res, questions
}

// replayFile returns a result file as a replay writes it.
func replayFile(tb testing.TB, n int) string {
	tb.Helper()
	res, questions := records(tb, runFile(tb, n, 0, judge{}))
	sum, extra := aggregate.New(2), aggregate.NewReplay()
	for i := range questions {
		q := &questions[i]
		q.Type, q.JudgeType = fmt.Sprintf("s%d", i%2), scorer.TypeStandard
		q.Tags = append(q.Tags, "type:"+q.Type)
		switch {
		case q.Outcome == result.Errored:
			q.JudgeVerdict, q.Cause = result.VerdictError, result.CauseDaemon
		case q.Outcome == result.Unscored:
			q.JudgeVerdict, q.Cause = result.VerdictUnscored, result.CauseUnscored
		case q.Passed:
			q.JudgeVerdict = result.Correct
		case q.GoldRank() == 0:
			q.JudgeVerdict, q.Cause, q.DeepRank = result.Incorrect, result.CauseRankBurial, new(4)
		default:
			q.JudgeVerdict, q.Cause = result.Incorrect, result.CauseReader
		}
		q.Actor = &result.ModelUse{Model: "m", Attempts: 1, USD: 5, SavedUSD: llm.USD(i) * llm.Dollar}
		if q.Outcome == result.Scored {
			q.JudgeSavedUSD = llm.Dollar / 4
		}
		q.SearchMS = new(q.LatencyMS / 2)
		sum.Add(*q)
		extra.Add(*q)
	}
	res.Identity.Dataset.Tags["type:s0"], res.Identity.Dataset.Tags["type:s1"] = (n+1)/2, n/2
	res.Replay = &result.Replay{
		SchemaVersion: 1, Arm: "go", Load: result.LoadReport{Format: "locomo", Path: "l.json", Bytes: 1, SHA256: strings.Repeat("a", 64), Traps: []result.Trap{}},
		Sample: result.Sample{Size: n, Population: 4 * n, Strata: []result.StratumDraw{
			{Name: "s0", Population: 2 * n, Sampled: (n + 1) / 2}, {Name: "s1", Population: 2 * n, Sampled: n / 2},
		}, Signature: strings.Repeat("b", 64)},
		Actor:    result.Actor{Style: "full"},
		Trivial:  []result.Warning{{Kind: result.KeyInMemory, Message: "it stands there", Count: 1, IDs: []string{"q1"}}},
		Errata:   &result.ErrataUse{Path: "e", SHA256: strings.Repeat("c", 64), IDs: []string{}},
		Cache:    result.CacheSetting{Mode: "off"},
		Together: &result.Together{Arms: []string{"go", "py"}, Started: []string{"go"}, Concurrency: 4, InFlight: 8},
		Alone:    &result.Alone{Request: "search", Planned: n, Asked: []result.AloneAsked{}},
	}
	for i, q := range questions {
		res.Replay.Alone.Asked = append(res.Replay.Alone.Asked, result.AloneAsked{ID: q.ID, LatencyMS: float64(i) + .5})
	}
	sum.Fill(&res)
	extra.Fill(&res)
	res.CostAccounting = &result.CostAccounting{
		IngestUSD: 1, ActorUSD: 1000, JudgeUSD: res.Cost.SpentUSD, EmbedUSD: 4, TotalUSD: 1005 + res.Cost.SpentUSD,
		Tokens: map[string]result.ModelTokens{}, Prices: result.PriceTable{Date: "2026-01-01", Models: map[string]result.ModelPrice{}},
		Unpriced: []string{}, SharedUSD: 3 * llm.Dollar, CachedSavingsUSD: extra.Saved() + 2*llm.Dollar,
	}
	res.CostAccounting.SetList(result.ListCost{SavedUSD: 11 * llm.Dollar, SharedUSD: 3 * llm.Dollar}, extra.Saved())
	aggregate.PerCorrect(res.CostAccounting, res.Counts, res.Believed())
	res.Cost.SetParts(res.CostAccounting.Parts(), nil)
	sum.Judge(&res)
	return write(tb, res, questions)
}

// write writes a result file as a run does.
func write(tb testing.TB, res result.Result, questions []result.Record) string {
	tb.Helper()
	head, err := json.MarshalIndent(res, "", "  ")
	if err != nil {
		tb.Fatal(err)
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s,\n  \"questions\": [", head[:len(head)-2])
	for i, q := range questions {
		line, err := json.Marshal(q)
		if err != nil {
			tb.Fatal(err)
		}
		fmt.Fprintf(&b, "%s\n    %s", map[bool]string{true: ","}[i > 0], line)
	}
	b.WriteString("\n  ]\n}\n")
	return filetest.Write(tb, filepath.Join(tb.TempDir(), "go.json"), b.Bytes())
}
