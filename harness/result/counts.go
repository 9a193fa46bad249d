package result

// Counts are the outcomes of a set of questions. Passed, Scored, Errors and Unscored are parts of
// Total; errors and unscored questions have not passed. NoGold, NotMeasurable and Unjudged are not
// part of Total.
type Counts struct {
	Total    int `json:"total"`
	Passed   int `json:"passed"`
	Scored   int `json:"scored"`
	Errors   int `json:"errors"`
	Unscored int `json:"unscored"`
	NoGold   int `json:"no_gold"`
	// NotMeasurable is 0 in older files.
	NotMeasurable int `json:"not_measurable,omitempty"`
	// Unjudged is 0 unless the answers are imported.
	Unjudged int `json:"unjudged,omitempty"`
}

// Finished returns the number of records added.
func (c Counts) Finished() int { return c.Total + c.NoGold + c.NotMeasurable + c.Unjudged }

// Add counts one finished record.
func (c *Counts) Add(r Record) { c.count(r, 1) }

// Remove reverses Add.
func (c *Counts) Remove(r Record) { c.count(r, -1) }

func (c *Counts) count(r Record, n int) {
	switch r.Outcome {
	case NoGold:
		c.NoGold += n
		return
	case NotMeasurable:
		c.NotMeasurable += n
		return
	case Unjudged:
		c.Unjudged += n
		return
	}
	c.Total += n
	if r.Passed {
		c.Passed += n
	}
	switch r.Outcome {
	case Scored:
		c.Scored += n
	case Errored:
		c.Errors += n
	case Unscored:
		c.Unscored += n
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

// The minimum number of values for which the median, the 95th and the 99th percentile have a
// distribution-free two-sided 95% interval.
const (
	NeededForP50 = 6
	NeededForP95 = 59
	NeededForP99 = 299
)

// Quantiles summarises N latencies in milliseconds by linear percentiles (type 7 of Hyndman and Fan
// 1996). A percentile and its interval, by order statistics, are null if N is too small for an
// interval.
type Quantiles struct {
	N           int       `json:"n"`
	P50         *float64  `json:"p50_ms"`
	P95         *float64  `json:"p95_ms"`
	P99         *float64  `json:"p99_ms"`
	P50Interval *Interval `json:"p50_interval,omitempty"`
	P95Interval *Interval `json:"p95_interval,omitempty"`
	P99Interval *Interval `json:"p99_interval,omitempty"`
}

// TokenSums adds up usage. Reported is the number of answers with usage.
type TokenSums struct {
	InputTokens  int64 `json:"input_tokens"`
	OutputTokens int64 `json:"output_tokens"`
	Reported     int   `json:"reported"`
}
