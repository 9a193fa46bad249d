package labels

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"evalctl/harness/judging"
	"evalctl/harness/result"
	"evalctl/internal/figure"
	"evalctl/internal/stats"
)

const confidence = 0.95

// The methods of the intervals: prediction-powered inference, with the scorer's verdicts or by
// labels alone.
const (
	ppiMethod    = "ppi"
	labelsMethod = "labels_alone"
)

// Estimate is a result's pass rate by the standard of the people who labelled some of its answers.
type Estimate struct {
	Path string `json:"result"`
	SDK  string `json:"sdk"`
	// Total counts the questions. Failed of them have no answer and thus did not pass.
	Total  int `json:"total"`
	Failed int `json:"failed"`
	Design
	// Strata counts the strata that labels were drawn from, and Sparse those with fewer than two
	// labels. Sparse strata may widen the interval.
	Strata int `json:"strata"`
	Sparse int `json:"sparse_strata"`
	Labels
	// Judged is the pass rate by the result's scorer.
	Judged float64 `json:"judged_rate"`
	// Rate is the pass rate by labels and scorer, Alone by labels only.
	Rate  judging.Rate `json:"rate"`
	Alone judging.Rate `json:"labels_alone"`
	// Weight is the weight of the scorer's verdicts, 0 if they do not predict the labels.
	Weight float64 `json:"weight"`
	// QuestionSE is the part of Rate's standard error due to the choice of questions, LabelSE the
	// part due to unlabelled answers.
	QuestionSE float64 `json:"question_se"`
	LabelSE    float64 `json:"label_se"`
}

// Labels counts the labels behind an estimate.
type Labels struct {
	// Labelled counts the answers with a label, Skipped the ones that no labeller could decide.
	Labelled  int      `json:"labelled"`
	Skipped   int      `json:"skipped"`
	Labellers []string `json:"labellers"`
	// Several counts the answers labelled by several people, and Agreed those on which all agree.
	// Kappa is Cohen's, nil unless there are two labellers.
	Several int      `json:"labelled_by_several"`
	Agreed  int      `json:"agreed"`
	Kappa   *float64 `json:"kappa"`
}

// verdict sums up the labels of an answer.
type verdict struct {
	right, count int
	skipped      bool
	byLabeller   map[string]bool
}

// label returns the share of labellers who call the answer right, NaN without labels.
func (v *verdict) label() float64 {
	if v == nil || v.count == 0 {
		return math.NaN()
	}
	return float64(v.right) / float64(v.count)
}

// OpenLabelled reads labels and their result, whose answers it draws by the labels' design.
func OpenLabelled(path string, files ...string) (*Population, []Label, error) {
	list, err := Read(files...)
	if err != nil {
		return nil, nil, err
	}
	p, err := Open(path, list[0].Design)
	return p, list, err
}

// Estimate estimates the pass rate from labels of the population. It returns an error for labels of
// other answers, and if the labelled answers are not a sample with known inclusion probabilities.
func (p *Population) Estimate(labels []Label) (*Estimate, error) {
	verdicts, err := p.verdicts(labels)
	if err := errors.Join(err, p.differs()); err != nil {
		return nil, err
	}
	items := p.items(verdicts)
	with, ok := stats.PPIRate(items, true, confidence)
	if !ok {
		c := p.count(verdicts)
		return nil, fmt.Errorf("%s: %s and %s are too few for an estimate: label more of it",
			p.Path, figure.Count(c.Labelled, "label"), figure.Count(c.Skipped, "skipped answer"))
	}
	alone, _ := stats.PPIRate(items, false, confidence)
	e := &Estimate{
		Path: p.Path, SDK: p.Result.SDK, Total: len(items), Failed: len(p.Failed), Design: p.Design,
		Labels: p.count(verdicts), Judged: passed(items),
		Rate: rate(with, ppiMethod), Alone: rate(alone, labelsMethod),
		Weight: with.Lambda, QuestionSE: with.ItemSE, LabelSE: with.LabelSE,
	}
	e.Strata, e.Sparse = len(p.Strata), p.sparse(verdicts)
	return e, nil
}

// sparse counts the strata with fewer than two labels. If there is an estimate, at least one
// stratum has more.
func (p *Population) sparse(verdicts map[string]*verdict) (n int) {
	labels := make([]int, len(p.Strata))
	for _, a := range p.Answers {
		if v := verdicts[a.ID]; v != nil && v.count > 0 {
			labels[a.stratum]++
		}
	}
	for s, count := range labels {
		if count < min(2, p.Strata[s].Answers) {
			n++
		}
	}
	return n
}

func rate(e stats.PPIEstimate, method string) judging.Rate {
	return judging.Rate{Rate: e.Mean, Interval: result.Interval{
		Method: method, Confidence: confidence, Low: e.Lo, High: e.Hi,
	}}
}

func passed(items []stats.JudgedItem) float64 {
	sum := 0.0
	for _, it := range items {
		sum += it.Judge
	}
	return sum / float64(len(items))
}

// verdicts returns the labels of each answer by id.
func (p *Population) verdicts(labels []Label) (map[string]*verdict, error) {
	answers := make(map[string]*Answer, len(p.Answers))
	for i := range p.Answers {
		answers[p.Answers[i].ID] = &p.Answers[i]
	}
	out := map[string]*verdict{}
	for _, l := range labels {
		a := answers[l.ID]
		switch {
		case p.Design.same(l.Design) != nil:
			return nil, fmt.Errorf("label %q: %w", l.ID, p.Design.same(l.Design))
		case a == nil:
			return nil, fmt.Errorf("label %q: %s has no answer with this id: the labels are of another result", l.ID, p.Path)
		case a.Text != l.Answer:
			return nil, fmt.Errorf("label %q: %s has another answer to this question: the labels are of another result", l.ID, p.Path)
		}
		v := out[l.ID]
		if v == nil {
			v = &verdict{byLabeller: map[string]bool{}}
			out[l.ID] = v
		}
		v.add(l)
	}
	return out, p.whole(out)
}

func (v *verdict) add(l Label) {
	if l.Skipped {
		v.skipped = true
		return
	}
	v.count++
	v.byLabeller[l.Labeller] = *l.Right
	if *l.Right {
		v.right++
	}
}

// whole returns an error if an answer has no label although a later one in the drawing order has.
// The labelled answers were then selected by somebody, and their inclusion probabilities are
// unknown.
func (p *Population) whole(verdicts map[string]*verdict) error {
	found, missing := 0, 0
	first := ""
	for _, a := range p.Answers {
		if found == len(verdicts) {
			break
		}
		if verdicts[a.ID] != nil {
			found++
			continue
		}
		if missing++; first == "" {
			first = a.ID
		}
	}
	if missing > 0 {
		return fmt.Errorf("%s: no label for %s drawn before a labelled one, the first is %q: run evalctl judge label again, which asks for the missing labels",
			p.Path, figure.Count(missing, "answer"), first)
	}
	return nil
}

// items returns the population for an estimate. Skipped answers count as not drawn. Questions
// without an answer form a stratum with known labels.
func (p *Population) items(verdicts map[string]*verdict) []stats.JudgedItem {
	items := make([]stats.JudgedItem, 0, len(p.Answers)+len(p.Failed))
	for _, a := range p.Answers {
		items = append(items, stats.JudgedItem{
			Judge: a.judge(), Label: verdicts[a.ID].label(), Stratum: a.stratum, Cluster: a.cluster,
		})
	}
	for _, a := range p.Failed {
		items = append(items, stats.JudgedItem{Stratum: len(p.Strata), Cluster: a.cluster})
	}
	return items
}

func (a *Answer) judge() float64 {
	if a.Passed {
		return 1
	}
	return 0
}

// count counts the labels.
func (p *Population) count(verdicts map[string]*verdict) Labels {
	var c Labels
	for _, v := range verdicts {
		if v.count == 0 {
			c.Skipped++
			continue
		}
		c.Labelled++
		for name := range v.byLabeller {
			if !slices.Contains(c.Labellers, name) {
				c.Labellers = append(c.Labellers, name)
			}
		}
		if v.count > 1 {
			c.Several++
			if v.right == 0 || v.right == v.count {
				c.Agreed++
			}
		}
	}
	slices.Sort(c.Labellers)
	if len(c.Labellers) == 2 && c.Several > 0 {
		c.Kappa = kappa(verdicts, c.Labellers[0], c.Labellers[1])
	}
	return c
}

// kappa returns Cohen's kappa of two labellers, nil if undefined.
func kappa(verdicts map[string]*verdict, first, second string) *float64 {
	var a stats.Pairs
	for _, v := range verdicts {
		x, okX := v.byLabeller[first]
		y, okY := v.byLabeller[second]
		switch {
		case !okX || !okY:
		case x && y:
			a.Both++
		case x:
			a.First++
		case y:
			a.Second++
		default:
			a.Neither++
		}
	}
	if k := a.Kappa(); !math.IsNaN(k) {
		return &k
	}
	return nil
}
