package bench

import (
	"errors"
	"strings"
	"testing"

	"evalctl/harness/bench/record"
	"evalctl/harness/key"
)

// What fails is said, even if a baseline could not be judged.
func TestVerdict(t *testing.T) {
	held := record.Verdict{Held: true, Sentence: "held"}
	failed := record.Verdict{Sentence: "p99 is too high"}
	unjudged := record.Verdict{Unjudged: true, Sentence: "not judged"}
	for _, c := range []struct {
		verdicts   []record.Verdict
		fails, not bool
	}{
		{nil, false, false},
		{[]record.Verdict{held}, false, false},
		{[]record.Verdict{held, failed}, true, false},
		{[]record.Verdict{held, unjudged}, false, true},
		{[]record.Verdict{failed, unjudged}, true, false},
		{[]record.Verdict{unjudged, failed}, true, false},
	} {
		f := &record.File{Targets: []record.Target{{Name: "a"}}, Probes: make([]record.Probe, 1)}
		f.Verdicts = c.verdicts
		err := Verdict(f)
		var e *FailedError
		if errors.As(err, &e) != c.fails || errors.Is(err, key.ErrIncomparable) != c.not {
			t.Errorf("%+v: %v", c.verdicts, err)
		}
		for _, v := range c.verdicts {
			if err != nil && !v.Held && !strings.Contains(err.Error(), v.Sentence) {
				t.Errorf("%q does not say %q", err, v.Sentence)
			}
		}
	}
}
