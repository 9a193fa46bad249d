package harness

import (
	"evalctl/harness/dataset"
	"evalctl/harness/result"
)

// BrainInfos describes the brains of a run for its result.
func BrainInfos(brains []dataset.Brain) []result.BrainInfo {
	var out []result.BrainInfo
	for _, b := range brains {
		info := result.BrainInfo{ID: b.Name, Questions: b.Questions}
		if b.Docs != nil {
			info.Documents = new(len(b.Docs))
		}
		out = append(out, info)
	}
	return out
}
