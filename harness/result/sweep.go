package result

import (
	"slices"
	"time"
)

// Sweep is a sweep file: the results of the same questions on one daemon with every setting of a
// grid.
type Sweep struct {
	SchemaVersion int       `json:"schema_version"`
	SDK           string    `json:"sdk"`
	StartedAt     time.Time `json:"started_at"`
	FinishedAt    time.Time `json:"finished_at"`
	// Stopped is why the sweep ended before its last cell. Planned is the number of cells of the
	// grid.
	Stopped Stop `json:"stopped"`
	Planned int  `json:"planned"`
	// WarmUp is the number of unmeasured questions asked before the first cell.
	WarmUp int `json:"warm_up"`
	// Embeddings and Escaped are as in Result, for the whole sweep.
	Embeddings *Embeddings `json:"embeddings,omitempty"`
	Escaped    []string    `json:"escaped_processes,omitzero"`
	// Cost is the cost of the whole sweep, zero in files of older versions.
	Cost  Spending `json:"cost,omitzero"`
	Cells []Cell   `json:"cells"`
}

// Cell is one finished cell of the grid: a result without the retrieved texts.
type Cell struct {
	Mode       string `json:"mode"`
	TopK       int    `json:"top_k"`
	CandidateK int    `json:"candidate_k"`
	Result     Result `json:"result"`
	// Questions are in the order of the dataset. They are nil in the cells of older files.
	Questions []Record `json:"questions,omitempty"`
}

// Unanswered reports whether no question of the cell has an answer.
func (c Cell) Unanswered() bool { return c.Result.Counts.Errors == c.Result.Counts.Total }

// WithoutTexts returns the record without the retrieved texts, which are also the answer of a
// search. The paths of the passages remain.
func (r Record) WithoutTexts() Record {
	r.Answer = ""
	r.Retrieved = slices.Clone(r.Retrieved)
	for i := range r.Retrieved {
		r.Retrieved[i].Text = ""
	}
	return r
}
