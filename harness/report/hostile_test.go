package report

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"golang.org/x/net/html"

	"evalctl/harness/bench/record"
	"evalctl/harness/compare"
	"evalctl/harness/conformance"
	"evalctl/harness/history"
	"evalctl/harness/key"
	"evalctl/harness/result"
	"evalctl/internal/markdown/markdowntest"
)

// hostileText tries to break out of each of the formats.
const hostileText = "]]>\x00<script>alert(1)</script>\xff\xed\xa0\x80\ufffe\n::error file=x,line=1::owned\r\n" +
	"##[error]owned `a` | $x$ @all https://evil.example/ </details> %0A::warning::x \x1b[31m\u202e"

// hostile returns documents whose texts are all from next.
func hostile(next func() string) map[string]Document {
	run := runOf(32)
	res, id := &run.Result, &run.Result.Identity
	for i := range run.Questions {
		r := &run.Questions[i]
		r.Retrieved = []result.Chunk{{Path: next()}}
		r.ID, r.Question, r.Answer, r.Reference, r.Reason = r.ID+next(), next(), next(), next(), next()
		r.Tags = []string{next()}
		if r.Error != nil {
			r.Error.Kind, r.Error.Message = result.Kind(next()), next()
		}
		if r.Retrieval != nil {
			r.Cause = result.Cause(next())
		}
	}
	res.Tags = nil
	run.fill()
	res.Checks = map[string]*result.TagFigures{next(): {Counts: result.Counts{Total: 1, Scored: 1}, PassRate: new(0.0)}}
	id.External = &result.ExternalScorer{Name: next(), Version: next()}
	id.Dataset.Path, id.Dataset.SHA256, id.Mode, id.Daemon.Version, id.Judge.Model = next(), next(), next(), next(), next()
	id.Dataset.Selection = &result.Selection{Grep: next(), Tags: []string{next()}, FailedOf: next(), Total: 99}
	id.Scenario, res.ScorerName, run.Path = result.Scenario(next()), next(), next()
	res.Retrieval = &result.Retrieval{Ks: []int{5}, Warnings: []result.Warning{{Message: next()}},
		Intervals: map[string]result.Interval{"recall@5": {Method: next()}}, Basis: &result.IntervalBasis{Cluster: next(), Units: 2}}
	res.ReaderModels, res.Fusions = map[string]int{"m" + next(): 3}, map[string]int{"f" + next(): 3}
	res.Gate.Sentence, res.Gate.Tags = next(), []result.TagGate{{Tag: next(), Floor: 0.5}}
	res.Gate.Baseline = &result.BaselineGate{Path: next(), Differs: []string{next()}, Broke: []string{next()}, Fixed: []string{next()}, Verdict: result.Worse}
	res.Settings.DaemonEnv = &result.DaemonEnv{Withheld: []string{next()}, Passed: []string{next()}}
	res.Replay = &result.Replay{ModelRequests: &result.ModelRequests{Refused: []result.RefusedRequests{{Path: next(), Status: 404, Requests: 2}}}}
	res.Repeats = &result.Repeats{K: 2, Flaky: []result.FlakyQuestion{{ID: next()}}}
	res.Clustered = &result.ClusteredRate{Tag: next(), Interval: &result.Interval{}}
	check := func(level conformance.Level, verdict conformance.Verdict) conformance.Result {
		return conformance.Result{Check: conformance.Check{ID: "ask-x", Group: "ask", Level: level, Section: "4", Sentence: "It answers."},
			Verdict: verdict, Detail: next(), Cause: next(), Request: next(), Response: next()}
	}
	return map[string]Document{
		"run": run, "arms": Arms{{Name: next(), Run: run, Problem: next()}, {Name: next(), Problem: next()}},
		"conformance": Conformance{Endpoint: next(), StartedAt: time.Unix(0, 0), Partial: true, BrainsLeft: []string{next()},
			Deaths: []conformance.Death{{Cause: next()}}, Normalised: []string{next()}, MCPVersion: next(),
			Findings: []conformance.Finding{{Cause: next(), Level: conformance.Must, Checks: []string{next()}, Section: next(),
				Sentence: next(), Request: next(), Response: next(), Detail: next()}},
			Results: []conformance.Result{
				check(conformance.Must, conformance.Broken), check(conformance.Should, conformance.Broken),
				check(conformance.Must, conformance.NotJudged), check(conformance.Must, conformance.Kept),
			}},
		"comparison": comparisonOf(next),
		"bench":      benchOf(next),
		"replay":     replayOf(run, next),
		"trend":      trendOf(next),
		"past":       Past{Arm: next(), Past: history.Past{Line: lineOf(next), LeftOut: 1, Differing: []string{"judge"}}},
	}
}

// benchOf returns a bench with texts from next.
func benchOf(next func() string) Bench {
	interval := 1.0
	op := record.OpFigures{Op: next(), Rate: &record.Quantity{Value: 1, Low: &interval, High: &interval, Near: true},
		FirstDelta: &record.Times{}, Errors: map[string]int64{next(): 1}, Offered: 1, FirstError: next()}
	d := record.Difference{Ratio: 1, Verdict: next()}
	return NewBench(&record.File{
		SDK: next(), Stopped: result.Stop(next()), Targets: []record.Target{{Name: next()}, {Name: next()}},
		Plan:     record.Plan{Search: next(), Stages: make([]record.Stage, 2), Sizes: []int{1, 2}, Arrival: record.Constant},
		Faults:   []record.Fault{{Kind: next()}},
		Baseline: &record.Baseline{Series: []record.Change{{Series: record.Series{Op: next(), Figure: next()}}}},
		Probes:   []record.Probe{{Block: record.Block{Seconds: 1, Ops: []record.OpBlock{{Op: next()}}}}},
		Figures: record.Figures{
			Summaries:   []record.Summary{{Ops: []record.OpFigures{op}}},
			Comparisons: []record.Comparison{{Target: 1, Op: next(), Figure: next(), Difference: d}},
			Growth:      []record.Growth{{Op: next(), Figure: next(), Sizes: []int{1}, Values: []float64{1}}},
			Limits:      []record.Limit{{Rate: 1}},
			Verdicts:    []record.Verdict{{Require: next(), Op: next(), Sentence: next()}},
		},
	}, next())
}

// trendOf returns a trend of two lines and a bench with texts from next.
func trendOf(next func() string) Trend {
	load := history.Load{Daemon: next(), P99: &record.Quantity{Value: 1}}
	return Trend{Trend: history.Trend{Root: next(), LeftOut: 2, Unreadable: []history.Unreadable{{Reason: next()}},
		Lines: []*history.Line{lineOf(next), lineOf(next)},
		Benches: []*history.BenchLine{{Target: next(), Op: next(), Arrival: next(), Nights: []history.BenchNight{
			{Date: "2026-09-20", Load: load}, {Date: "2026-09-21", Load: load},
		}}},
	}}
}

// lineOf returns a line of two nights.
func lineOf(next func() string) *history.Line {
	l := &history.Line{Dataset: next(), Selection: next(), Unread: []history.Unreadable{{Reason: next()}},
		Questions: []history.Turn{{Kind: history.Broke, ID: next(), Since: "2026-09-21", States: "+-"}},
		Changes:   []history.Change{{Date: "2026-09-21", Changed: []string{next()}}}}
	for _, date := range []string{"2026-09-20", "2026-09-21"} {
		rate := 0.5
		l.Nights = append(l.Nights, history.Night{Date: date, Others: 1, Changed: []string{next()}, Entry: &history.Entry{
			Name: next(), Scenario: result.Scenario(next()), Scorer: next(), Verdict: result.Verdict(next()), PassRate: &rate,
			Interval: &result.Interval{Method: next()}, Result: &result.Result{},
		}})
	}
	return l
}

// replayOf returns a replay whose arms have the same result, compared as texts from next say.
func replayOf(run *Run, next func() string) Replay {
	return Replay{
		Arms: Arms{{Name: next(), Run: run}, {Name: next(), Problem: next()}, {Name: next(), Run: run}},
		Compared: &compare.Arms{
			Names: []string{next(), next(), next()}, Comparison: comparisonOf(next).Comparison, NotCompared: []string{next()},
			Facts: []compare.Fact{{Name: "mode that ran", Values: []string{"m" + next(), "no result", "o" + next()}}},
			Refused: &key.IncomparableError{Names: []string{next(), next()}, Differing: []string{"mode"},
				Keys: []key.Agreement{{Name: "mode", Values: []string{next(), next()}, State: key.Differs, Matters: true}}},
		},
	}
}

// TestReplayPage checks that inputs which arms have in common and questions that several did not
// pass are on the page once.
func TestReplayPage(t *testing.T) {
	n := 0
	d := replayOf(runOf(32), func() string { n++; return fmt.Sprintf("text %d", n) })
	_, page, _ := rendered(t, d)
	for _, once := range []string{"| dataset |", "| scorer |", "- `q-006`", "`What is in box 6?`"} {
		if got := strings.Count(page, once); got != 1 {
			t.Errorf("%q is there %d times:\n%s", once, got, page)
		}
	}
	if first := strings.Index(page, "\n- `"); !strings.Contains(page[first:first+60], "Not comparable: mode differs") {
		t.Errorf("the first line is not the most important one:\n%s", page[:first+200])
	}
	if got := strings.Count(page, "`A chair.`"); got < 8 {
		t.Errorf("answers of both arms are missing: %d", got)
	}
}

var command = regexp.MustCompile(`^::(error|notice) (file=[^:,]*(,line=\d+)?,)?title=[^:,]*::`)

// checkDocument checks that the texts of a document stay texts. want is the page of plain texts.
func checkDocument(t *testing.T, d Document, want markdowntest.Page) {
	t.Helper()
	junit, page, commands := rendered(t, d)
	checkJUnit(t, junit)
	got := markdowntest.Read(t, page)
	if got.Headings != want.Headings || got.Tables != want.Tables {
		t.Errorf("%d headings and %d tables, want %d and %d:\n%s", got.Headings, got.Tables, want.Headings, want.Tables, page)
	}
	if !utf8.ValidString(page) || strings.ContainsAny(page, "\x00\x1b\u202e\r") {
		t.Errorf("the page has characters that are not printable")
	}
	lines := slices.Collect(strings.Lines(commands))
	for _, line := range lines {
		if line = strings.TrimSuffix(line, "\n"); !command.MatchString(line) || strings.ContainsAny(line, "\r\x1b\x00") {
			t.Errorf("line %q", line)
		}
	}
	if len(lines) > maxAnnotations {
		t.Errorf("%d annotations", len(lines))
	}
}

// TestHostileTexts renders hostile texts in all places, and compares with plain texts.
func TestHostileTexts(t *testing.T) {
	plain := map[string]markdowntest.Page{}
	n := 0
	for name, d := range hostile(func() string { n++; return fmt.Sprintf("plain %d", n) }) {
		_, page, _ := rendered(t, d)
		plain[name] = markdowntest.Read(t, page)
	}
	for first := range markdowntest.Hostile {
		n := first
		next := func() string { n++; return markdowntest.Hostile[n%len(markdowntest.Hostile)] }
		for name, d := range hostile(next) {
			checkDocument(t, d, plain[name])
		}
	}
	for name, d := range hostile(func() string { return hostileText }) {
		checkDocument(t, d, plain[name])
	}
}

// TestHostilePages renders hostile texts as HTML and on a terminal. The elements are those that
// plain texts have, and no character acts on a terminal.
func TestHostilePages(t *testing.T) {
	n := 0
	plain := hostile(func() string { n++; return fmt.Sprintf("plain\n%d", n) })
	for _, text := range append(slices.Clone(markdowntest.Hostile), hostileText, `"'><script>alert(1)</script></style><img src=x onerror=alert(2)>`) {
		for name, d := range hostile(func() string { return text }) {
			if shown := printed(d); strings.ContainsAny(shown, "\x00\x1b\u202e\r") {
				t.Errorf("%s has characters that act on a terminal: %q", name, shown)
			}
			if !hasPage(d) {
				continue
			}
			known := elements(t, plain[name])
			for _, kind := range elements(t, d) {
				if !slices.Contains(known, kind) {
					t.Errorf("%s with %q has %q", name, text, kind)
				}
			}
		}
	}
}

// elements returns the kinds of the elements of a page with their attributes, each once, and fails
// if a character cannot be seen.
func elements(t *testing.T, d Document) []string {
	t.Helper()
	var b strings.Builder
	if err := HTML(&b, Page{Document: d}); err != nil {
		t.Fatal(err)
	}
	if strings.ContainsAny(b.String(), "\x00\x1b\u202e\u2066\ufeff\u2028") {
		t.Error("a character cannot be seen")
	}
	root, err := html.Parse(strings.NewReader(b.String()))
	if err != nil {
		t.Fatal(err)
	}
	kinds := map[string]bool{}
	for n := range root.Descendants() {
		kind := n.Data
		for _, a := range n.Attr {
			kind += " " + a.Key
		}
		if n.Type == html.ElementNode {
			kinds[kind] = true
		}
	}
	return slices.Sorted(maps.Keys(kinds))
}

func FuzzDocument(f *testing.F) {
	for _, text := range append(markdowntest.Hostile, hostileText) {
		f.Add(text)
	}
	plain := map[string]markdowntest.Page{}
	f.Fuzz(func(t *testing.T, text string) {
		for name, d := range hostile(func() string { return "plain" }) {
			if _, ok := plain[name]; !ok {
				_, page, _ := rendered(t, d)
				plain[name] = markdowntest.Read(t, page)
			}
		}
		for name, d := range hostile(func() string { return text }) {
			checkDocument(t, d, plain[name])
		}
	})
}

// TestSizes checks that no answer and no number of failures makes a page too large.
func TestSizes(t *testing.T) {
	long := runOf(7)
	long.Questions[6].Answer = strings.Repeat("語", 5<<20/3)
	junit, page, _ := rendered(t, long)
	if len(page) > 20_000 || len(junit) > 30_000 {
		t.Errorf("a large answer makes %d and %d bytes", len(page), len(junit))
	}
	many := runOf(1)
	for i := range 50_000 {
		r := question(6)
		r.ID, r.Answer, r.Tags = fmt.Sprint("q", i), strings.Repeat("語", 300), []string{fmt.Sprint("tag", i, strings.Repeat("語", 200))}
		many.Questions = append(many.Questions, r)
	}
	many.Result.Planned = len(many.Questions)
	many.fill()
	for _, limit := range []int{MaxSummary, 65_536, 20_000, 4_000, 1_000, 600, 0} {
		var b strings.Builder
		if err := Markdown(&b, Arms{{Name: "a", Run: many}, {Name: "b", Run: many}}, limit); err != nil {
			t.Fatal(err)
		}
		if b.Len() >= max(limit, 1) || limit > 1_000 && b.Len() < limit/4 {
			t.Errorf("limit %d: %d bytes", limit, b.Len())
		}
		if limit == 0 {
			continue
		}
		page := markdowntest.Read(t, b.String())
		if limit > 10_000 && (!strings.Contains(b.String(), "more, in the result file") || page.Headings != 2) {
			t.Errorf("limit %d: %d headings, or it does not say that questions are left out", limit, page.Headings)
		}
		if limit < 5_000 && !strings.Contains(b.String(), "left out, because the page would be too large") {
			t.Errorf("limit %d: it does not say that parts are left out:\n%s", limit, b.String())
		}
	}
}

type full struct{}

var errFull = errors.New("disk full")

func (full) Write([]byte) (int, error) { return 0, errFull }

func TestErrorsOfTheWriter(t *testing.T) {
	run := runOf(8)
	for name, err := range map[string]error{
		"JUnit": JUnit(full{}, run), "Markdown": Markdown(full{}, run, MaxSummary), "Annotations": Annotations(full{}, run, "."),
	} {
		if !errors.Is(err, errFull) {
			t.Errorf("%s: error %v", name, err)
		}
	}
}
