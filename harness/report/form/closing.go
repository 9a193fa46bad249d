package form

import "evalctl/internal/terminal"

// Closing returns the last lines of a terminal: the verdict, its reason, which may be empty, and
// the command to run next.
func Closing(verdict, reason Text, next string) Section {
	s := Section{Place: Last}
	s.FactIn(Terminal, "verdict", "%s", verdict)
	if !reason.Empty() {
		s.FactIn(Terminal, "reason", "%s", reason)
	}
	s.Show(Terminal, Print(func(t *terminal.Terminal) { t.Command("next", next) }))
	return s
}

// Close prints a Closing after an empty line, or nothing if it is empty.
func (s *Section) Close(t *terminal.Terminal) {
	if t.Quiet() || len(s.Blocks) == 0 {
		return
	}
	t.Blank()
	s.Text(t)
}
