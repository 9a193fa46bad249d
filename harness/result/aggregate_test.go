package result

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"evalctl/daemon/protocol"
	"evalctl/scorer"
)

func anyRecord(t *rapid.T) Record {
	r := Record{
		ID: "q", Outcome: rapid.SampledFrom([]Outcome{Scored, Errored, Unscored, NoGold}).Draw(t, "outcome"),
		LatencyMS: rapid.Float64Range(0, 1e5).Draw(t, "latency"), Attempts: rapid.IntRange(1, 3).Draw(t, "attempts"),
		Tags: rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"a", "b", "c"}), 0, 3, rapid.ID).Draw(t, "tags"),
	}
	if r.Outcome != NoGold && rapid.Bool().Draw(t, "gold") {
		r.ExpectedPaths = rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"a.md", "b.md", "c.md"}), 1, 3, rapid.ID).Draw(t, "expected")
		if r.Outcome != Errored {
			var hits []scorer.Hit
			for _, p := range rapid.SliceOfN(rapid.SampledFrom([]string{"a.md", "b.md", "x.md", "y.md"}), 0, 7).Draw(t, "retrieved") {
				hits = append(hits, scorer.Hit{Path: p})
			}
			documents := scorer.Documents(hits)
			documents = documents[:min(5, len(documents))]
			r.Retrieval = &QuestionRetrieval{Documents: len(documents), Gold: scorer.Rank(documents, Gold(r.ExpectedPaths))}
		}
	}
	if r.Outcome == Scored {
		r.Score = new(rapid.Float64Range(0, 1).Draw(t, "score"))
		r.Passed = *r.Score >= 0.5
	}
	return r
}

// TestTallyIsFreeOfOrder: workers finish as they please, the figures stay.
func TestTallyIsFreeOfOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var records []Record
		for range rapid.IntRange(0, 30).Draw(t, "n") {
			records = append(records, anyRecord(t))
		}
		fold := func(rs []Record) Result {
			tally := NewAggregate(5)
			for _, r := range rs {
				tally.Add(r)
			}
			var res Result
			res.SetAggregate(tally)
			return res
		}
		got := fold(records)
		if diff := cmp.Diff(got, fold(rapid.Permutation(records).Draw(t, "order"))); diff != "" {
			t.Error(diff)
		}
		c := got.Counts
		if c.Scored+c.Errors+c.Unscored != c.Total || c.Passed > c.Scored || c.Finished() != len(records) {
			t.Errorf("got %+v", c)
		}
		if (got.PassRate == nil) != (c.Total == 0) || (got.MeanScore == nil) != (c.Scored == 0) || (got.Interval == nil) != (c.Total == 0) {
			t.Errorf("got %+v", got)
		}
		if l := got.Gate.Loss; l.Retrieval+l.Reader+l.Errors+l.Unscored+l.Unknown != c.Total-c.Passed {
			t.Errorf("%+v lost of %+v", l, c)
		}
		checkRetrieval(t, records, got.Retrieval)
	})
}

// checkRetrieval: the questions add up, and every figure is a share.
func checkRetrieval(t *rapid.T, records []Record, r *Retrieval) {
	if r == nil {
		if slices.ContainsFunc(records, func(r Record) bool { return len(r.ExpectedPaths) > 0 }) {
			t.Error("the retrieval is missing")
		}
		return
	}
	if r.Questions+r.NoGold != len(records) || r.Errors > r.Questions || r.Questions < 2 && len(r.Intervals) > 0 {
		t.Errorf("got %+v of %d records", r, len(records))
	}
	all := []Metrics{r.Macro, r.Micro}
	for _, tag := range r.ByTag {
		all = append(all, tag.Macro, tag.Micro)
	}
	for _, figures := range all {
		for name, got := range figures {
			if !(got >= 0 && got <= 1) {
				t.Errorf("%s is %v", name, got)
			}
		}
	}
	for name, i := range r.Intervals {
		if mean := r.Macro[name]; !(0 <= i.Low && i.Low <= mean+1e-9 && mean <= i.High+1e-9 && i.High <= 1) {
			t.Errorf("the interval of %s, %v, is %+v", name, mean, i)
		}
	}
}

func TestTallyFigures(t *testing.T) {
	tally := NewAggregate(5)
	for i, r := range []Record{
		{Outcome: Scored, Score: new(1.0), Passed: true, LatencyMS: 10, FirstDeltaMS: new(1.0), Attempts: 1, Tags: []string{"a"}, Model: "m", EffectiveMode: "bm25", Usage: &protocol.Usage{InputTokens: 5, OutputTokens: 1}, JudgeAttempts: 1, JudgeUsage: &protocol.Usage{InputTokens: 50, OutputTokens: 9}},
		{Outcome: Scored, Score: new(0.25), LatencyMS: 20, Attempts: 3, Tags: []string{"a", "b"}, JudgeAttempts: 2, JudgeUsage: &protocol.Usage{InputTokens: 100, OutputTokens: 18}, JudgeUsageEstimated: true},
		{Outcome: Unscored, LatencyMS: 30, Attempts: 1},
		// An error's latency and modes say nothing about answers.
		{Outcome: Errored, LatencyMS: 9999, FirstDeltaMS: new(9.0), Attempts: 2, Model: "m", EffectiveMode: "bm25", Tags: []string{"b"}, ExpectedPaths: []string{"gold.md"}},
	} {
		r.ID = string(rune('a' + i))
		tally.Add(r)
	}
	var got Result
	got.SetAggregate(tally)
	low, high := got.Interval.Low, got.Interval.High
	got.Retrieval = nil // TestRetrievalFigures
	want := Result{
		Total: 4, Passed: 1, PassRate: new(0.25), MeanScore: new(0.625),
		Counts:         Counts{Total: 4, Passed: 1, Scored: 2, Errors: 1, Unscored: 1},
		Interval:       &Interval{Method: "wilson", Confidence: 0.95, Low: low, High: high},
		Tags:           map[string]*Counts{"a": {Total: 2, Passed: 1, Scored: 2}, "b": {Total: 2, Scored: 1, Errors: 1}},
		EffectiveModes: map[string]int{"bm25": 1}, ReaderModels: map[string]int{"m": 1}, ReaderPrompts: map[string]int{},
		Latency: Quantiles{3, new(20.0), new(29.0), new(29.8)}, FirstDelta: Quantiles{1, new(1.0), new(1.0), new(1.0)},
		Retried: 2, ReaderUsage: TokenSums{InputTokens: 5, OutputTokens: 1, Reported: 1},
		Cost: Cost{JudgeRequests: 3, InputTokens: 150, OutputTokens: 27, UsageEstimated: 1},
		Gate: Gate{
			Verdict: Invalid, Reason: ReasonLost, Passed: 1, Total: 4,
			Allowance: AllowanceUse{Lost: 2, Errors: 1, Unscored: 1}, Loss: Loss{Errors: 1, Unscored: 1, Unknown: 1},
			Sentence: "no score for 2 of 4 questions (1 error, 1 unscored), --max-unscored 0 allows 0",
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if low <= 0 || low >= 0.25 || high <= 0.25 || high >= 1 {
		t.Errorf("the interval is %v to %v", low, high)
	}
}

func TestGrounded(t *testing.T) {
	chunks := []Chunk{{ChunkID: "c1"}, {}}
	for cite, want := range map[string]bool{
		`{"chunk_id":"c1"}`: true, `{"chunkId":"c1"}`: true, `{"chunk_id":"c2"}`: false, `{"chunk_id":""}`: false, `{}`: false, `{"chunk_id":7}`: false,
	} {
		r := Record{Retrieved: chunks, Citations: []json.RawMessage{json.RawMessage(cite)}}
		if got := r.Grounded(); got != want {
			t.Errorf("%s: got %v", cite, got)
		}
	}
}
