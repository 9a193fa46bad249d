package result

import (
	"math"
	"slices"

	"evalctl/daemon/protocol"
	"evalctl/internal/stats"
)

// Counts are the outcomes of a set of questions. Passed counts among Total:
// errors and unscored questions have not passed. NoGold counts beside Total.
type Counts struct {
	Total    int `json:"total"`
	Passed   int `json:"passed"`
	Scored   int `json:"scored"`
	Errors   int `json:"errors"`
	Unscored int `json:"unscored"`
	NoGold   int `json:"no_gold"`
}

// Finished is how many records were added.
func (c Counts) Finished() int { return c.Total + c.NoGold }

// Add counts one finished record.
func (c *Counts) Add(r Record) {
	if r.Outcome == NoGold {
		c.NoGold++
		return
	}
	c.Total++
	if r.Passed {
		c.Passed++
	}
	switch r.Outcome {
	case Scored:
		c.Scored++
	case Errored:
		c.Errors++
	case Unscored:
		c.Unscored++
	}
}

// PassRate is passed over total; nil when there is nothing to divide by.
func (c Counts) PassRate() *float64 {
	if c.Total == 0 {
		return nil
	}
	rate := float64(c.Passed) / float64(c.Total)
	return &rate
}

// Quantiles summarises latencies in milliseconds: linear percentiles (type 7)
// of N values. A percentile of no values is null.
type Quantiles struct {
	N   int      `json:"n"`
	P50 *float64 `json:"p50_ms"`
	P95 *float64 `json:"p95_ms"`
	P99 *float64 `json:"p99_ms"`
}

// Tally folds records one at a time; it needs a few bytes a question. It is
// not safe for concurrent use.
type Aggregate struct {
	Counts
	// GoldMissed counts the questions with gold documents of which none was
	// retrieved; Grounded the passed ones that cite a retrieved chunk.
	GoldMissed int
	Grounded   int
	Retried    int
	Tags       map[string]*Counts
	Modes      map[string]int
	Models     map[string]int
	Prompts    map[string]int
	Reader     TokenSums
	// JudgeRequests counts HTTP requests, and JudgeTokens what they used.
	JudgeRequests int
	JudgeTokens   TokenSums
	// JudgeEstimated counts the records whose judge's tokens were estimated.
	JudgeEstimated int

	retrieval *retrievalAggregate
	score     moments
	total     []float64
	first     []float64
}

// TokenSums adds up usage. Reported counts the answers that came with any.
type TokenSums struct {
	InputTokens  int64 `json:"input_tokens"`
	OutputTokens int64 `json:"output_tokens"`
	Reported     int   `json:"reported"`
}

func (s *TokenSums) add(u *protocol.Usage) {
	if u != nil {
		s.InputTokens += int64(u.InputTokens)
		s.OutputTokens += int64(u.OutputTokens)
		s.Reported++
	}
}

// NewTally is an empty one for records of answers with this top-k.
func NewAggregate(topK int) *Aggregate {
	return &Aggregate{
		Tags: map[string]*Counts{}, Modes: map[string]int{}, Models: map[string]int{}, Prompts: map[string]int{},
		retrieval: newRetrievalAggregate(topK),
	}
}

// Add counts one finished record.
func (t *Aggregate) Add(r Record) {
	t.Counts.Add(r)
	for _, tag := range r.Tags {
		if t.Tags[tag] == nil {
			t.Tags[tag] = &Counts{}
		}
		t.Tags[tag].Add(r)
	}
	if r.Score != nil {
		t.score.add(*r.Score)
	}
	if r.Attempts > 1 {
		t.Retried++
	}
	if len(r.ExpectedPaths) > 0 && r.Outcome != Errored && r.GoldRank() == 0 {
		t.GoldMissed++
	}
	if r.Passed && r.Grounded() {
		t.Grounded++
	}
	t.JudgeRequests += r.JudgeAttempts
	t.JudgeTokens.add(r.JudgeUsage)
	if r.JudgeUsageEstimated {
		t.JudgeEstimated++
	}
	t.retrieval.add(r)
	if r.Outcome == Errored || r.Outcome == NoGold {
		return
	}
	t.total = append(t.total, r.LatencyMS)
	if r.FirstDeltaMS != nil {
		t.first = append(t.first, *r.FirstDeltaMS)
	}
	if r.EffectiveMode != "" {
		t.Modes[r.EffectiveMode]++
	}
	if r.Model != "" {
		t.Models[r.Model]++
	}
	if r.PromptSHA256 != "" {
		t.Prompts[r.PromptSHA256]++
	}
	t.Reader.add(r.Usage)
}

// MeanScore is the mean over the scored questions; nil when there are none.
func (t *Aggregate) MeanScore() *float64 {
	if t.Scored == 0 {
		return nil
	}
	mean := t.score.mean(t.Scored)
	return &mean
}

// Retrieval summarises the rankings; nil when no question has gold.
func (t *Aggregate) Retrieval() *Retrieval { return t.retrieval.result() }

// Latency summarises the time to done of the answered questions.
func (t *Aggregate) Latency() Quantiles { return quantiles(t.total) }

// FirstDelta summarises the time to the first text of those that streamed.
func (t *Aggregate) FirstDelta() Quantiles { return quantiles(t.first) }

func quantiles(values []float64) Quantiles {
	q := Quantiles{N: len(values)}
	if q.N == 0 {
		return q
	}
	sorted := slices.Sorted(slices.Values(values))
	at := func(p float64) *float64 {
		v := math.Round(stats.Percentile(sorted, p)*1000) / 1000
		return &v
	}
	q.P50, q.P95, q.P99 = at(0.50), at(0.95), at(0.99)
	return q
}
