package result

import "time"

// Sweep is a sweep file: the results of the same questions, asked of one daemon with every setting
// of a grid.
type Sweep struct {
	SchemaVersion int       `json:"schema_version"`
	SDK           string    `json:"sdk"`
	StartedAt     time.Time `json:"started_at"`
	FinishedAt    time.Time `json:"finished_at"`
	// Stopped is why the sweep ended before its last cell. Planned is the number of cells of the
	// grid.
	Stopped Stop `json:"stopped"`
	Planned int  `json:"planned"`
	// WarmUp is the number of questions that were asked before the first cell and not measured.
	WarmUp int    `json:"warm_up"`
	Cells  []Cell `json:"cells"`
}

// Cell is one finished cell of the grid. Result is that of a result file, without the questions.
type Cell struct {
	Mode       string `json:"mode"`
	TopK       int    `json:"top_k"`
	CandidateK int    `json:"candidate_k"`
	Result     Result `json:"result"`
}
