package result

import (
	"slices"
	"strings"

	"evalctl/internal/visible"
	"evalctl/scorer"
)

// SeedRoot is the folder of a brain below which a corpus is written. Some daemons index only a few
// folders, and all of them index this one.
const SeedRoot = "raw/documents/"

// QuestionRetrieval compares the documents retrieved for one question with its gold. The retrieved
// documents are the documents of the first top-k chunks, at most top-k of them, each at the rank of
// its best chunk.
//
// A chunk belongs to its own document and to the documents named by its duplicates. It contributes
// the gold ones among them, ordered by path like documents of the same score, or its own document
// if none is gold. Gold is therefore found even if a daemon reports another document with the same
// text instead. Chunks beyond top-k never count.
type QuestionRetrieval struct {
	// Documents is the number of retrieved documents.
	Documents int `json:"documents"`
	// Gold has the expected paths with their ranks among the retrieved documents.
	Gold scorer.Ranking `json:"gold"`
	// Recall and NDCG are at top-k.
	Recall           float64 `json:"recall"`
	NDCG             float64 `json:"ndcg"`
	ReciprocalRank   float64 `json:"reciprocal_rank"`
	AveragePrecision float64 `json:"average_precision"`
}

// CompareWithGold ranks the gold of a question among the first topK chunks. documentsOf returns the
// documents to which a chunk belongs.
func CompareWithGold(
	gold scorer.Ranking, chunks []Chunk, topK int, documentsOf func(Chunk) []string,
) *QuestionRetrieval {
	var hits []scorer.Hit
	for _, c := range chunks[:min(topK, len(chunks))] {
		for _, path := range documentsOf(c) {
			hits = append(hits, scorer.Hit{Path: path, Score: c.Score})
		}
	}
	documents := scorer.Documents(hits)
	documents = documents[:min(topK, len(documents))] // a chunk may have taken several places
	ranked := scorer.Rank(documents, gold)
	return &QuestionRetrieval{
		Documents: len(documents), Gold: ranked,
		Recall: ranked.RecallAt(topK), NDCG: ranked.NDCGAt(topK),
		ReciprocalRank: ranked.ReciprocalRank(), AveragePrecision: ranked.AveragePrecision(),
	}
}

// Gold converts the expected paths of a question into gold documents, without repetitions. The gain
// of a document is its grade, 1 if it has none.
func Gold(paths []string, grades map[string]float64) scorer.Ranking {
	var gold scorer.Ranking
	seen := make(map[string]bool, len(paths))
	for _, p := range paths {
		if bare := visible.Path(strings.TrimPrefix(p, SeedRoot)); !seen[bare] {
			seen[bare] = true
			gain, graded := grades[p]
			if !graded {
				gain = 1
			}
			gold = append(gold, scorer.Gold{Path: p, Gain: gain})
		}
	}
	return gold
}

// Chunk is one retrieved passage. Fields that a daemon does not send are empty.
type Chunk struct {
	ChunkID    string `json:"chunk_id,omitempty"`
	DocumentID string `json:"document_id,omitempty"`
	Path       string `json:"path,omitempty"`
	Title      string `json:"title,omitempty"`
	Date       string `json:"date,omitempty"` // of the document, as the daemon writes it
	// CorpusDate is the date of the document in the corpus, set if a check of the question concerns
	// dates.
	CorpusDate string  `json:"corpus_date,omitempty"`
	Score      float64 `json:"score"`
	Text       string  `json:"text,omitempty"`
	// Cut is set if the text is a preview of the maximum length (spec 2, RetrievedChunk), which may
	// be truncated.
	Cut bool `json:"cut,omitempty"`
	// SessionID is the session of the passage, if the daemon reports it.
	SessionID string `json:"session_id,omitempty"`
	// Duplicates name the documents of chunks with exactly the same text that the daemon left out:
	// by path, or by id if the daemon sends no path.
	Duplicates []string `json:"duplicates,omitempty"`
}

// IsGold reports whether a chunk is from an expected document. Some daemons send a path as the id
// of the document.
func (r *Record) IsGold(c Chunk) bool {
	return slices.ContainsFunc(append([]string{c.Path, c.DocumentID}, c.Duplicates...), func(document string) bool {
		return document != "" && slices.ContainsFunc(r.ExpectedPaths, func(path string) bool {
			return strings.TrimPrefix(document, SeedRoot) == strings.TrimPrefix(path, SeedRoot)
		})
	})
}

// bare removes the folder of the corpus from a path.
func bare(path string) string { return strings.TrimPrefix(path, SeedRoot) }
