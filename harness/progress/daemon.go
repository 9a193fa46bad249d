package progress

import (
	"evalctl/harness"
	"evalctl/internal/terminal"
)

// Daemon prints a daemon under the name of its arm.
func Daemon(t *terminal.Terminal, name string, s *harness.Session) {
	url, version := s.Service().URL(), terminal.Line(s.ID().Version)
	if !s.Started() {
		t.Field(name, "%s  %s", url, version)
		return
	}
	t.Field(name, "pid %d  %s  healthy in %d ms  %s  log %s",
		s.Process().PID(), url, s.Process().HealthyIn().Milliseconds(), version, terminal.Line(s.LogPath()))
}
