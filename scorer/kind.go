package scorer

import (
	"fmt"
	"slices"
	"strings"

	"evalctl/internal/llm"
)

// Need is what a question must have to be scored, as the name of its field in a dataset.
type Need string

// The needs of the scorers.
const (
	NeedExpected  Need = "expected_substrings"
	NeedReference Need = "reference_answer"
	NeedGold      Need = "expected_paths"
)

// Kind describes a scorer that is chosen by name. Either Offline or WithModel is set.
type Kind struct {
	// Name is the scorer's name on the command line and in results.
	Name string
	// Help is a phrase that says what is scored.
	Help string
	// Needs is what a question must have. The scorer's Check reports its absence.
	Needs Need
	// Offline returns the scorer, which asks no model, for retrieval at a depth of topK.
	Offline func(topK int) Scorer
	// WithModel returns the scorer that asks the model through p.
	WithModel func(p llm.Provider, model string) (*Judge, error)
}

// kinds is ordered by name.
var kinds = []Kind{
	{
		Name: Exact{}.Name(), Needs: NeedExpected,
		Help:    "the answer contains one of expected_substrings",
		Offline: func(int) Scorer { return Exact{} },
	},
	{
		Name: (*Judge)(nil).Name(), Needs: NeedReference,
		Help: "a language model compares the answer with reference_answer",
		WithModel: func(p llm.Provider, model string) (*Judge, error) {
			return NewJudge(p, model, DefaultPrompts())
		},
	},
	{
		Name: Retrieval{}.Name(), Needs: NeedGold,
		Help:    "the share of expected_paths among the top documents",
		Offline: func(topK int) Scorer { return Retrieval{TopK: topK} },
	},
}

// Kinds returns all scorers, ordered by name.
func Kinds() []Kind { return slices.Clone(kinds) }

// Find returns the scorer of that name.
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
