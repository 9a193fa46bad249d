package scorer

import (
	"fmt"
	"slices"
	"strings"
)

// Need is the dataset field that a scorer requires of a question.
type Need string

// The needs of the scorers.
const (
	NeedExpected  Need = "expected_substrings"
	NeedReference Need = "reference_answer"
	NeedGold      Need = "expected_paths" // or expected_evidence
	NeedChecks    Need = "checks"
)

// External is the name of a scorer supplied by the user as a program or service. It is not a Kind;
// it declares its own needs.
const External = "external"

// Imported is the scorer name of answers whose verdicts come from another harness. It scores
// nothing.
const Imported = "imported"

// Kind describes a scorer that is selected by name. Offline is nil if every question needs a model;
// Prompts is nil if none does.
type Kind struct {
	// Name is the scorer's name on the command line and in results.
	Name string
	// Help describes the score in a phrase.
	Help string
	// Needs is the required field. If it is missing, the scorer's Check returns an error.
	Needs Need
	// Offline returns a scorer that asks no model. If Prompts is set too, it scores the questions
	// for which Asks is 0.
	Offline func(Options) Scorer
	// Prompts returns the prompts for the model (see NewJudge).
	Prompts func() Prompts
	// Over returns a scorer based on a judge, and Judgements the judge's items for an item. Both
	// are nil if the judge itself is the scorer.
	Over       func(Options, *Judge) Scorer
	Judgements func(Item) []Item
}

// ComparesText reports whether Options.ExactCase matters to the scorer.
func (k Kind) ComparesText() bool { return k.Name == Exact{}.Name() || k.Name == checksName }

// Asks returns how many model judgements the scorer makes of an answer to item.
func (k Kind) Asks(item Item) int { return len(k.Judged(item)) }

// Judged returns the items that a model judges in scoring an answer to item.
func (k Kind) Judged(item Item) []Item {
	switch {
	case k.Prompts == nil:
		return nil
	case k.Judgements == nil:
		return []Item{item}
	}
	return k.Judgements(item)
}

// With returns the scorer of a kind with Prompts, based on j, which must have these prompts.
func (k Kind) With(o Options, j *Judge) Scorer {
	if k.Over == nil {
		return j
	}
	return k.Over(o, j)
}

// Options configure scorers without a model.
type Options struct {
	// TopK is the cut-off depth for retrieval.
	TopK int
	// Evidence is set if retrieval is scored by evidence.
	Evidence bool
	// ExactCase makes the exact scorer case-sensitive.
	ExactCase bool
}

// kinds is sorted by name.
var kinds = []Kind{
	overlapKind(Bleu1(), "the share of the answer's words that reference_answer has (BLEU-1)"),
	{
		Name: checksName, Needs: NeedChecks,
		Help:    "all checks of the question hold",
		Offline: func(o Options) Scorer { return Checks{Case: o.ExactCase} },
		Prompts: CriterionPrompts, Judgements: Criteria,
		Over: func(o Options, j *Judge) Scorer { return Checks{Case: o.ExactCase, Judge: j} },
	},
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
		Name: orderName, Needs: NeedChecks,
		Help:    "the order in which an answer tells of the checks called event, by BEAM's Kendall tau",
		Offline: func(Options) Scorer { return Order{} },
		Prompts: EventPrompts, Judgements: lineItems,
		Over: func(_ Options, j *Judge) Scorer { return Order{Judge: j} },
	},
	{
		Name: Retrieval{}.Name(), Needs: NeedGold,
		Help:    "the share of expected_evidence in the top passages, or of expected_paths among the top documents if no question has evidence",
		Offline: func(o Options) Scorer { return Retrieval{TopK: o.TopK, Evidence: o.Evidence} },
	},
	overlapKind(RougeL(), "the longest common subsequence of stems with reference_answer (ROUGE-L)"),
	overlapKind(TokenF1(), "LoCoMo's F1 of stems with reference_answer"),
}

func overlapKind(o Overlap, help string) Kind {
	return Kind{Name: o.Name(), Help: help, Needs: NeedReference, Offline: func(Options) Scorer { return o }}
}

// Kinds returns all scorers, sorted by name.
func Kinds() []Kind { return slices.Clone(kinds) }

// ByNeed returns one scorer for each need: the judge for references, and the scorer of all checks
// for checks.
func ByNeed() []Kind {
	return slices.DeleteFunc(Kinds(), func(k Kind) bool {
		return k.Needs == NeedReference && k.Name != judgeName || k.Name == orderName
	})
}

// Names returns the names of all scorers, sorted.
func Names() (names []string) {
	for _, k := range kinds {
		names = append(names, k.Name)
	}
	return names
}

// NeedOf returns the need of a scorer. An unknown scorer needs a reference.
func NeedOf(name string) Need {
	k, err := Find(name)
	if err != nil {
		return NeedReference
	}
	return k.Needs
}

// Find returns the scorer with this name, or an error that lists all names.
func Find(name string) (Kind, error) {
	for _, k := range kinds {
		if k.Name == name {
			return k, nil
		}
	}
	return Kind{}, fmt.Errorf("unknown scorer %q: must be one of %s", name, strings.Join(Names(), ", "))
}
