package journal

import (
	"errors"
	"os"
	"testing"

	"evalctl/internal/llm"
	"evalctl/scorer"
)

// TestChargeInFlight checks that an answer that was being judged when the run was killed is
// charged, and that a run that stopped normally leaves no such answer.
func TestChargeInFlight(t *testing.T) {
	journal := func(kinds ...string) *Journal {
		j, err := Create(t.TempDir(), journalIdentity(3), started, nil)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = j.Close() })
		r := answered("q1", 1)
		for _, kind := range kinds {
			e := Entry{Kind: kind}
			if kind == kindSeeded {
				e.Brain = "eval"
			}
			if kind == KindAnswer || kind == KindGrade {
				e.Record = &r
			}
			if kind == KindSpent {
				e.USD = 2
			}
			if err := j.Append(e); err != nil {
				t.Fatal(err)
			}
		}
		path := j.Path()
		if err := j.Close(); err != nil {
			t.Fatal(err)
		}
		if j, err = Open(path); err != nil {
			t.Fatal(err)
		}
		return j
	}
	worst := func(scorer.Item) llm.USD { return 100 }
	for name, tt := range map[string]struct {
		kinds []string
		spent llm.USD
	}{
		"killed while judging":         {[]string{KindAnswer}, 100},
		"graded":                       {[]string{KindAnswer, KindGrade}, 0},
		"failed judging was counted":   {[]string{KindAnswer, KindSpent}, 2},
		"stopped normally":             {[]string{KindAnswer, KindStopped}, 0},
		"nothing asked":                {nil, 0},
		"stopped, resumed, not judged": {[]string{KindAnswer, KindStopped, kindSeeded}, 0},
	} {
		j := journal(tt.kinds...)
		if err := j.ChargeInFlight(worst); err != nil {
			t.Fatal(err)
		}
		if j.Spent() != tt.spent {
			t.Errorf("%s: %v spent, want %v", name, j.Spent(), tt.spent)
		}
		if err := j.ChargeInFlight(worst); err != nil || j.Spent() != tt.spent {
			t.Errorf("%s: charged twice: %v, %v", name, j.Spent(), err)
		}
		if want := len(tt.kinds) == 3; j.Seeded("eval") != want {
			t.Errorf("%s: seeded %v", name, j.Seeded("eval"))
		}
	}
}

// TestDiscardRestores checks that the journal of an earlier run is restored.
func TestDiscardRestores(t *testing.T) {
	dir := t.TempDir()
	first, err := Create(dir, journalIdentity(3), started, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(first.MarkSeeded("eval"), first.Close()); err != nil {
		t.Fatal(err)
	}
	second, err := Create(dir, journalIdentity(3), started, nil)
	if err != nil || second.Backup() == "" {
		t.Fatal(second, err)
	}
	if err := second.Discard(); err != nil {
		t.Fatal(err)
	}
	restored, err := Open(first.Path())
	if err != nil || !restored.Seeded("eval") {
		t.Fatal(restored, err)
	}
	if err := restored.Discard(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(first.Path()); err == nil {
		t.Error("the journal is still there")
	}
}
