// Package history reads a folder of results: what was measured when, how a pass rate developed from
// night to night, where it changed, and which questions broke or became flaky.
//
// A folder has the layout that evalctl writes, <root>/<date>/<name>.json; replays of several arms
// have subfolders. The folder is never written to.
package history

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"evalctl/harness/key"
	"evalctl/harness/result"
	"evalctl/harness/wording"
	"evalctl/internal/llm"
	"evalctl/scorer"
)

// Kind is the kind of a file.
type Kind string

// The kinds of JSON files. Only runs and replays have a Result, and only benches have Loads.
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
	// Name is the measured SDK, or the arm of a replay.
	Name string `json:"name"`
	// Path is the entry's file. Copies are other files with the same measurement or an earlier part
	// of it: a run that was stopped and resumed is one measurement.
	Path       string    `json:"path"`
	Copies     []string  `json:"copies,omitempty"`
	StartedAt  time.Time `json:"started_at"`
	FinishedAt time.Time `json:"finished_at"`

	// The remaining keys are zero except for runs and replays. Dataset is the path of the
	// questions. Selection describes the questions asked, empty for all.
	Dataset       string          `json:"dataset,omitempty"`
	DatasetSHA256 string          `json:"dataset_sha256,omitempty"`
	Selection     string          `json:"selection,omitempty"`
	Scorer        string          `json:"scorer,omitempty"`
	Scenario      result.Scenario `json:"scenario,omitempty"`
	Planned       int             `json:"planned"`
	Total         int             `json:"total"`
	Passed        int             `json:"passed"`
	PassRate      *float64        `json:"pass_rate"`
	// Interval is the interval of PassRate, from result.Result.Believed.
	Interval *result.Interval `json:"pass_rate_interval"`
	Verdict  result.Verdict   `json:"verdict,omitempty"`
	Stopped  result.Stop      `json:"stopped,omitempty"`
	SpentUSD llm.USD          `json:"spent_usd"`
	// Unpriced is set if SpentUSD lacks the cost of models without a known price.
	Unpriced bool `json:"unpriced,omitempty"`

	// Loads are the figures of a bench.
	Loads []Load `json:"loads,omitempty"`

	// measure has the settings that entries on a line have in common, and missing those of them
	// that are not recorded, for a run, a replay or a bench.
	measure map[string]string
	missing []string

	// Result is nil except for runs and replays. It is shared and must not be modified.
	Result *result.Result `json:"-"`
}

// Date returns the day of the measurement in UTC, as time.DateOnly.
func (e *Entry) Date() string { return e.StartedAt.UTC().Format(time.DateOnly) }

// Scored reports whether the pass rate is meaningful: all questions finished, and not too many were
// lost. A run that stopped can have failed without a score. A nil entry has none.
func (e *Entry) Scored() bool {
	return e != nil && e.PassRate != nil && e.Stopped == "" && e.Verdict.Scores()
}

// shared identifies the line of a result. Unrecorded settings are never equal.
func (e *Entry) shared() string {
	if len(e.missing) > 0 {
		return e.Path
	}
	return fmt.Sprint(e.measure)
}

// differing returns the names of the settings for which two results are on different lines.
func (e *Entry) differing(o *Entry) []string {
	names := slices.Concat(e.missing, o.missing)
	for _, m := range []map[string]string{e.measure, o.measure} {
		for name := range m {
			if e.measure[name] != o.measure[name] {
				names = append(names, name)
			}
		}
	}
	return names
}

// VerdictText returns the verdict in words, or why the run stopped. It is empty without either.
func (e *Entry) VerdictText() string {
	if e.Stopped != "" {
		return strings.ReplaceAll(string(e.Stopped), "_", " ")
	}
	if e.Scorer == scorer.Imported && e.Verdict == result.Measured {
		return "imported"
	}
	return string(e.Verdict)
}

// newEntry returns the entry of a result file.
func newEntry(path string, res *result.Result) *Entry {
	id := &res.Identity
	e := &Entry{
		Kind: Run, Name: res.SDK, Path: path, StartedAt: res.MeasuredAt(), FinishedAt: res.FinishedAt,
		Dataset: id.Dataset.Path, DatasetSHA256: id.Dataset.SHA256, Scorer: wording.ScoredBy(*id),
		Scenario: id.Scenario, Planned: res.Planned, Total: res.Total, Passed: res.Passed,
		PassRate: res.PassRate, Interval: res.Believed(), Verdict: res.Gate.Word(),
		Stopped: res.Stopped, Result: res,
	}
	if id.Dataset.Selection.Partial(id.Dataset.Questions()) {
		e.Selection = wording.Selection(id.Dataset)
	}
	if r := res.Replay; r != nil {
		e.Kind, e.Name = Replay, r.Arm
	}
	e.SpentUSD, e.Unpriced = res.Spent()
	settings := &key.File{Name: path, Result: res}
	e.measure, e.missing = key.Measure(key.Trend, settings), key.Missing(key.Trend, settings)
	return e
}
