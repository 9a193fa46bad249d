package report

import (
	"evalctl/harness/result"
)

// Run is a result with its questions, in memory.
type Run struct {
	// Path is that of the result file, as it was given.
	Path   string
	Result result.Result
	// Questions are in the order of the file.
	Questions []result.Record

	// What follows is for a terminal, which needs no Questions. Failures are shown first.
	Failures Failures
	// Warned is how many warnings of Retrieval it has shown already.
	Warned int
	// Verbose also shows the tags of which all questions passed.
	Verbose bool
}

// ReadRun reads a result file with all its questions. It rejects what result.Open and
// Reader.Questions reject; the error names the file.
func ReadRun(path string) (*Run, error) {
	r, err := result.Open(path)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	run := &Run{Path: path, Result: r.Result()}
	for rec, err := range r.Questions() {
		if err != nil {
			return nil, err
		}
		run.Questions = append(run.Questions, rec)
	}
	return run, nil
}
