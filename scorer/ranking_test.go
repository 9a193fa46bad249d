package scorer

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"evalctl/internal/filetest"
	"evalctl/internal/sharedtest"
)

// binary returns gold whose documents all have the same gain.
func binary(paths ...string) []Gold {
	var gold []Gold
	for _, p := range paths {
		gold = append(gold, Gold{Path: p, Gain: 1})
	}
	return gold
}

// relevances returns the ranking for a pattern such as 0,1,0,1,0, with further gold that was not
// retrieved, up to total.
func relevances(pattern []int, total int) Ranking {
	var documents []string
	var gold []Gold
	for i, gain := range pattern {
		documents = append(documents, fmt.Sprint("d", i))
		if gain > 0 {
			gold = append(gold, Gold{Path: fmt.Sprint("d", i), Gain: float64(gain)})
		}
	}
	for len(gold) < total {
		gold = append(gold, Gold{Path: fmt.Sprint("missing", len(gold)), Gain: 1})
	}
	return Rank(documents, gold)
}

func check(t *testing.T, what string, got, want, tolerance float64) {
	t.Helper()
	if !(math.Abs(got-want) <= tolerance) {
		t.Errorf("%s is %v, want %v", what, got, want)
	}
}

// TestMeasuresByHand contains what can be calculated on paper: 1/log2(3) is 0.630930, 1/log2(5) is
// 0.430677.
func TestMeasuresByHand(t *testing.T) {
	type want struct{ recall, anyOf, all, precision, capped, rr, ap, ndcg, lme float64 }
	for _, c := range []struct {
		pattern  []int
		total, k int
		want     want
	}{
		{[]int{0, 1, 0, 1, 0}, 3, 5, want{2.0 / 3, 1, 0, 0.4, 2.0 / 3, 0.5, 1.0 / 3, 0.498189, 0.570141}},
		{[]int{0, 1, 0, 1, 0}, 3, 2, want{1.0 / 3, 1, 0, 0.5, 0.5, 0.5, 1.0 / 3, 0.386853, 0.5}},
		{[]int{0, 1, 0, 0, 0}, 1, 5, want{1, 1, 1, 0.2, 1, 0.5, 0.5, 0.630930, 1}},
		{[]int{0, 1, 0, 0, 0}, 1, 1, want{0, 0, 0, 0, 0, 0.5, 0.5, 0, 0}},
		{[]int{0, 0, 1}, 1, 5, want{1, 1, 1, 0.2, 1, 1.0 / 3, 1.0 / 3, 0.5, 0.630930}},
		{[]int{1, 0, 1, 0, 0}, 2, 3, want{1, 1, 1, 2.0 / 3, 1, 1, 5.0 / 6, 0.919721, 0.815465}},
		{[]int{1, 1, 1}, 3, 2, want{2.0 / 3, 1, 0, 1, 1, 1, 1, 1, 1}},
		{[]int{0, 0, 0}, 2, 3, want{}},
		{nil, 1, 5, want{}},
	} {
		r := relevances(c.pattern, c.total)
		name := fmt.Sprintf("of %v with %d gold at %d: ", c.pattern, c.total, c.k)
		for _, m := range []struct {
			what      string
			got, want float64
		}{
			{"recall", r.RecallAt(c.k), c.want.recall}, {"any", r.AnyAt(c.k), c.want.anyOf}, {"success", r.SuccessAt(c.k), c.want.anyOf},
			{"all", r.AllAt(c.k), c.want.all}, {"precision", r.PrecisionAt(c.k), c.want.precision},
			{"capped recall", r.CappedRecallAt(c.k), c.want.capped}, {"RR", r.ReciprocalRank(), c.want.rr},
			{"AP", r.AveragePrecision(), c.want.ap}, {"nDCG", r.NDCGAt(c.k), c.want.ndcg}, {"LongMemEval's nDCG", r.LongMemEvalNDCGAt(c.k), c.want.lme},
		} {
			check(t, name+m.what, m.got, m.want, 1e-6)
		}
	}
}

// TestGradedByHand is the example in Wikipedia's article on DCG.
func TestGradedByHand(t *testing.T) {
	r := relevances([]int{3, 2, 3, 0, 1, 2}, 0)
	check(t, "nDCG", r.NDCGAt(6), 0.960808, 1e-6)
	check(t, "nDCG of everything", r.NDCGAt(math.MaxInt), 0.960808, 1e-6)
	r = append(r, Gold{Path: "x", Gain: 3}, Gold{Path: "y", Gain: 2})
	check(t, "nDCG with more gold than was retrieved", r.NDCGAt(6), 0.785002, 1e-6)
	check(t, "recall", r.RecallAt(6), 5.0/7, 1e-12)
}

// TestIRMeasuresExample is the example in the README of ir_measures.
func TestIRMeasuresExample(t *testing.T) {
	q0 := Rank([]string{"D0", "D1"}, binary("D1"))
	q1 := Rank([]string{"D3", "D2"}, []Gold{{Path: "D3", Gain: 2}})
	mean := func(m func(Ranking) float64) float64 { return (m(q0) + m(q1)) / 2 }
	check(t, "AP", mean(Ranking.AveragePrecision), 0.75, 1e-6)
	check(t, "nDCG", mean(func(r Ranking) float64 { return r.NDCGAt(math.MaxInt) }), 0.815465, 1e-6)
	check(t, "RR", mean(Ranking.ReciprocalRank), 0.75, 1e-6)
	// P(rel=2)@10 counts the second question's gold only; the first question has none.
	check(t, "P(rel=2)@10", q1.PrecisionAt(10)/2, 0.05, 1e-6)
}

func TestRankBiasedPrecision(t *testing.T) {
	for _, c := range []struct {
		pattern []int
		total   int
		p, want float64
	}{
		{[]int{1, 0, 1}, 0, .8, .328}, {[]int{1, 0, 1}, 9, .8, .328}, // unretrieved gold adds nothing
		{[]int{3, 0, 2}, 0, .8, .328}, {[]int{0, 0}, 1, .8, 0}, {[]int{1, 1}, 0, 0, 1}, {[]int{0, 1}, 0, 0, 0}, {[]int{1}, 0, .5, .5},
	} {
		check(t, fmt.Sprintf("RBP of %v at %v", c.pattern, c.p), relevances(c.pattern, c.total).RankBiasedPrecision(c.p), c.want, 1e-12)
	}
	found := relevances([]int{1}, 0)
	for _, got := range []float64{
		Rank(nil, nil).RankBiasedPrecision(.8), found.RankBiasedPrecision(1), found.RankBiasedPrecision(-.1), found.RankBiasedPrecision(math.NaN()),
	} {
		if !math.IsNaN(got) {
			t.Errorf("RBP is %v, want NaN", got)
		}
	}
}

func TestMeasuresWithoutGold(t *testing.T) {
	r := Rank([]string{"a", "b"}, nil)
	for name, got := range measures(r, 2) {
		if !math.IsNaN(got) {
			t.Errorf("%s of no gold is %v", name, got)
		}
	}
}

func TestDocuments(t *testing.T) {
	for _, c := range []struct {
		name string
		hits []Hit
		want string
	}{
		{"nothing", nil, ""},
		{"in the daemon's order, also against the scores", []Hit{{"b", 1}, {"a", 3}, {"c", 2}}, "b a c"},
		{"ties by path", []Hit{{"z", 3}, {"c", 2}, {"a", 2}, {"b", 2}, {"y", 1}}, "z a b c y"},
		{"no scores are no ties", []Hit{{"c", 0}, {"a", 0}, {"b", 0}}, "c a b"},
		{"once, at the best rank", []Hit{{"b", 4}, {"a", 3}, {"b", 2}, {"a", 2}, {"c", 1}}, "b a c"},
		{"apart is no tie", []Hit{{"b", 2}, {"c", 1}, {"a", 2}}, "b c a"},
		{"without a path", []Hit{{"", 0}, {"", 0}, {"a", 0}}, "  a"},
	} {
		before := slices.Clone(c.hits)
		if got := strings.Join(Documents(c.hits), " "); got != c.want {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
		if !slices.Equal(before, c.hits) {
			t.Errorf("%s: the hits were changed", c.name)
		}
	}
	if diff := gocmp.Diff(Ranking{{"a", 1, 1}, {"b", 1, 2}, {"c", 1, 0}}, Rank([]string{"a", "a", "b"}, binary("a", "b", "c"))); diff != "" {
		t.Error(diff)
	}
}

// measures returns every measure at k by name.
func measures(r Ranking, k int) map[string]float64 {
	return map[string]float64{
		"recall": r.RecallAt(k), "any": r.AnyAt(k), "all": r.AllAt(k), "precision": r.PrecisionAt(k), "capped": r.CappedRecallAt(k),
		"rr": r.ReciprocalRank(), "ap": r.AveragePrecision(), "ndcg": r.NDCGAt(k), "lme": r.LongMemEvalNDCGAt(k),
		"rbp": r.RankBiasedPrecision(0.8),
	}
}

// TestMeasureProperties: for any list, a measure is between 0 and 1, a greater depth never finds
// less, and documents below k do not affect a measure at k.
func TestMeasureProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		names := rapid.SliceOfNDistinct(rapid.StringMatching(`[a-h]{1,2}`), 1, 20, rapid.ID[string])
		documents := rapid.SliceOfN(rapid.StringMatching(`[a-h]{1,2}`), 0, 20).Draw(t, "documents")
		var gold []Gold
		for _, p := range names.Draw(t, "gold") {
			gold = append(gold, Gold{Path: p, Gain: rapid.Float64Range(0.1, 4).Draw(t, "gain")})
		}
		k := rapid.IntRange(1, 25).Draw(t, "k")
		r := Rank(documents, gold)
		at := measures(r, k)
		for name, got := range at {
			if !(got >= 0 && got <= 1) {
				t.Errorf("%s at %d is %v", name, k, got)
			}
		}
		if r.RecallAt(k+1) < at["recall"] || at["any"] < at["recall"] || at["recall"] < at["all"] || at["capped"] < at["recall"] || at["rr"] < at["ap"]/float64(len(gold)) {
			t.Errorf("at %d: %v, recall at %d: %v", k, at, k+1, r.RecallAt(k+1))
		}
		list := distinct(documents)
		cut := min(k, len(list))
		shuffled := slices.Concat(list[:cut], rapid.Permutation(list[cut:]).Draw(t, "below"))
		order := rapid.Permutation(gold).Draw(t, "order of the gold")
		again := measures(Rank(shuffled, order), k)
		for _, name := range []string{"recall", "any", "all", "precision", "capped", "ndcg", "lme"} {
			if again[name] != at[name] {
				t.Errorf("%s at %d was %v and is %v after a shuffle below it", name, k, at[name], again[name])
			}
		}
		perfect := slices.SortedFunc(slices.Values(gold), func(a, b Gold) int { return cmp.Compare(b.Gain, a.Gain) })
		var best []string
		for _, g := range perfect {
			best = append(best, g.Path)
		}
		top := Rank(best, gold)
		if top.NDCGAt(k) != 1 || top.AveragePrecision() != 1 || top.ReciprocalRank() != 1 || top.CappedRecallAt(k) != 1 {
			t.Errorf("the best list is not worth 1: %v", measures(top, k))
		}
	})
}

// testData returns a file in testdata.
func testData(t *testing.T, elem ...string) []byte {
	t.Helper()
	return filetest.Read(t, filepath.Join(append([]string{"testdata"}, elem...)...))
}

func TestVectors(t *testing.T) { checkVectors(t, testData(t, "vectors.json")) }

func TestSharedVectors(t *testing.T) {
	checkVectors(t, sharedtest.Read(t, "stats_vectors.json"))
}

func checkVectors(t *testing.T, b []byte) {
	var groups struct {
		Binary []struct {
			Pattern   []int   `json:"ranked_rel"`
			Total     int     `json:"total_relevant"`
			K         int     `json:"k"`
			Precision float64 `json:"precision"`
			Recall    float64 `json:"recall"`
			Any       float64 `json:"recall_any"`
			All       float64 `json:"recall_all"`
			RR        float64 `json:"rr"`
			AP        float64 `json:"ap"`
			Capped    float64 `json:"r_cap"`
			NDCG      float64 `json:"ndcg_trec"`
			LME       float64 `json:"ndcg_longmemeval"`
		} `json:"retrieval_binary"`
		Graded struct {
			Rel       []int   `json:"rel"`
			DCG       float64 `json:"dcg6"`
			IDCG      float64 `json:"idcg6_retrieved"`
			IDCGMore  float64 `json:"idcg6_with_extra_3_2"`
			Retrieved float64 `json:"ndcg_retrieved_ideal"`
			Full      float64 `json:"ndcg_full_ideal"`
		} `json:"ndcg_graded_wikipedia"`
		RBP []struct {
			Pattern []int   `json:"r"`
			P       float64 `json:"p"`
			RBP     float64 `json:"rbp"`
		} `json:"rbp"`
	}
	if err := json.Unmarshal(b, &groups); err != nil {
		t.Fatal(err)
	}
	if len(groups.Binary) < 7 || len(groups.Graded.Rel) != 6 || len(groups.RBP) == 0 {
		t.Fatalf("%d rows, %d relevances, %d rows of RBP", len(groups.Binary), len(groups.Graded.Rel), len(groups.RBP))
	}
	for _, v := range groups.RBP {
		r := relevances(v.Pattern, 0)
		check(t, fmt.Sprintf("%v: RBP of %v", v.Pattern, v.P), r.RankBiasedPrecision(v.P), v.RBP, 1e-12)
	}
	for _, v := range groups.Binary {
		// RR and AP in the vectors are those of the list cut off at k.
		r := relevances(v.Pattern[:min(v.K, len(v.Pattern))], v.Total)
		want := map[string]float64{
			"precision": v.Precision, "recall": v.Recall, "any": v.Any, "all": v.All, "rr": v.RR, "ap": v.AP,
			"capped": v.Capped, "ndcg": v.NDCG, "lme": v.LME,
		}
		got := measures(r, v.K)
		for name := range want {
			check(t, fmt.Sprintf("%v of %d at %d: %s", v.Pattern, v.Total, v.K, name), got[name], want[name], 1e-12)
		}
	}
	g := groups.Graded
	r := relevances(g.Rel, 0)
	check(t, "nDCG", r.NDCGAt(6), g.Retrieved, 1e-12)
	check(t, "DCG over IDCG", r.NDCGAt(6), g.DCG/g.IDCG, 1e-12)
	r = append(r, Gold{Path: "x", Gain: 3}, Gold{Path: "y", Gain: 2})
	check(t, "nDCG with more gold", r.NDCGAt(6), g.Full, 1e-12)
	check(t, "DCG over IDCG with more gold", r.NDCGAt(6), g.DCG/g.IDCGMore, 1e-12)
}
