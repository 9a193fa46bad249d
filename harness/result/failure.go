package result

import "fmt"

// Failure is the reason why a question has no usable answer.
type Failure struct {
	Kind    Kind   `json:"kind"`
	Message string `json:"message"`
	// Status is the HTTP status, 0 for kinds other than KindStatus.
	Status int `json:"status,omitempty"`
}

// Kind classifies the failures of questions.
type Kind string

// The kinds of failure.
const (
	KindTransport  Kind = "transport"         // no connection, or it broke
	KindTimeout    Kind = "timeout"           // the question's time limit was reached
	KindStatus     Kind = "status"            // an HTTP status outside 2xx
	KindIncomplete Kind = "stream_incomplete" // an ask stream without done
	KindDaemon     Kind = "daemon"            // an error event, or done with ok false
	KindProtocol   Kind = "protocol"          // an answer that cannot be read
	KindReader     Kind = "reader"            // the model that answers in a replay failed
)

// Example returns the first failure in a result file that is invalid because of failures, with the
// id of its question. It returns nil for another reason, and the error of reading an unreadable
// file.
func Example(path string, reason Reason) error {
	if reason != ReasonNoAnswers && reason != ReasonLost {
		return nil
	}
	r, err := Open(path)
	if err != nil {
		return err
	}
	defer r.Close()
	for q, err := range r.Questions() {
		switch {
		case err != nil:
			return err
		case q.Error != nil:
			return fmt.Errorf("%s: %s", q.ID, q.Error.Message)
		case q.Outcome == Unscored:
			return fmt.Errorf("%s: %s", q.ID, q.Reason)
		}
	}
	return nil
}
