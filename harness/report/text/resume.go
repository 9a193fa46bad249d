package text

import (
	"fmt"
	"strings"

	"evalctl/harness/result"
	"evalctl/internal/figure"
	"evalctl/internal/llm"
)

// Rest is what a stopped run has left to do.
type Rest struct {
	Unasked, Unjudged int
	// Failed is how many questions failed for a reason that does not lie in them. Retried says whether
	// a resume tries them again.
	Failed  int
	Retried bool
}

// String says what resuming the run does, and what it does not do.
func (r Rest) String() string {
	again := "the " + figure.Count(r.Failed, "question") + " again that failed without an answer of the daemon or the judge"
	var does []string
	if r.Unasked > 0 {
		does = append(does, "asks the "+figure.Count(r.Unasked, "question")+" without an answer")
	}
	if r.Unjudged > 0 {
		does = append(does, "judges the "+figure.Count(r.Unjudged, "answer")+" without a verdict")
	}
	if r.Failed > 0 && r.Retried {
		does = append(does, "tries "+again)
	}
	if len(does) == 0 {
		does = []string{"asks nothing"}
	}
	text := "it " + strings.Join(does, " and ")
	if r.Failed > 0 && !r.Retried {
		text += "; it does not try " + again + ": add --retry-errors"
	}
	return text
}

// MoneyLeft says what was spent and what is left under the cap, nil for none.
func MoneyLeft(cost result.Cost, limit *llm.USD) string {
	text := "spent " + cost.Amount() + ", which still counts"
	if cost.SpentUSD == 0 && cost.UnpricedModel == "" {
		text = "nothing is spent yet"
	}
	if limit != nil {
		text += fmt.Sprintf("; %s of the cap of %s is left", max(0, *limit-cost.SpentUSD), *limit)
	}
	return text
}
