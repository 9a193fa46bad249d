package board_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"evalctl/harness/board"
	"evalctl/harness/history"
	"evalctl/harness/result"
	"evalctl/harness/resulttest"
)

// save writes a result that began a number of days after the first. Its questions are + passed and
// - failed.
func save(t *testing.T, root, sdk string, days int, outcomes string, change func(*result.Result)) {
	t.Helper()
	at := time.Date(2026, 9, 1+days, 3, 0, 4, 0, time.UTC)
	f := resulttest.New(sdk, at, outcomes)
	f.Identity.Daemon.Program = sdk
	for i := range f.Questions {
		f.Questions[i].LatencyMS = 5
	}
	if change != nil {
		change(&f.Result)
	}
	f.Fill()
	f.Save(t, root, at.Format(time.DateOnly), sdk+".json")
}

// TestBoard checks groups, ranks and letters.
func TestBoard(t *testing.T) {
	root := t.TempDir()
	much, little, none := strings.Repeat("+", 40), strings.Repeat("+", 36)+"----", strings.Repeat("-", 40)
	save(t, root, "go", 0, none, nil) // an older result of go
	save(t, root, "go", 3, much, nil)
	save(t, root, "py", 1, little, nil)
	save(t, root, "ts", 2, none, nil)
	save(t, root, "rs", 2, much, func(r *result.Result) { r.Identity.TopK = 9 })
	save(t, root, "cut", 2, much, func(r *result.Result) { r.Stopped, r.Planned = result.StopInterrupted, 50 })
	f, err := history.Read(root, time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	b, err := board.New(f, nil)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, g := range b.Groups {
		for _, r := range g.Rows {
			got = append(got, fmt.Sprintf("%s %s %s %d/%d of %d", r.Name, r.Places(), r.Letters, r.Passed, r.Total, len(g.Rows)))
		}
	}
	want := []string{"go 1–2 a 40/40 of 3", "py 1–2 a 36/40 of 3", "ts 3 b 0/40 of 3", "rs 1  40/40 of 1"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if g := b.Groups[0]; g.Tests != 3 || g.Questions != 40 {
		t.Errorf("%d tests, %d questions", g.Tests, g.Questions)
	}
	reasons := map[string]string{}
	for _, l := range b.LeftOut {
		reasons[strings.TrimPrefix(l.Path, root+"/")] = strings.TrimSuffix(l.Reason, filepath.Join(root, "2026-09-04", "go.json"))
	}
	if diff := cmp.Diff(map[string]string{
		"2026-09-03/cut.json": "the run stopped early (interrupted)",
		"2026-09-01/go.json":  "a newer result of the same target is ranked: ",
	}, reasons); diff != "" {
		t.Error(diff)
	}
}

// TestBoardLeavesOut: a result that is not a score is not ranked and displaces no other one. A group
// that cannot be compared takes no other with it.
func TestBoardLeavesOut(t *testing.T) {
	root := t.TempDir()
	strict := func(r *result.Result) { r.Settings.MaxErrors, _ = result.ParseAllowance("10%") }
	save(t, root, "go", 0, strings.Repeat("+", 40), nil)
	save(t, root, "go", 1, strings.Repeat("+", 30)+strings.Repeat("e", 10), strict)
	mute := func(r *result.Result) { r.Identity.TopK = 9 }
	save(t, root, "rs", 0, strings.Repeat("+", 10), mute)
	save(t, root, "py", 0, strings.Repeat("?", 10), mute)
	b := read(t, root)
	if len(b.Groups) != 1 || len(b.Groups[0].Rows) != 1 || b.Groups[0].Rows[0].Passed != 40 {
		t.Errorf("%+v", b.Groups)
	}
	reasons := map[string]string{}
	for _, l := range b.LeftOut {
		reasons[strings.TrimPrefix(l.Path, root+"/")] = l.Reason
	}
	group := "compare the results of a group: cannot compare by the primary measure pass_rate: no pair of runs has it"
	if diff := cmp.Diff(map[string]string{
		"2026-09-02/go.json": "10 errors in 40 questions, --max-errors 10% allows 4",
		"2026-09-01/rs.json": group, "2026-09-01/py.json": group,
	}, reasons); diff != "" {
		t.Error(diff)
	}
}

// TestNotMeasurable ranks by the questions that all targets could be asked.
func TestNotMeasurable(t *testing.T) {
	root := t.TempDir()
	save(t, root, "go", 0, strings.Repeat("+", 18)+strings.Repeat("-", 2)+strings.Repeat("+", 30), nil)
	lacking := resulttest.New("py", time.Date(2026, 9, 1, 3, 0, 4, 0, time.UTC), strings.Repeat("+", 18)+strings.Repeat("-", 2)+strings.Repeat("+", 30))
	for i := range lacking.Questions {
		q := &lacking.Questions[i]
		if q.LatencyMS = 5; i >= 20 {
			q.Outcome, q.Passed, q.Score, q.LatencyMS = result.NotMeasurable, false, nil, 0
		}
	}
	lacking.Fill()
	lacking.Save(t, root, "2026-09-01", "py.json")
	b := read(t, root)
	if len(b.Groups) != 1 || len(b.Groups[0].Rows) != 2 {
		t.Fatalf("%+v", b)
	}
	for _, r := range b.Groups[0].Rows {
		if want := map[string]int{"go": 0, "py": 30}[r.Name]; r.Passed != 18 || r.Total != 20 || r.NotMeasurable != want {
			t.Errorf("%s: %d of %d, %d not measurable", r.Name, r.Passed, r.Total, r.NotMeasurable)
		}
	}
}

// read returns the board of a folder.
func read(t *testing.T, root string) *board.Board {
	t.Helper()
	f, err := history.Read(root, time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	b, err := board.New(f, nil)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestOtherQuestions accepts other questions. Results without a common question are in two
// groups, and others are ranked by the figures of their common questions.
func TestOtherQuestions(t *testing.T) {
	for name, c := range map[string]struct {
		from int // the number of the first question of py
		want []string
	}{
		"disjoint":    {60, []string{"go  30/50 0.600 [0.462 0.724] n 50 of 1 over 50", "py  20/50 0.400 [0.276 0.538] n 50 of 1 over 50"}},
		"overlapping": {30, []string{"py a 20/20 1.000 [0.839 1.000] n 20 of 2 over 20", "go b 0/20 0.000 [0.000 0.161] n 20 of 2 over 20"}},
	} {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			save(t, root, "go", 1, strings.Repeat("+", 30)+strings.Repeat("-", 20), nil)
			py := resulttest.New("py", time.Date(2026, 9, 1, 3, 0, 4, 0, time.UTC), strings.Repeat("+", 20)+strings.Repeat("-", 30))
			py.Identity.Daemon.Program = "py"
			for i := range py.Questions {
				py.Questions[i].ID, py.Questions[i].LatencyMS = fmt.Sprintf("q-%02d", c.from+i), 5
			}
			py.Fill()
			py.Save(t, root, "py.json")
			f, err := history.Read(root, time.Time{})
			if err != nil {
				t.Fatal(err)
			}
			b, err := board.New(f, []string{"questions"})
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, g := range b.Groups {
				for _, r := range g.Rows {
					got = append(got, fmt.Sprintf("%s %s %d/%d %.3f [%.3f %.3f] n %d of %d over %d", r.Name, r.Letters, r.Passed, r.Total, *r.PassRate,
						r.Interval.Low, r.Interval.High, r.Latency.N, len(g.Rows), g.Questions))
				}
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestLetters checks that two items share a letter if, and only if, they do not differ, and that every
// item has one.
func TestLetters(t *testing.T) {
	if got := board.Letters([][]bool{{false, false, true}, {false, false, false}, {true, false, false}}); !cmp.Equal(got, []string{"a", "ab", "b"}) {
		t.Errorf("got %q", got)
	}
	rapid.Check(t, func(rt *rapid.T) {
		n := rapid.IntRange(1, 8).Draw(rt, "n")
		differ := make([][]bool, n)
		for i := range differ {
			differ[i] = make([]bool, n)
		}
		for i := range n {
			for j := range i {
				differ[i][j] = rapid.Bool().Draw(rt, "differ")
				differ[j][i] = differ[i][j]
			}
		}
		letters := board.Letters(differ)
		for i := range n {
			if letters[i] == "" {
				rt.Fatalf("no letter: %q", letters)
			}
			for j := range i {
				if shared := strings.ContainsAny(letters[i], letters[j]); shared == differ[i][j] {
					rt.Fatalf("%d and %d: %q", i, j, letters)
				}
			}
		}
	})
}
