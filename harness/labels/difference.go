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
		return nil, fmt.Errorf("%s with labels of both answers are too few for a difference: label the same number of answers of both",
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
	a, err := first.side(labelsFirst)
	if err != nil {
		return nil, 0, err
	}
	b, err := second.side(labelsSecond)
	if err != nil {
		return nil, 0, err
	}
	clusters, strata := map[int]int{}, map[int]int{}
	var items []stats.JudgedItem
	labelled := 0
	for _, id := range a.ids {
		x, y := a.items[id], b.items[id]
		if y == nil {
			continue
		}
		d := stats.JudgedItem{
			Judge: y.Judge - x.Judge, Label: y.Label - x.Label,
			Stratum: number(strata, x.Stratum), Cluster: number(clusters, x.Cluster),
		}
		if !math.IsNaN(d.Label) {
			labelled++
		}
		items = append(items, d)
	}
	if len(items) == 0 {
		return nil, 0, fmt.Errorf("%s and %s have no question in common", first.Path, second.Path)
	}
	return items, labelled, nil
}

// side is a population indexed by id.
type side struct {
	ids   []string
	items map[string]*stats.JudgedItem
}

func (p *Population) side(labels []Label) (side, error) {
	verdicts, err := p.verdicts(labels)
	if err != nil {
		return side{}, err
	}
	s := side{items: map[string]*stats.JudgedItem{}}
	items := p.items(verdicts)
	for i, a := range append(p.Answers[:len(p.Answers):len(p.Answers)], p.Failed...) {
		s.ids = append(s.ids, a.ID)
		s.items[a.ID] = &items[i]
	}
	return s, nil
}

// number numbers keys in order of appearance.
func number[K comparable](seen map[K]int, key K) int {
	if _, ok := seen[key]; !ok {
		seen[key] = len(seen)
	}
	return seen[key]
}
