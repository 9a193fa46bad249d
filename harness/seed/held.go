package seed

import (
	"context"
	"errors"
	"slices"
	"time"

	"evalctl/harness/dataset"
	"evalctl/harness/result"
	"evalctl/harness/target"
)

// HeldProbes limits the searches by which it is seen how many texts a brain has, and heldDepth the
// number of passages counted for each.
const (
	HeldProbes = 5
	heldDepth  = 50
)

// patience limits the time of a search with its repetitions.
const patience = 5 * time.Minute

// Search is store.Search before the first question. It is tried again if the service is busy or
// does not answer.
func Search(ctx context.Context, store target.Store, id, query string, topK int) (chunks []result.Chunk, err error) {
	err = target.Retry(ctx, patience, func(ctx context.Context) (err error) {
		chunks, err = store.Search(ctx, id, query, topK)
		if errors.Is(err, target.ErrNoAnswer) && ctx.Err() == nil {
			return target.TransientFailure(result.KindTimeout, err.Error(), 0)
		}
		return err
	})
	return chunks, err
}

// Refused reports whether a service refused a search, as it may in a brain that does not exist.
// A service that is busy or does not answer has not refused it.
func Refused(err error) bool {
	f, ok := target.AsFailure(err)
	return ok && !f.Retryable()
}

// Held returns the minimum number of texts in the brain: the distinct passages found by the
// words of some of docs. A search may fail in a brain that does not exist.
func (b *Brain) Held(ctx context.Context, docs []dataset.Doc) (int, error) {
	words, _ := usesOf(docs)
	var queries []string
	for _, i := range spread(len(docs), HeldProbes) {
		queries = append(queries, probeWords(docs[i], words.own))
	}
	return Distinct(queries, func(query string, topK int) ([]result.Chunk, error) {
		return Search(ctx, b.store, b.id, query, topK)
	})
}

// Distinct returns the number of distinct passages that searches for some queries find. It stops at
// the first error.
func Distinct(queries []string, search func(query string, topK int) ([]result.Chunk, error)) (int, error) {
	texts := map[string]bool{}
	for _, query := range queries {
		chunks, err := search(query, heldDepth)
		if err != nil {
			return 0, err
		}
		for _, c := range chunks {
			texts[c.Text] = true
		}
	}
	return len(texts), nil
}

// lossProbes limits the documents whose words are searched for to see whether a brain is lost.
const lossProbes = 20

// FindsAny reports whether a search finds anything by the words of one of docs: of the one with most
// words of its own, by which Seed sees that they can be searched, or of others. An error is that of
// a service that refused a search, if no search found anything, or another one.
func (b *Brain) FindsAny(ctx context.Context, docs []dataset.Doc) (found bool, refused error) {
	words, _ := usesOf(docs)
	best, _ := probeOf(docs)
	others := slices.DeleteFunc(spread(len(docs), lossProbes), func(i int) bool { return i == best })
	for _, i := range append([]int{best}, others...) {
		chunks, err := Search(ctx, b.store, b.id, probeWords(docs[i], words.own), heldDepth)
		switch {
		case err != nil && !Refused(err):
			return false, err
		case err != nil:
			refused = err
		case len(chunks) > 0:
			return true, nil
		}
	}
	return false, refused
}
