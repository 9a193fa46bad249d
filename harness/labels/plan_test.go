package labels_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"testing"
	"time"

	"evalctl/harness/labels"
	"evalctl/harness/resulttest"
)

// A plan keeps its word: the interval of as many labels as it says has the width, also if many
// questions have no answer.
func TestPlan(t *testing.T) {
	for _, failed := range []int{0, 1200} {
		answers := lenient(2000, 6)
		for i := range answers[:failed] {
			answers[i].failed, answers[i].passed = true, false
		}
		path := save(t, answers)
		p := open(t, path, labels.Design{Sample: labels.Random})
		const seen = 100
		first := filepath.Join(t.TempDir(), "l.jsonl")
		write(t, first, truth(p, seen))
		e, err := p.Estimate(truth(p, seen))
		if err != nil {
			t.Fatal(err)
		}
		width := e.Rate.Interval.High - e.Rate.Interval.Low
		plan, err := labels.PlanFor(path, width, first)
		if err != nil {
			t.Fatal(err)
		}
		if same := plan.Rows[0].Labels; same == nil || math.Abs(float64(*same-seen)) > 7 {
			t.Errorf("%d without an answer: plan %+v of the interval of %d labels", failed, plan.Rows[0], seen)
		}
		plan, err = labels.PlanFor(path, .7*width, first)
		if err != nil {
			t.Fatal(err)
		}
		need := plan.Rows[0].Labels
		if need == nil || *need < seen {
			t.Fatalf("plan %+v, want more than %d labels", plan, seen)
		}
		if e, err = p.Estimate(truth(p, *need)); err != nil {
			t.Fatal(err)
		}
		if got := e.Rate.Interval.High - e.Rate.Interval.Low; math.Abs(got-.7*width) > .05*width {
			t.Errorf("%d without an answer: %d labels give an interval of %.4f, want %.4f", failed, *need, got, .7*width)
		}
	}
}

// A plan needs more labels the worse the judge is, and none is enough for an interval that is narrower
// than with all of them.
func TestPlanOfJudges(t *testing.T) {
	path := save(t, lenient(2000, 6))
	plan, err := labels.PlanFor(path, .12)
	if err != nil {
		t.Fatal(err)
	}
	last := 0
	for _, n := range plan.Rows {
		if n.Labels == nil || *n.Labels < last {
			t.Errorf("%+v needs fewer labels than a better judge, %d", n, last)
		} else {
			last = *n.Labels
		}
	}
	if plan, err := labels.PlanFor(path, .01); err != nil || plan.Rows[0].Labels != nil {
		t.Errorf("%+v, %v; want that no number of labels is enough", plan, err)
	}
}

// TestPlanOfClusters: also where the answers of a conversation are alike, no judge is better than one
// that errs less, and none at all is not better than the worst.
func TestPlanOfClusters(t *testing.T) {
	random := rand.New(rand.NewPCG(4, 1))
	const conversations, each = 10, 100
	outcomes := make([]byte, conversations*each)
	for i := range outcomes {
		outcomes[i] = '-'
		if random.Float64() < .4+.06*float64(i/each) {
			outcomes[i] = '+'
		}
	}
	f := resulttest.New("go", time.Unix(0, 0), string(outcomes))
	for i := range f.Questions {
		f.Questions[i].Answer, f.Questions[i].Brain = "an answer", fmt.Sprintf("conv-%d", i/each)
	}
	path := f.Save(t, filepath.Join(t.TempDir(), "r.json"))
	for _, width := range []float64{.2, .3, .4, .5, .6} {
		plan, err := labels.PlanFor(path, width)
		if err != nil {
			t.Fatal(err)
		}
		last, enough := 0, true
		for _, n := range plan.Rows {
			if n.Labels != nil && (!enough || *n.Labels < last) {
				t.Errorf("width %v: %d labels with a judge that %s, and more with a better one", width, *n.Labels, n.Judge)
			}
			if enough = n.Labels != nil; enough {
				last = *n.Labels
			}
		}
		if enough != (plan.Least <= width) {
			t.Errorf("width %v: %v with all answers labelled, and enough labels: %v", width, plan.Least, enough)
		}
	}
}

func write(t *testing.T, path string, list []labels.Label) {
	t.Helper()
	f, err := labels.OpenFile(path, "alice", list[0].Design)
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range list {
		if err := f.Append(l); err != nil {
			t.Fatal(err)
		}
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}
