package memory

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"evalctl/daemon/brain"
	"evalctl/daemon/protocol"
	"evalctl/daemon/search"
	"evalctl/daemon/store"
)

const (
	// contextWeight is the weight of the conversation in a recall, where the query has weight 1.
	// See docs/dev/ranking.md for the measurement. Queries of one or two terms are vague: for each
	// term below three, the conversation gets vagueWeight more.
	contextWeight = 0.2
	vagueWeight   = 0.15
	clearTerms    = 3
	// contextMessages and contextWords bound the part of the conversation that is weighed.
	contextMessages = 6
	contextWords    = 200
	// recallDepth is how many chunks of each ranking are fused, at least.
	recallDepth = 100
	// ownBytes is how much of the end of a session the words of the conversation do not find.
	ownBytes = 64 << 10
	// maxOwnSegments bounds the search for that part.
	maxOwnSegments = 64
)

// Keys of SearchChunk.ComponentScores that a recall adds.
const (
	componentQuery   = "query"
	componentContext = "context"
)

// Recall ranks the brain's chunks for a query that is asked in a session (spec 4.1, memory_recall).
// The latest messages of the session are a second query with a lower weight. Once the session's own
// messages are stored, the first query finds them like any document. The second query leaves them
// out, because they have its words and would be its best hits. A missing or empty session makes it
// a plain search. An invalid request is an *ArgumentError.
func (s *Service) Recall(
	ctx context.Context, h brain.Handle, session string, r protocol.RecallRequest,
) (protocol.RecallResponse, error) {
	q, err := parseQuery(protocol.SearchRequest{Query: r.Query, TopK: r.TopK, Scope: r.Scope}, recallText)
	if err != nil {
		return protocol.RecallResponse{}, err
	}
	if _, err := readOperators(&q, false); err != nil {
		return protocol.RecallResponse{}, err
	}
	if err := checkSessionID(session); err != nil {
		return protocol.RecallResponse{}, err
	}
	defer h.Acquire()()
	st, err := h.SearchableStore(ctx)
	if err != nil {
		return protocol.RecallResponse{}, err
	}
	said, err := recentSession(ctx, st, session)
	if err != nil {
		return protocol.RecallResponse{}, err
	}
	found, err := recall(ctx, h, q, said)
	if err != nil {
		return protocol.RecallResponse{}, err
	}
	res := protocol.RecallResponse{
		Chunks:        make([]protocol.SearchChunk, len(found.Hits)),
		EffectiveMode: string(found.Mode), Degraded: found.Degraded, Indexing: found.Indexing,
	}
	for i, hit := range found.Hits {
		res.Chunks[i] = searchChunk(h.Brain().ID, hit)
	}
	return res, nil
}

// recall fuses the rankings of the query and of the conversation.
func recall(ctx context.Context, h brain.Handle, q search.Query, said recentPart) (brain.SearchResult, error) {
	if said.words == "" {
		return find(ctx, h, q)
	}
	query, topK := q.Text, q.TopK
	q.TopK = max(recallDepth, 4*topK)
	found, err := find(ctx, h, q)
	if err != nil {
		return brain.SearchResult{}, err
	}
	// Search by words, because an embedder would compute the vector of a text that nobody searches
	// for.
	q.Text, q.Mode, q.Filter.Except = said.words, search.ModeBM25, said.own
	around, err := find(ctx, h, q)
	if err != nil {
		return brain.SearchResult{}, err
	}
	hits := fuseRecall(found.Hits, around.Hits, weightOfContext(query))
	// Each ranking has further passages of a document where it had places left, which are more than
	// topK.
	found.Hits = search.LimitDocuments(hits, topK, q, func(h search.Hit) string { return h.Path })
	found.Indexing = cmp.Or(found.Indexing, around.Indexing)
	return found, nil
}

func weightOfContext(query string) float64 {
	missing := max(0, clearTerms-len(search.Terms(query)))
	return contextWeight + vagueWeight*float64(missing)
}

// fuseRecall returns the hits of both rankings, best first. A score is the query's score plus
// weight times the conversation's score, each relative to the best one of its ranking. So a
// specific query keeps its lead, and the conversation decides for a vague one. Equal hits are in
// the order of the query's ranking, the others behind them.
func fuseRecall(query, conversation []search.Hit, weight float64) []search.Hit {
	hits := slices.Clone(query)
	byText := map[string]int{} // of identical texts, each ranking has one
	for i, score := range leads(query) {
		hits[i].Score = score
		hits[i].Components = withComponent(hits[i].Components, componentQuery, score)
		byText[hits[i].Text] = i
	}
	for i, score := range leads(conversation) {
		at, found := byText[conversation[i].Text]
		if !found {
			at = len(hits)
			hits = append(hits, conversation[i])
			hits[at].Score, hits[at].Components = 0, nil
		}
		hits[at].Score += weight * score
		hits[at].Components = withComponent(hits[at].Components, componentContext, weight*score)
	}
	slices.SortStableFunc(hits, func(a, b search.Hit) int { return cmp.Compare(b.Score, a.Score) })
	search.SpreadTies(hits)
	return hits
}

// leads returns the scores of a ranking by words, relative to the best one. Ranks alone do not show
// how far apart hits are. So in a fused ranking, a hit has at least the score of every later one.
// Hits after the last one that words found share the score of that hit, or 1 if there is none, as
// far apart as in the fused ranking.
func leads(hits []search.Hit) []float64 {
	scores := make([]float64, len(hits))
	if len(hits) == 0 {
		return scores
	}
	best, last := 0., 0
	for i := len(hits) - 1; i >= 0; i-- {
		words := search.WordScore(hits[i])
		if best == 0 && words > 0 {
			last = i
		}
		best = max(best, words)
		scores[i] = best
	}
	if best == 0 {
		scores[0], best = 1, 1
	}
	lowest := hits[len(hits)-1].Score
	for i := range scores {
		if scores[i] /= best; i <= last {
			continue
		}
		scores[i] = scores[last]
		if span := hits[last].Score - lowest; span > 0 {
			scores[i] *= (hits[i].Score - lowest) / span
		}
	}
	return scores
}

func withComponent(components map[string]float64, key string, value float64) map[string]float64 {
	out := map[string]float64{key: value}
	for k, v := range components {
		out[k] = v
	}
	return out
}

// recentPart is the part of a session that a recall needs.
type recentPart struct {
	words string          // of the latest messages
	own   map[string]bool // documents of the end of the session
}

// recentSession reads the end of a session. It is empty if there is no such session.
func recentSession(ctx context.Context, st *store.Store, session string) (recentPart, error) {
	state, err := readSession(ctx, st, session)
	if store.IsNotFound(err) {
		return recentPart{}, nil
	}
	if err != nil {
		return recentPart{}, err
	}
	part := recentPart{own: map[string]bool{}}
	var latest []message // in reverse order
	size, n := 0, state.Segment
	err = readBackwards(ctx, st, state, func(path string, data []byte) (more bool, err error) {
		size += len(data)
		part.own[transcriptPath(session, n)] = true
		n--
		if len(latest) < contextMessages {
			messages, err := decodeMessages(path, data)
			if err != nil {
				return false, err
			}
			slices.Reverse(messages)
			latest = append(latest, messages...)
		}
		return size < ownBytes && state.Segment-n < maxOwnSegments, nil
	})
	if err != nil {
		return part, err
	}
	if n == 0 { // else some of the facts are of earlier messages
		part.own[factsPath(sessionKey(session))] = true
	}
	part.words = contextText(latest)
	return part, nil
}

// contextText returns the words of the latest messages that somebody said. latest is in reverse
// order.
func contextText(latest []message) string {
	var words []string
	said := 0
	for _, m := range latest {
		if m.Role != protocol.RoleUser && m.Role != protocol.RoleAssistant {
			continue
		}
		for word := range strings.FieldsSeq(m.Content) {
			if len(words) == contextWords {
				break
			}
			words = append(words, word)
		}
		if said++; said == contextMessages || len(words) == contextWords {
			break
		}
	}
	return strings.Join(words, " ")
}
