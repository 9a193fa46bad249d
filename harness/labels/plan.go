package labels

import (
	"fmt"
	"math"
	"slices"

	"evalctl/internal/stats"
)

// Plan says how many labels are needed for an interval of a given width.
type Plan struct {
	Path  string  `json:"result"`
	Width float64 `json:"width"`
	// Answers is the number of answers that can be labelled. Rate is the assumed pass rate: the
	// estimate, or else the scorer's.
	Answers int     `json:"answers"`
	Rate    float64 `json:"rate"`
	// Least is the width if all answers are labelled.
	Least float64 `json:"least_width"`
	Rows  []Need  `json:"needs"`
}

// Need is the number of labels needed with a judge of a given quality.
type Need struct {
	Judge       string  `json:"judge"`
	Correlation float64 `json:"correlation"`
	// Labels is nil if not even labelling all answers suffices.
	Labels *int `json:"labels"`
}

// errorShares are assumed shares of answers that a judge misjudges.
var errorShares = []float64{0, .02, .05, .1, .2, .3}

// PlanFor plans for an interval of the given width, from 0 to 1, for a result's pass rate. files
// are existing labels for the result.
func PlanFor(path string, width float64, files ...string) (*Plan, error) {
	if len(files) == 0 {
		p, err := Open(path, Design{Sample: Random})
		if err != nil {
			return nil, err
		}
		return p.plan(width, nil)
	}
	p, list, err := OpenLabelled(path, files...)
	if err != nil {
		return nil, err
	}
	e, err := p.Estimate(list)
	if err != nil {
		return nil, err
	}
	return p.plan(width, e)
}

// plan plans with the estimate from existing labels, or nil.
func (p *Population) plan(width float64, estimate *Estimate) (*Plan, error) {
	if !(width > 0 && width < 1) {
		return nil, fmt.Errorf("--width %v: must be between 0 and 1", width)
	}
	if err := p.differs(); err != nil {
		return nil, err
	}
	items := p.items(nil)
	plan := &Plan{Path: p.Path, Width: width, Answers: len(p.Answers), Rate: passed(items)}
	if estimate != nil {
		plan.Rate = estimate.Rate.Rate
	}
	// Questions without an answer did not pass and need no label.
	answered := float64(len(items)) / float64(len(p.Answers))
	rate := min(1, plan.Rate*answered)
	design := stats.PPIDesign{
		Items: len(items), Known: len(p.Failed), Rate: rate, Judged: min(1, passed(items)*answered),
		Clusters: p.clusters, Effect: effect(items),
	}
	alone := design // from how alike its verdicts are, a judge that errs shows how alike labels are
	alone.Alone = true
	right := 1 - slices.Max(errorShares)
	alone.Correlation, _ = stats.JudgeCorrelation(rate, right, right)
	if estimate != nil {
		design.Correlation = correlation(estimate.Weight, design.Judged, rate)
		alone.Correlation = design.Correlation
		plan.Rows = append(plan.Rows, need(design, width, fmt.Sprintf("as on the %d labels that there are", estimate.Labelled)))
	}
	for _, e := range errorShares {
		design.Correlation, design.Judged = stats.JudgeCorrelation(rate, 1-e, 1-e)
		design.Correlation = max(0, design.Correlation)
		plan.Rows = append(plan.Rows, need(design, width, fmt.Sprintf("errs in %.0f %% of the answers", 100*e)))
	}
	plan.Least = alone.Width(len(p.Answers), confidence)
	unused := need(alone, width, "is not used: labels alone")
	unused.Correlation = 0
	plan.Rows = append(plan.Rows, unused)
	return plan, nil
}

func need(d stats.PPIDesign, width float64, judge string) Need {
	n := Need{Judge: judge, Correlation: d.Correlation}
	if labels, ok := d.Labels(width, confidence); ok {
		n.Labels = &labels
	}
	return n
}

// correlation returns the correlation of verdicts and labels, from the weight of the verdicts and
// both rates of the answers: how much of the labels' standard deviation the weighted verdicts explain.
func correlation(weight, judged, rate float64) float64 {
	of := func(p float64) float64 { return p * (1 - p) }
	if of(rate) == 0 {
		return 0
	}
	return min(1, weight*math.Sqrt(of(judged)/of(rate)))
}

// effect returns the design effect of the clusters on the scorer's verdicts, at least 1.
func effect(items []stats.JudgedItem) float64 {
	values, clusters := make([]float64, len(items)), make([]int, len(items))
	for i, it := range items {
		values[i], clusters[i] = it.Judge, it.Cluster
	}
	return stats.DesignEffect(values, clusters)
}
