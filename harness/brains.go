package harness

import (
	"slices"

	"evalctl/harness/dataset"
	"evalctl/harness/result"
)

// brainInfos describes the brains that a run asks, for its result.
func brainInfos(brains []dataset.Brain) []result.BrainInfo {
	var out []result.BrainInfo
	for _, b := range Asked(brains) {
		info := result.BrainInfo{ID: b.Name, Questions: b.Questions}
		if len(b.Docs) > 0 {
			info.Documents = new(len(b.Docs))
		}
		out = append(out, info)
	}
	return out
}

// Asked returns the brains with questions. Other brains may only be changed by operations.
func Asked(brains []dataset.Brain) []dataset.Brain {
	return slices.DeleteFunc(slices.Clone(brains), func(b dataset.Brain) bool { return b.Questions == 0 })
}
