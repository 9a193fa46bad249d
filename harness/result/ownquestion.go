package result

import (
	"fmt"

	"evalctl/daemon/protocol"
	"evalctl/internal/figure"
)

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

// OwnText says how many questions were evalctl's own, and what they used of the reader. It is empty
// without any.
func (r *Result) OwnText() string {
	if len(r.OwnQuestions) == 0 {
		return ""
	}
	in, out := int64(0), int64(0)
	requests := 0
	for _, q := range r.OwnQuestions {
		requests += q.Requests
		if q.Usage != nil {
			in, out = AddTokens(in, int64(q.Usage.InputTokens)), AddTokens(out, int64(q.Usage.OutputTokens))
		}
	}
	text := figure.Count(requests, "request") + " with a question of evalctl's own, before the run"
	if in+out > 0 {
		text += fmt.Sprintf("; the reader's %d tokens in, %d out are in its cost", in, out)
	}
	return text
}
