package replay

import (
	"testing"

	"evalctl/replay/source"
	"evalctl/scorer"
)

// TestOriginals: a question whose answer errata correct is also scored by the checks of the file.
func TestOriginals(t *testing.T) {
	was := []scorer.Check{{Choice: "a"}}
	m := &measurement{instruments: &instruments{plan: &Plan{Questions: []source.Question{{
		ID: "q", Answer: "(b) tea", Checks: []scorer.Check{{Choice: "b"}},
		Erratum: &source.Erratum{OriginalAnswer: "(a) milk", OriginalChecks: was},
	}}}}}
	if got := m.originals()["q"]; got.Answer != "(a) milk" || len(got.Checks) != 1 || got.Checks[0] != was[0] {
		t.Errorf("%+v", got)
	}
}
