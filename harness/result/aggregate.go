package result

import (
	"math"
	"slices"

	"evalctl/daemon/protocol"
	"evalctl/internal/stats"
)

// Counts are the outcomes of a set of questions. Passed, Scored, Errors and Unscored are parts of
// Total; errors and unscored questions have not passed. NoGold is not part of Total.
type Counts struct {
	Total    int `json:"total"`
	Passed   int `json:"passed"`
	Scored   int `json:"scored"`
	Errors   int `json:"errors"`
	Unscored int `json:"unscored"`
	NoGold   int `json:"no_gold"`
}

// Finished returns the number of records that were added.
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

// PassRate returns Passed divided by Total, nil if Total is 0.
func (c Counts) PassRate() *float64 {
	if c.Total == 0 {
		return nil
	}
	rate := float64(c.Passed) / float64(c.Total)
	return &rate
}

// Quantiles summarises N latencies in milliseconds by linear percentiles (type 7), which are null if
// N is 0.
type Quantiles struct {
	N   int      `json:"n"`
	P50 *float64 `json:"p50_ms"`
	P95 *float64 `json:"p95_ms"`
	P99 *float64 `json:"p99_ms"`
}

// Aggregate adds up records one at a time. It needs a few bytes for each question. It is not safe
// for concurrent use.
type Aggregate struct {
	Counts
	// goldMissed is the number of answered questions with gold documents of which none was
	// retrieved, grounded the number of passed ones that cite a retrieved chunk.
	goldMissed int
	grounded   int
	// loss attributes the questions that did not pass, in a scenario with a reader.
	loss    Loss
	retried int
	tags    map[string]*Counts
	modes   map[string]int
	models  map[string]int
	prompts map[string]int
	reader  TokenSums
	// judgeRequests is the number of HTTP requests, judgeTokens what they used.
	judgeRequests int
	judgeTokens   TokenSums
	// judgeEstimated is the number of records for which the judge's tokens were estimated.
	judgeEstimated int

	topK      int
	retrieval *retrievalAggregate
	score     moments
	total     []float64
	first     []float64
}

// TokenSums adds up usage. Reported is the number of answers that came with any.
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

// NewAggregate returns an empty aggregate for records of answers with this top-k.
func NewAggregate(topK int) *Aggregate {
	return &Aggregate{
		tags: map[string]*Counts{}, modes: map[string]int{},
		models: map[string]int{}, prompts: map[string]int{},
		topK: topK, retrieval: newRetrievalAggregate(topK),
	}
}

// Add counts one finished record.
func (a *Aggregate) Add(r Record) {
	a.Counts.Add(r)
	for _, tag := range r.Tags {
		if a.tags[tag] == nil {
			a.tags[tag] = &Counts{}
		}
		a.tags[tag].Add(r)
	}
	if r.Score != nil {
		a.score.add(*r.Score)
	}
	if r.Attempts > 1 {
		a.retried++
	}
	if len(r.ExpectedPaths) > 0 && r.Outcome != Errored && r.GoldRank() == 0 {
		a.goldMissed++
	}
	if r.Passed && r.Grounded() {
		a.grounded++
	}
	a.loss.add(r.lostAt(a.topK))
	a.judgeRequests += r.JudgeAttempts
	a.judgeTokens.add(r.JudgeUsage)
	if r.JudgeUsageEstimated {
		a.judgeEstimated++
	}
	a.retrieval.add(r)
	if r.Outcome == Errored || r.Outcome == NoGold {
		return
	}
	a.total = append(a.total, r.LatencyMS)
	if r.FirstDeltaMS != nil {
		a.first = append(a.first, *r.FirstDeltaMS)
	}
	if r.EffectiveMode != "" {
		a.modes[r.EffectiveMode]++
	}
	if r.Model != "" {
		a.models[r.Model]++
	}
	if r.PromptSHA256 != "" {
		a.prompts[r.PromptSHA256]++
	}
	a.reader.add(r.Usage)
}

// meanScore returns the mean over the scored questions, nil if there are none.
func (a *Aggregate) meanScore() *float64 {
	if a.Scored == 0 {
		return nil
	}
	mean := a.score.mean(a.Scored)
	return &mean
}

// latency summarises the time to done of the answered questions.
func (a *Aggregate) latency() Quantiles { return quantiles(a.total) }

// firstDelta summarises the time to the first text of the streamed answers.
func (a *Aggregate) firstDelta() Quantiles { return quantiles(a.first) }

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
