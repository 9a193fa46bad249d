package mapping

import (
	"strings"
	"testing"
)

// TestSessionsEnded: a result says that the server has ended sessions.
func TestSessionsEnded(t *testing.T) {
	s := &sightings{}
	s.sessionEnded()
	s.sessionEnded()
	if got := s.findings(); len(got) != 1 || !strings.Contains(got[0], "2 MCP sessions") {
		t.Errorf("got %q", got)
	}
}
