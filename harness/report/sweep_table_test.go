package report

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"evalctl/harness/report/form"
	"evalctl/harness/result"
	"evalctl/internal/terminal"
)

// cellOf returns a cell with n answers and the given metrics and latencies.
func cellOf(mode, ran string, topK, n int, recall, ndcg, p50, p95 float64) result.Cell {
	c := result.Cell{Mode: mode, TopK: topK}
	c.Result.Counts = result.Counts{Total: n, Scored: n}
	c.Result.PassRate = new(0.5)
	if ran != "" {
		c.Result.EffectiveModes = map[string]int{ran: n}
	}
	c.Result.Latency.N = n
	if n >= result.NeededForP50 {
		c.Result.Latency.P50 = &p50
	}
	if n >= result.NeededForP95 {
		c.Result.Latency.P95 = &p95
	}
	at := map[int]string{5: "5", 20: "20"}[topK]
	c.Result.Retrieval = &result.Retrieval{Macro: result.Metrics{"recall@" + at: recall, "ndcg@" + at: ndcg, "mrr": 0.25}}
	return c
}

func TestSweepRows(t *testing.T) {
	failed := cellOf("semantic", "", 5, 70, 0, 0, 0, 0)
	failed.Result.Counts = result.Counts{Total: 70, Errors: 70}
	failed.Result.Latency = result.Quantiles{}
	mixed := cellOf("auto", "bm25", 5, 70, 0.5, 0.25, 2, 3)
	mixed.Result.EffectiveModes = map[string]int{"hybrid": 69, "bm\x1b25": 1}
	mixed.Result.Fusions = map[string]int{"r\x1b 1": 69}
	deep := cellOf("bm25", "bm25", 20, 58, 0.75, 0.5, 1, 9)
	deep.CandidateK = 50
	whole := cellOf("bm25", "bm25", 20, 70, 1, 0.5, 1, 2)
	whole.Result.Retrieval.Warnings = []result.Warning{{Kind: result.TopKCoversBrain}}
	for _, c := range []struct {
		name  string
		cells []result.Cell
		want  [][]string
	}{
		{"a single cell has no best value", []result.Cell{cellOf("bm25", "bm25", 5, 70, 0.5, 0.5, 1, 2)}, [][]string{
			{"mode", "ran", "top-k", "n", "recall@k", "nDCG@k", "MRR", "pass", "p50", "p95"},
			{"bm25", "bm25", "5", "70", "0.500", "0.500", "0.250", "0.500", "1.0 ms", "2.0 ms"},
		}},
		{"the best values are starred but for latencies, few answers have no p95", []result.Cell{mixed, deep, cellOf("hybrid", "bm25", 5, 5, 0.75, 0.125, 1, 1)}, [][]string{
			{"mode", "ran", "top-k", "candidate-k", "n", "recall@k", "nDCG@k", "MRR", "pass", "p50", "p95"},
			{"auto", `bm\u001b25 ×1, hybrid ×69 (r\u001b 1)`, "5", "0", "70", "0.500", "0.250", "0.250", "0.500", "2.0 ms", "3.0 ms"},
			{"bm25", "bm25", "20", "50", "58", "*0.750", "*0.500", "0.250", "0.500", "1.0 ms", "needs 59"},
			{"hybrid", "bm25, not hybrid", "5", "0", "5", "*0.750", "0.125", "0.250", "0.500", "needs 6", "needs 59"},
		}},
		{"inflated recall is not starred", []result.Cell{cellOf("bm25", "bm25", 5, 70, 0.5, 0.25, 2, 3), whole}, [][]string{
			{"mode", "ran", "top-k", "n", "recall@k", "nDCG@k", "MRR", "pass", "p50", "p95"},
			{"bm25", "bm25", "5", "70", "0.500", "0.250", "0.250", "0.500", "2.0 ms", "3.0 ms"},
			{"bm25", "bm25", "20", "70", "1.000", "*0.500", "0.250", "0.500", "1.0 ms", "2.0 ms"},
		}},
		{"no answers, no metrics", []result.Cell{failed, cellOf("bm25", "", 5, 70, 0.5, 0.5, 1, 2)}, [][]string{
			{"mode", "ran", "top-k", "n", "errors", "recall@k", "nDCG@k", "MRR", "pass", "p50", "p95"},
			{"semantic", "none", "5", "70", "70", "–", "–", "–", "–", "needs 6", "needs 59"},
			{"bm25", "unknown mode, not bm25", "5", "70", "0", "0.500", "0.500", "0.250", "0.500", "1.0 ms", "2.0 ms"},
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var rows [][]string
			table := Sweep{File: result.Sweep{Cells: c.cells}}.table().For(form.Terminal)
			rows = append(rows, nil)
			for _, column := range table.Columns {
				rows[0] = append(rows[0], column.Name.String())
			}
			for _, row := range table.Rows {
				var texts []string
				for _, cell := range row.Cells {
					texts = append(texts, cell.Text.String())
				}
				rows = append(rows, texts)
			}
			if diff := cmp.Diff(c.want, rows); diff != "" {
				t.Error(diff)
			}
			for line := range strings.Lines(terminal.Table(rows, 2)) {
				if len([]rune(line)) > 130 {
					t.Errorf("too wide: %s", line)
				}
			}
		})
	}
}
