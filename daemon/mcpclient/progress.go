package mcpclient

import (
	"encoding/json"
	"fmt"
	"sync"
)

// Progress is one notification of progress. Token is as the server sent it. Total is nil unless it
// was sent.
type Progress struct {
	Token    json.RawMessage `json:"progressToken"`
	Progress float64         `json:"progress"`
	Total    *float64        `json:"total"`
	Message  string          `json:"message"`
}

// progress is the progress received for one call.
type progress struct {
	receive func(Progress)

	mu        sync.Mutex
	count     int
	violation string // the first one
}

// watch distributes notifications to their calls by their tokens.
type watch struct {
	mu    sync.Mutex
	open  map[string]*progress // by the JSON of the token
	stray int
}

// Stray returns how many notifications of progress belonged to no call: because of their token, or
// because they came after the reply.
func (c *Client) Stray() int {
	c.connection.watch.mu.Lock()
	defer c.connection.watch.mu.Unlock()
	return c.connection.watch.stray
}

func (w *watch) add(token string, receive func(Progress)) *progress {
	w.mu.Lock()
	defer w.mu.Unlock()
	p := &progress{receive: receive}
	w.open[token] = p
	return p
}

// remove ends the notifications of a call and returns the first violation.
func (w *watch) remove(token string, p *progress) string {
	w.mu.Lock()
	delete(w.open, token)
	w.mu.Unlock()
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.violation
}

func (w *watch) notify(params json.RawMessage) {
	var n Progress
	err := json.Unmarshal(params, &n)
	w.mu.Lock()
	p := w.open[canonical(n.Token)]
	if err != nil || p == nil {
		w.stray++
		w.mu.Unlock()
		return
	}
	w.mu.Unlock()
	p.check(n)
	p.receive(n)
}

// canonical returns one JSON of a token. The same string can be written in several ways.
func canonical(token json.RawMessage) string {
	var s string
	if json.Unmarshal(token, &s) != nil {
		return string(token)
	}
	one, _ := json.Marshal(s) // a string: cannot fail
	return string(one)
}

// check compares a notification with spec 6.4: it counts from 0, and has no total.
func (p *progress) check(n Progress) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.violation != "":
	case n.Progress != float64(p.count):
		p.violation = fmt.Sprintf("notification %d has the progress %v, it must be %d",
			p.count+1, n.Progress, p.count)
	case n.Total != nil:
		p.violation = fmt.Sprintf("notification %d has a total", p.count+1)
	}
	p.count++
}
