package result

// Failure is why a question has no usable answer.
type Failure struct {
	Kind    Kind   `json:"kind"`
	Message string `json:"message"`
	// Status is the HTTP status, 0 for other kinds than KindStatus.
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
