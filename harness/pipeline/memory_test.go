package pipeline

import (
	"testing"

	"evalctl/harness/result"
)

// TestNewMemory: an earlier answer is kept and judged again, also if the headline had judged it. A
// question that failed is asked again.
func TestNewMemory(t *testing.T) {
	for name, tt := range map[string]struct {
		earlier result.Record
		asked   bool
	}{
		"failed":              {result.Record{Outcome: result.Errored, Error: &result.Failure{Kind: result.KindTransport}}, true},
		"no verdict":          {result.Record{Outcome: result.Unscored, JudgeUnanswered: true}, false},
		"one verdict missing": {result.Record{Outcome: result.Scored, Score: new(1.0), Passed: true, JudgeUnanswered: true}, false},
	} {
		if !tt.earlier.Outage() {
			t.Errorf("%s: it is not an outage", name)
		}
		m := NewMemory(1, map[int]result.Record{0: tt.earlier})
		if s := m.State(0); s.Reopened != tt.asked || s.Answered == tt.asked {
			t.Errorf("%s: %+v", name, s)
		}
		if r, err := m.Record(0); err != nil || !tt.asked && (r.Outcome != result.Unscored || r.Score != nil || r.Tries != 2) {
			t.Errorf("%s: %+v, %v", name, r, err)
		}
	}
}
