package harness

import (
	"evalctl/harness/dataset"
	"evalctl/harness/result"
	"evalctl/scorer"
)

// retrievalOf ranks the gold of a question among the first topK chunks.
func retrievalOf(
	gold scorer.Ranking, chunks []result.Chunk, topK int, known dataset.Paths,
) *result.QuestionRetrieval {
	var hits []scorer.Hit
	for _, c := range chunks[:min(topK, len(chunks))] {
		for _, path := range known.Documents(c, gold) {
			hits = append(hits, scorer.Hit{Path: path, Score: c.Score})
		}
	}
	documents := scorer.Documents(hits)
	documents = documents[:min(topK, len(documents))] // a chunk may have taken several places
	ranked := scorer.Rank(documents, gold)
	return &result.QuestionRetrieval{
		Documents: len(documents), Gold: ranked,
		Recall: ranked.RecallAt(topK), NDCG: ranked.NDCGAt(topK),
		ReciprocalRank: ranked.ReciprocalRank(), AveragePrecision: ranked.AveragePrecision(),
	}
}

// brainInfos describes the brains of a run for its result.
func brainInfos(brains []dataset.Brain) []result.BrainInfo {
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
