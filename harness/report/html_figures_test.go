package report_test

import (
	"strings"
	"testing"

	"evalctl/harness/history"
	"evalctl/harness/report"
	"evalctl/harness/result"
	"evalctl/internal/llm"
)

// facts returns the names and values of the definition list of a section.
func facts(t *testing.T, c content, section string) map[string]string {
	t.Helper()
	out := map[string]string{}
	name := ""
	for n := range byID(t, parse(t, write(t, c)), section).Descendants() {
		switch n.Data {
		case "dt":
			name = textOf(n)
		case "dd":
			out[name] = strings.TrimSpace(textOf(n))
		}
	}
	return out
}

// rows returns the texts of the cells of all tables of a section, a row each, with blanks between.
func rows(t *testing.T, c content, section string) []string {
	t.Helper()
	var out []string
	for n := range byID(t, parse(t, write(t, c)), section).Descendants() {
		if n.Data == "tr" {
			var cells []string
			for d := range n.ChildNodes() {
				cells = append(cells, strings.TrimSpace(textOf(d)))
			}
			out = append(out, strings.Join(cells, " | "))
		}
	}
	return out
}

func contains(t *testing.T, rows []string, want ...string) {
	t.Helper()
	all := strings.Join(rows, "\n")
	for _, w := range want {
		if !strings.Contains(all, w) {
			t.Errorf("no row %q in\n%s", w, all)
		}
	}
}

func TestReplay(t *testing.T) {
	c := contentOf(6)
	res := &c.Result
	res.CostAccounting = &result.CostAccounting{
		ActorUSD: 3 * llm.Dollar, JudgeUSD: llm.Dollar, TotalUSD: 4 * llm.Dollar, CapUSD: ptr(20 * llm.Dollar),
		CachedSavingsUSD: 2 * llm.Dollar, CacheHits: 3, CacheMisses: 9, Unpriced: []string{"odd"},
		Tokens: map[string]result.ModelTokens{"m": {Requests: 12, InputTokens: 900, OutputTokens: 60, USD: 4 * llm.Dollar}},
		Prices: result.PriceTable{Date: "2026-09-01", Models: map[string]result.ModelPrice{"m": {Input: 2 * llm.Dollar, Output: 8 * llm.Dollar}}},
	}
	res.Replay = &result.Replay{
		Arm: "go", Sample: result.Sample{Size: 6, Population: 500, Seed: 42},
		Strata: []result.Stratum{{Name: "temporal", Counts: result.Counts{Total: 6, Passed: 4, Scored: 6}, PassRate: ptr(2.0 / 3),
			Interval: &result.Interval{Method: "wilson", Confidence: 0.95, Low: 0.3, High: 0.9}}},
		Weighted: &result.Estimate{Mean: 0.7, Interval: result.Interval{Method: "wilson_stratified", Confidence: 0.95, Low: 0.5, High: 0.8}},
		Macro:    ptr(0.71), Losses: map[result.Cause]int{result.CauseRankBurial: 2},
		Controls: &result.Controls{Right: 3, RightPassed: 3, Wrong: 3, WrongFailed: 2},
	}
	temporal := &result.TagFigures{Counts: result.Counts{Total: 6, Passed: 4, Scored: 6}, PassRate: ptr(2.0 / 3),
		Interval: res.Replay.Strata[0].Interval}
	other := *temporal
	other.Passed = 3
	res.Tags = map[string]*result.TagFigures{
		"type:temporal": temporal, "temporal": temporal, "category:temporal": temporal, "hard": temporal, "type:hard": &other,
	}
	contains(t, rows(t, c, "groups"), "type:temporal | 6 | 4 | 0.667 |  | 0.300–0.900 | 0 | 0", "hard | 6 | 4 | 0.667", "type:hard | 6 | 3 | ")
	if n := strings.Count(strings.Join(rows(t, c, "groups"), "\n"), "temporal"); n != 1 {
		t.Errorf("the stratum appears %d times", n)
	}
	contains(t, rows(t, c, "cost"), "actor | $3.00", "spent | $4.00", "m | 12 | 900 | 60 | 0 | $4.00 | $2.00 | $8.00")
	contains(t, rows(t, c, "groups"), "rank_burial | 2 |  | gold is missing from the top-k and was found further down")
	for section, want := range map[string]map[string]string{
		"groups": {"Estimate": "all 500 questions 0.700 [0.500 0.800] (95% stratified Wilson) · mean of the strata 0.710",
			"Controls": "VALID · 3/3 right passed, 2/3 wrong failed"},
		"cost": {"Cap of all arms together": "$20.00", "Cost": "$4.00 of $20.00 · ingest $0.00, actor $3.00, judge $1.00, embed $0.00 · cache hits 25% (3 of 12) saved $2.00", "Saved by cached replies": "$2.00", "List cost: alone, with an empty cache": "not recorded"},
		"ran":  {"Sample": "6 of 500, seed 42"},
	} {
		got := facts(t, c, section)
		for name, value := range want {
			if !strings.HasPrefix(got[name], value) {
				t.Errorf("%s: %s is %q, want %q", section, name, got[name], value)
			}
		}
	}
}

// TestListedReplay: questions listed by their ids, such as all failed ones, estimate nothing.
func TestListedReplay(t *testing.T) {
	for _, listed := range []bool{false, true} {
		c := contentOf(6)
		c.Result.Replay = &result.Replay{
			Sample:   result.Sample{Size: 6, Population: 500, Listed: listed},
			Weighted: &result.Estimate{Mean: 0.7, Interval: result.Interval{Method: "wilson_stratified", Confidence: 0.95, Low: 0.5, High: 0.8}},
			Macro:    ptr(0.71),
		}
		page := string(write(t, c))
		for _, said := range []string{"all 500 questions", "stratified Wilson"} {
			if strings.Contains(page, said) == listed {
				t.Errorf("listed %v: the page has %q: %v", listed, said, listed)
			}
		}
		if got := report.ArmSummary("go", &c.Result, nil, "", "", 0)["weighted_pass_rate"]; (got.(*result.Estimate) == nil) != listed {
			t.Errorf("listed %v: the summary has %v", listed, got)
		}
	}
}

// TestListCost: a page says what an arm would have cost alone, and never that this was nothing
// where a price is not known.
func TestListCost(t *testing.T) {
	for _, tt := range []struct {
		cost result.CostAccounting
		want map[string]string
	}{
		{result.CostAccounting{TotalUSD: 4 * llm.Dollar, CachedSavingsUSD: 3 * llm.Dollar, CacheHits: 3}, map[string]string{
			"Saved by cached replies": "$2.00", "List cost: alone, with an empty cache": "$6.50",
			"List cost": "$6.50 = spent $4.00 + saved by the cache $2.00 + the check of the judge $0.50 · $3.25 per correct answer",
		}},
		{result.CostAccounting{CacheHits: 3, Unpriced: []string{"odd"}}, map[string]string{
			"Saved by cached replies": "unknown", "List cost: alone, with an empty cache": "unknown",
		}},
	} {
		c := contentOf(6)
		if tt.cost.Unpriced == nil {
			tt.cost.SetList(result.ListCost{SavedUSD: 2 * llm.Dollar, SharedUSD: llm.Dollar / 2}, 0)
			tt.cost.PerCorrectUSD = ptr(13 * llm.Dollar / 4)
		} else {
			tt.cost.SetList(result.ListCost{}, 0)
		}
		c.Result.CostAccounting = &tt.cost
		got := facts(t, c, "cost")
		for name, value := range tt.want {
			if !strings.HasPrefix(got[name], value) {
				t.Errorf("%s is %q, want %q", name, got[name], value)
			}
		}
		if known := strings.Contains(got["List cost"], "per correct answer"); known != (tt.cost.Unpriced == nil) {
			t.Errorf("the cost of a correct answer: %q", got["List cost"])
		}
	}
}

func TestRepeatsAndClusters(t *testing.T) {
	c := contentOf(6)
	c.Result.Clustered = &result.ClusteredRate{Tag: "conv", Clusters: 4, SE: ptr(0.1), NaiveSE: 0.05,
		Interval: &result.Interval{Method: "clustered_t", Confidence: 0.95, Low: 0.4, High: 0.9}}
	c.Result.Repeats = &result.Repeats{K: 2, Questions: 3, At: []result.RepeatsAt{{K: 2, PassAt: 0.75, PassHat: 0.25}},
		Stable: 1, Never: 1, Flaky: []result.FlakyQuestion{{ID: "q-001", Passed: 1, Asked: 2}}, Rates: []float64{0.5, 0.6}}
	contains(t, rows(t, c, "groups"), "all questions | 6 | 4 | 0.667 |  | 0.400–0.900", "2 | 0.750 | 0.250")
	if text := write(t, c); !strings.Contains(text, "pass rate, 95% CI 0.400–0.900 (clustered t)") {
		t.Error("the band has another interval than the one to believe")
	}
	if got, want := facts(t, c, "rate")["Pass rate"], "95% CI 0.400–0.900 (clustered t)"; !strings.Contains(got, want) {
		t.Errorf("with clusters: %q, want %q", got, want)
	}
	for name, want := range map[string]string{
		"Clustered": "0.400–0.900, clusters: conv · (4 clusters; fewer than 20 is few) · as if all were independent: 0.600–0.730 · standard error 0.1000, 0.0500 if all were independent",
		"Repeats":   "2 · pass@1 0.750 · pass@2 0.750 · pass^2 0.250 · stable 1 · flaky 1 (q-001 1/2) · never 1",
	} {
		if got := facts(t, c, "groups")[name]; !strings.Contains(got, want) {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	if text := write(t, c); !strings.Contains(text, "pass rate, 95% CI 0.400–0.900 (clustered t)") {
		t.Error("the verdict has not the interval to believe")
	}
	if how := facts(t, c, "how"); how["Interval: clustered t"] == "" || how["Pass@k, pass^k"] == "" {
		t.Errorf("not explained: %v", how)
	}
}

func TestLatencyNeedsEnoughValues(t *testing.T) {
	c := contentOf(60)
	c.Result.Latency.P95Interval = &result.Interval{Method: "order_statistics", Confidence: 0.95, Low: 1700, High: 1900}
	contains(t, rows(t, c, "latency"), "done | 60 | 900 ms | 1.80 s [1.70 1.90] | needs 299")
}

// TestLatencyOfCachedAnswers: a page draws no times if no answer has one, also if an older file
// has percentiles of them.
func TestLatencyOfCachedAnswers(t *testing.T) {
	const caption = "took at most this time"
	c := contentOf(60)
	if text := write(t, c); !strings.Contains(text, caption) {
		t.Fatal("no plot of the times")
	}
	for i := range c.Questions {
		c.Questions[i].Actor = &result.ModelUse{Cached: true}
	}
	for _, n := range []int{60, 0} {
		c.Result.Latency.N, c.Result.Cached = n, 60
		if text := write(t, c); strings.Contains(text, caption) {
			t.Errorf("%d timed answers: a plot without times", n)
		}
	}
}

// TestWaits checks that times with waits have a row of their own, and that a question has both.
func TestWaits(t *testing.T) {
	c := contentOf(60)
	if text := write(t, c); strings.Contains(text, "with waits") {
		t.Error("there are waits where nothing waited")
	}
	c.Questions[0].FeltMS = ptr(9000.0)
	c.Result.Felt = &result.Quantiles{N: 60, P50: ptr(901.0)}
	contains(t, rows(t, c, "latency"), "done, with waits | 60 | 901 ms | needs 59 | needs 299")
	if text := write(t, c); !strings.Contains(text, "800 ms, with waits 9.00 s, first token after 300 ms, 1 attempt") {
		t.Error("the question does not say how long its caller waited")
	}
}

// TestRetrievalIntervals checks that the page says what was resampled.
func TestRetrievalIntervals(t *testing.T) {
	c := contentOf(6)
	c.Result.Retrieval = &result.Retrieval{Ks: []int{5}, Questions: 6, Macro: result.Metrics{"mrr": 0.5},
		Intervals: map[string]result.Interval{"mrr": {Method: "cluster_bootstrap", Confidence: 0.95, Low: 0.25, High: 0.75}},
		Basis:     &result.IntervalBasis{Cluster: "brain", Units: 7, Resamples: 10_000, Seed: 1},
		Depth:     &result.Depth{Chunks: result.Spread{Min: 5, Median: 5, Max: 5}, Documents: result.Spread{Min: 1, Median: 4, Max: 5}}}
	c.Result.Identity.TopK = 5
	got := facts(t, c, "retrieval")
	for name, want := range map[string]string{
		"Retrieval": "MRR 0.500 [0.250 0.750] · brackets: 95% cluster bootstrap, clusters: brain (7) · over 6 questions with expected_paths · 10000 resamples, seed 1",
		"Depth":     "top-k 5: passages 5, documents 4 (1–5)",
	} {
		if got[name] != want {
			t.Errorf("%s is %q, want %q", name, got[name], want)
		}
	}
	if how := facts(t, c, "how"); how["Interval: cluster bootstrap"] == "" {
		t.Errorf("not explained: %v", how)
	}
}

func TestTrendSection(t *testing.T) {
	c := contentOf(6)
	c.Trend = trendOf(&history.Line{
		Nights: []history.Night{
			nightOf("2026-09-20", 5), nightOf("2026-09-21", -1), {Date: "2026-09-22"}, nightOf("2026-09-23", 2, "judge.model"),
		},
		Changes: []history.Change{{Date: "2026-09-23"}},
	}, "")
	contains(t, rows(t, c, "trend"), "2026-09-20 | 0.833 | 0.417–0.917 | 5/6 | pass | $0.00 |", "2026-09-21 | – | – | 0/6 | pass | $0.00 |",
		"2026-09-22 | – | – | – | missing | – |", "2026-09-23 | 0.333 | 0.167–0.667 | 2/6 | pass | $0.00 | ◆ pass rate, judge.model")
}

// TestPageWithoutFloor: no chart has a line for the floor, and no method speaks of one.
func TestPageWithoutFloor(t *testing.T) {
	c := contentOf(6)
	c.Trend = trendOf(&history.Line{Nights: []history.Night{nightOf("2026-09-20", 5)}}, "")
	if text := write(t, c); !strings.Contains(text, `class="floor"`) || facts(t, c, "how")["Floor"] == "" {
		t.Error("the floor is missing")
	}
	c.Result.Gate.Verdict, c.Result.Gate.Floor, c.Result.Gate.FloorFrom = result.Measured, 0, result.FloorNone
	if text := write(t, c); strings.Contains(text, `class="floor"`) {
		t.Error("a chart has a floor that the run does not have")
	}
	if how := facts(t, c, "how"); how["Floor"] != "" {
		t.Errorf("the floor is explained: %s", how["Floor"])
	}
	c.Result.Tags = map[string]*result.TagFigures{"temporal": {Counts: c.Result.Counts, PassRate: c.Result.PassRate}}
	c.Result.Gate.Tags = []result.TagGate{{Tag: "temporal", Floor: 0.5}}
	if text := write(t, c); !strings.Contains(text, `class="floor"`) || !strings.Contains(text, "Dashed line: the floor.") {
		t.Error("the floor of a tag is not drawn, or its line is not explained")
	}
}

func TestWithoutQuestionsAndGate(t *testing.T) {
	c := contentOf(0)
	c.Result.Gate = nil
	c.Result.Interval = nil
	text := write(t, c)
	if !strings.Contains(text, "No verdict") || strings.Contains(text, "NaN") || strings.Contains(text, "<ol id=\"list\">") {
		t.Error("the page of a result without questions and gate is not as it should be")
	}
}
