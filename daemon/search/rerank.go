package search

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"evalctl/daemon/search/document"
)

// maxRerankScore leaves space for scores below the lowest one of a reranker.
const maxRerankScore = 1e300

// reranking sorts hits by the scores of a model.
type reranking struct {
	model   Reranker
	circuit *circuit
}

// rerank sorts the first RerankTopN hits by the reranker's scores. Hits with equal scores keep
// their order, and the other hits follow. On an error, the result is unchanged.
func (r *reranking) rerank(ctx context.Context, q Query, res *Result) error {
	n := min(q.RerankTopN, len(res.Hits))
	if n == 0 {
		return nil
	}
	if err := r.circuit.allow(r.model.Name()); err != nil {
		return err
	}
	scores, err := r.scores(ctx, q.Text, res.Hits[:n])
	r.circuit.recordOutcome(err)
	if err != nil {
		return err
	}
	best, first, rest := res.Hits[0].Score, res.Hits[:n], res.Hits[n:]
	for i := range first {
		first[i].Score = scores[i]
		first[i].Components[componentRerank] = scores[i]
	}
	slices.SortStableFunc(first, func(a, b Hit) int { return cmp.Compare(b.Score, a.Score) })
	for i := range first {
		first[i].Components[componentRerankRank] = float64(i + 1)
	}
	// The two kinds of scores are not comparable. The scores of the rest continue below the
	// reranker's lowest, by as much as they were below the best.
	for i := range rest {
		rest[i].Score = first[n-1].Score - (best - rest[i].Score)
	}
	if q.Explain {
		res.Explanation.Legs = append(res.Explanation.Legs, hitLeg(componentRerank, first))
	}
	return nil
}

func (r *reranking) scores(ctx context.Context, query string, hits []Hit) ([]float64, error) {
	texts := make([]string, len(hits))
	for i, h := range hits {
		texts[i] = document.Passage(h.Title, h.HeadingPath, h.Text)
	}
	scores, err := r.model.Rerank(ctx, query, texts)
	if ctx.Err() != nil {
		return nil, contextError(ctx, r.model.Name())
	}
	if err == nil && len(scores) != len(texts) {
		err = fmt.Errorf("%d scores for %d texts", len(scores), len(texts))
	}
	for i, score := range scores {
		if err == nil && !(math.Abs(score) < maxRerankScore) { // nor NaN
			err = fmt.Errorf("the score of text %d is %v", i+1, score)
		}
	}
	if err != nil {
		return nil, &ModelError{r.model.Name(), err}
	}
	return scores, nil
}
