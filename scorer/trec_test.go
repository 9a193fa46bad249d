package scorer

import (
	"bufio"
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"

	"evalctl/internal/sharedtest"
)

// ofTrecEval maps trec_eval's names to the measures that it has too.
func ofTrecEval() map[string]func(documents []string, gold []Gold) float64 {
	whole := func(m func(Ranking) float64) func([]string, []Gold) float64 {
		return func(d []string, g []Gold) float64 { return m(Rank(d, g)) }
	}
	out := map[string]func([]string, []Gold) float64{
		"map": whole(Ranking.AveragePrecision), "recip_rank": whole(Ranking.ReciprocalRank),
		"ndcg":       whole(func(r Ranking) float64 { return r.NDCGAt(math.MaxInt) }),
		"set_recall": whole(func(r Ranking) float64 { return r.RecallAt(math.MaxInt) }),
		"Rprec":      whole(func(r Ranking) float64 { return r.PrecisionAt(len(r)) }),
	}
	for name, at := range map[string]func(Ranking, int) float64{
		"P": Ranking.PrecisionAt, "recall": Ranking.RecallAt, "success": Ranking.SuccessAt,
		"ndcg_cut": Ranking.NDCGAt, "relative_P": Ranking.CappedRecallAt,
	} {
		for _, k := range []int{1, 5, 10, 15, 20, 30, 100, 200, 500, 1000} {
			out[fmt.Sprintf("%s_%d", name, k)] = whole(func(r Ranking) float64 { return at(r, k) })
		}
	}
	for _, k := range []int{1, 5, 10, 15, 20, 30, 100, 200, 500, 1000} {
		out[fmt.Sprintf("map_cut_%d", k)] = func(d []string, g []Gold) float64 {
			return Rank(d[:min(k, len(d))], g).AveragePrecision()
		}
	}
	return out
}

// rows splits text into lines and columns at white space.
func rows(t *testing.T, text []byte, columns int) [][]string {
	t.Helper()
	var out [][]string
	for sc := bufio.NewScanner(bytes.NewReader(text)); sc.Scan(); {
		f := strings.Fields(sc.Text())
		if len(f) != columns {
			t.Fatalf("%q has not %d columns", sc.Text(), columns)
		}
		out = append(out, f)
	}
	return out
}

// trecRun reads run and qrels: for each query the documents as trec_eval orders
// them, by score and then by name, both descending, and the gold. Our own ties
// go by path ascending (Documents), which must not be used here.
func trecRun(t *testing.T, run, qrels []byte) (documents map[string][]string, gold map[string][]Gold) {
	t.Helper()
	hits := map[string][]Hit{}
	for _, f := range rows(t, run, 6) {
		score, err := strconv.ParseFloat(f[4], 32) // trec_eval keeps scores as float
		if err != nil {
			t.Fatal(err)
		}
		hits[f[0]] = append(hits[f[0]], Hit{Path: f[2], Score: score})
	}
	documents, gold = map[string][]string{}, map[string][]Gold{}
	for q, hs := range hits {
		slices.SortFunc(hs, func(a, b Hit) int {
			return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(b.Path, a.Path))
		})
		for _, h := range hs {
			documents[q] = append(documents[q], h.Path)
		}
	}
	for _, f := range rows(t, qrels, 4) {
		if gain, err := strconv.ParseFloat(f[3], 64); err != nil {
			t.Fatal(err)
		} else if gain > 0 {
			gold[f[0]] = append(gold[f[0]], Gold{Path: f[2], Gain: gain})
		}
	}
	return documents, gold
}

// compareTrec compares the measures with the lines "measure query figure" of
// text, of which those of other measures are left out, and returns how many
// figures and measures it compared.
func compareTrec(t *testing.T, documents map[string][]string, gold map[string][]Gold, text []byte, tolerance float64) (figures, measures int) {
	t.Helper()
	ours := ofTrecEval()
	compared := map[string]bool{}
	for _, f := range rows(t, text, 3) {
		measure, ok := ours[f[0]]
		if !ok {
			continue
		}
		want, err := strconv.ParseFloat(f[2], 64)
		if err != nil {
			t.Fatal(err)
		}
		queries := []string{f[1]}
		if f[1] == "all" {
			queries = slices.Collect(maps.Keys(gold))
		}
		got := 0.0
		for _, q := range queries {
			got += measure(documents[q], gold[q]) / float64(len(queries))
		}
		check(t, f[0]+" of "+f[1], got, want, tolerance)
		compared[f[0]] = true
		figures++
	}
	return figures, len(compared)
}

// TestTrecEval: the measures are those of trec_eval's code, which figures.py
// calls, for a small run with grades, ties, unjudged documents and queries, and
// queries without a result.
func TestTrecEval(t *testing.T) {
	documents, gold := trecRun(t, testData(t, "trec", "run.txt"), testData(t, "trec", "qrels.txt"))
	text := testData(t, "trec", "figures.txt")
	if n, _ := compareTrec(t, documents, gold, text, 1e-12); n != bytes.Count(text, []byte("\n")) {
		t.Errorf("only %d figures were compared", n)
	}
}

// TestTrecEvalDistribution: the measures are those that trec_eval prints for the
// run in its own distribution, to all four decimals, for each query and for
// their mean.
func TestTrecEvalDistribution(t *testing.T) {
	documents, gold := trecRun(t, sharedtest.Read(t, "trec_eval/results.test"), sharedtest.Read(t, "trec_eval/qrels.test"))
	for file, atLeast := range map[string]int{"out.test": 12, "out.test.a": 40, "out.test.aq": 170} {
		// Half a unit of the last decimal, plus rounding errors.
		n, measures := compareTrec(t, documents, gold, sharedtest.Read(t, "trec_eval/"+file), 0.5e-4+1e-9)
		t.Logf("%s: %d figures of %d measures compared", file, n, measures)
		if n < atLeast {
			t.Errorf("%s: only %d figures were compared", file, n)
		}
	}
}
