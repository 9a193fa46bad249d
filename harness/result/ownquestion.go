package result

import "evalctl/daemon/protocol"

// OwnQuestion is a question that evalctl asked of a daemon before a run, to see whether its answers
// can be read. It counts nowhere, except that what the daemon reported for its reader is in
// ReaderCost.
type OwnQuestion struct {
	Question string `json:"question"`
	// Requests is how often the question was sent.
	Requests int    `json:"requests"`
	Model    string `json:"model,omitempty"`
	// Usage is nil if the daemon reported none.
	Usage *protocol.Usage `json:"usage,omitempty"`
}
