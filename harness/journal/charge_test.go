package journal

import (
	"errors"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"

	"evalctl/harness/result"
	"evalctl/internal/llm"
)

// TestCalls: requests to the judge that no grade has count as spent, those without an outcome with
// their worst case, and each once, however often the run is resumed.
func TestCalls(t *testing.T) {
	call := func(n int, outcome string, charged result.Basis, usd llm.USD) *result.JudgeCall {
		return &result.JudgeCall{ID: "q1", Attempt: n, Outcome: outcome, Charged: charged, USD: usd}
	}
	attempt := func(n int) Entry {
		return Entry{Kind: KindAttempt, Call: call(n, result.InFlight, result.ByWorstCase, 100)}
	}
	settled := func(n int, usd llm.USD) Entry {
		return Entry{Kind: KindSettled, Call: call(n, llm.OutcomeAnswered, result.ByUsage, usd)}
	}
	r := answered("q1", 1)
	answer := Entry{Kind: KindAnswer, Record: &r}
	graded := r
	graded.Outcome, graded.JudgeUSD, graded.JudgeAttempts = result.Scored, 7, 1
	grade := Entry{Kind: KindGrade, Record: &graded}
	stopped, again := Entry{Kind: KindStopped}, Entry{Kind: kindResumed}
	for name, tt := range map[string]struct {
		lines      []Entry
		spent, may llm.USD
		requests   int // unassigned
	}{
		"nothing asked":                {nil, 0, 0, 0},
		"before the first request":     {[]Entry{answer}, 0, 0, 0},
		"in flight":                    {[]Entry{answer, attempt(1)}, 100, 100, 1},
		"second in flight":             {[]Entry{answer, attempt(1), settled(1, 5), attempt(2)}, 105, 100, 2},
		"answered, not graded":         {[]Entry{answer, attempt(1), settled(1, 5)}, 5, 0, 1},
		"graded":                       {[]Entry{answer, attempt(1), settled(1, 7), grade}, 7, 0, 0},
		"stopped":                      {[]Entry{answer, attempt(1), settled(1, 5), stopped}, 5, 0, 1},
		"resumed":                      {[]Entry{answer, attempt(1), again}, 100, 100, 1},
		"resumed, graded":              {[]Entry{answer, attempt(1), again, attempt(1), settled(1, 7), grade}, 107, 100, 1},
		"killed twice":                 {[]Entry{answer, attempt(1), again, attempt(1)}, 200, 200, 2},
		"no verdict of another scorer": {[]Entry{answer, {Kind: KindSpent, Call: call(0, "no verdict", result.BySum, 2)}}, 2, 0, 1},
	} {
		t.Run(name, func(t *testing.T) {
			j, err := Create(t.TempDir(), journalIdentity(3), started, nil)
			if err == nil {
				err = j.Append(tt.lines...)
			}
			if err != nil {
				t.Fatal(err)
			}
			for range 3 {
				var may llm.USD
				for _, c := range j.Unassigned() {
					may += c.MayHave()
				}
				if j.Spent() != tt.spent || may != tt.may || len(j.Unassigned()) != tt.requests {
					t.Errorf("%s spent, of which %s may have been, %+v", j.Spent(), may, j.Unassigned())
				}
				path := j.Path()
				if err := errors.Join(j.Resume(), j.Close()); err != nil {
					t.Fatal(err)
				}
				if j, err = Open(path); err != nil {
					t.Fatal(err)
				}
			}
			_ = j.Close()
		})
	}
}

// TestJudgedAgain: the verdict that a question had before stays paid.
func TestJudgedAgain(t *testing.T) {
	j, err := Create(t.TempDir(), journalIdentity(1), started, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = j.Close() }()
	r := answered("q1", 1)
	first, second := r, r
	first.JudgeUSD, first.JudgeAttempts = 12, 2
	first.JudgeCharges = []result.JudgeCall{{Attempt: 1, Charged: result.ByWorstCase, USD: 10}}
	second.Outcome, second.JudgeUSD, second.JudgeAttempts = result.Scored, 3, 1
	for _, e := range []Entry{{Kind: KindAnswer, Record: &r}, {Kind: KindGrade, Record: &first}, {Kind: KindGrade, Record: &second}} {
		if err := j.Append(e); err != nil {
			t.Fatal(err)
		}
	}
	want := []result.JudgeCall{{
		ID: "q1", Requests: 2, Outcome: "judged again", Charged: result.BySum, USD: 12, MayHaveUSD: 10,
	}}
	if diff := cmp.Diff(want, j.Unassigned()); diff != "" || j.Spent() != 15 {
		t.Errorf("%s spent\n%s", j.Spent(), diff)
	}
}

// TestCallsWithoutPlace: a request with an outcome must have begun.
func TestCallsWithoutPlace(t *testing.T) {
	for _, line := range []string{
		`{"kind":"settled","index":0,"call":{"attempt":1,"outcome":"answered","charged":"usage","usd":0.01}}`,
		`{"kind":"attempt","index":0}`,
		`{"kind":"spent","index":0}`,
		`{"kind":"attempt","index":0,"call":{"attempt":1,"outcome":"","charged":"usage","usd":-1}}`,
	} {
		j, err := Create(t.TempDir(), journalIdentity(1), started, nil)
		if err != nil {
			t.Fatal(err)
		}
		_, err = j.file.WriteAt([]byte(line+"\n"), j.end)
		if err := errors.Join(err, j.Close()); err != nil {
			t.Fatal(err)
		}
		if j, err := Open(j.Path()); err == nil {
			t.Errorf("%s was read: %+v", line, j.Unassigned())
			_ = j.Close()
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
