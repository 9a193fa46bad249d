package imports

import (
	"crypto/sha256"
	"fmt"
	"maps"
	"slices"
	"strings"
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
		votes[im.ID.VoteRule.Text(len(a.votes))] = true
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
