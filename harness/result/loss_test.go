package result_test

import (
	"testing"

	"evalctl/harness/result"
	"evalctl/scorer"
)

// failedWith returns a record that did not pass, with gold at these ranks.
func failedWith(outcome result.Outcome, ranks ...int) result.Record {
	r := result.Record{Outcome: outcome}
	var gold scorer.Ranking
	for i, rank := range ranks {
		path := string(rune('a'+i)) + ".md"
		r.ExpectedPaths = append(r.ExpectedPaths, path)
		gold = append(gold, scorer.Gold{Path: path, Gain: 1, Rank: rank})
	}
	if outcome != result.Errored && len(ranks) > 0 {
		r.Retrieval = &result.QuestionRetrieval{Gold: gold}
	}
	return r
}

func TestLostAt(t *testing.T) {
	passed := failedWith(result.Scored, 0)
	passed.Passed = true
	for _, c := range []struct {
		name string
		r    result.Record
		ask  result.Stage
		find result.Stage // in a scenario without a reader
	}{
		{"passed", passed, "", ""},
		{"left out", failedWith(result.NoGold), "", ""},
		{"an error", failedWith(result.Errored, 0), result.StageError, result.StageError},
		{"no verdict", failedWith(result.Unscored, 1), result.StageUnscored, result.StageUnscored},
		{"no gold", failedWith(result.Scored), result.StageUnknown, result.StageUnknown},
		{"not retrieved", failedWith(result.Scored, 0), result.StageRetrieval, result.StageRetrieval},
		{"retrieved at the last rank", failedWith(result.Scored, 5), result.StageReader, result.StageUnknown},
		{"retrieved too deep", failedWith(result.Scored, 6), result.StageRetrieval, result.StageRetrieval},
		{"retrieved in part", failedWith(result.Scored, 1, 0, 2), result.StageRetrieval, result.StageRetrieval},
		{"all retrieved", failedWith(result.Scored, 3, 1, 2), result.StageReader, result.StageUnknown},
	} {
		t.Run(c.name, func(t *testing.T) {
			for scenario, want := range map[result.Scenario]result.Stage{
				result.AskBasic: c.ask, result.AskAugmented: c.ask, result.SearchOnly: c.find,
			} {
				if got := c.r.LostAt(scenario, 5); got != want {
					t.Errorf("%s: got %q, want %q", scenario, got, want)
				}
			}
		})
	}
	if got := (result.Loss{Retrieval: 3, Errors: 1}).String(); got != "retrieval 3  errors 1" {
		t.Errorf("got %q", got)
	}
}
