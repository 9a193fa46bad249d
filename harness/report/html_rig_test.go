package report_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/html"

	"evalctl/daemon/protocol"
	"evalctl/harness/history"
	"evalctl/harness/report"
	"evalctl/harness/report/form"
	"evalctl/harness/result"
	"evalctl/scorer"
)

// content is a result with what its page shows besides.
type content struct {
	*report.Run
	Trend report.Trend
	Links []form.Link
}

// trendOf returns the trend of a line whose results have a page each.
func trendOf(l *history.Line, url string) report.Trend {
	return report.Trend{Trend: history.Trend{Lines: []*history.Line{l}}, URL: func(*history.Entry) string { return url }}
}

// nightOf returns a night of 6 questions. It is without a score if passed is negative.
func nightOf(date string, passed int, changed ...string) history.Night {
	e := &history.Entry{Kind: history.Run, Name: "go", Scenario: result.AskBasic, Scorer: "exact", Verdict: result.Pass, Total: 6, Passed: max(0, passed), Result: &result.Result{}}
	e.Result.Identity.Dataset.Selected = 6
	if e.StartedAt, _ = time.Parse(time.DateOnly, date); passed >= 0 {
		rate := float64(passed) / 6
		e.PassRate, e.Interval = &rate, &result.Interval{Method: result.MethodWilson, Confidence: 0.95, Low: rate / 2, High: (1 + rate) / 2}
	}
	return history.Night{Date: date, Entry: e, Changed: changed}
}

func ptr[T any](v T) *T { return &v }

// words returns n words of usual length.
func words(n int) string {
	return strings.TrimSpace(strings.Repeat("the harbour log says ", (n+3)/4))
}

// contentOf returns a result with n questions of usual size: five chunks of 60 words, an answer of
// 50, two citations, a stream and a judge. Every third question failed.
func contentOf(n int) content {
	start := time.Date(2026, 9, 21, 3, 0, 0, 0, time.UTC)
	res := &result.Result{
		SDK: "go", ScorerName: "judge", StartedAt: start, FinishedAt: start.Add(31400 * time.Millisecond),
		Planned: n, Tags: map[string]*result.TagFigures{}, EffectiveModes: map[string]int{"bm25": n},
		Identity: result.Identity{
			SDK: "go", Scorer: "judge", Scenario: result.AskBasic, Mode: "auto", TopK: 5,
			Dataset: result.DatasetID{Path: "questions.jsonl", SHA256: strings.Repeat("54", 32), Selected: n},
			Judge:   &result.JudgeModel{Provider: "openai", Model: "m", PromptVersion: "judge-1", PromptSHA256: strings.Repeat("cd", 32)},
		},
	}
	c := content{Run: &report.Run{Path: "results/2026-09-21/go.json"}}
	for i := range n {
		c.Questions = append(c.Questions, recordOf(i))
		res.Counts.Add(c.Questions[i])
	}
	res.Total, res.Passed, res.PassRate = n, res.Counts.Passed, res.Counts.PassRate()
	res.Interval = &result.Interval{Method: "wilson", Confidence: 0.95, Low: 0.6, High: 0.73}
	res.Latency = result.Quantiles{N: n, P50: ptr(900.0), P95: ptr(1800.0)}
	res.Gate = &result.Gate{
		Verdict: result.Fail, Reason: result.ReasonFloor, Floor: 0.9, Required: n, Passed: res.Passed, Total: n,
		Sentence: fmt.Sprintf("%d of %d questions passed", res.Passed, n),
	}
	c.Result = *res
	return c
}

func recordOf(i int) result.Record {
	passed := i%3 != 0
	r := result.Record{
		ID: fmt.Sprintf("q-%03d", i), Question: words(14),
		Reply: result.Reply{Answer: words(50), LatencyMS: 800 + float64(i), FirstDeltaMS: ptr(300 + float64(i)), Attempts: 1, EffectiveMode: "bm25", Model: "m", PromptSHA256: strings.Repeat("ab", 32), Usage: &protocol.Usage{InputTokens: 900, OutputTokens: 60}, Retrieval: &result.QuestionRetrieval{Documents: 5, Gold: scorer.Ranking{{Path: "notes/b.md", Gain: 1, Rank: 2}}}, Timeline: result.Timeline{
			{Event: "retrieve", AtMS: 40}, {Event: "answer_delta", AtMS: 300, LastMS: 600, N: 20, GapMS: 40},
			{Event: "citation", AtMS: 610}, {Event: "answer_delta", AtMS: 620, LastMS: 780, N: 14, GapMS: 30},
			{Event: "citation", AtMS: 790}, {Event: "done", AtMS: 795},
		}}, Score: ptr(0.0), Passed: passed, Outcome: result.Scored,
		Reason: words(16), Reference: words(8),
		ExpectedPaths: []string{"notes/b.md"}, Tags: []string{"temporal", fmt.Sprintf("conv:%d", i%10)}, Line: i + 1,
		JudgeAttempts: 1, JudgeUsage: &protocol.Usage{InputTokens: 300, OutputTokens: 20}, JudgeUSD: 140_000,
	}
	if passed {
		r.Score = ptr(1.0)
	}
	for k, path := range []string{"notes/a.md", "notes/b.md", "notes/c.md", "notes/d.md", "notes/e.md"} {
		r.Retrieved = append(r.Retrieved, result.Chunk{
			ChunkID: fmt.Sprintf("c%d", k), Path: result.SeedRoot + path, Title: "Notes of the harbour", Score: 3.5 - float64(k)/2, Text: words(60),
		})
	}
	for k := range 2 {
		r.Citations = append(r.Citations, json.RawMessage(fmt.Sprintf(
			`{"type":"citation","chunk_id":"c%d","answer_start":%d,"answer_end":%d,"quote":"%s"}`, k+1, 10*k, 10*k+8, words(10))))
	}
	return r
}

// write returns the page of a content.
func write(t testing.TB, c content) string {
	t.Helper()
	var b strings.Builder
	if err := report.HTML(&b, report.Page{Document: c.Run, Trend: c.Trend, Links: c.Links}); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// parse returns the nodes of a page, in order.
func parse(t testing.TB, text string) []*html.Node {
	t.Helper()
	root, err := html.Parse(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	var nodes []*html.Node
	for n := range root.Descendants() {
		nodes = append(nodes, n)
	}
	return nodes
}

// textOf returns the text in a node.
func textOf(n *html.Node) string {
	var b strings.Builder
	for d := range n.Descendants() {
		if d.Type == html.TextNode {
			b.WriteString(d.Data)
		}
	}
	return b.String()
}

func attr(n *html.Node, key string) string {
	for _, a := range n.Attr {
		if a.Key == key {
			return a.Val
		}
	}
	return ""
}

// byID returns the element with an id.
func byID(t testing.TB, nodes []*html.Node, id string) *html.Node {
	t.Helper()
	for _, n := range nodes {
		if attr(n, "id") == id {
			return n
		}
	}
	t.Fatalf("no element %s", id)
	return nil
}
