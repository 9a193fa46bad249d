package progress

import (
	"bytes"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/olekukonko/tablewriter/pkg/twwidth"

	"evalctl/harness/conformance"
	"evalctl/harness/result"
	"evalctl/internal/terminal"
)

// TestDescription: on a narrow line the bar is shortened first, then blanks and words, and numbers
// last.
func TestDescription(t *testing.T) {
	few := result.Counts{Total: 90, Passed: 50, Scored: 90}
	all := result.Counts{Total: 900, Passed: 500, Scored: 700, Errors: 100, Unscored: 100}
	for _, tt := range []struct {
		counts result.Counts
		total  int
		want   string
	}{
		{result.Counts{}, 100, "0 pass  0 fail  p50 12 ms  first token 3.0 ms"},
		{few, 100, "50 pass 40 fail p50 12 ms first 3.0 ms $0.001235 ETA 1s"},
		{all, 1000, "500 pass 200 fail 100 error 100 unscored p50 12 ms first 3.…"},
	} {
		synctest.Test(t, func(t *testing.T) {
			p := &Questions{
				t: terminal.New(&bytes.Buffer{}, nil, false), total: tt.total, counts: tt.counts, asked: tt.counts.Total, start: time.Now(),
				took: []float64{12}, first: []float64{3},
			}
			if p.asked > 0 {
				p.spent = 1_234_570
			}
			time.Sleep(9 * time.Second) // so that 10 questions of 100 take 1 s
			got := p.description()
			if got != tt.want {
				t.Errorf("got  %q\nwant %q", got, tt.want)
			}
			if width := utf8.RuneCountInString(got) + barOverhead + 2*len("100"); width > p.t.Columns() {
				t.Errorf("%q gives a line of %d characters", got, width)
			}
		})
	}
}

// TestDescriptionOfWideCharacters: a Chinese character takes two columns.
func TestDescriptionOfWideCharacters(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &Questions{t: terminal.New(&bytes.Buffer{}, nil, false), total: 100, open: map[string]time.Time{strings.Repeat("漢", 30): time.Now()}}
		time.Sleep(stallAge)
		got := p.description()
		if width := twwidth.Width(got) + barOverhead + 2*len("100"); width > p.t.Columns() || !strings.HasSuffix(got, "漢…") {
			t.Errorf("%q gives a line of %d columns", got, width)
		}
	})
}

// TestPlainLines: a run with slow questions prints a line every 10 seconds, and none after its end.
func TestPlainLines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		p := NewQuestions(terminal.New(&out, nil, false), 100, 90)
		for range 90 {
			p.Recorded(result.Record{Outcome: result.Scored, Passed: true, Reply: result.Reply{LatencyMS: 1}})
		}
		time.Sleep(25 * time.Second)
		p.Recorded(result.Record{Outcome: result.Scored, Passed: true, Reply: result.Reply{LatencyMS: 1}})
		time.Sleep(6 * time.Second)
		p.Recorded(result.Record{Outcome: result.NoGold})
		time.Sleep(11 * time.Second)
		p.Done()
		time.Sleep(time.Minute)
		// Resumed questions and questions without gold do not count towards the speed, which is
		// one question in 25 s, then one in 40 s.
		want := `  ask         90/100  90 pass  0 fail  p50 1.0 ms
  ask         90/100  90 pass  0 fail  p50 1.0 ms
  ask         91/100  91 pass  0 fail  p50 1.0 ms  ETA 4m30s
  ask         92/100  91 pass  0 fail  p50 1.0 ms  ETA 5m20s
`
		if out.String() != want {
			t.Errorf("got\n%swant\n%s", out.String(), want)
		}
	})
}

// TestPlainLinesOfAFastRun: at most one line per tenth of the questions and per second.
func TestPlainLinesOfAFastRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		p := NewQuestions(terminal.New(&out, nil, false), 100, 0)
		for range 100 {
			time.Sleep(50 * time.Millisecond)
			p.Recorded(result.Record{Outcome: result.Scored, Reply: result.Reply{LatencyMS: 1}})
		}
		p.Done()
		if n := strings.Count(out.String(), "\n"); n != 5 {
			t.Errorf("%d lines in 5 s:\n%s", n, out.String())
		}
	})
}

// TestStalled: a question that waits long is named with its age, until its answer is there.
func TestStalled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		p := NewQuestions(terminal.New(&out, nil, false), 2, 0)
		p.Asking("q-1", true)
		time.Sleep(4 * time.Second)
		p.Asking("q-2", true)
		if id, age := p.stalled(); age != 0 {
			t.Errorf("%s waits %v", id, age)
		}
		time.Sleep(9 * time.Second)
		synctest.Wait()
		if got := out.String(); !strings.Contains(got, "q-1 waits 10 s") {
			t.Errorf("got %q", got)
		}
		p.Asking("q-1", false)
		if id, age := p.stalled(); id != "q-2" || age != 9*time.Second {
			t.Errorf("%s waits %v", id, age)
		}
		p.Done()
	})
}

// TestCheckLines: conformance prints plain lines too, also while no check ends, unless it is quiet.
func TestCheckLines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out, none bytes.Buffer
		p, quiet := NewChecks(terminal.New(&out, nil, false), 100), NewChecks(terminal.New(&none, nil, true), 100)
		both := func(v conformance.Verdict) {
			p.Add(conformance.Result{Verdict: v})
			quiet.Add(conformance.Result{Verdict: v})
		}
		for range 9 {
			both(conformance.Kept)
		}
		time.Sleep(2 * time.Second)
		both(conformance.Broken)
		time.Sleep(15 * time.Second)
		both(conformance.NotJudged)
		p.Done()
		quiet.Done()
		time.Sleep(time.Minute)
		const want = `  check       10/100  9 kept  1 broken  0 not judged
  check       10/100  9 kept  1 broken  0 not judged
`
		if out.String() != want || none.Len() > 0 {
			t.Errorf("got\n%s\nquiet: %s", &out, &none)
		}
	})
}
