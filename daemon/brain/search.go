package brain

import (
	"context"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"evalctl/daemon/protocol"
	"evalctl/daemon/search"
)

// Search ranks a brain's chunks for a query. It sees every write that was
// acknowledged before the call. A bad request is an *ArgumentError.
func (s *Service) Search(ctx context.Context, id string, r protocol.SearchRequest) (protocol.SearchResponse, error) {
	start := s.cfg.Now()
	q, err := parseQuery(r)
	if err != nil {
		return protocol.SearchResponse{}, err
	}
	mode, effective, err := resolveMode(r.Mode)
	if err != nil {
		return protocol.SearchResponse{}, err
	}
	hits, err := s.find(ctx, id, q)
	if err != nil {
		return protocol.SearchResponse{}, err
	}
	chunks := make([]protocol.SearchChunk, len(hits))
	for i, h := range hits {
		chunks[i] = searchChunk(id, h)
	}
	return protocol.SearchResponse{
		Query: r.Query, BrainID: id, Mode: mode, EffectiveMode: effective,
		Chunks: chunks, TookMS: s.millisSince(start),
	}, nil
}

func parseQuery(r protocol.SearchRequest) (search.Query, error) {
	if err := checkText("query", r.Query, protocol.MaxSearchQuery); err != nil {
		return search.Query{}, err
	}
	if r.CandidateK < 0 {
		return search.Query{}, &ArgumentError{"candidate_k", "must not be negative"}
	}
	if r.RerankTopN < 0 {
		return search.Query{}, &ArgumentError{"rerank_top_n", "must not be negative"}
	}
	topK, err := resolveTopK(r.TopK, protocol.MaxSearchTopK)
	if err != nil {
		return search.Query{}, err
	}
	before, err := parseDate(r.QuestionDate)
	if err != nil {
		return search.Query{}, err
	}
	return search.Query{Text: r.Query, TopK: topK, AskedAt: before}, nil
}

// find runs a query on the brain's index as soon as it is up to date.
func (s *Service) find(ctx context.Context, id string, q search.Query) ([]search.Hit, error) {
	x, err := s.indexer(ctx, id)
	if err != nil {
		return nil, err
	}
	if err := x.wait(ctx); err != nil {
		return nil, fmt.Errorf("search brain %s: %w", id, err)
	}
	found, err := x.searcher.Search(ctx, q)
	if err != nil {
		return nil, fmt.Errorf("search brain %s: %w", id, err)
	}
	return found.Hits, nil
}

// indexer returns the brain's indexer, started when there is none or when it
// failed: a failure is reported to those who waited, and then tried again.
func (s *Service) indexer(ctx context.Context, id string) (*indexer, error) {
	e, err := s.entry(id)
	if err != nil {
		return nil, err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if _, err := s.openStore(ctx, e); err != nil {
		return nil, err
	}
	if e.indexer != nil && e.indexer.failed() {
		e.indexer.close(nil)
		e.indexer = nil
	}
	if e.indexer == nil {
		e.indexer = s.startIndexer(e)
	}
	e.searched = s.cfg.Now()
	e.indexer.pending.Add(1) // until wait returns
	return e.indexer, nil
}

// resolveMode returns the mode asked for and the one that runs. Modes that
// need vectors are refused: running another one would be a silent fallback.
func resolveMode(mode string) (asked, effective string, err error) {
	switch mode {
	case "", protocol.ModeAuto:
		return protocol.ModeAuto, protocol.ModeBM25, nil
	case protocol.ModeBM25:
		return mode, protocol.ModeBM25, nil
	case protocol.ModeSemantic, protocol.ModeHybrid, protocol.ModeHybridRerank:
		return "", "", &ArgumentError{"mode", mode + " needs an embedder and none is configured: use auto or bm25"}
	}
	return "", "", &ArgumentError{"mode", fmt.Sprintf("%q is not one of auto, bm25, semantic, hybrid, hybrid-rerank", mode)}
}

func resolveTopK(topK, limit int) (int, error) {
	if topK == 0 {
		return protocol.DefaultTopK, nil
	}
	if topK < 0 || topK > limit {
		return 0, &ArgumentError{"top_k", fmt.Sprintf("%d is not between 1 and %d", topK, limit)}
	}
	return topK, nil
}

// parseDate reads a question date: RFC 3339, or a day, which stands for its
// last instant in UTC so that documents of that day are not in its future.
func parseDate(date string) (time.Time, error) {
	if date == "" {
		return time.Time{}, nil
	}
	if t, err := time.Parse(time.RFC3339, date); err == nil {
		return t, nil
	}
	t, err := time.Parse(time.DateOnly, date)
	if err != nil {
		return t, &ArgumentError{"question_date", fmt.Sprintf("%q is neither an RFC 3339 time nor YYYY-MM-DD", date)}
	}
	return t.AddDate(0, 0, 1).Add(-time.Nanosecond), nil
}

func checkText(name, text string, limit int) error {
	n := utf8.RuneCountInString(text)
	if n == 0 {
		return &ArgumentError{name, "is missing"}
	}
	if n > limit {
		return &ArgumentError{name, fmt.Sprintf("has %d characters, the limit is %d", n, limit)}
	}
	return nil
}

func searchChunk(id string, h search.Hit) protocol.SearchChunk {
	c := protocol.SearchChunk{
		ChunkID: h.ChunkID, DocumentID: h.Path, BrainID: id, Path: h.Path, Title: h.Title,
		Score: h.Score, Text: h.Text, Metadata: metadata(h),
	}
	for _, span := range h.Highlights {
		c.Highlights = append(c.Highlights, protocol.Span{Start: span.Start, End: span.End})
	}
	return c
}

// metadata is the document's own, with what its front matter said of date and
// tags and the headings above the chunk. Tags are comma-joined (spec section 2).
func metadata(h search.Hit) map[string]any {
	m := make(map[string]any, len(h.Metadata)+3)
	for k, v := range h.Metadata {
		m[k] = v
	}
	if !h.Date.IsZero() {
		m["date"] = formatDate(h.Date)
	}
	if len(h.Tags) > 0 {
		m["tags"] = strings.Join(h.Tags, ",")
	}
	if h.HeadingPath != "" {
		m["heading_path"] = h.HeadingPath
	}
	return m
}

// formatDate leaves out a time of day that the document did not give.
func formatDate(t time.Time) string {
	if t.Equal(t.UTC().Truncate(24 * time.Hour)) {
		return t.UTC().Format(time.DateOnly)
	}
	return t.Format(time.RFC3339)
}

func (s *Service) millisSince(start time.Time) float64 {
	return float64(s.cfg.Now().Sub(start).Microseconds()) / 1000
}
