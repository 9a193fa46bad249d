package labels_test

import (
	"math"
	"testing"

	"evalctl/harness/labels"
)

func TestCompare(t *testing.T) {
	worse, better := lenient(300, 4), lenient(300, 4)
	for i := range better {
		better[i].right = better[i].right || i%4 == 0
		worse[i].passed = true // a scorer that passes all of the worse answers
	}
	d := labels.Design{Sample: labels.Random, Seed: 1}
	a, b := open(t, save(t, worse), d), open(t, save(t, better), d)
	_, right := rateOf(worse)
	_, more := rateOf(better)
	got, err := labels.Compare(a, b, truth(a, 150), truth(b, 150))
	if err != nil {
		t.Fatal(err)
	}
	if i := got.Difference.Interval; !got.Shown() || got.Judged >= 0 || more-right < i.Low || more-right > i.High {
		t.Errorf("difference %+v, judged %v; want %v, shown, and a negative judged one", got.Difference, got.Judged, more-right)
	}
	if got.Labelled != 150 || got.Questions != 300 {
		t.Errorf("%d of %d questions have both labels, want 150 of 300", got.Labelled, got.Questions)
	}
	same, err := labels.Compare(a, a, truth(a, 150), truth(a, 150))
	if err != nil || same.Difference.Rate != 0 || same.Shown() {
		t.Errorf("difference of a result from itself %+v, %v", same, err)
	}
	other := open(t, a.Path, labels.Design{Sample: labels.Random, Seed: 2})
	if _, err := labels.Compare(a, other, truth(a, 9), truth(other, 9)); err == nil {
		t.Error("results that were drawn with different seeds are compared")
	}
}

// Questions that only one of two systems answered are drawn like the others. The estimate of the
// difference is right on average, whether or not any of them has a label.
func TestCompareWithoutAnswers(t *testing.T) {
	worse, better := lenient(300, 4), lenient(300, 4)
	for i := range better {
		worse[i].failed, better[i].failed = i%5 == 0, i%10 == 0
		worse[i].passed = worse[i].passed && !worse[i].failed
		better[i].passed = better[i].passed && !better[i].failed
		better[i].right = better[i].right || worse[i].failed
	}
	_, right := rateOf(worse)
	_, more := rateOf(better)
	first, second := save(t, worse), save(t, better)
	for _, sample := range []labels.Sample{labels.Random, labels.Stratified} {
		const seeds = 60
		mean := 0.0
		for seed := range uint64(seeds) {
			d := labels.Design{Sample: sample, Seed: seed}
			a, b := open(t, first, d), open(t, second, d)
			got, err := labels.Compare(a, b, truth(a, 40), truth(b, 60))
			if err != nil {
				t.Fatalf("%s, seed %d: %v", sample, seed, err)
			}
			mean += got.Alone.Rate / seeds
		}
		// The standard error of one estimate is about .09.
		if math.Abs(mean-(more-right)) > 4*.09/math.Sqrt(seeds) {
			t.Errorf("%s: mean of the differences %.3f, want %.3f", sample, mean, more-right)
		}
		d := labels.Design{Sample: sample, Seed: 1}
		a, b := open(t, first, d), open(t, second, d)
		all, err := labels.Compare(a, b, truth(a, len(a.Answers)), truth(b, len(b.Answers)))
		if err != nil || math.Abs(all.Difference.Rate-(more-right)) > 1e-9 {
			t.Errorf("%s: with all labels %+v, %v; want %v", sample, all, err, more-right)
		}
	}
	worse[1].failed, worse[1].passed = true, false // and no other question of its tag
	worse[1].tag, better[1].tag = "alone", "alone"
	d := labels.Design{Sample: labels.Stratified, Seed: 1}
	a, b := open(t, save(t, worse), d), open(t, save(t, better), d)
	if _, err := labels.Compare(a, b, truth(a, 40), truth(b, 40)); err != nil {
		t.Error(err)
	}
}
