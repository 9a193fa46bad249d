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
