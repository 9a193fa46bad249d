package brain

import "context"

// embed embeds in the background what the index got, until ctx ends: a query
// that needs vectors then has little to wait for.
func (x *indexer) embed(ctx context.Context) {
	measured := 0.0
	for {
		select {
		case <-x.changed:
		case <-ctx.Done():
			return
		}
		if err := x.searcher.Prepare(ctx); err != nil {
			continue // the next query that needs vectors tries again, and tells its caller
		}
		if n := float64(x.index.Len()); n > measured*(1+measureShare) {
			measured = n
			x.bytes.Store(x.index.Bytes())
			x.cfg.measured()
		}
	}
}

// refused counts and logs what the embedder refused: that brings no error.
func (x *indexer) refused(chunkIDs []string, reason error) {
	x.cfg.refused.Add(int64(len(chunkIDs)))
	x.cfg.logger.Warn("the embedder refused passages: only their words are searched",
		"brain", x.cfg.brain, "passages", len(chunkIDs), "first", chunkIDs[0], "because", reason)
}

// toEmbed wakes embed.
func (x *indexer) toEmbed() {
	select {
	case x.changed <- struct{}{}:
	default:
	}
}
