package labels

import (
	"fmt"
	"math"
	"slices"

	"evalctl/harness/result"
)

// Design says how to draw answers for labelling.
type Design struct {
	Sample Sample `json:"sample"`
	Seed   uint64 `json:"seed"`
}

// Sample is a sampling method.
type Sample string

// The sampling methods.
const (
	// Random draws all answers with equal probability.
	Random Sample = "random"
	// Stratified draws from each question type, or else each first tag, in proportion to its size.
	// Small ones are merged.
	Stratified Sample = "stratified"
	// Disagreement draws answers on which a panel's recipes disagree more often than others.
	Disagreement Sample = "disagreement"
)

// samples are all sampling methods.
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

// leastSpread is the assumed standard deviation of labels if all recipes agree: one in twenty is
// wrong.
const leastSpread = 0.22

// weight returns the relative sampling rate of a stratum, in proportion to the standard deviation
// of its labels (Neyman 1934). This is estimated by the standard deviation of the verdicts.
func (d Design) weight(stratum string) float64 {
	var passed, of float64
	if _, err := fmt.Sscanf(stratum, "%f of %f recipes", &passed, &of); d.Sample != Disagreement || err != nil {
		return 1
	}
	share := passed / of
	return max(leastSpread, math.Sqrt(share*(1-share)))
}

// check returns an error for an invalid design.
func (d Design) check() error {
	if !slices.Contains(samples, d.Sample) {
		return fmt.Errorf("the sample is %.20q and must be one of %v", d.Sample, samples)
	}
	return nil
}
