package result

// StreamEvents are consecutive events of one kind in the stream of an answer.
type StreamEvents struct {
	// Event is the kind, such as answer_delta.
	Event string `json:"event"`
	// AtMS is when the first of them came, LastMS the last one, in milliseconds since the question
	// was sent. LastMS is 0 for a single event.
	AtMS   float64 `json:"at_ms"`
	LastMS float64 `json:"last_ms,omitempty"`
	// N is the number of events, 0 for a single one.
	N int `json:"n,omitempty"`
	// GapMS is the longest pause between two of them.
	GapMS float64 `json:"gap_ms,omitempty"`
}
