package search

import (
	"cmp"
	"fmt"
	"time"

	"evalctl/daemon/search/question"
)

// Query asks for the passages that match a text best. Zero values mean the defaults.
type Query struct {
	Text string
	// Conditions must be met by passages in every mode, see question.ParseOperators.
	Conditions question.Conditions
	Mode       Mode // empty means auto
	TopK       int  // maximum number of hits; 0 means 10
	// CandidateK is the number of candidates that each leg of a hybrid contributes, that are
	// searched for duplicates, and that are explained for each leg: at most 1000. 0 means 4·TopK,
	// but at least 100 and at most 1000. Legs are never shorter than TopK, and extend beyond
	// CandidateK where duplicates would leave TopK unfilled.
	CandidateK int
	// RerankTopN is the number of fused candidates that the reranker scores, at most 200; 0 means
	// 50. The others follow in fused order.
	RerankTopN int
	// MaxPerDocument is the maximum number of hits from one document; 0 means no limit. If too few
	// documents match, FillPlaces gives the remaining places to the best excluded passages.
	MaxPerDocument int
	FillPlaces     bool
	Filter         Filter
	Sort           Sort
	// AsOf is the time at which the question is asked. Documents dated on a later day, and those
	// with BadDate, are left out; documents without a date are not. Days are in the zone of each
	// time. Filter.To bounds the instant.
	AsOf time.Time
	// Explain asks for Result.Explanation.
	Explain bool
}

// Limits and defaults of a query.
const (
	defaultTopK = 10
	// defaultCandidateK is the lower limit of the default of Query.CandidateK.
	defaultCandidateK = 100
	maxCandidateK     = 1000
	defaultRerankTopN = 50
	maxRerankTopN     = 200
)

// withDefaults sets zero fields to their defaults and checks the others.
func (q Query) withDefaults() (Query, error) {
	q.TopK = cmp.Or(q.TopK, defaultTopK)
	q.CandidateK = cmp.Or(q.CandidateK, min(max(defaultCandidateK, 4*q.TopK), maxCandidateK))
	q.RerankTopN = cmp.Or(q.RerankTopN, defaultRerankTopN)
	switch {
	case q.TopK < 0:
		return q, fmt.Errorf("top_k %d is below 1", q.TopK)
	case q.MaxPerDocument < 0:
		return q, fmt.Errorf("max_per_document %d is below 0", q.MaxPerDocument)
	case q.CandidateK < 0 || q.CandidateK > maxCandidateK:
		return q, fmt.Errorf("candidate_k %d is not between 1 and %d", q.CandidateK, maxCandidateK)
	case q.RerankTopN < 0 || q.RerankTopN > maxRerankTopN:
		return q, fmt.Errorf("rerank_top_n %d is not between 1 and %d", q.RerankTopN, maxRerankTopN)
	}
	return q, cmp.Or(q.Filter.check(), q.Sort.check())
}
