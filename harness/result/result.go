package result

import (
	"fmt"
	"time"

	"evalctl/internal/llm"
	"evalctl/internal/stats"
)

// Stop is why a run ended before its last question; empty when it did not.
type Stop string

// The reasons to stop early.
const (
	StopBudget      Stop = "budget_exceeded"
	StopInterrupted Stop = "interrupted"
	StopDaemon      Stop = "daemon_died"
	StopScorer      Stop = "scorer_failed"
	StopMode        Stop = "mode"
	StopFailed      Stop = "failed"
)

// Result is a result file without its questions: the specification's keys
// first, then everything that decided the outcome. A rate or mean of nothing
// is null.
type Result struct {
	SDK        string    `json:"sdk"`
	ScorerName string    `json:"scorer"`
	Total      int       `json:"total"`
	Passed     int       `json:"passed"`
	PassRate   *float64  `json:"pass_rate"`
	MeanScore  *float64  `json:"mean_score"`
	StartedAt  time.Time `json:"started_at"`
	FinishedAt time.Time `json:"finished_at"`
	Brain      string    `json:"brain"`
	// Brains are those that were asked, by name.
	Brains []BrainInfo `json:"brains,omitempty"`

	Stopped Stop `json:"stopped"`
	// Resumed counts the questions that came from the journal.
	Resumed  int                `json:"resumed"`
	Planned  int                `json:"planned"`
	Counts   Counts             `json:"counts"`
	Interval *Interval          `json:"pass_rate_interval"`
	Tags     map[string]*Counts `json:"tags"`

	Identity       Identity       `json:"identity"`
	Settings       Settings       `json:"settings"`
	EffectiveModes map[string]int `json:"effective_modes"`
	ReaderModels   map[string]int `json:"reader_models"`
	ReaderPrompts  map[string]int `json:"reader_prompts"`
	Latency        Quantiles      `json:"latency"`
	FirstDelta     Quantiles      `json:"first_delta"`
	Retried        int            `json:"retried"`
	GoldMissed     int            `json:"gold_missed"`
	Grounded       int            `json:"grounded"`
	// Retrieval is null when no question has gold.
	Retrieval   *Retrieval `json:"retrieval"`
	ReaderUsage TokenSums  `json:"reader_usage"`
	Cost        Cost       `json:"cost"`
}

// Settings shape a run without being part of the experiment.
type Settings struct {
	Concurrency    int     `json:"concurrency"`
	TimeoutSeconds float64 `json:"timeout_seconds"`
	Floor          float64 `json:"floor"`
	MaxUnscored    string  `json:"max_unscored"`
}

// Interval is a confidence interval of a rate or a mean.
type Interval struct {
	Method     string  `json:"method"`
	Confidence float64 `json:"confidence"`
	Low        float64 `json:"low"`
	High       float64 `json:"high"`
}

// Cost is what the judge was paid over the whole run, resumed parts and calls
// that gave no verdict included. UnpricedModel names a judge whose price is not
// known: its cost is then missing.
type Cost struct {
	SpentUSD      llm.USD  `json:"spent_usd"`
	CapUSD        *llm.USD `json:"cap_usd"`
	JudgeRequests int      `json:"judge_requests"`
	InputTokens   int64    `json:"input_tokens"`
	OutputTokens  int64    `json:"output_tokens"`
	// UsageEstimated counts the questions whose judge's provider did not count all
	// tokens, so that they were estimated.
	UsageEstimated int    `json:"usage_estimated"`
	UnpricedModel  string `json:"unpriced_model,omitempty"`
}

// SetAggregate takes the figures of t.
func (r *Result) SetAggregate(t *Aggregate) {
	r.Total, r.Passed, r.Counts = t.Total, t.Passed, t.Counts
	r.PassRate, r.MeanScore = t.PassRate(), t.MeanScore()
	r.Tags, r.EffectiveModes = t.Tags, t.Modes
	r.ReaderModels, r.ReaderPrompts = t.Models, t.Prompts
	r.Latency, r.FirstDelta = t.Latency(), t.FirstDelta()
	r.Retried, r.GoldMissed, r.Grounded = t.Retried, t.GoldMissed, t.Grounded
	r.ReaderUsage = t.Reader
	r.Retrieval = t.Retrieval()
	r.Cost.JudgeRequests = t.JudgeRequests
	r.Cost.InputTokens, r.Cost.OutputTokens = t.JudgeTokens.InputTokens, t.JudgeTokens.OutputTokens
	r.Cost.UsageEstimated = t.JudgeEstimated
	if t.Total > 0 {
		lo, hi := stats.Wilson(t.Passed, t.Total, 0.95)
		r.Interval = &Interval{Method: "wilson", Confidence: 0.95, Low: lo, High: hi}
	}
}

// Summary is the specification's line for a run.
func (r *Result) Summary(path string) string {
	return fmt.Sprintf("%s: %d/%d pass_rate=%s mean_score=%s -> %s",
		r.SDK, r.Passed, r.Total, rate(r.PassRate), rate(r.MeanScore), path)
}

func rate(f *float64) string {
	if f == nil {
		return "n/a"
	}
	return fmt.Sprintf("%.3f", *f)
}

// BrainUse is a brain in a result file. Documents is null for one that the run
// did not fill.
type BrainInfo struct {
	ID        string `json:"id"`
	Documents *int   `json:"documents"`
	Questions int    `json:"questions"`
}
