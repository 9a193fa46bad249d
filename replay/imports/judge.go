package imports

import (
	"crypto/sha256"
	"fmt"
	"maps"
	"slices"
	"strings"

	"evalctl/harness/result"
)

// judges records the judge and the benchmark as stated in the files. What is not stated for every
// verdict counts as unknown.
func (im *Import) judges() {
	models, prompts, votes, benchmarks := map[string]bool{}, map[string]bool{}, map[string]bool{}, map[string]bool{}
	for _, a := range im.answers {
		benchmarks[a.judge.benchmark] = true
		if len(a.votes) == 0 {
			continue
		}
		models[a.judge.model], prompts[""] = true, prompts[""] || a.judge.prompt == ""
		if a.judge.prompt != "" {
			prompts[fmt.Sprintf("%x", sha256.Sum256([]byte(a.judge.prompt)))] = true
		}
		votes[votesText(im.ID.VoteRule, len(a.votes))] = true
	}
	im.ID.JudgeModels = said(models)
	im.ID.JudgePrompt = strings.Join(said(prompts), ", ")
	im.ID.Votes = strings.Join(said(votes), ", or ")
	im.ID.Benchmark = strings.Join(said(benchmarks), ", ")
}

// said returns the values in order, nil if an answer has none.
func said(values map[string]bool) []string {
	if values[""] {
		return nil
	}
	return slices.DeleteFunc(slices.Sorted(maps.Keys(values)), func(v string) bool { return !values[v] })
}

// voteRules returns the rules in the order in which they are compared with a stated total.
func voteRules() []result.VoteRule {
	return []result.VoteRule{result.VotesMajority, result.VotesMean, result.VotesFirst}
}

// votesText says how many judgements make a verdict, and how: "the mean of 3".
func votesText(r result.VoteRule, votes int) string {
	if votes <= 1 {
		return "1"
	}
	return fmt.Sprintf("the %s of %d", r, votes)
}
