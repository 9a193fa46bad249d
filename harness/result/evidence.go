package result

import (
	"cmp"
	"slices"
	"strings"

	"evalctl/internal/llm"
	"evalctl/scorer"
)

// QuestionEvidence says which of the first top-k chunks have the expected evidence of a question,
// by the rule of scorer.EvidenceRanks. Chunks belong to one document if they have the same path or,
// from a service without paths, the same document id.
type QuestionEvidence struct {
	// Ranks are the ranks of the chunks that complete each of Record.ExpectedEvidence, from 1; 0
	// for evidence that was not returned.
	Ranks []int `json:"ranks"`
	// Recall is the share of the evidence that was returned.
	Recall float64 `json:"recall"`
}

// Ranking returns the evidence as a ranking for scorers and metrics.
func (e *QuestionEvidence) Ranking() scorer.Ranking { return scorer.EvidenceRanking(e.Ranks) }

// CutPassages reports whether one of the first topK chunks may be truncated. It is then unknown
// which evidence was returned.
func (r *Record) CutPassages(topK int) bool {
	return slices.ContainsFunc(r.Retrieved[:min(topK, len(r.Retrieved))], func(c Chunk) bool { return c.Cut })
}

// HasTexts reports whether r has the text of a passage. Without one, it is unknown which
// evidence an imported answer is based on.
func (r *Record) HasTexts() bool {
	return slices.ContainsFunc(r.Retrieved, func(c Chunk) bool { return c.Text != "" })
}

// CompareEvidence sets Evidence from the chunks of r. It is nil for a question without evidence,
// and for CutPassages.
func (r *Record) CompareEvidence(topK int) {
	if r.Evidence = nil; len(r.ExpectedEvidence) == 0 || r.CutPassages(topK) {
		return
	}
	chunks := r.Retrieved[:min(topK, len(r.Retrieved))]
	passages := make([]scorer.Passage, len(chunks))
	for i, c := range chunks {
		passages[i] = scorer.Passage{Document: cmp.Or(c.Path, c.DocumentID), Text: c.Text}
	}
	e := &QuestionEvidence{Ranks: scorer.EvidenceRanks(r.ExpectedEvidence, passages)}
	e.Recall = e.Ranking().RecallAt(topK)
	r.Evidence = e
}

// LacksEvidence reports whether expected evidence was not returned.
func (r *Record) LacksEvidence() bool {
	return r.Evidence != nil && slices.Contains(r.Evidence.Ranks, 0)
}

// TextSize is the size of the text in the first top-k chunks of a question. Words are separated by
// white space. Tokens are estimated, see llm.Tokens.
type TextSize struct {
	Words  int `json:"words"`
	Tokens int `json:"tokens"`
}

// SizeOf returns the size of the texts of the first topK chunks.
func SizeOf(chunks []Chunk, topK int) (s TextSize) {
	for _, c := range chunks[:min(topK, len(chunks))] {
		s.Words += len(strings.Fields(c.Text))
		s.Tokens += llm.Tokens(len(c.Text))
	}
	return s
}

// GoldKind is the way in which retrieved gold was recognized.
type GoldKind string

// The kinds of gold.
const (
	ByEvidence GoldKind = "evidence" // a passage has the text
	byID       GoldKind = "id"       // a passage says that it is of the document
	byText     GoldKind = "text"     // a passage without a document has a text of the document
)

// GoldBy returns the kind of gold of a result, empty if no question has gold. Results of older
// versions do not record it, and had no evidence.
func (r *Result) GoldBy() GoldKind {
	if r.Gold == "" && r.Retrieval != nil {
		return r.DocumentsBy()
	}
	return r.Gold
}

// DocumentsBy returns how the documents of passages were recognized.
func (r *Result) DocumentsBy() GoldKind {
	if r.Mapped != nil && r.Mapped.ByText > 0 {
		return byText
	}
	return byID
}

// ReturnedSize has means of TextSize over the questions of a Retrieval with a list of chunks.
type ReturnedSize struct {
	Words  float64 `json:"words"`
	Tokens float64 `json:"tokens"`
	// RecallPer1000Tokens is the sum of the questions' recalls at top-k divided by the sum of their
	// tokens, times 1,000. It is nil without tokens.
	RecallPer1000Tokens *float64 `json:"recall_per_1000_tokens"`
}
