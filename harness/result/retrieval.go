package result

import (
	"slices"
	"strings"

	"evalctl/scorer"
)

// SeedRoot is the folder of a brain that a corpus is written below: some
// daemons index only a few folders, and all of them index this one.
const SeedRoot = "raw/documents/"

// QuestionRetrieval is what was retrieved for one question, against its gold:
// the documents of the first top-k chunks, each once at the rank of its best
// chunk, and no more than top-k of them. A chunk is of its own document and of those
// that its duplicates name: it takes a place for each of them that is gold, by
// path, as documents of the same score do, and if none is, one for its own. So gold
// is found also where a daemon leaves it out for another document of the same text,
// whose place it then has; chunks below top-k never count.
type QuestionRetrieval struct {
	// Documents counts them.
	Documents int `json:"documents"`
	// Gold has the expected paths with their ranks among the documents.
	Gold scorer.Ranking `json:"gold"`
	// Recall and NDCG are at top-k.
	Recall           float64 `json:"recall"`
	NDCG             float64 `json:"ndcg"`
	ReciprocalRank   float64 `json:"reciprocal_rank"`
	AveragePrecision float64 `json:"average_precision"`
}

// goldOf makes gold of a question's expected paths, each once.
func Gold(paths []string) scorer.Ranking {
	var gold scorer.Ranking
	for _, p := range paths {
		same := func(g scorer.Gold) bool {
			return strings.TrimPrefix(g.Path, SeedRoot) == strings.TrimPrefix(p, SeedRoot)
		}
		if !slices.ContainsFunc(gold, same) {
			gold = append(gold, scorer.Gold{Path: p, Gain: 1})
		}
	}
	return gold
}

// Chunk is one retrieved passage, in the order the daemon ranked it. Fields
// that a daemon does not send are empty.
type Chunk struct {
	ChunkID    string  `json:"chunk_id,omitempty"`
	DocumentID string  `json:"document_id,omitempty"`
	Path       string  `json:"path,omitempty"`
	Title      string  `json:"title,omitempty"`
	Score      float64 `json:"score"`
	Text       string  `json:"text,omitempty"`
	// Duplicates name the documents of chunks with the very same text that the
	// daemon left out: by path, or by an id where it sends none.
	Duplicates []string `json:"duplicates,omitempty"`
}
