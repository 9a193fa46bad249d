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
	"evalctl/internal/filetest"
	"evalctl/internal/goldentest"
	"evalctl/internal/longtest"
	"evalctl/internal/sharedtest"
)

var full = flag.Bool("full", false, "measure every mode and a plain BM25, not only bm25, and kill runs and replays more often")

const (
	qualityPage = "../../docs/dev/ranking.md"
)

// qualityColumns lists the metrics of the table.
var qualityColumns = []string{"recall@1", "recall@5", "recall@10", "any@10", "all@10", "precision@10", "mrr", "map", "ndcg@10"}

// qualityTask is a retrieval task with the minimum metrics in mode bm25.
type qualityTask struct {
	name   string
	brains bool // one brain per conversation
	floors map[string]float64
	behind bool // a plain BM25 is known to rank better
}

var qualityTasks = []qualityTask{
	{"locomo-turn", true, map[string]float64{"recall@10": .76}, false},
	{"locomo-session", true, map[string]float64{"recall@10": .947}, false},
	{"lme-mixed-turn", false, map[string]float64{"recall@10": .829, "ndcg@10": .72}, false},
	{"lme-evidence-turn", false, map[string]float64{"recall@10": .915}, false},
	{"cranfield", false, map[string]float64{"ndcg@10": .42}, false},
	{"cisi", false, map[string]float64{"ndcg@10": .415}, true},
}

// TestRetrievalQuality measures the ranking of the daemon with evalctl run, and compares it with
// the floors and a table of docs/dev/ranking.md. With -full or -update, it also measures the other
// modes, of which hybrid with the fake embedder must not be worse than bm25.
func TestRetrievalQuality(t *testing.T) {
	longtest.Skip(t)
	needNeutralData(t)
	t.Parallel()
	modes := []string{"bm25"}
	if *full || goldentest.Updating() {
		modes = []string{"bm25", "semantic", "hybrid", "hybrid-rerank"}
	}
	measured := map[string]result.Metrics{}
	for _, task := range qualityTasks {
		for _, mode := range modes {
			got, _ := task.run(t, mode)
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
	if goldentest.Updating() {
		writeQuality(t, modes, measured)
	}
	compareQuality(t, measured)
}

// TestRetrievalQualityAgainstPlain compares the ranking with a plain BM25, which must not be shown
// to be better, and with the other table of docs/dev/ranking.md.
func TestRetrievalQualityAgainstPlain(t *testing.T) {
	needNeutralData(t)
	if !*full && !goldentest.Updating() {
		t.Skip("takes a minute: run with -full or -update")
	}
	var rows strings.Builder
	for _, task := range qualityTasks {
		_, file := task.run(t, "bm25")
		rows.WriteString(task.checkPlain(t, file))
	}
	if goldentest.Updating() {
		writeTable(t, plainTable, "| task | k1/b | recall@10 | plain | difference | ndcg@10 | plain | difference |\n"+
			"|---|---|---|---|---|---|---|---|\n"+rows.String())
	}
	_, table, _ := cutTable(t, plainTable)
	for row := range strings.Lines(rows.String()) {
		if !strings.Contains(table, row) {
			t.Errorf("%s has no row %s: run with -update", qualityPage, row)
		}
	}
}

func needNeutralData(t *testing.T) {
	t.Helper()
	sharedtest.Path(t, "neutral")
	if raceDetector {
		t.Skip("ranking is measured without the race detector")
	}
}

// run measures the task with evalctl run and returns the metrics and the result file.
func (q qualityTask) run(t *testing.T, mode string, more ...string) (result.Metrics, string) {
	t.Helper()
	if q.brains {
		more = append(more, "--brain-tag", "conv")
	}
	var result struct {
		Retrieval result.Retrieval `json:"retrieval"`
	}
	dir := sharedtest.Path(t, "neutral/"+q.name)
	file := runRetrieval(t, &result, mode, filepath.Join(dir, "questions.jsonl"), filepath.Join(dir, "corpus.jsonl"), more...)
	if result.Retrieval.Errors > 0 {
		t.Fatalf("%s in mode %s: %d errors", q.name, mode, result.Retrieval.Errors)
	}
	return result.Retrieval.Macro, file
}

// runRetrieval measures retrieval with evalctl run at top-k 10, unless more has another one, and
// decodes the result file, whose path it returns, into v.
func runRetrieval(t *testing.T, v any, mode, dataset, corpus string, more ...string) string {
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
	data := filetest.Read(t, files[0])
	if err := json.Unmarshal(data, v); err != nil {
		t.Fatal(err)
	}
	return files[0]
}

func (q qualityTask) check(t *testing.T, got result.Metrics) {
	t.Helper()
	for figure, floor := range q.floors {
		if got[figure] < floor {
			t.Errorf("%s: %s is %.4f, the floor is %.2f", q.name, figure, got[figure], floor)
		}
	}
}

// checkPlain compares a result of the daemon with a plain BM25 and returns the row of the table.
func (q qualityTask) checkPlain(t *testing.T, file string) string {
	t.Helper()
	plain := q.compareWithPlain(t, file)
	for _, name := range plainMeasures {
		m := plain.measure[name]
		if !q.behind && m.Interval.High < 0 {
			t.Errorf("%s: %s is %.4f, and %.4f with a plain BM25, a difference of [%.4f, %.4f]",
				q.name, name, m.RunMean, m.ReferenceMean, m.Interval.Low, m.Interval.High)
		}
	}
	return plain.row(q.name)
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

// A table of the page lies between two markers.
const (
	qualityTable = "measured"
	plainTable   = "plain"
)

// cutTable cuts the page at a table.
func cutTable(t *testing.T, name string) (before, table, after string) {
	t.Helper()
	page := filetest.Read(t, qualityPage)
	begin, end := "<!-- "+name+": begin -->\n", "<!-- "+name+": end -->\n"
	before, rest, _ := strings.Cut(string(page), begin)
	table, after, ok := strings.Cut(rest, end)
	if !ok {
		t.Fatalf("%s has no markers for the table %s", qualityPage, name)
	}
	return before + begin, table, end + after
}

func writeTable(t *testing.T, name, table string) {
	t.Helper()
	before, _, after := cutTable(t, name)
	filetest.Write(t, qualityPage, before+table+after)
}

func writeQuality(t *testing.T, modes []string, measured map[string]result.Metrics) {
	t.Helper()
	var table strings.Builder
	table.WriteString("| task | mode | " + strings.Join(qualityColumns, " | ") + " |\n|" + strings.Repeat("---|", len(qualityColumns)+2) + "\n")
	for _, task := range qualityTasks {
		for _, mode := range modes {
			table.WriteString(task.row(mode) + cells(measured[task.row(mode)]))
		}
	}
	writeTable(t, qualityTable, table.String())
}

// compareQuality compares the measured metrics with the page. The last digit may differ, because
// processors round differently.
func compareQuality(t *testing.T, measured map[string]result.Metrics) {
	t.Helper()
	_, table, _ := cutTable(t, qualityTable)
	for row, figures := range measured {
		_, rest, ok := strings.Cut(table, row)
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
