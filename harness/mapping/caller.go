package mapping

import (
	"context"
	"fmt"
	"maps"
	"sync"
)

// caller makes the calls of one store. It is safe for concurrent use.
type caller interface {
	// call makes one call. The error is a *target.Failure, or the cause of ctx.
	call(ctx context.Context, o *operation, values map[string]any) (answered, error)
	// alive returns a *target.Failure of the kind result.KindTransport if nothing answers any more.
	alive(ctx context.Context) error
	close() error
}

// seen is what a service has seen of the server, over all its processes.
type seen struct {
	mu        sync.Mutex
	calls     map[string]int // by tool or route
	noise     int            // lines of standard output that were no messages
	firstLine string
	escaped   []string // processes of the server, see launch.Filter.Escaped
	unknown   bool     // whether there are more
}

func (s *seen) left(names []string, known bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.escaped = append(s.escaped, names...)
	s.unknown = s.unknown || !known
}

func (s *seen) called(o *operation) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.calls == nil {
		s.calls = map[string]int{}
	}
	s.calls[o.called()]++
}

func (s *seen) counts() map[string]int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.calls == nil {
		return map[string]int{} // not null in JSON
	}
	return maps.Clone(s.calls)
}

func (s *seen) line(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.noise++; s.noise == 1 {
		s.firstLine = text
	}
}

// noiseText says what a server has written to its standard output besides messages, "" for nothing.
func (s *seen) noiseText() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch s.noise {
	case 0:
		return ""
	case 1:
		return fmt.Sprintf("the server wrote a line to its standard output that is no MCP message: %q", s.firstLine)
	}
	return fmt.Sprintf("the server wrote %d lines to its standard output that are no MCP messages, the first: %q",
		s.noise, s.firstLine)
}
