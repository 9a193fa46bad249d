package harness

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"
	"time"

	"evalctl/internal/atomicfile"
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
	Brains []BrainUse `json:"brains,omitempty"`

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
	// CapUSD and UnpricedModel stand in the result's cost.
	CapUSD        *llm.USD `json:"-"`
	UnpricedModel string   `json:"-"`
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

// fill takes the figures of t.
func (r *Result) fill(t *Tally) {
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

// resultPath is where the result of a run with this journal is written.
func (j *Journal) resultPath() string {
	return filepath.Join(filepath.Dir(j.path), j.start.Identity.SDK+".json")
}

// writeResult makes the result file from the journal, in the order of the dataset,
// one question at a time. A file of an earlier run is kept aside.
func (j *Journal) writeResult(res *Result) (string, error) {
	path := j.resultPath()
	err := atomicfile.WriteNew(path, 0o644, func(w io.Writer) error { return j.encode(w, res) })
	if err != nil {
		return "", fmt.Errorf("write result %s: %w", path, err)
	}
	return path, nil
}

func (j *Journal) encode(to io.Writer, res *Result) error {
	w := bufio.NewWriterSize(to, 256<<10)
	head, err := json.MarshalIndent(res, "", "  ")
	if err != nil {
		return err
	}
	// The questions follow the other keys, inside the same object.
	if _, err := fmt.Fprintf(w, "%s,\n  \"questions\": [", head[:len(head)-2]); err != nil {
		return err
	}
	sep := "\n    "
	src := &window{src: j.file}
	for i, s := range j.slots {
		if !s.answered {
			continue
		}
		line, err := j.raw(src, i)
		if err == nil && !s.finished {
			line, err = unjudged(line)
		}
		if err != nil {
			return err
		}
		if _, err := w.WriteString(sep); err != nil {
			return err
		}
		if _, err := w.Write(line); err != nil {
			return err
		}
		sep = ",\n    "
	}
	if _, err := w.WriteString("\n  ]\n}\n"); err != nil {
		return err
	}
	return w.Flush()
}

const notJudged = "the run stopped before this answer was judged"

func unjudged(record []byte) ([]byte, error) {
	var r Record
	if err := json.Unmarshal(record, &r); err != nil {
		return nil, err
	}
	r.Reason = notJudged
	return json.Marshal(r)
}
