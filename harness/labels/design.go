package labels

import (
	"fmt"
	"math"
	"slices"

	"evalctl/harness/result"
)

// Design says how answers are drawn for labelling.
type Design struct {
	Sample Sample `json:"sample"`
	Seed   uint64 `json:"seed"`
}

// Sample is a way to draw answers.
type Sample string

// The ways to draw answers.
const (
	// Random draws all answers with the same probability.
	Random Sample = "random"
	// Stratified draws from each type of question, or each first tag, by its share of the answers.
	Stratified Sample = "stratified"
	// Disagreement draws answers about which the recipes of a judge panel disagree more often.
	Disagreement Sample = "disagreement"
)

// samples are all ways to draw answers.
var samples = []Sample{Random, Stratified, Disagreement}

func (d Design) String() string { return fmt.Sprintf("%s, seed %d", d.Sample, d.Seed) }

// stratum returns the stratum of a question.
func (d Design) stratum(rec *result.Record) (string, error) {
	switch d.Sample {
	case Random:
		return "all", nil
	case Stratified:
		if rec.Type != "" {
			return rec.Type, nil
		}
		if len(rec.Tags) > 0 {
			return rec.Tags[0], nil
		}
		return "untagged", nil
	case Disagreement:
		if len(rec.Panel) < 2 {
			return "", fmt.Errorf("question %q has no verdicts of a judge panel: --sample %s needs a result of --judge-panel", rec.ID, Disagreement)
		}
		passed := 0
		for _, v := range rec.Panel {
			if v.Passed {
				passed++
			}
		}
		return fmt.Sprintf("%d of %d recipes passed it", passed, len(rec.Panel)), nil
	}
	return "", d.check()
}

// leastSpread is the standard deviation of labels that is assumed where all recipes agree: one of
// twenty is wrong.
const leastSpread = 0.22

// weight returns how much more often than others the answers of a stratum are drawn: in proportion to
// the standard deviation of their labels (Neyman 1934), which is assumed to be that of the verdicts.
func (d Design) weight(stratum string) float64 {
	var passed, of float64
	if _, err := fmt.Sscanf(stratum, "%f of %f recipes", &passed, &of); d.Sample != Disagreement || err != nil {
		return 1
	}
	share := passed / of
	return max(leastSpread, math.Sqrt(share*(1-share)))
}

// check returns an error for a design that no file of labels has.
func (d Design) check() error {
	if !slices.Contains(samples, d.Sample) {
		return fmt.Errorf("the sample is %.20q and must be one of %v", d.Sample, samples)
	}
	return nil
}
