package aggregate_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"evalctl/harness/aggregate"
	"evalctl/harness/result"
	"evalctl/harness/wording"
	"evalctl/internal/stats"
)

// ranked returns n records of questions with one gold document, whose ranks repeat 1, 2, 0.
func ranked(n int) []result.Record {
	var out []result.Record
	for i := range n {
		r := retrieved(result.Scored, 2, []int{(i + 1) % 3})
		r.ID = fmt.Sprint("q", i)
		out = append(out, r)
	}
	return out
}

// TestRetrievalIntervals checks by what the questions are resampled, and that the method and its
// clusters are named.
func TestRetrievalIntervals(t *testing.T) {
	for _, c := range []struct {
		name    string
		n       int
		each    func(i int, r *result.Record)
		cluster string // tag
		repeats int
		method  string // empty for no interval
		basis   *result.IntervalBasis
		shown   string // without its clusters
	}{
		{name: "independent", n: 30, method: "bootstrap_bca", shown: "95% BCa bootstrap",
			basis: &result.IntervalBasis{Units: 30, Resamples: 10_000, Seed: 1}},
		{name: "few", n: 4, method: "student_t", shown: "95% t", basis: &result.IntervalBasis{Units: 4}},
		{name: "one", n: 1},
		{name: "a brain for each question", n: 30, each: func(i int, r *result.Record) { r.Brain = fmt.Sprint(i) },
			method: "bootstrap_bca", shown: "95% BCa bootstrap", basis: &result.IntervalBasis{Units: 30, Resamples: 10_000, Seed: 1}},
		{name: "shared brains", n: 30, each: func(i int, r *result.Record) { r.Brain = fmt.Sprint(i % 7) },
			method: "cluster_bootstrap", shown: "95% cluster bootstrap",
			basis: &result.IntervalBasis{Cluster: "brain", Units: 7, Resamples: 10_000, Seed: 1}},
		{name: "few shared brains", n: 32, each: func(i int, r *result.Record) { r.Brain = fmt.Sprint(i % 4) },
			method: "clustered_t", shown: "95% clustered t", basis: &result.IntervalBasis{Cluster: "brain", Units: 4}},
		{name: "clusters before brains", n: 30, cluster: "conv", each: func(i int, r *result.Record) {
			r.Brain, r.Tags = fmt.Sprint(i%7), []string{"x", fmt.Sprint("conv:", i%11)}
		}, method: "cluster_bootstrap", shown: "95% cluster bootstrap",
			basis: &result.IntervalBasis{Cluster: "conv", Units: 11, Resamples: 10_000, Seed: 1}},
		{name: "not all in a cluster", n: 30, cluster: "conv", each: func(i int, r *result.Record) {
			if i > 0 {
				r.Tags = []string{fmt.Sprint("conv:", i%11)}
			}
		}},
		{name: "repeats", n: 32, repeats: 2, each: func(i int, r *result.Record) { r.ID, r.Repeat = fmt.Sprint(i/2), 1+i%2 },
			method: "cluster_bootstrap", shown: "95% cluster bootstrap",
			basis: &result.IntervalBasis{Cluster: "question", Units: 16, Resamples: 10_000, Seed: 1}},
		{name: "alike clusters", n: 30, each: func(i int, r *result.Record) { r.Brain = fmt.Sprint(i / 3) }},
		{name: "many", n: 4_000, method: "bootstrap_bca", shown: "95% BCa bootstrap",
			basis: &result.IntervalBasis{Units: 4_000, Resamples: 2_500, Seed: 1}},
		{name: "too many", n: 10_001, method: "student_t", shown: "95% t", basis: &result.IntervalBasis{Units: 10_001}},
		{name: "too many brains", n: 22_000, each: func(i int, r *result.Record) { r.Brain = fmt.Sprint(i % 11_000) },
			method: "clustered_t", shown: "95% clustered t", basis: &result.IntervalBasis{Cluster: "brain", Units: 11_000}},
	} {
		sum := aggregate.New(2)
		for i, r := range ranked(c.n) {
			if c.each != nil {
				c.each(i, &r)
			}
			sum.Add(r)
		}
		res := result.Result{Settings: result.Settings{ClusterTag: c.cluster}}
		res.Identity.Dataset.Repeats = c.repeats
		sum.Fill(&res)
		r := res.Retrieval
		if diff := cmp.Diff(c.basis, r.Basis); diff != "" {
			t.Errorf("%s: %s", c.name, diff)
		}
		want := 0
		if c.method != "" {
			want = len(r.PrimaryMetrics())
		}
		if len(r.Intervals) != want || wording.RetrievalInterval(r) != c.shown {
			t.Errorf("%s: %d intervals, %q", c.name, len(r.Intervals), wording.RetrievalInterval(r))
		}
		for name, i := range r.Intervals {
			if mean := r.Macro[name]; i.Method != c.method || i.Confidence != 0.95 || !(i.Low < mean && mean < i.High) {
				t.Errorf("%s: %s, %v, has %+v", c.name, name, mean, i)
			}
		}
	}
}

// TestRetrievalIntervalValues compares intervals with those of the values themselves.
func TestRetrievalIntervalValues(t *testing.T) {
	var independent, shared []result.Record
	var mrr, sums, sizes []float64
	for _, rank := range []float64{0, 0, 0, 0, 0, 0, 0, 0, .5, .5, .5, .5, 1, 1, 1, 1, 1, 1} { // in order
		mrr = append(mrr, rank)
		independent = append(independent, retrieved(result.Scored, 2, []int{map[float64]int{.5: 2, 1: 1}[rank]}))
	}
	for i := range 6 { // brains of three questions with equal ranks
		sums, sizes = append(sums, 3*mrr[3*i]), append(sizes, 3)
		for range 3 {
			r := retrieved(result.Scored, 2, []int{map[float64]int{.5: 2, 1: 1}[mrr[3*i]]})
			r.Brain = fmt.Sprint("b", 9-i)
			shared = append(shared, r)
		}
	}
	near := cmpopts.EquateApprox(0, 1e-9)
	lo, hi := stats.BCa(mrr, 10_000, 1, .95)
	single := figures(2, independent...).Retrieval.Intervals["mrr"]
	if diff := cmp.Diff(result.Interval{Method: "bootstrap_bca", Confidence: .95, Low: lo, High: hi}, single, near); diff != "" {
		t.Error(diff)
	}
	lo, hi = stats.ClusterBootstrap(sums, sizes, 10_000, 1, .95)
	clustered := figures(2, shared...).Retrieval.Intervals["mrr"]
	if diff := cmp.Diff(result.Interval{Method: "cluster_bootstrap", Confidence: .95, Low: lo, High: hi}, clustered, near); diff != "" {
		t.Error(diff)
	}
	if clustered.High-clustered.Low < 1.5*(single.High-single.Low) {
		t.Errorf("%+v by brain is not wider than %+v", clustered, single)
	}
	// Few clusters have the t interval of the clustered standard error.
	var values []float64
	var labels []int
	sum := aggregate.New(2)
	for i, rank := range []int{1, 1, 2, 0, 0, 0, 1, 2} {
		r := retrieved(result.Scored, 2, []int{rank})
		r.Brain = fmt.Sprint(i / 3)
		sum.Add(r)
		values, labels = append(values, map[int]float64{1: 1, 2: .5}[rank]), append(labels, i/3)
	}
	var res result.Result
	sum.Fill(&res)
	want := stats.Clustered(values, labels, .95)
	got := res.Retrieval.Intervals["mrr"]
	if math.Abs(got.Low-max(0, want.Lo)) > 1e-9 || math.Abs(got.High-min(1, want.Hi)) > 1e-9 {
		t.Errorf("got %+v, want %v to %v", got, want.Lo, want.Hi)
	}
}

// BenchmarkRetrievalIntervals fills the figures of 100,000 questions: of one brain, of 10,000
// brains and of 100.
func BenchmarkRetrievalIntervals(b *testing.B) {
	for _, brains := range []int{1, 10_000, 100} {
		sum := aggregate.New(5)
		for i, r := range ranked(100_000) {
			if brains > 1 {
				r.Brain = fmt.Sprint(i % brains)
			}
			sum.Add(r)
		}
		b.Run(fmt.Sprint(brains), func(b *testing.B) {
			for b.Loop() {
				var res result.Result
				sum.Fill(&res)
			}
		})
	}
	sum := aggregate.New(5)
	for _, r := range ranked(10_000) {
		sum.Add(r)
	}
	b.Run("10,000 questions", func(b *testing.B) {
		for b.Loop() {
			var res result.Result
			sum.Fill(&res)
		}
	})
}
