package memory

import (
	"context"
	"errors"
	"time"

	"evalctl/daemon/brain"
	"evalctl/daemon/frontmatter"
	"evalctl/daemon/protocol"
	"evalctl/daemon/search"
)

// Search ranks the brain's chunks for a query, as brain.Handle.Search does. An invalid request is an
// *ArgumentError.
func (s *Service) Search(
	ctx context.Context, h brain.Handle, r protocol.SearchRequest,
) (protocol.SearchResponse, error) {
	start, id := s.cfg.Now(), h.Brain().ID
	q, err := parseQuery(r, searchText)
	if err != nil {
		return protocol.SearchResponse{}, err
	}
	operators, err := readOperators(&q, r.Operators)
	if err != nil {
		return protocol.SearchResponse{}, err
	}
	found, err := find(ctx, h, q)
	if err != nil {
		return protocol.SearchResponse{}, err
	}
	res := protocol.SearchResponse{
		Query: r.Query, Operators: operators, BrainID: id,
		Mode: string(q.Mode), EffectiveMode: string(found.Mode), Fusion: fusion(found.Result), Degraded: found.Degraded, Indexing: found.Indexing,
		Chunks: make([]protocol.SearchChunk, len(found.Hits)), Explanation: explanation(found.Explanation),
	}
	for i, hit := range found.Hits {
		res.Chunks[i] = searchChunk(id, hit)
		res.Collapsed += len(hit.Duplicates) + hit.MoreDuplicates
	}
	res.TookMS = s.millisSince(start)
	return res, nil
}

// find runs a query. A mode whose model is not configured is an *ArgumentError.
func find(ctx context.Context, h brain.Handle, q search.Query) (brain.SearchResult, error) {
	found, err := h.Search(ctx, q)
	switch {
	case errors.Is(err, search.ErrNoEmbedder):
		return brain.SearchResult{}, argumentErrorf("mode",
			"%s needs an embedder and the daemon has none: set SVC_EMBED_PROVIDER, or ask for auto or bm25", q.Mode)
	case errors.Is(err, search.ErrNoReranker):
		return brain.SearchResult{}, argumentErrorf("mode",
			"%s needs a reranker and the daemon has none: set SVC_RERANK_PROVIDER, or ask for hybrid", q.Mode)
	}
	return found, err
}

func searchChunk(id string, h search.Hit) protocol.SearchChunk {
	c := protocol.SearchChunk{
		ChunkID: h.ChunkID, DocumentID: h.Path, BrainID: id, Path: h.Path, Title: h.Title,
		Score: h.Score, Text: h.Text, Metadata: metadata(h), ComponentScores: h.Components,
		Nearest: h.Nearest, Duplicates: duplicates(h), MoreDuplicates: h.MoreDuplicates,
	}
	for _, span := range h.Highlights {
		c.Highlights = append(c.Highlights, protocol.Span{Start: span.Start, End: span.End})
	}
	return c
}

func fusion(r search.Result) *protocol.Fusion {
	if r.Fusion == nil {
		return nil
	}
	return &protocol.Fusion{Method: string(r.Fusion.Fusion), Weight: r.Fusion.Weight}
}

func duplicates(h search.Hit) []protocol.Duplicate {
	var out []protocol.Duplicate
	for _, d := range h.Duplicates {
		out = append(out, protocol.Duplicate{ChunkID: d.ChunkID, DocumentID: d.Path, Path: d.Path})
	}
	return out
}

// explanation converts e, without nil lists: they would become null in JSON.
func explanation(e *search.Explanation) *protocol.Explanation {
	if e == nil {
		return nil
	}
	out := &protocol.Explanation{
		Terms: append([]string{}, e.Terms...), LeftOut: e.LeftOut,
		Legs: make([]protocol.ExplanationLeg, len(e.Legs)),
	}
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
