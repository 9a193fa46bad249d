package scorer

import (
	"fmt"
	"slices"
	"strings"
)

// Need is what a question must have to be scored: the name of a field in the dataset.
type Need string

// The needs of the scorers.
const (
	NeedExpected  Need = "expected_substrings"
	NeedReference Need = "reference_answer"
	NeedGold      Need = "expected_paths"
)

// Kind describes a scorer that is selected by name. Exactly one of Offline and Prompts is set.
type Kind struct {
	// Name is the scorer's name on the command line and in results.
	Name string
	// Help is a phrase that describes the score.
	Help string
	// Needs is what a question must have. If it is missing, the scorer's Check returns an error.
	Needs Need
	// Offline returns a scorer that asks no model.
	Offline func(Options) Scorer
	// Prompts returns the prompts of a scorer that asks a model (see NewJudge).
	Prompts func() Prompts
}

// Options are what the scores of scorers without a model depend on.
type Options struct {
	// TopK is the depth at which retrieval is scored.
	TopK int
	// ExactCase makes upper and lower case matter to the exact scorer.
	ExactCase bool
}

// kinds is sorted by name.
var kinds = []Kind{
	{
		Name: Exact{}.Name(), Needs: NeedExpected,
		Help:    "the answer contains one of expected_substrings",
		Offline: func(o Options) Scorer { return Exact{Case: o.ExactCase} },
	},
	{
		Name: judgeName, Needs: NeedReference,
		Help:    "a language model compares the answer with reference_answer",
		Prompts: DefaultPrompts,
	},
	{
		Name: Retrieval{}.Name(), Needs: NeedGold,
		Help:    "the share of expected_paths among the top documents",
		Offline: func(o Options) Scorer { return Retrieval{TopK: o.TopK} },
	},
}

// Kinds returns all scorers, sorted by name.
func Kinds() []Kind { return slices.Clone(kinds) }

// Find returns the scorer of that name, or an error that lists all names.
func Find(name string) (Kind, error) {
	var names []string
	for _, k := range kinds {
		if k.Name == name {
			return k, nil
		}
		names = append(names, k.Name)
	}
	return Kind{}, fmt.Errorf("unknown scorer %q: must be one of %s", name, strings.Join(names, ", "))
}
