package result

import (
	"math"
	"time"
)

// OtherEvent is the kind of events unknown to the protocol. They may have any name.
const OtherEvent = "other"

// timelineEntries is the number of entries after which the entries of a timeline are no longer
// consecutive.
const timelineEntries = 64

// Timeline has the times of the events in an answer's stream. Each entry has consecutive events of
// one kind. Events after the 64th entry are added to the last entry of their kind, so that a stream
// with alternating kinds has at most 64 entries, plus one for each kind that first occurs later.
type Timeline []StreamEvents

// StreamEvents are events of one kind in the stream of an answer. Times are in milliseconds,
// rounded to 0.1.
type StreamEvents struct {
	// Event is the kind, such as answer_delta.
	Event string `json:"event"`
	// AtMS is the time of the first event, LastMS of the last one, since the question was sent.
	// LastMS is 0 for a single event.
	AtMS   float64 `json:"at_ms"`
	LastMS float64 `json:"last_ms,omitempty"`
	// N is the number of events, 0 for a single one.
	N int `json:"n,omitempty"`
	// GapMS is the longest pause between two of the events.
	GapMS float64 `json:"gap_ms,omitempty"`
}

// Add adds an event of this kind that arrived at this time since the question was sent. Times must
// not decrease.
func (t *Timeline) Add(event string, at time.Duration) {
	ms := tenths(at.Seconds() * 1000)
	i := len(*t) - 1
	if len(*t) >= timelineEntries {
		for i >= 0 && (*t)[i].Event != event {
			i--
		}
	}
	if i < 0 || (*t)[i].Event != event {
		*t = append(*t, StreamEvents{Event: event, AtMS: ms})
		return
	}
	e := &(*t)[i]
	last := e.LastMS
	if e.N == 0 {
		e.N, last = 1, e.AtMS
	}
	e.N++
	e.GapMS = max(e.GapMS, tenths(ms-last))
	e.LastMS = ms
}

func tenths(ms float64) float64 { return math.Round(ms*10) / 10 }
