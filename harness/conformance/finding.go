package conformance

// Finding is one cause of broken checks, with the evidence of one of them. The texts may contain
// text from the daemon. The run's tokens are removed from them.
type Finding struct {
	// Cause is one line, such as "PUT /documents returned 500".
	Cause string `json:"cause"`
	// Level is the highest level of the checks.
	Level Level `json:"level"`
	// Checks are the ids of the broken checks, in catalog order. The first one is the evidence. The
	// finding of a daemon's death names the check that caused it.
	Checks []string `json:"checks"`
	// NotJudged is the number of checks that have no verdict because of the same cause.
	NotJudged int `json:"not_judged,omitempty"`

	Section  string `json:"section"`
	Sentence string `json:"sentence"`
	Request  string `json:"request,omitempty"`
	Response string `json:"response,omitempty"`
	Detail   string `json:"detail,omitempty"`
}
