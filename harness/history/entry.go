// Package history reads a folder of results: what was measured when, how the pass rate of one thing
// went from night to night, where it changed, and which questions broke or became flaky.
//
// A folder has the form that evalctl writes, <root>/<date>/<name>.json, in which replays of several
// arms have folders of their own. Nothing in the folder is written.
package history

import (
	"strings"
	"time"

	"evalctl/harness/key"
	"evalctl/harness/result"
	"evalctl/internal/llm"
)

// Kind is what wrote a file.
type Kind string

// The kinds of JSON files. Only runs and replays have a Result, and benches Loads.
const (
	Run         Kind = "run"
	Replay      Kind = "replay"
	Sweep       Kind = "sweep"
	Bench       Kind = "bench"
	Conformance Kind = "conformance"
	Other       Kind = "other" // a JSON file that none of these wrote
)

// Entry is one measurement. Its strings come from files and must be escaped in every output.
type Entry struct {
	Kind Kind `json:"kind"`
	// Name is that of what was measured: the SDK, or the arm of a replay.
	Name string `json:"name"`
	// Path is that of the file. Copies are files with the same measurement, or with an earlier part
	// of it: a run that was stopped and resumed is one measurement.
	Path       string    `json:"path"`
	Copies     []string  `json:"copies,omitempty"`
	StartedAt  time.Time `json:"started_at"`
	FinishedAt time.Time `json:"finished_at"`

	// The remaining keys are zero for other kinds than Run and Replay. Dataset is the path of the
	// questions, Selection describes those that were asked if they were not all.
	Dataset       string          `json:"dataset,omitempty"`
	DatasetSHA256 string          `json:"dataset_sha256,omitempty"`
	Selection     string          `json:"selection,omitempty"`
	Scorer        string          `json:"scorer,omitempty"`
	Scenario      result.Scenario `json:"scenario,omitempty"`
	Planned       int             `json:"planned"`
	Total         int             `json:"total"`
	Passed        int             `json:"passed"`
	PassRate      *float64        `json:"pass_rate"`
	// Interval is that of PassRate, as result.Result.Believed returns it.
	Interval *result.Interval `json:"pass_rate_interval"`
	Verdict  result.Verdict   `json:"verdict,omitempty"`
	Stopped  result.Stop      `json:"stopped,omitempty"`
	SpentUSD llm.USD          `json:"spent_usd"`
	// Unpriced is set if SpentUSD lacks what models cost whose price is not known.
	Unpriced bool `json:"unpriced,omitempty"`

	// Loads are what a bench found.
	Loads []Load `json:"loads,omitempty"`

	// measure is what the entry has in common with others on one line, and missing what of it is not
	// recorded, of a run, a replay or a bench.
	measure map[string]string
	missing []string

	// Result is nil for other kinds than Run and Replay. It is shared and must not be changed.
	Result *result.Result `json:"-"`
}

// Date returns the day of the measurement in UTC, as time.DateOnly.
func (e *Entry) Date() string { return e.StartedAt.UTC().Format(time.DateOnly) }

// Scored reports whether the pass rate says something about what was measured: the questions were
// finished, and not too many of them were lost. A run that stopped can have failed without a score.
func (e *Entry) Scored() bool {
	return e.PassRate != nil && e.Stopped == "" && e.Verdict.Scores()
}

// VerdictText returns the verdict for people, or why the run stopped. It is empty without either.
func (e *Entry) VerdictText() string {
	if e.Stopped != "" {
		return strings.ReplaceAll(string(e.Stopped), "_", " ")
	}
	if e.Scorer == result.ScorerImported && e.Verdict == result.Measured {
		return "imported"
	}
	return string(e.Verdict)
}

// newEntry returns the entry of a result file.
func newEntry(path string, res *result.Result) *Entry {
	id := &res.Identity
	e := &Entry{
		Kind: Run, Name: res.SDK, Path: path, StartedAt: res.StartedAt, FinishedAt: res.FinishedAt,
		Dataset: id.Dataset.Path, DatasetSHA256: id.Dataset.SHA256, Scorer: id.ScoredBy(),
		Scenario: id.Scenario, Planned: res.Planned, Total: res.Total, Passed: res.Passed,
		PassRate: res.PassRate, Interval: res.Believed(), Verdict: res.Gate.Word(),
		Stopped: res.Stopped, Result: res,
	}
	if id.Dataset.Selection.Partial(id.Dataset.Questions()) {
		e.Selection = id.Dataset.SelectionText()
	}
	if r := res.Replay; r != nil {
		e.Kind, e.Name = Replay, r.Arm
	}
	e.SpentUSD, e.Unpriced = res.Spent()
	settings := &key.File{Name: path, Result: res}
	e.measure, e.missing = key.Measure(key.Trend, settings), key.Missing(key.Trend, settings)
	return e
}
