package labels

import (
	"fmt"
	"strings"

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
)

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
	}
	return "", fmt.Errorf("unknown sample %q: use %s or %s", d.Sample, Random, Stratified)
}

// weight returns how much more often than others the answers of a stratum are drawn.
func (d Design) weight(stratum string) float64 { return 1 }

// check returns an error for a design that no file of labels has.
func (d Design) check() error {
	if d.Sample != Random && d.Sample != Stratified {
		return fmt.Errorf("sample is %.20q: it must be %s", d.Sample, strings.Join([]string{string(Random), string(Stratified)}, " or "))
	}
	return nil
}
