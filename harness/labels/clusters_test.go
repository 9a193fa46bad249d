package labels_test

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"evalctl/harness/labels"
	"evalctl/harness/result"
	"evalctl/harness/resulttest"
	"evalctl/internal/longtest"
)

// TestEstimateCoversConversations labels some answers about ten conversations, whose answers are alike,
// in results that were not made with a cluster tag. The interval contains the rate of all
// conversations that could have been asked about in at least 90 % of estimates, as far as they are
// simulated; one that takes the questions as independent contains it in far fewer.
func TestEstimateCoversConversations(t *testing.T) {
	rounds := longtest.Rounds(60, 600)
	random := rand.New(rand.NewPCG(8, 1))
	dir := t.TempDir()
	const conversations, each, labelled, rate = 10, 20, 60, 0.75
	covers := func(clusterTag string) (covered int) {
		for round := range rounds {
			outcomes := make([]byte, conversations*each)
			right := map[string]bool{}
			for c := range conversations {
				p := rate + 0.3*(2*random.Float64()-1) // an intraclass correlation of .16
				for i := range each {
					n := c*each + i
					is := random.Float64() < p
					right[fmt.Sprintf("q-%02d", n)] = is
					outcomes[n] = '-'
					if is != (random.Float64() < 0.1) { // the judge errs in a tenth
						outcomes[n] = '+'
					}
				}
			}
			f := resulttest.New("go", time.Unix(int64(round), 0), string(outcomes))
			f.Settings.ClusterTag = clusterTag
			for i := range f.Questions {
				f.Questions[i].Answer, f.Questions[i].Brain = "an answer", fmt.Sprintf("conv-%d", i/each)
			}
			design := labels.Design{Sample: labels.Random, Seed: uint64(round)}
			p, err := labels.Open(f.Save(t, filepath.Join(dir, "r.json")), design)
			if err != nil {
				t.Fatal(err)
			}
			var list []labels.Label
			for _, a := range p.Answers[:labelled] {
				list = append(list, labels.Label{ID: a.ID, Question: a.Question, Answer: a.Text, Right: new(right[a.ID]), Labeller: "ann", Design: design})
			}
			e, err := p.Estimate(list)
			if err != nil {
				t.Fatal(err)
			}
			if i := e.Rate.Interval; i.Low <= rate && rate <= i.High {
				covered++
			}
		}
		return covered
	}
	found, independent := covers(""), covers(result.NoClusters)
	if found < rounds*90/100 || independent >= found {
		t.Errorf("covered in %d of %d estimates, %d if questions are independent", found, rounds, independent)
	}
	t.Logf("covered in %d of %d estimates, %d if questions are independent", found, rounds, independent)
}

// One cluster says nothing about others, however many labels there are: neither is there an estimate,
// nor a number of labels that is enough.
func TestOneCluster(t *testing.T) {
	f := resulttest.New("go", time.Unix(0, 0), "++-+-++-++-+-++-++-+-++-++-+-++-")
	f.Settings.ClusterTag = result.ByBrain
	for i := range f.Questions {
		f.Questions[i].Answer, f.Questions[i].Brain = "an answer", "conv-1"
	}
	path := f.Save(t, filepath.Join(t.TempDir(), "r.json"))
	p, err := labels.Open(path, labels.Design{Sample: labels.Random})
	if err != nil {
		t.Fatal(err)
	}
	var list []labels.Label
	for _, a := range p.Answers {
		list = append(list, labels.Label{ID: a.ID, Question: a.Question, Answer: a.Text, Right: new(true), Labeller: "ann", Design: p.Design})
	}
	const want = "all questions are in one cluster of brain"
	if e, err := p.Estimate(list); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("estimate %+v, %v; want %s", e, err, want)
	}
	if plan, err := labels.PlanFor(path, .5); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("plan %+v, %v; want %s", plan, err, want)
	}
}

func TestOneQuestion(t *testing.T) {
	f := resulttest.New("go", time.Unix(0, 0), "+")
	f.Questions[0].Answer = "an answer"
	if plan, err := labels.PlanFor(f.Save(t, filepath.Join(t.TempDir(), "r.json")), .5); err == nil ||
		!strings.Contains(err.Error(), "there is one question") {
		t.Errorf("plan %+v, %v", plan, err)
	}
}
