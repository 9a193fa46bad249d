package aggregate_test

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"evalctl/daemon/protocol"
	"evalctl/harness/aggregate"
	"evalctl/harness/result"
	"evalctl/internal/stats"
	"evalctl/scorer"
)

func anyRecord(t *rapid.T) result.Record {
	outcomes := rapid.SampledFrom([]result.Outcome{
		result.Scored, result.Errored, result.Unscored, result.NoGold,
	})
	tags := rapid.SampledFrom([]string{"a", "b", "c"})
	gold := rapid.SampledFrom([]string{"a.md", "b.md", "c.md"})
	retrieved := rapid.SampledFrom([]string{"a.md", "b.md", "x.md", "y.md"})
	r := result.Record{
		ID:      "q",
		Outcome: outcomes.Draw(t, "outcome"),
		Reply:   result.Reply{LatencyMS: rapid.Float64Range(0, 1e5).Draw(t, "latency"), Attempts: rapid.IntRange(1, 3).Draw(t, "attempts")},
		Tags:    rapid.SliceOfNDistinct(tags, 0, 3, rapid.ID).Draw(t, "tags"),
	}
	if r.Outcome != result.NoGold && rapid.Bool().Draw(t, "gold") {
		r.ExpectedPaths = rapid.SliceOfNDistinct(gold, 1, 3, rapid.ID).Draw(t, "expected")
		if r.Outcome != result.Errored {
			var hits []scorer.Hit
			for _, p := range rapid.SliceOfN(retrieved, 0, 7).Draw(t, "retrieved") {
				hits = append(hits, scorer.Hit{Path: p})
			}
			documents := scorer.Documents(hits)
			documents = documents[:min(5, len(documents))]
			ranked := scorer.Rank(documents, result.Gold(r.ExpectedPaths, nil))
			r.Retrieval = &result.QuestionRetrieval{Documents: len(documents), Gold: ranked}
		}
	}
	if r.Outcome == result.Scored {
		r.Score = new(rapid.Float64Range(0, 1).Draw(t, "score"))
		r.Passed = *r.Score >= 0.5
	}
	return r
}

// TestOrderDoesNotMatter checks that the figures do not depend on the order of the records.
func TestOrderDoesNotMatter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var records []result.Record
		brains := rapid.IntRange(0, 7).Draw(t, "brains")
		for range rapid.IntRange(0, 30).Draw(t, "n") {
			r := anyRecord(t)
			if brains > 0 {
				r.Brain = string(rune('a' + rapid.IntRange(0, brains).Draw(t, "brain")))
			}
			records = append(records, r)
		}
		total := func(rs []result.Record) result.Result {
			sum := aggregate.New(5)
			for _, r := range rs {
				sum.Add(r)
			}
			var res result.Result
			sum.Fill(&res)
			sum.Judge(&res)
			return res
		}
		got := total(records)
		if diff := cmp.Diff(got, total(rapid.Permutation(records).Draw(t, "order"))); diff != "" {
			t.Error(diff)
		}
		c := got.Counts
		if c.Scored+c.Errors+c.Unscored != c.Total || c.Passed > c.Scored ||
			c.Finished() != len(records) {
			t.Errorf("got %+v", c)
		}
		if (got.PassRate == nil) != (c.Total == 0) || (got.MeanScore == nil) != (c.Scored == 0) ||
			(got.Interval == nil) != (c.Total == 0) {
			t.Errorf("got %+v", got)
		}
		if l := got.Gate.Loss; l.Retrieval+l.Reader+l.Errors+l.Unscored+l.Unknown != c.Total-c.Passed {
			t.Errorf("%+v lost of %+v", l, c)
		}
		checkRetrieval(t, records, got.Retrieval)
	})
}

// checkRetrieval checks that the questions add up and that every metric is between 0 and 1.
func checkRetrieval(t *rapid.T, records []result.Record, r *result.Retrieval) {
	if r == nil {
		if slices.ContainsFunc(records, func(r result.Record) bool { return len(r.ExpectedPaths) > 0 }) {
			t.Error("the retrieval is missing")
		}
		return
	}
	if r.Questions+r.NoGold != len(records) || r.Errors > r.Questions ||
		r.Questions < 2 && len(r.Intervals) > 0 {
		t.Errorf("got %+v of %d records", r, len(records))
	}
	all := []result.Metrics{r.Macro, r.Micro}
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
		mean := r.Macro[name]
		if !(0 <= i.Low && i.Low <= mean+1e-9 && mean <= i.High+1e-9 && i.High <= 1) {
			t.Errorf("the interval of %s, %v, is %+v", name, mean, i)
		}
	}
}

func TestFigures(t *testing.T) {
	sum := aggregate.New(5)
	for i, r := range []result.Record{
		{
			Outcome: result.Scored, Score: new(1.0), Passed: true,
			Reply: result.Reply{LatencyMS: 10, FirstDeltaMS: new(1.0), Attempts: 1, Model: "m", EffectiveMode: "bm25", Fusion: "score 0.2", Usage: &protocol.Usage{InputTokens: 5, OutputTokens: 1}}, Tags: []string{"a"},
			JudgeAttempts: 1, JudgeUsage: &protocol.Usage{InputTokens: 50, OutputTokens: 9},
		},
		{
			Outcome: result.Scored, Score: new(0.25), Reply: result.Reply{LatencyMS: 20, Attempts: 3}, Tags: []string{"a", "b"},
			JudgeAttempts: 2, JudgeUsage: &protocol.Usage{InputTokens: 100, OutputTokens: 18},
			JudgeUsageEstimated: true,
		},
		{Outcome: result.Unscored, Reply: result.Reply{LatencyMS: 30, Attempts: 1}},
		// The latency and modes of an error do not count.
		{
			Outcome: result.Errored,
			Reply:   result.Reply{LatencyMS: 9999, FirstDeltaMS: new(9.0), Attempts: 2, Model: "m", EffectiveMode: "bm25", Fusion: "score 0.2"}, Tags: []string{"b"}, ExpectedPaths: []string{"gold.md"},
		},
	} {
		r.ID = string(rune('a' + i))
		sum.Add(r)
	}
	var got result.Result
	sum.Fill(&got)
	sum.Judge(&got)
	low, high := got.Interval.Low, got.Interval.High
	got.Retrieval, got.Gold = nil, "" // TestRetrievalFigures
	want := result.Result{
		Total: 4, Passed: 1, PassRate: new(0.25), MeanScore: new(0.625),
		MeanScoreInterval: &result.Interval{Method: "student_t", Confidence: 0.95, High: 1},
		Counts:            result.Counts{Total: 4, Passed: 1, Scored: 2, Errors: 1, Unscored: 1},
		Interval:          &result.Interval{Method: "wilson", Confidence: 0.95, Low: low, High: high},
		Tags: map[string]*result.TagFigures{
			"a": tagFigures(result.Counts{Total: 2, Passed: 1, Scored: 2}),
			"b": tagFigures(result.Counts{Total: 2, Scored: 1, Errors: 1}),
		},
		EffectiveModes: map[string]int{"bm25": 1}, ModesUnknown: 2, Fusions: map[string]int{"score 0.2": 1}, ReaderModels: map[string]int{"m": 1},
		ReaderPrompts: map[string]int{},
		Latency:       result.Quantiles{N: 3},
		FirstDelta:    result.Quantiles{N: 1},
		Retried:       2, ReaderUsage: result.TokenSums{InputTokens: 5, OutputTokens: 1, Reported: 1},
		Cost: result.Cost{JudgeRequests: 3, InputTokens: 150, OutputTokens: 27, UsageEstimated: 1},
		Gate: &result.Gate{
			Verdict: result.Invalid, Reason: result.ReasonLost, Passed: 1, Total: 4,
			MaxErrors: result.AllowanceUse{Count: 1}, MaxUnscored: result.AllowanceUse{Count: 1},
			Loss:     result.Loss{Errors: 1, Unscored: 1, Unknown: 1},
			Sentence: "1 error in 4 questions, --max-errors 0 allows 0; no verdict of the scorer on 1 of 4 questions, --max-unscored 0 allows 0",
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if low <= 0 || low >= 0.25 || high <= 0.25 || high >= 1 {
		t.Errorf("the interval is %v to %v", low, high)
	}
}

// TestGroundedPasses checks that only passed answers count as grounded.
func TestGroundedPasses(t *testing.T) {
	r := result.Record{
		Outcome: result.Scored,
		Reply:   result.Reply{Retrieved: []result.Chunk{{ChunkID: "c1"}}, Citations: []json.RawMessage{json.RawMessage(`{"chunk_id":"c1","quote":"a"}`)}},
	}
	passed, elsewhere := r, r
	passed.Passed, elsewhere.Passed = true, true
	elsewhere.Retrieved = nil
	quoted := passed
	quoted.Retrieved, quoted.EffectiveMode = []result.Chunk{{ChunkID: "c1", Text: "an a"}}, "bm25"
	got := figures(5, r, passed, elsewhere, quoted, quoted)
	if got.Grounded != 2 || got.GroundedIDsOnly != 1 || got.ModesUnknown != 3 {
		t.Errorf("grounded %d, by id %d, modes unknown %d", got.Grounded, got.GroundedIDsOnly, got.ModesUnknown)
	}
}

// TestFillAgain checks that figures which a result had before are replaced.
func TestFillAgain(t *testing.T) {
	full := aggregate.New(5)
	full.Add(result.Record{
		Outcome: result.Scored, Score: new(1.0), Passed: true, Reply: result.Reply{Attempts: 2}, Tags: []string{"a"},
		ExpectedPaths: []string{"a.md"},
		JudgeAttempts: 1, JudgeUsage: &protocol.Usage{InputTokens: 1},
	})
	settings := result.Settings{Floor: 0.5}
	got, want := result.Result{Settings: settings}, result.Result{Settings: settings}
	full.Fill(&got)
	full.Judge(&got)
	if got.Gate.Verdict != result.Pass {
		t.Fatalf("got %+v", got.Gate)
	}
	empty := aggregate.New(5)
	empty.Fill(&got)
	empty.Judge(&got)
	empty2 := aggregate.New(5)
	empty2.Fill(&want)
	empty2.Judge(&want)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// tagFigures adds to counts what follows from them.
func tagFigures(n result.Counts) *result.TagFigures {
	lo, hi := stats.Wilson(n.Passed, n.Total, 0.95)
	return &result.TagFigures{
		Counts: n, PassRate: n.PassRate(),
		Interval: &result.Interval{Method: "wilson", Confidence: 0.95, Low: lo, High: hi},
	}
}

// TestFelt checks that waits count wherever they come in the order of the records.
func TestFelt(t *testing.T) {
	var records []result.Record
	for i := range 8 {
		r := result.Record{ID: string(rune('a' + i)), Outcome: result.Scored, Score: new(1.0), Reply: result.Reply{LatencyMS: 10}}
		if i == 0 || i > 3 {
			r.FeltMS = new(500.0)
		}
		records = append(records, r)
	}
	if got := figures(5, records[1:4]...).Felt; got != nil {
		t.Errorf("without waits: %+v", got)
	}
	first := figures(5, records...)
	slices.Reverse(records)
	last := figures(5, records...)
	if diff := cmp.Diff(first.Felt, last.Felt); diff != "" || first.Felt.N != 8 || *first.Felt.P50 != 500 || *first.Latency.P50 != 10 {
		t.Errorf("%s%+v of %+v", diff, first.Felt, first.Latency)
	}
}
