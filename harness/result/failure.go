package result

// Kind classes the failures of a question.
type Kind string

// The kinds of failure.
const (
	KindTransport  Kind = "transport"         // no connection, or it broke
	KindTimeout    Kind = "timeout"           // the time for the question ran out
	KindStatus     Kind = "status"            // an HTTP status outside 2xx
	KindIncomplete Kind = "stream_incomplete" // an ask stream without done
	KindDaemon     Kind = "daemon"            // an error event, or done with ok false
	KindProtocol   Kind = "protocol"          // an answer that cannot be read
)

// Failure is why a question has no usable answer.
type Failure struct {
	Kind    Kind   `json:"kind"`
	Message string `json:"message"`
	Status  int    `json:"status,omitempty"`
}
