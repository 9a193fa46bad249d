// Package verify recomputes result files: every figure that follows from the questions, by the code
// that computed it in the run, and the parts of each question that follow from others. It also
// checks files against their JSON Schemas.
package verify

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"

	"evalctl/harness/aggregate"
	"evalctl/harness/result"
	"evalctl/internal/jsonstream"
)

// MaxDifferences is how many differences a Report lists.
const MaxDifferences = 1000

// Report is what was found about one file.
type Report struct {
	Path string `json:"path"`
	// Kind is run, replay or sweep.
	Kind string `json:"kind"`
	// OK is set if there are no differences.
	OK bool `json:"ok"`
	// Figures is the number of values besides those of questions that were compared with what the
	// questions, or in a sweep the counts, say. Questions is the number of questions.
	Figures   int `json:"figures"`
	Questions int `json:"questions"`
	Cells     int `json:"cells,omitempty"`
	// Differences are those found, the ones of the file's head first, then by question. At most
	// MaxDifferences of Found are listed.
	Found       int          `json:"found"`
	Differences []Difference `json:"differences"`
	// NotChecked says what does not follow from the questions.
	NotChecked []string `json:"not_checked"`
}

// Difference is a value that is not what it should be. Content of the file is quoted as JSON.
type Difference struct {
	// Path is the place in the file, in the notation of jq.
	Path string `json:"path"`
	// Question is the id of the question, empty for a value of the head.
	Question string `json:"question,omitempty"`
	// InFile is the value in the file, Recomputed the one that follows from the questions: both JSON,
	// empty for a value that is missing. Problem says what is wrong where there is no value to
	// compare with.
	InFile     string `json:"in_file,omitempty"`
	Recomputed string `json:"recomputed,omitempty"`
	Problem    string `json:"problem,omitempty"`

	number int // of the question, from 1
}

// File verifies a result file of a run or a replay, whole or partial, or a sweep file. The error
// says why the file cannot be read: it is none of these, has been cut off, or has a schema version
// that this program does not know.
func File(path string) (*Report, error) {
	sweep, err := isSweep(path)
	if err != nil {
		return nil, err
	}
	if sweep {
		return sweepFile(path)
	}
	r, err := result.OpenUnchecked(path)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	return resultFile(path, r)
}

// errFound ends the reading of a file whose kind is known.
var errFound = errors.New("found")

// isSweep reports whether a file has the cells of a sweep.
func isSweep(path string) (bool, error) {
	f, err := os.Open(path)
	if err != nil {
		return false, fmt.Errorf("open result: %w", err)
	}
	defer f.Close()
	sweep := false
	stream := jsonstream.New(f, 0)
	err = stream.Members(func(key string) error {
		if sweep = key == "cells"; sweep || key == "identity" {
			return errFound
		}
		return stream.Skip()
	})
	if err != nil && !errors.Is(err, errFound) {
		return false, fmt.Errorf("read %s: %w", path, err)
	}
	return sweep, nil
}

// resultFile verifies a result file.
func resultFile(path string, r *result.Reader) (*Report, error) {
	rep := &Report{Path: path, Kind: "run"}
	res := r.Result()
	if res.Replay != nil {
		rep.Kind = "replay"
	}
	members := r.Members()
	if err := rep.checkHead(members); err != nil {
		return nil, err
	}
	f := newFigures(&res)
	if f.baseline = openBaseline(&res); f.baseline != nil {
		f.sum.Compare(f.baseline)
	}
	if err := f.add(r, &res, rep); err != nil {
		return nil, err
	}
	if err := rep.compare(members, f.recompute(&res, rep), f.follows); err != nil {
		return nil, err
	}
	rep.NotChecked = f.notChecked(&res)
	rep.finish()
	return rep, nil
}

// newFigures returns the figures of no question, for a result with this identity.
func newFigures(res *result.Result) *figures {
	return &figures{
		sum: aggregate.New(max(1, res.Identity.TopK)), replay: aggregate.NewReplay(),
		tags: map[string]int{}, brains: map[string]int{},
	}
}

// add adds a difference.
func (r *Report) add(d Difference) {
	r.Found++
	if len(r.Differences) < MaxDifferences {
		r.Differences = append(r.Differences, d)
	}
}

// finish orders the differences.
func (r *Report) finish() {
	r.OK = r.Found == 0
	if r.Differences == nil {
		r.Differences = []Difference{}
	}
	slices.SortStableFunc(r.Differences, func(a, b Difference) int {
		return cmp.Or(cmp.Compare(a.number, b.number), cmp.Compare(a.Path, b.Path))
	})
}

// text returns a value as JSON.
func text(v any) string {
	data, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprintf("%q", fmt.Sprint(v))
	}
	return string(data)
}
