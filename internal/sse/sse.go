// Package sse reads and writes event streams by the WHATWG rules
// (https://html.spec.whatwg.org/multipage/server-sent-events.html).
package sse

// Event is one dispatched event. Name is "message" when the stream gave none.
// Data holds the data lines joined by a newline. ID is the last id the stream
// gave, in this event or an earlier one.
type Event struct {
	ID   string
	Name string
	Data []byte
}
