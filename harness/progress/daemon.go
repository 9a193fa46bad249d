package progress

import (
	"cmp"

	"evalctl/harness"
	"evalctl/harness/result"
	"evalctl/internal/terminal"
)

// Daemon prints a daemon under the name of its arm.
func Daemon(t *terminal.Terminal, name string, s *harness.Session) {
	if m := s.Mapped(); m != nil {
		mapped(t, name, s, m)
		return
	}
	url, version := s.Service().URL(), terminal.Line(cmp.Or(s.ID().Version, "reports no version"))
	if !s.Started() {
		t.Field(name, "%s  %s", url, version)
		return
	}
	t.Field(name, "pid %d  %s  healthy in %d ms  %s  log %s",
		s.Process().PID(), url, s.Process().HealthyIn().Milliseconds(), version, terminal.Line(s.LogPath()))
}

// mapped prints a mapped service.
func mapped(t *terminal.Terminal, name string, s *harness.Session, m *result.MappedService) {
	line := s.Service().URL() + "  " + mappedText(m)
	if log := s.LogPath(); log != "" {
		line += "  log " + log
	}
	t.Field(name, "%s", terminal.Line(line))
	if text := notMeasurable(m); text != "" {
		t.Field("note", "not measurable of %s: %s", terminal.Line(name), text)
	}
}
