package mapping

import (
	"context"
	"fmt"
	"maps"
	"sync"

	"evalctl/internal/figure"
)

// caller makes the calls of one store. It is safe for concurrent use.
type caller interface {
	// call makes one call. The error is a *target.Failure, or the cause of ctx.
	call(ctx context.Context, o *operation, values map[string]any) (callReply, error)
	// alive returns a *target.Failure of kind result.KindTransport if the service no longer
	// answers.
	alive(ctx context.Context) error
	close() error
}

// sightings are observations of the server, over all its processes.
type sightings struct {
	mu        sync.Mutex
	calls     map[string]int // by tool or route
	noise     int            // lines of standard output that were not messages
	firstLine string
	escaped   []string // processes of the server, see launch.Filter.Escaped
	unknown   bool     // whether there are more

	searched, missing int      // documents that were searched for, and those that were never found
	late              []string // waits that ended before the service was ready
	kept              []string // brains that could not be removed
	sessions          int      // sessions that the server has ended
}

// sessionEnded records that the server has ended a session and begun another one.
func (s *sightings) sessionEnded() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sessions++
}

// notReady records that a written text was not ready in time.
func (s *sightings) notReady(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.late = append(s.late, text)
}

// notRemoved records that a brain could not be removed.
func (s *sightings) notRemoved(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.kept = append(s.kept, text)
}

// findings describes problems with writing to the service, with keeping what was written, and with
// removing it.
func (s *sightings) findings() (all []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.missing > 0 {
		all = append(all, fmt.Sprintf("%d of %d documents that were written were never found by their own words", s.missing, s.searched))
	}
	if s.sessions > 0 {
		all = append(all, fmt.Sprintf("the server has ended %s, and new ones were begun: a memory that belongs to a session is lost",
			figure.Count(s.sessions, "MCP session")))
	}
	for _, texts := range [][]string{s.late, s.kept} {
		switch n := len(texts); {
		case n == 1:
			all = append(all, texts[0])
		case n > 1:
			all = append(all, fmt.Sprintf("%s (and %d more times)", texts[0], n-1))
		}
	}
	return all
}

// Unfound implements target.Notices.
func (s *Service) Unfound(missing, searched int) {
	s.seen.mu.Lock()
	defer s.seen.mu.Unlock()
	s.seen.missing += missing
	s.seen.searched += searched
}

func (s *sightings) left(names []string, known bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.escaped = append(s.escaped, names...)
	s.unknown = s.unknown || !known
}

func (s *sightings) called(o *operation) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.calls == nil {
		s.calls = map[string]int{}
	}
	s.calls[o.called()]++
}

func (s *sightings) counts() map[string]int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.calls == nil {
		return map[string]int{} // not null in JSON
	}
	return maps.Clone(s.calls)
}

func (s *sightings) line(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.noise++; s.noise == 1 {
		s.firstLine = text
	}
}

// noiseText describes the server's output besides messages, "" for none.
func (s *sightings) noiseText() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch s.noise {
	case 0:
		return ""
	case 1:
		return fmt.Sprintf("the server wrote a line to its standard output that is not an MCP message: %q", s.firstLine)
	}
	return fmt.Sprintf("the server wrote %d lines to its standard output that are not MCP messages, the first: %q",
		s.noise, s.firstLine)
}
