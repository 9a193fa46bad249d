package brain

import (
	"context"
	"errors"
	"fmt"
	"time"

	"evalctl/daemon/frontmatter"
	"evalctl/daemon/protocol"
	"evalctl/daemon/search"
)

// Search ranks the brain's chunks for a query. It sees every write that was
// acknowledged before the call. A bad request is an *ArgumentError.
func (h Handle) Search(ctx context.Context, r protocol.SearchRequest) (protocol.SearchResponse, error) {
	start, id := h.s.cfg.Now(), h.e.brain.ID
	q, err := parseQuery(r, searchText)
	if err != nil {
		return protocol.SearchResponse{}, err
	}
	found, err := h.find(ctx, q)
	if err != nil {
		return protocol.SearchResponse{}, err
	}
	res := protocol.SearchResponse{
		Query: r.Query, BrainID: id, Mode: string(q.Mode), EffectiveMode: string(found.Mode), Degraded: found.Degraded,
		Chunks: make([]protocol.SearchChunk, len(found.Hits)), Explanation: explanation(found.Explanation),
	}
	for i, hit := range found.Hits {
		res.Chunks[i] = searchChunk(id, hit)
		res.Collapsed += len(hit.Duplicates) + hit.MoreDuplicates
	}
	res.TookMS = h.s.millisSince(start)
	return res, nil
}

// find runs a query on the brain's index as soon as it is up to date.
func (h Handle) find(ctx context.Context, q search.Query) (search.Result, error) {
	defer h.Hold()()
	id := h.e.brain.ID
	x, err := h.indexer(ctx)
	if err != nil {
		return search.Result{}, err
	}
	if err := x.wait(ctx); err != nil {
		return search.Result{}, fmt.Errorf("search brain %s: %w", id, err)
	}
	found, err := x.searcher.Search(ctx, q)
	if found.Degraded != "" || isModelError(err) {
		x.toEmbed() // the search may have left its documents half embedded
	}
	switch {
	case errors.Is(err, search.ErrNoEmbedder):
		return search.Result{}, &ArgumentError{"mode", fmt.Sprintf("%s needs an embedder and the daemon has none: set SVC_EMBED_PROVIDER, or ask for auto or bm25", q.Mode)}
	case errors.Is(err, search.ErrNoReranker):
		return search.Result{}, &ArgumentError{"mode", fmt.Sprintf("%s needs a reranker and the daemon has none: set SVC_RERANK_PROVIDER, or ask for hybrid", q.Mode)}
	case isModelError(err):
		return search.Result{}, fmt.Errorf("search brain %s: %w: %w", id, ErrSearchModel, err)
	case err != nil:
		return search.Result{}, fmt.Errorf("search brain %s: %w", id, err)
	}
	return found, nil
}

// RefusedPassages counts the passages that the embedder has refused, in all
// brains: only their words are searched.
func (s *Service) RefusedPassages() int64 { return s.refused.Load() }

func isModelError(err error) bool {
	_, ok := errors.AsType[*search.ModelError](err)
	return ok
}

// indexer returns the brain's indexer, started when there is none or when it
// failed: a failure is reported to those who waited, and then tried again.
func (h Handle) indexer(ctx context.Context) (*indexer, error) {
	e := h.e
	e.mu.Lock()
	defer e.mu.Unlock()
	if _, err := h.openStore(ctx); err != nil {
		return nil, err
	}
	if e.indexer != nil && e.indexer.failed() {
		e.indexer.close(nil)
		e.indexer = nil
	}
	if e.indexer == nil {
		e.indexer = h.s.startIndexer(e)
	}
	e.searched = h.s.cfg.Now()
	e.indexer.pending.Add(1) // until wait returns
	return e.indexer, nil
}

func searchChunk(id string, h search.Hit) protocol.SearchChunk {
	c := protocol.SearchChunk{
		ChunkID: h.ChunkID, DocumentID: h.Path, BrainID: id, Path: h.Path, Title: h.Title,
		Score: h.Score, Text: h.Text, Metadata: metadata(h), ComponentScores: h.Components,
		Duplicates: duplicates(h), MoreDuplicates: h.MoreDuplicates,
	}
	for _, span := range h.Highlights {
		c.Highlights = append(c.Highlights, protocol.Span{Start: span.Start, End: span.End})
	}
	return c
}

func duplicates(h search.Hit) []protocol.Duplicate {
	var out []protocol.Duplicate
	for _, d := range h.Duplicates {
		out = append(out, protocol.Duplicate{ChunkID: d.ChunkID, DocumentID: d.Path, Path: d.Path})
	}
	return out
}

// explanation has no null list, whatever e leaves out.
func explanation(e *search.Explanation) *protocol.Explanation {
	if e == nil {
		return nil
	}
	out := &protocol.Explanation{Terms: append([]string{}, e.Terms...), Legs: make([]protocol.ExplanationLeg, len(e.Legs))}
	for i, leg := range e.Legs {
		list := make([]protocol.LegCandidate, len(leg.Candidates))
		for j, c := range leg.Candidates {
			list[j] = protocol.LegCandidate{ChunkID: c.ChunkID, Score: c.Score}
		}
		out.Legs[i] = protocol.ExplanationLeg{Name: leg.Name, Candidates: list}
	}
	return out
}

// metadata returns the metadata of the hit's document and the headings above its chunk.
func metadata(h search.Hit) map[string]any {
	m := frontmatter.WireMetadata(h.Metadata, h.Tags, h.Date)
	if h.HeadingPath != "" {
		m["heading_path"] = h.HeadingPath
	}
	return m
}

func (s *Service) millisSince(start time.Time) float64 {
	return float64(s.cfg.Now().Sub(start).Microseconds()) / 1000
}
