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
	for _, k := range []int{5, 10, 15, 20, 30, 100, 200, 500, 1000} {
		out[fmt.Sprintf("map_cut_%d", k)] = func(d []string, g []Gold) float64 {
			return Rank(d[:min(k, len(d))], g).AveragePrecision()
		}
	}
	return out
}

// rows splits a file into lines and columns at white space.
func rows(t *testing.T, name string, columns int) [][]string {
	t.Helper()
	var out [][]string
	for sc := bufio.NewScanner(bytes.NewReader(testData(t, "trec_eval", name))); sc.Scan(); {
		f := strings.Fields(sc.Text())
		if len(f) != columns {
			t.Fatalf("%s: %q has not %d columns", name, sc.Text(), columns)
		}
		out = append(out, f)
	}
	return out
}

// trecRun reads run and qrels. It returns for each query the documents in trec_eval's order, by
// score and then by name, both descending, and the gold. Documents sorts ties by path in ascending
// order, so it must not be used here.
func trecRun(t *testing.T) (documents map[string][]string, gold map[string][]Gold) {
	t.Helper()
	hits := map[string][]Hit{}
	for _, f := range rows(t, "results.test", 6) {
		score, err := strconv.ParseFloat(f[4], 32) // trec_eval stores scores as float32
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
	for _, f := range rows(t, "qrels.test", 4) {
		if gain, err := strconv.ParseFloat(f[3], 64); err != nil {
			t.Fatal(err)
		} else if gain > 0 {
			gold[f[0]] = append(gold[f[0]], Gold{Path: f[2], Gain: gain})
		}
	}
	return documents, gold
}

// TestTrecEval: the measures are those that trec_eval prints for its own run, to all four decimals,
// for each query and for their mean.
func TestTrecEval(t *testing.T) {
	documents, gold := trecRun(t)
	ours := ofTrecEval()
	for file, atLeast := range map[string]int{"out.test": 12, "out.test.a": 40, "out.test.aq": 170} {
		compared := map[string]bool{}
		n := 0
		for _, f := range rows(t, file, 3) {
			measure, ok := ours[f[0]]
			if !ok {
				continue
			}
			want, err := strconv.ParseFloat(f[2], 64)
			if err != nil {
				t.Fatalf("%s: %v", file, err)
			}
			queries := []string{f[1]}
			if f[1] == "all" {
				queries = slices.Collect(maps.Keys(gold))
			}
			got := 0.0
			for _, q := range queries {
				got += measure(documents[q], gold[q]) / float64(len(queries))
			}
			// Half a unit of the last decimal, plus rounding errors.
			check(t, fmt.Sprintf("%s: %s of %s", file, f[0], f[1]), got, want, 0.5e-4+1e-9)
			compared[f[0]] = true
			n++
		}
		t.Logf("%s: %d figures of %d measures compared", file, n, len(compared))
		if n < atLeast {
			t.Errorf("%s: only %d figures were compared", file, n)
		}
	}
}
