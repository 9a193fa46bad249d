package result

import (
	"math"
	"time"
)

// OtherEvent is the kind of the events in a timeline that the protocol does not know. They may have
// any name.
const OtherEvent = "other"

// timelineEntries is how many entries a timeline has before its entries stop being consecutive.
const timelineEntries = 64

// Timeline is when the events of an answer's stream came. Each entry has consecutive events of one
// kind. Events after the 64th entry are added to the last entry of their kind, so that a stream in
// which kinds alternate has at most 64 entries, and one more for each kind that comes only later.
type Timeline []StreamEvents

// StreamEvents are events of one kind in the stream of an answer. Times are in milliseconds,
// rounded to 0.1.
type StreamEvents struct {
	// Event is the kind, such as answer_delta.
	Event string `json:"event"`
	// AtMS is when the first of them came, LastMS the last one, since the question was sent. LastMS is
	// 0 for a single event.
	AtMS   float64 `json:"at_ms"`
	LastMS float64 `json:"last_ms,omitempty"`
	// N is the number of events, 0 for a single one.
	N int `json:"n,omitempty"`
	// GapMS is the longest pause between two of them.
	GapMS float64 `json:"gap_ms,omitempty"`
}

// Add adds an event of this kind that came at this time since the question was sent. Times must not
// decrease.
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
