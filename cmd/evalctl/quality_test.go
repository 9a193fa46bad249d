package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"evalctl/harness/result"
)

var (
	update = flag.Bool("update", false, "rewrite testdata/help.golden, and measure every mode for the table of docs/retrieval.md")
	full   = flag.Bool("full", false, "measure every mode, not only bm25")
)

const (
	// neutralData contains retrieval tasks by other authors. It is not part of the repository and
	// may be missing.
	neutralData  = "../../../shared/data/neutral"
	qualityPage  = "../../docs/retrieval.md"
	qualityBegin = "<!-- measured: begin -->\n"
	qualityEnd   = "<!-- measured: end -->\n"
)

// qualityColumns lists the metrics of the table.
var qualityColumns = []string{"recall@1", "recall@5", "recall@10", "any@10", "all@10", "precision@10", "mrr", "map", "ndcg@10"}

// qualityTask is a retrieval task with the minimum metrics in mode bm25, and those of a plain BM25
// (Porter stemming, English stop words, text only).
type qualityTask struct {
	name      string
	brains    bool // one brain per conversation
	floors    map[string]float64
	reference map[string]float64
	constants string // k1/b of the reference
	behind    bool   // the reference ranks better
}

var qualityTasks = []qualityTask{
	{
		"locomo-turn", true,
		map[string]float64{"recall@10": .76},
		map[string]float64{"recall@5": .580, "recall@10": .652, "mrr": .490, "ndcg@10": .514}, "0.9/0.4", false,
	},
	{
		"locomo-session", true,
		map[string]float64{"recall@10": .947},
		map[string]float64{"recall@5": .891, "recall@10": .947, "mrr": .820, "ndcg@10": .839}, "1.2/0.75", false,
	},
	{
		"lme-mixed-turn", false,
		map[string]float64{"recall@10": .83, "ndcg@10": .72},
		map[string]float64{"recall@5": .695, "recall@10": .762, "mrr": .706, "ndcg@10": .679}, "1.2/0.75", false,
	},
	{
		"lme-evidence-turn", false,
		map[string]float64{"recall@10": .915},
		map[string]float64{"recall@5": .808, "recall@10": .860, "mrr": .817, "ndcg@10": .791}, "1.2/0.75", false,
	},
	{
		"cranfield", false,
		map[string]float64{"ndcg@10": .42},
		map[string]float64{"recall@5": .291, "recall@10": .399, "mrr": .537, "ndcg@10": .386}, "1.2/0.75", false,
	},
	{
		"cisi", false,
		map[string]float64{"ndcg@10": .415},
		map[string]float64{"recall@5": .102, "recall@10": .153, "mrr": .625, "ndcg@10": .428}, "1.2/0.75", true,
	},
}

// TestRetrievalQuality measures the ranking of the daemon with evalctl run, and compares it with
// the floors, a plain BM25 and the table of docs/retrieval.md. The fake embedder must not make
// hybrid mode worse than bm25.
func TestRetrievalQuality(t *testing.T) {
	if _, err := os.Stat(neutralData); err != nil {
		t.Skipf("no retrieval tasks at %s", neutralData)
	}
	if raceDetector {
		t.Skip("ranking is measured without the race detector")
	}
	modes := []string{"bm25"}
	if *full || *update {
		modes = []string{"bm25", "semantic", "hybrid", "hybrid-rerank"}
	}
	measured := map[string]result.Metrics{}
	for _, task := range qualityTasks {
		for _, mode := range modes {
			got := task.measure(t, mode)
			measured[task.row(mode)] = got
			if mode == "bm25" {
				task.check(t, got)
			}
			if mode == "hybrid" {
				for _, figure := range []string{"recall@10", "ndcg@10"} {
					if bm25 := measured[task.row("bm25")][figure]; got[figure] < bm25 {
						t.Errorf("%s: %s is %.4f in mode hybrid and %.4f in mode bm25", task.name, figure, got[figure], bm25)
					}
				}
			}
		}
	}
	if *update {
		writeQuality(t, modes, measured)
	}
	compareQuality(t, measured)
}

// measure runs evalctl on the task and returns the metrics.
func (q qualityTask) measure(t *testing.T, mode string) result.Metrics {
	t.Helper()
	var more []string
	if q.brains {
		more = []string{"--brain-tag", "conv"}
	}
	var result struct {
		Retrieval result.Retrieval `json:"retrieval"`
	}
	dir := filepath.Join(neutralData, q.name)
	runRetrieval(t, &result, mode, filepath.Join(dir, "questions.jsonl"), filepath.Join(dir, "corpus.jsonl"), more...)
	if result.Retrieval.Errors > 0 {
		t.Fatalf("%s in mode %s: %d errors", q.name, mode, result.Retrieval.Errors)
	}
	return result.Retrieval.Macro
}

// runRetrieval measures retrieval with evalctl run at top-k 10, unless more has another one, and
// decodes the result file into v.
func runRetrieval(t *testing.T, v any, mode, dataset, corpus string, more ...string) {
	t.Helper()
	out := t.TempDir()
	args := append([]string{
		"run", "--sdk", "go", "--dataset", dataset, "--corpus", corpus,
		"--scenario", "search-retrieve-only", "--scorer", "retrieval", "--mode", mode, "--require-mode", "same",
		"--top-k", "10", "--floor", "0", "--quiet", "--output", out,
	}, more...)
	cmd := exec.CommandContext(t.Context(), "evalctl", args...) // TestMain puts evalctl on the PATH
	cmd.Env = append(os.Environ(), "SVC_EMBED_PROVIDER=fake", "SVC_RERANK_PROVIDER=llm", "SVC_LLM_PROVIDER=fake")
	if text, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s in mode %s: %v\n%s", dataset, mode, err, text)
	}
	files, err := filepath.Glob(filepath.Join(out, "*", "go.json"))
	if err != nil || len(files) != 1 {
		t.Fatalf("results %v, %v", files, err)
	}
	data, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, v); err != nil {
		t.Fatal(err)
	}
}

func (q qualityTask) check(t *testing.T, got result.Metrics) {
	t.Helper()
	for figure, floor := range q.floors {
		if got[figure] < floor {
			t.Errorf("%s: %s is %.4f, the floor is %.2f", q.name, figure, got[figure], floor)
		}
	}
	for _, figure := range []string{"recall@10", "ndcg@10"} {
		if got[figure] < q.reference[figure] != q.behind {
			t.Errorf("%s: %s is %.4f, that of a plain BM25 %.3f, expected to be better: %v", q.name, figure, got[figure],
				q.reference[figure], q.behind)
		}
	}
}

// row returns the beginning of a row of the table.
func (q qualityTask) row(mode string) string { return "| " + q.name + " | " + mode + " |" }

func cells(figures map[string]float64) string {
	var b strings.Builder
	for _, column := range qualityColumns {
		if v, ok := figures[column]; ok {
			fmt.Fprintf(&b, " %.3f |", v)
		} else {
			b.WriteString(" |")
		}
	}
	return b.String() + "\n"
}

func writeQuality(t *testing.T, modes []string, measured map[string]result.Metrics) {
	t.Helper()
	var table strings.Builder
	table.WriteString("| task | mode | " + strings.Join(qualityColumns, " | ") + " |\n|" + strings.Repeat("---|", len(qualityColumns)+2) + "\n")
	for _, task := range qualityTasks {
		for _, mode := range modes {
			table.WriteString(task.row(mode) + cells(measured[task.row(mode)]))
		}
		table.WriteString(task.row("plain BM25, "+task.constants) + cells(task.reference))
	}
	page, err := os.ReadFile(qualityPage)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, _ := strings.Cut(string(page), qualityBegin)
	_, after, ok := strings.Cut(rest, qualityEnd)
	if !ok {
		t.Fatalf("%s has no markers for the table", qualityPage)
	}
	if err := os.WriteFile(qualityPage, []byte(before+qualityBegin+table.String()+qualityEnd+after), 0o600); err != nil {
		t.Fatal(err)
	}
}

// compareQuality compares the measured metrics with the page. The last digit may differ, because
// processors round differently.
func compareQuality(t *testing.T, measured map[string]result.Metrics) {
	t.Helper()
	page, err := os.ReadFile(qualityPage)
	if err != nil {
		t.Fatal(err)
	}
	for row, figures := range measured {
		_, rest, ok := strings.Cut(string(page), row)
		if !ok {
			t.Errorf("%s has no row %s: run with -update", qualityPage, row)
			continue
		}
		line, _, _ := strings.Cut(rest, "\n")
		for i, cell := range strings.Split(strings.Trim(line, "| "), "|") {
			shown, err := strconv.ParseFloat(strings.TrimSpace(cell), 64)
			if err != nil || math.Abs(shown-figures[qualityColumns[i]]) > .0015 {
				t.Errorf("%s %s shows %s for %s, measured %.4f: run with -update",
					qualityPage, row, cell, qualityColumns[i], figures[qualityColumns[i]])
			}
		}
	}
}
