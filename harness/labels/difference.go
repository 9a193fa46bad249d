package labels

import (
	"errors"
	"fmt"
	"math"

	"evalctl/harness/judging"
	"evalctl/internal/figure"
	"evalctl/internal/stats"
)

// Difference is the difference of two pass rates by the labels of people who labelled answers of
// both.
type Difference struct {
	First  Estimate `json:"first"`
	Second Estimate `json:"second"`
	// Questions counts the questions in both results, and Labelled those with labels for both
	// answers.
	Questions int `json:"questions"`
	Labelled  int `json:"labelled"`
	// Judged is the difference by the scorers, second minus first.
	Judged     float64      `json:"judged_difference"`
	Difference judging.Rate `json:"difference"`
	Alone      judging.Rate `json:"labels_alone"`
	Weight     float64      `json:"weight"`
}

// Shown reports whether the interval of the difference excludes 0.
func (d *Difference) Shown() bool {
	return d.Difference.Interval.Low > 0 || d.Difference.Interval.High < 0
}

// Compare estimates the difference of the pass rates of two populations, second minus first, over
// their common questions. Both must have been drawn by the same design, so that questions with
// labels for both answers are a random sample too.
func Compare(first, second *Population, labelsFirst, labelsSecond []Label) (*Difference, error) {
	if first.Design != second.Design {
		return nil, errors.New("the answers of the two results were drawn in different ways: a difference needs the same --sample and --seed")
	}
	if first.Design.Sample == Disagreement {
		return nil, errors.New("a difference needs the same questions of both results, and --sample disagreement draws other questions from each: use random or stratified")
	}
	a, err := first.Estimate(labelsFirst)
	if err != nil {
		return nil, err
	}
	b, err := second.Estimate(labelsSecond)
	if err != nil {
		return nil, err
	}
	items, labelled, err := pairs(first, second, labelsFirst, labelsSecond)
	if err != nil {
		return nil, err
	}
	with, ok := stats.PPIDifference(items, true, confidence)
	if !ok {
		return nil, fmt.Errorf("%s with labels of both answers are too few for a difference: label the same share of the answers of both",
			figure.Count(labelled, "question"))
	}
	alone, _ := stats.PPIDifference(items, false, confidence)
	return &Difference{
		First: *a, Second: *b, Questions: len(items), Labelled: labelled, Judged: passed(items),
		Difference: rate(with, ppiMethod), Alone: rate(alone, labelsMethod), Weight: with.Lambda,
	}, nil
}

// pairs returns the differences for common questions, and how many of them have labels for both
// answers.
func pairs(first, second *Population, labelsFirst, labelsSecond []Label) ([]stats.JudgedItem, int, error) {
	verdictsFirst, err := first.verdicts(labelsFirst)
	if err != nil {
		return nil, 0, err
	}
	verdictsSecond, err := second.verdicts(labelsSecond)
	if err != nil {
		return nil, 0, err
	}
	// The same share of the answers of both. Otherwise questions that one side failed, which need one
	// label only, would have it more often than others have two.
	share := min(first.share(verdictsFirst), second.share(verdictsSecond))
	ids, xs := first.side(verdictsFirst, share)
	_, ys := second.side(verdictsSecond, share)
	clusters, kinds := map[int]int{}, map[string]int{}
	var items []stats.JudgedItem
	var strata []Stratum
	const known = -1 // the stratum of questions without an answer on both sides
	labelled := 0
	for _, id := range ids {
		x, both := xs[id], ys[id]
		if both == nil {
			continue
		}
		y := *both
		d := stats.JudgedItem{Judge: y.judge - x.judge, Label: y.label - x.label, Stratum: known, Cluster: number(clusters, x.cluster)}
		if !x.failed || !y.failed {
			if d.Stratum = number(kinds, x.kind); d.Stratum == len(strata) {
				strata = append(strata, Stratum{Name: x.kind})
			}
			strata[d.Stratum].Answers++
		}
		if !math.IsNaN(d.Label) {
			labelled++
		}
		items = append(items, d)
	}
	if len(items) == 0 {
		return nil, 0, fmt.Errorf("%s and %s have no question in common", first.Path, second.Path)
	}
	merged, group := merge(strata)
	for i := range items {
		if it := &items[i]; it.Stratum == known {
			it.Stratum = len(merged)
		} else {
			it.Stratum = group[it.Stratum]
		}
	}
	return items, labelled, nil
}

// half is what one side of a difference has of a question.
type half struct {
	judge, label float64
	failed       bool
	kind         string
	cluster      int
}

// share returns the share of the answers that are labelled or skipped.
func (p *Population) share(verdicts map[string]*verdict) float64 {
	return float64(len(verdicts)) / float64(len(p.Answers))
}

// side returns the questions of a population by id, with the labels of a share of the answers, those
// that are drawn first.
func (p *Population) side(verdicts map[string]*verdict, share float64) (ids []string, halves map[string]*half) {
	drawn := int(math.Round(share * float64(len(p.Answers))))
	halves = make(map[string]*half, len(p.Answers)+len(p.Failed))
	for i, a := range p.Answers {
		h := &half{judge: a.judge(), label: math.NaN(), kind: a.kind, cluster: a.cluster}
		if i < drawn {
			h.label = verdicts[a.ID].label()
		}
		ids, halves[a.ID] = append(ids, a.ID), h
	}
	for _, a := range p.Failed {
		ids, halves[a.ID] = append(ids, a.ID), &half{failed: true, kind: a.kind, cluster: a.cluster}
	}
	return ids, halves
}

// number numbers keys in order of appearance.
func number[K comparable](seen map[K]int, key K) int {
	if _, ok := seen[key]; !ok {
		seen[key] = len(seen)
	}
	return seen[key]
}
