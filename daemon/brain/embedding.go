package brain

import (
	"context"

	"evalctl/daemon/search"
	"evalctl/internal/wakeup"
)

// embedding embeds new documents of an index in the background, so that a query that needs vectors
// waits less.
type embedding struct {
	searcher *search.Searcher
	index    *search.Index
	size     *indexSize
	wake     wakeup.Signal // while there is work
}

func newEmbedding(searcher *search.Searcher, index *search.Index, size *indexSize) *embedding {
	return &embedding{searcher, index, size, wakeup.New()}
}

// run embeds until ctx ends.
func (e *embedding) run(ctx context.Context) {
	measured := 0.0
	for {
		select {
		case <-e.wake:
		case <-ctx.Done():
			return
		}
		if err := e.searcher.Prepare(ctx); err != nil {
			continue // the next query that needs vectors tries again, and reports the error
		}
		if n := float64(e.index.Len()); n > measured*(1+measureShare) {
			measured = n
			e.size.measure(e.index)
		}
	}
}
