package compare

import (
	"fmt"
	"os"
	"slices"
)

// Side combines runs of the same thing into one named run, so that Compare can estimate the
// variation between runs. It requires at least one run. The runs must be comparable with each
// other. Their answers to a question count as repeats; for latencies, each run is one value.
func Side(name string, runs []*Run) *Run {
	side := *runs[0]
	side.name = name
	if len(runs) > 1 {
		side.parts = slices.Clone(runs)
	}
	return &side
}

// files returns the runs of a side.
func (r *Run) files() []*Run {
	if r.parts != nil {
		return r.parts
	}
	return []*Run{r}
}

// filesOf returns the runs of all sides.
func filesOf(sides []*Run) []*Run {
	var files []*Run
	for _, r := range sides {
		files = append(files, r.files()...)
	}
	return files
}

// fileNames returns the names of the runs of all sides. A side of one run keeps its name unless a
// run of another side has the same.
func fileNames(sides []*Run, names []string) []string {
	files := filesOf(sides)
	if len(files) == len(sides) {
		return names
	}
	for i, f := range files {
		files[i] = Side("", []*Run{f}) // as the path or the SDK says
	}
	all := NamesOf(files)
	own, file := slices.Clone(all), 0
	for i, side := range sides {
		if side.parts == nil {
			own[file] = names[i]
		}
		file += len(side.files())
	}
	if distinct(own) {
		return own
	}
	return all
}

// checkFiles returns an error if a file is given twice, or if two files of a side come from the
// same run, which would hide the variation between runs. Files without a start time count as
// separate runs even with equal contents, because a deterministic system repeats itself.
func checkFiles(sides []*Run) error {
	files := filesOf(sides)
	for i, a := range files {
		for _, b := range files[:i] {
			if os.SameFile(a.info, b.info) {
				return fmt.Errorf("%w: %s and %s are the same file", ErrOptions, b.path, a.path)
			}
		}
	}
	for _, side := range sides {
		for i, a := range side.parts {
			for _, b := range side.parts[:i] {
				if sameRun(a, b) {
					return fmt.Errorf("%w: %s and %s are of the same run; give each run of %s once",
						ErrOptions, b.path, a.path, side.name)
				}
			}
		}
	}
	return nil
}

// sameRun reports whether two results come from the same run, such as a result and its rescored
// copy.
func sameRun(a, b *Run) bool {
	return a.res != nil && b.res != nil && a.res.SDK == b.res.SDK &&
		!a.res.MeasuredAt().IsZero() && a.res.MeasuredAt().Equal(b.res.MeasuredAt())
}

// joined returns a copy of a with one question per side in each row instead of one per run.
func (a *alignment) joined(sides []*Run) *alignment {
	b := *a
	b.rows = make([][]*question, len(a.rows))
	for i, row := range a.rows {
		b.rows[i] = joinEach(sides, row, joinQuestions)
	}
	join := func(ids [][]string) []string {
		var all []string
		seen := map[string]bool{}
		for _, id := range slices.Concat(ids...) {
			if !seen[id] {
				seen[id] = true
				all = append(all, id)
			}
		}
		return all
	}
	b.ids, b.leftOut = joinEach(sides, a.ids, join), joinEach(sides, a.leftOut, join)
	for i, ids := range b.leftOut {
		if ids == nil {
			b.leftOut[i] = []string{}
		}
	}
	return &b
}

// joinEach applies join to the values of each side's runs.
func joinEach[T any](sides []*Run, values []T, join func([]T) T) []T {
	out := make([]T, len(sides))
	for i, side := range sides {
		n := len(side.files())
		if n == 1 {
			out[i] = values[0]
		} else {
			out[i] = join(values[:n])
		}
		values = values[n:]
	}
	return out
}

// joinQuestions merges a question that several runs of a side asked.
func joinQuestions(runs []*question) *question {
	q := *runs[0]
	q.runs, q.attempts = runs, nil
	for _, r := range runs {
		if q.text == "" {
			q.text = r.text
		}
		if len(q.tags) == 0 {
			q.tags = r.tags
		}
		q.attempts = append(q.attempts, r.attempts...)
	}
	return &q
}
