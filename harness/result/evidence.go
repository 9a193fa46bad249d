package result

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"evalctl/internal/llm"
	"evalctl/scorer"
)

// QuestionEvidence says which of the first top-k chunks have the expected evidence of a question, by
// the rule of scorer.EvidenceRanks. Chunks belong to one document if they have the same path or, of a
// service without paths, the same document id.
type QuestionEvidence struct {
	// Ranks are those of the chunks with which each of Record.ExpectedEvidence is complete, from 1, 0
	// for what was not returned.
	Ranks []int `json:"ranks"`
	// Recall is the share of the evidence that was returned.
	Recall float64 `json:"recall"`
}

// Ranking returns the evidence as a scorer and the measures take it.
func (e *QuestionEvidence) Ranking() scorer.Ranking { return scorer.EvidenceRanking(e.Ranks) }

// CutPassages reports whether one of the first topK chunks may be cut: what evidence was returned is
// not known then.
func (r *Record) CutPassages(topK int) bool {
	return slices.ContainsFunc(r.Retrieved[:min(topK, len(r.Retrieved))], func(c Chunk) bool { return c.Cut })
}

// CompareEvidence sets Evidence from the chunks of r. It is nil for a question without evidence, and
// for CutPassages.
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

// TextSize is how much text was returned for a question, in its first top-k chunks. Words are
// separated by white space. Tokens are estimated, see llm.Tokens.
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

// GoldKind is by what it was found out whether what a question needs was retrieved.
type GoldKind string

// The kinds of gold.
const (
	ByEvidence GoldKind = "evidence" // a passage has the text
	ByID       GoldKind = "id"       // a passage says that it is of the document
	ByText     GoldKind = "text"     // a passage without a document has a text of the document
)

// GoldBy returns the kind of gold of a result, empty if no question has gold. Results of older
// versions do not say it, and had no evidence.
func (r *Result) GoldBy() GoldKind {
	if r.Gold == "" && r.Retrieval != nil {
		return r.DocumentsBy()
	}
	return r.Gold
}

// DocumentsBy returns how the documents of passages were found out.
func (r *Result) DocumentsBy() GoldKind {
	if r.Mapped != nil && r.Mapped.ByText > 0 {
		return ByText
	}
	return ByID
}

// ReturnedSize is how much text came back, over the questions of a Retrieval for which a list of chunks
// came: means of TextSize.
type ReturnedSize struct {
	Words  float64 `json:"words"`
	Tokens float64 `json:"tokens"`
	// RecallPer1000Tokens is the sum of the questions' recalls at top-k divided by that of their tokens,
	// times 1,000. It is nil without tokens.
	RecallPer1000Tokens *float64 `json:"recall_per_1000_tokens"`
}

// ReturnedText says for people how much text came back and what it is worth, nil if that is not known.
func (r *Retrieval) ReturnedText() []string {
	b := r.Returned
	if b == nil {
		return nil
	}
	parts := []string{fmt.Sprintf("%.0f words, %.0f tokens a question", b.Words, b.Tokens)}
	if v := b.RecallPer1000Tokens; v != nil {
		parts = append(parts, fmt.Sprintf("recall %.3f per 1,000 tokens", *v))
	}
	return parts
}
