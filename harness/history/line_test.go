package history_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"evalctl/harness/history"
	"evalctl/harness/result"
	"evalctl/scorer"
)

// TestLinesSeparateWhatCannotBeCompared has a run for each part of a measure.
func TestLinesSeparateWhatCannotBeCompared(t *testing.T) {
	root := t.TempDir()
	for i, change := range []func(*made){
		func(*made) {},
		func(m *made) { m.SDK, m.Identity.SDK = "ts", "ts" },
		func(m *made) { m.Identity.Dataset.SHA256 = strings.Repeat("00", 32) },
		func(m *made) { m.Identity.Dataset.Selected = 9 },
		func(m *made) { m.Identity.Dataset.Selection = &result.Selection{SHA256: "ab", Total: 9} },
		func(m *made) { m.Identity.Dataset.Repeats = 2 },
		func(m *made) { m.Identity.Scenario = result.SearchOnly },
		func(m *made) { m.Identity.Scorer = "judge" },
		func(m *made) { m.Identity.ExactCase = new(true) },
		func(m *made) {
			m.Identity.Judge = &result.JudgeModel{Provider: "openai", Model: "a", PromptVersion: "p"}
		},
		func(m *made) {
			m.Identity.Judge = &result.JudgeModel{Provider: "openai", Model: "b", PromptVersion: "p"}
		},
		func(m *made) {
			m.Identity.Judge = &result.JudgeModel{Provider: "openai", Model: "b", PromptVersion: "p", Temperature: new(0.0)}
		},
		func(m *made) { m.replay("go") },
		func(m *made) { m.replay("go").Identity.Replay = &result.ReplayID{Sample: "ab"} },
		func(m *made) { m.replay("go").Identity.Replay = &result.ReplayID{Errata: "ab"} },
		func(m *made) { m.replay("go").Identity.Replay = &result.ReplayID{Actor: result.Actor{Style: "full"}} },
	} {
		for night := range 2 {
			m := run("go", night, "++-")
			change(m)
			m.StartedAt = m.StartedAt.Add(time.Duration(i) * time.Minute)
			m.Identity.Daemon.Version, m.Identity.Mode, m.Identity.TopK = fmt.Sprint(night), fmt.Sprint("m", night), 5+night
			m.Save(t, root, fmt.Sprintf("%d-%d.json", i, night))
		}
	}
	lines := history.Lines(read(t, root).Entries, 0)
	if len(lines) != 16 {
		t.Errorf("got %d lines, want 16", len(lines))
	}
	for _, l := range lines {
		if len(l.Nights) != 2 {
			t.Errorf("%+v has %d nights, want 2", l.Measure, len(l.Nights))
			continue
		}
		if diff := cmp.Diff([]string{"daemon.version", "mode", "top_k"}, l.Nights[1].Changed); diff != "" {
			t.Error(diff)
		}
	}
}

// TestLinesOfUnknownJudges has results that do not record their judge, which are on no line with others.
func TestLinesOfUnknownJudges(t *testing.T) {
	for judge, want := range map[string]int{"": 2, "m, prompt 1": 1} {
		root := t.TempDir()
		for night := range 2 {
			m := run("go", night, "++-")
			m.Identity.Scorer, m.Identity.ExactCase, m.Identity.Scenario = scorer.Imported, nil, result.ImportedAnswers
			m.Identity.Imported = &result.ImportedID{Formats: []string{"zep"}, SHA256: []string{"a"}, JudgeID: judge, Votes: "1"}
			m.Save(t, root, fmt.Sprintf("%d.json", night))
		}
		lines := history.Lines(read(t, root).Entries, 0)
		if alone := lines[0].Alone(); len(lines) != want || (alone != "") != (judge == "") {
			t.Errorf("judge %q: %d lines, %q", judge, len(lines), alone)
		}
	}
}

// TestNights has several results on one day.
func TestNights(t *testing.T) {
	root := t.TempDir()
	save := func(days, hour int, name string, m *made) {
		m.StartedAt, m.FinishedAt = m.StartedAt.Add(time.Duration(hour)*time.Hour), m.FinishedAt.Add(time.Duration(hour)*time.Hour)
		m.Save(t, root, day.AddDate(0, 0, days).Format(time.DateOnly), name)
	}
	save(0, 0, "go.json", run("go", 0, "+++"))
	save(1, 1, "go.040004.json", run("go", 1, "++-"))
	save(1, 2, "go.050004.json", run("go", 1, "+--"))
	save(1, 3, "go.json", run("go", 1, "---").stop(1))
	save(3, 0, "go.json", run("go", 3, "---").stop(1))
	lines := history.Lines(read(t, root).Entries, 0)
	var got []string
	for _, n := range lines[0].Nights {
		got = append(got, fmt.Sprintf("%s %d/%d %s +%d", n.Date, n.Entry.Passed, n.Entry.Total, n.Entry.Verdict, n.Others))
	}
	want := []string{"2026-09-01 3/3 pass +0", "2026-09-02 1/3 fail +2", "2026-09-04 0/1 inconclusive +0"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if s := lines[0].Sparkline(); s != (history.Sparkline{Signs: "█▁·", Low: 1.0 / 3, High: 1}) {
		t.Errorf("got %+v", s)
	}
	lines = history.Lines(read(t, root).Entries, 2)
	if l := lines[0]; len(l.Nights) != 2 || l.Older != 1 || l.Nights[0].Date != "2026-09-02" {
		t.Errorf("got %+v", l)
	}
}

// TestChanges names what changed with the pass rate, as against the last night with a score.
func TestChanges(t *testing.T) {
	root := t.TempDir()
	good, bad := strings.Repeat("+", 45)+"-----", strings.Repeat("+", 30)+strings.Repeat("-", 20)
	for i := range 16 {
		m := run("go", i, good)
		if i >= 10 {
			m = run("go", i, bad)
			m.Identity.Daemon.Version, m.Identity.Reader = "1.5.0", &result.ModelID{Model: "x"}
		}
		if i == 9 {
			m.stop(2)
			m.Identity.Daemon.Version = "1.4.9"
		}
		m.Save(t, root, fmt.Sprintf("%02d.json", i))
	}
	lines := history.Lines(read(t, root).Entries, 0)
	changes := lines[0].Changes
	if len(changes) != 1 {
		t.Fatalf("got %+v, want one change", changes)
	}
	c := changes[0]
	if c.P <= 0 || c.P > history.Test.Alpha {
		t.Errorf("P is %v", c.P)
	}
	c.P = 0
	want := history.Change{Date: "2026-09-11", Before: 0.9, After: 0.6, NightsBefore: 9, NightsAfter: 6,
		Changed: []string{"daemon.version", "reader.model", "reader.provider"}}
	if diff := cmp.Diff(want, c); diff != "" {
		t.Error(diff)
	}
}

// TestTurns has a question for each history, given as its outcomes night by night.
func TestTurns(t *testing.T) {
	for _, c := range []struct{ states, want string }{
		{"+++--", "broke 09-04 2 after 3"},
		{"-+++++----", "broke 09-07 4 after 5"},
		{"+++ee", "broke 09-04 2 after 3"},
		{"+++?--", "broke 09-05 2 after 3"}, // a night without a verdict does not count
		{"+++-?-", "broke 09-04 2 after 3"},
		{"---++", "fixed 09-04 2 after 3"},
		{"+++-", ""},    // once is not enough
		{"++--", ""},    // it was not steady
		{"+++-+++", ""}, // once, and back
		{"++++++++", ""},
		{"--------", ""},
		{"+", ""},
		{"?????", ""},
		{"+-+-", "flaky 09-02 3 after 1"},
		{"++++-++-", "flaky 09-05 4 after 4"},
		{"+-+-++++++", "flaky 09-02 9 after 1"},
		{"+-+-+++++++", ""}, // settled
		{"+-+---------", ""},
		{"+-+++-------", "broke 09-06 7 after 3"},
	} {
		var outcomes []string
		for _, s := range c.states {
			outcomes = append(outcomes, string(s)+"++++++++") // the night passes
		}
		l := nights(t, outcomes...)
		l.ReadQuestions()
		got := ""
		for _, q := range l.Questions {
			if q.ID != "q-00" {
				t.Errorf("%s: got %+v", c.states, q)
			}
			got = fmt.Sprintf("%s %s %d after %d", q.Kind, strings.TrimPrefix(q.Since, "2026-"), q.Nights, q.Before)
			if want := strings.NewReplacer("e", "-", "?", "").Replace(c.states); q.States != want || len(q.Dates) != len(want) {
				t.Errorf("%s: states %s on %v", c.states, q.States, q.Dates)
			}
		}
		if got != c.want {
			t.Errorf("%s: got %q, want %q", c.states, got, c.want)
		}
	}
}

// TestTurnsLeaveOutNightsWithoutAScore has a night in which the daemon answered nothing.
func TestTurnsLeaveOutNightsWithoutAScore(t *testing.T) {
	l := nights(t, "+++", "+++", "eee", "+++", "eee", "-++", "-++")
	l.ReadQuestions()
	if len(l.Questions) != 1 || l.Questions[0].Kind != history.Broke || l.Questions[0].States != "+++--" {
		t.Errorf("got %+v", l.Questions)
	}
}

func TestTurnsOfUnreadableNights(t *testing.T) {
	l := nights(t, "+++", "+++", "+++", "-++", "-++")
	gone := l.Nights[1].Entry.Path
	if err := os.Remove(gone); err != nil {
		t.Fatal(err)
	}
	l.ReadQuestions()
	if len(l.Unread) != 1 || l.Unread[0].Path != gone || !strings.Contains(l.Unread[0].Reason, gone) {
		t.Errorf("got %+v", l.Unread)
	}
	if len(l.Questions) != 0 {
		t.Errorf("got %+v", l.Questions)
	}
}

// TestTurnsAreExclusive checks that every history has at most one kind, and the same reversed.
func TestTurnsAreExclusive(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		states := rapid.StringOfN(rapid.RuneFrom([]rune("+-")), 1, 12, -1).Draw(rt, "states")
		kind := func(s string) (history.TurnKind, string) {
			var outcomes []string
			for _, o := range s {
				outcomes = append(outcomes, string(o)+"++")
			}
			l := nights(t, outcomes...)
			l.ReadQuestions()
			if len(l.Questions) > 1 {
				rt.Fatalf("%s: %+v", s, l.Questions)
			}
			if len(l.Questions) == 0 {
				return "", ""
			}
			return l.Questions[0].Kind, l.Questions[0].Since
		}
		a, since := kind(states)
		b, sinceB := kind(strings.NewReplacer("+", "-", "-", "+").Replace(states))
		mirror := map[history.TurnKind]history.TurnKind{history.Broke: history.Fixed, history.Fixed: history.Broke}
		if want, ok := mirror[a]; ok && b != want || !ok && a != b || since != sinceB {
			rt.Fatalf("%s is %q since %s, and reversed %q since %s", states, a, since, b, sinceB)
		}
	})
}

// TestRepeatsAreFlaky has a question that passes one of its two repeats.
func TestRepeatsAreFlaky(t *testing.T) {
	root := t.TempDir()
	for i := range 2 {
		m := run("go", i, "+++-")
		for j := range m.Questions {
			m.Questions[j].ID, m.Questions[j].Repeat = fmt.Sprint("q", j%2), j/2+1
		}
		m.Identity.Dataset.Repeats = 2
		m.Save(t, root, fmt.Sprint(i, ".json"))
	}
	l := history.Lines(read(t, root).Entries, 0)[0]
	l.ReadQuestions()
	if len(l.Unread) > 0 {
		t.Skip("resultfile.Open does not read repeats yet: ", l.Unread[0].Reason)
	}
	if len(l.Questions) != 1 || l.Questions[0].Kind != history.Flaky || l.Questions[0].ID != "q1" || l.Questions[0].States != "~~" {
		t.Errorf("got %+v", l.Questions)
	}
}

func TestSparkline(t *testing.T) {
	for _, c := range []struct {
		rates []*float64
		want  string
	}{
		{nil, " 0.00 0.00"},
		{[]*float64{nil, nil}, "·· 0.00 0.00"},
		{[]*float64{new(0.96)}, "▅ 0.90 1.00"},
		{[]*float64{new(1.0), nil, new(1.0)}, "█·█ 0.90 1.00"},
		{[]*float64{new(0.0), new(0.01)}, "▁▂ 0.00 0.10"},
		{[]*float64{new(0.2), new(0.4), new(0.9)}, "▁▃█ 0.20 0.90"},
	} {
		s := history.NewSparkline(c.rates)
		if got := fmt.Sprintf("%s %.2f %.2f", s.Signs, s.Low, s.High); got != c.want {
			t.Errorf("got %q, want %q", got, c.want)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		values := rapid.SliceOf(rapid.Float64Range(0, 1)).Draw(t, "rates")
		var rates []*float64
		for _, v := range values {
			rates = append(rates, &v)
		}
		s := history.NewSparkline(rates)
		line, lo, hi := s.Signs, s.Low, s.High
		if len([]rune(line)) != len(values) || strings.ContainsRune(line, '·') {
			t.Fatalf("%v: %s", values, line)
		}
		if len(values) > 0 && (lo > slices.Min(values)+1e-9 || hi < slices.Max(values)-1e-9 || lo < 0 || hi > 1+1e-9) {
			t.Fatalf("%v: from %v to %v", values, lo, hi)
		}
	})
}

// BenchmarkRead lists 1,000 results with 50 questions each.
func BenchmarkRead(b *testing.B) {
	root := b.TempDir()
	for i := range 1000 {
		run("go", i, strings.Repeat("+-", 25)).Save(b, root, day.AddDate(0, 0, i).Format(time.DateOnly), "go.json")
	}
	for b.Loop() {
		if f, err := history.Read(root, time.Time{}); err != nil || len(f.Entries) != 1000 {
			b.Fatalf("got %d, %v", len(f.Entries), err)
		}
	}
}

// TestStoppedRunHasNoScore has a night whose run failed and stopped: its rate is that of the first
// questions only.
func TestStoppedRunHasNoScore(t *testing.T) {
	root := t.TempDir()
	for i := range 6 {
		run("go", i, "++++++++++").Save(t, root, fmt.Sprint(i), "go.json")
	}
	m := run("go", 6, "------++++")
	m.Stopped = result.StopMaxFailures
	m.Questions = m.Questions[:6]
	if m.Fill(); m.Gate.Verdict != result.Fail {
		t.Fatalf("the verdict is %s", m.Gate.Verdict)
	}
	m.Save(t, root, "6", "go.json")
	f := read(t, root)
	l := history.Lines(f.Entries, 0)[0]
	if len(l.Nights) != 7 {
		t.Fatalf("%d nights, not read: %v", len(l.Nights), f.Unreadable)
	}
	line := l.Sparkline()
	bars, low := line.Signs, line.Low
	if last := l.Nights[6].Entry; last.Scored() || low < 0.9 || !strings.HasSuffix(bars, "·") {
		t.Errorf("a run that stopped has the score %v, sparkline %s", *last.PassRate, bars)
	}
}
