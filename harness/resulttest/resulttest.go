// Package resulttest creates result files without a run.
package resulttest

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"evalctl/harness/aggregate"
	"evalctl/harness/result"
)

// File is a result with its questions, in the form of a result file.
type File struct {
	result.Result
	Questions []result.Record `json:"questions"`
}

// New returns the filled result of a run that began at this time and took a minute. Its questions
// have the ids q-00, q-01 … and these outcomes: + passed, - failed, e error, ? unscored.
func New(sdk string, at time.Time, outcomes string) *File {
	anything, err := result.ParseAllowance("100%")
	if err != nil {
		panic(err)
	}
	f := &File{Result: result.Result{
		SDK: sdk, ScorerName: "exact", StartedAt: at, FinishedAt: at.Add(time.Minute), Planned: len(outcomes),
		Identity: result.Identity{
			SchemaVersion: result.SchemaVersion, SDK: sdk, Scorer: "exact", ExactCase: new(false), Scenario: result.AskBasic, Mode: "auto", TopK: 5,
			Dataset: result.DatasetID{Path: "data/q.jsonl", SHA256: strings.Repeat("9f", 32), Selected: len(outcomes)},
			Daemon:  result.DaemonID{Program: "evalctl", Version: "1.4.0"},
		},
		Settings: result.Settings{Concurrency: 1, TimeoutSeconds: 60, Floor: 0.5, MaxErrors: anything, MaxUnscored: anything},
	}}
	for i, o := range outcomes {
		r := result.Record{ID: fmt.Sprintf("q-%02d", i), Question: "Which?", Outcome: result.Scored, Score: new(0.0),
			Reply: result.Reply{EffectiveMode: "bm25", Model: "m", PromptSHA256: strings.Repeat("7a", 32)}}
		switch o {
		case '+':
			r.Passed, r.Score = true, new(1.0)
		case 'e':
			r.Outcome, r.Score, r.Error = result.Errored, nil, &result.Failure{Kind: result.KindTimeout, Message: "late"}
		case '?':
			r.Outcome, r.Score = result.Unscored, nil
		}
		f.Questions = append(f.Questions, r)
	}
	f.Fill()
	return f
}

// Fill computes the figures and the verdict from the questions.
func (f *File) Fill() {
	sum := aggregate.New(f.Identity.TopK)
	for _, r := range f.Questions {
		sum.Add(r)
	}
	sum.Fill(&f.Result)
	sum.Judge(&f.Result)
}

// Save writes the file under the joined path elements, creates its folders, and returns the path.
func (f *File) Save(t testing.TB, elements ...string) string {
	t.Helper()
	path := filepath.Join(elements...)
	data, err := json.Marshal(f)
	if err == nil {
		err = os.MkdirAll(filepath.Dir(path), 0o755)
	}
	if err == nil {
		err = os.WriteFile(path, data, 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
	return path
}
