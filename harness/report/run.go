package report

import (
	"evalctl/harness/result"
	"evalctl/harness/resultfile"
)

// Run is a result with its questions, in memory.
type Run struct {
	// Path is the path of the result file, as given.
	Path   string
	Result result.Result
	// Questions are in the order of the file.
	Questions []result.Record

	// The fields below are for a terminal, which needs no Questions. Failures are shown first.
	Failures Failures
	// Warned is how many warnings of Retrieval the terminal has shown already.
	Warned int
	// Verbose also shows tags whose questions all passed.
	Verbose bool
}

// ReadRun reads a result file with all its questions. It rejects the files that resultfile.Open and
// Reader.Questions reject. Errors name the file.
func ReadRun(path string) (*Run, error) {
	res, questions, err := resultfile.ReadAll(path)
	if err != nil {
		return nil, err
	}
	return &Run{Path: path, Result: res, Questions: questions}, nil
}
