// Package sse reads and writes event streams as specified by WHATWG
// (https://html.spec.whatwg.org/multipage/server-sent-events.html).
package sse

// Event is one dispatched event. Name is "message" if the stream contained none. Data contains the
// data lines joined by newlines. ID is the last id in the stream, from this event or an earlier
// one.
type Event struct {
	ID   string
	Name string
	Data []byte
}
