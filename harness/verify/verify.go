// Package verify checks result files. It recomputes every figure that follows from the questions,
// with the code that computed it in the run, and the parts of each question that follow from
// others. It also checks files against their JSON Schemas.
package verify

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"evalctl/harness/aggregate"
	"evalctl/harness/result"
	"evalctl/harness/resultfile"
)

// MaxDifferences limits the differences listed in a Report.
const MaxDifferences = 1000

// Report is the outcome of verifying one file.
type Report struct {
	Path string `json:"path"`
	// Kind is run, replay, sweep or bench.
	Kind string `json:"kind"`
	// OK is set if there are no differences.
	OK bool `json:"ok"`
	// Figures is the number of values, outside questions, that were compared with the questions.
	// Questions is the number of questions, in a sweep over all cells.
	Figures   int `json:"figures"`
	Questions int `json:"questions"`
	Cells     int `json:"cells,omitempty"`
	Blocks    int `json:"blocks,omitempty"` // of a bench
	// Differences has the differences in the file's head, then those by question; in a sweep, for
	// each cell. At most MaxDifferences of Found are listed.
	Found       int          `json:"found"`
	Differences []Difference `json:"differences"`
	// NotChecked lists the values that do not follow from the questions.
	NotChecked []string `json:"not_checked"`
}

// Difference is a wrong value. Content of the file is quoted as JSON.
type Difference struct {
	// Path is the place in the file in jq notation.
	Path string `json:"path"`
	// Question is the question's id, empty for a value in the head.
	Question string `json:"question,omitempty"`
	// InFile is the value in the file and Recomputed the correct one, both JSON, empty if missing.
	// Problem describes an error without a correct value.
	InFile     string `json:"in_file,omitempty"`
	Recomputed string `json:"recomputed,omitempty"`
	Problem    string `json:"problem,omitempty"`

	number int // of the question, from 1
}

// reporter is called for each difference.
type reporter func(Difference)

// differ reports two different values.
func (add reporter) differ(path string, file, want any) {
	add(Difference{Path: path, InFile: text(file), Recomputed: text(want)})
}

// must reports a value unless the rule holds. args that are not strings are formatted as JSON.
func (add reporter) must(holds bool, path string, file any, rule string, args ...any) {
	if holds {
		return
	}
	for i, a := range args {
		if _, ok := a.(string); !ok {
			args[i] = text(a)
		}
	}
	add(Difference{Path: path, InFile: text(file), Problem: fmt.Sprintf(rule, args...)})
}

// File verifies a result file of a run or a replay, whole or partial, a sweep file, or a bench
// file. It returns an error if the file is none of these, is cut off, or has an unknown schema
// version.
func File(path string) (*Report, error) {
	if resultfile.KindOf(path) == resultfile.Bench {
		return benchFile(path)
	}
	r, err := resultfile.OpenUnchecked(path)
	if errors.Is(err, resultfile.ErrSweep) {
		return sweepFile(path)
	}
	if err != nil {
		return nil, err
	}
	defer r.Close()
	return resultFile(path, r)
}

// resultFile verifies a result file.
func resultFile(path string, r *resultfile.Reader) (*Report, error) {
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
	if err := f.add(r.RawQuestions(), &res, rep); err != nil {
		return nil, err
	}
	if err := rep.compare(members, f.recompute(&res, rep), f.follows); err != nil {
		return nil, err
	}
	absent := sources(&res, rep)
	rep.leaveOut(f.notChecked(&res)...)
	for _, path := range absent {
		rep.leaveOut("the digest of " + text(path) + ", which cannot be read here")
	}
	rep.order()
	return rep.finish(), nil
}

// newFigures returns empty figures for a result with this identity.
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

// order sorts the differences by question and path.
func (r *Report) order() {
	slices.SortStableFunc(r.Differences, func(a, b Difference) int {
		return cmp.Or(cmp.Compare(a.number, b.number), cmp.Compare(a.Path, b.Path))
	})
}

// finish sets the verdict.
func (r *Report) finish() *Report {
	r.OK = r.Found == 0
	if r.Differences == nil {
		r.Differences = []Difference{}
	}
	return r
}

// text returns a value as JSON.
func text(v any) string {
	data, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprintf("%q", fmt.Sprint(v))
	}
	return string(data)
}
