package harness

import (
	"cmp"
	"slices"
	"strings"

	"evalctl/scorer"
)

// QuestionRetrieval is what was retrieved for one question, against its gold:
// the documents of the first top-k chunks, each once at the rank of its best
// chunk.
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
func goldOf(paths []string) scorer.Ranking {
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

// retrievalOf ranks the gold among the first topK chunks.
func retrievalOf(gold scorer.Ranking, chunks []Chunk, topK int, known catalogue) *QuestionRetrieval {
	hits := make([]scorer.Hit, min(topK, len(chunks)))
	for i := range hits {
		hits[i] = scorer.Hit{Path: known.document(chunks[i], gold), Score: chunks[i].Score}
	}
	documents := scorer.Documents(hits)
	ranked := scorer.Rank(documents, gold)
	return &QuestionRetrieval{
		Documents: len(documents), Gold: ranked, Recall: ranked.RecallAt(topK), NDCG: ranked.NDCGAt(topK),
		ReciprocalRank: ranked.ReciprocalRank(), AveragePrecision: ranked.AveragePrecision(),
	}
}

// catalogue holds the paths of a brain's documents. It tells which of them a
// daemon means, and is nil when it is not known what a brain holds.
type catalogue map[string]bool

func catalogueOf(docs []Doc) catalogue {
	if docs == nil {
		return nil
	}
	known := catalogue{}
	for _, d := range docs {
		known[d.Path] = true
	}
	return known
}

// cataloguesOf gives the catalogue of each brain by name.
func cataloguesOf(brains []Brain) map[string]catalogue {
	out := map[string]catalogue{}
	for _, b := range brains {
		out[b.Name] = catalogueOf(b.Docs)
	}
	return out
}

// longestPath is the longest path that is looked for in a catalogue, in bytes: what
// a daemon sends must not make the search long.
const longestPath = 4096

// name gives a daemon's path as the corpus has it: without SeedRoot, or else the
// longest end of it, after a slash, that is a path of the corpus, since daemons
// may put documents below folders of their own. Of a brain whose documents are
// not known only SeedRoot is taken off: the end of a path is no proof when another
// document may have it.
func (k catalogue) name(got string) string {
	got = strings.TrimPrefix(got, SeedRoot)
	if len(got) > longestPath {
		return got
	}
	for end, more := got, true; more; _, end, more = strings.Cut(end, "/") {
		if k[end] {
			return end
		}
	}
	return got
}

// gold gives an expected path as the corpus has it.
func (k catalogue) gold(path string) string {
	if k[path] {
		return path
	}
	return strings.TrimPrefix(path, SeedRoot)
}

// document names the document of a chunk: as gold does if it is of any, else
// by the first name it has.
func (k catalogue) document(c Chunk, gold scorer.Ranking) string {
	path, id := k.name(c.Path), k.name(c.DocumentID)
	for _, g := range gold {
		if want := k.gold(g.Path); want == path || want == id {
			return g.Path
		}
	}
	return cmp.Or(path, id, c.ChunkID)
}
