package llmtest

import (
	"cmp"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
)

// Vector returns the response of /embeddings to a text: three dimensions that differ between short
// texts.
func Vector(text string) []float32 {
	sum := 0
	for i := range len(text) {
		sum += (i + 1) * int(text[i])
	}
	return []float32{1, float32(len(text)), float32(sum)}
}

// share returns the share of the query's words that a text has.
func share(query, text string) float64 {
	words := strings.Fields(query)
	found := 0
	for _, w := range words {
		if slices.Contains(strings.Fields(text), w) {
			found++
		}
	}
	return float64(found) / float64(max(1, len(words)))
}

// embeddings responds with the last text first, so that clients must use the index.
func embeddings(w http.ResponseWriter, c Call, r Reply) {
	if r.Body != "" {
		write(w, r.Body)
		return
	}
	data := []object{}
	for i, text := range slices.Backward(c.Input) {
		data = append(data, object{"object": "embedding", "index": i, "embedding": Vector(text)})
	}
	answer := object{"object": "list", "model": c.Model, "data": data}
	if u := usage(r); u != nil {
		answer["usage"] = u
	}
	b, _ := json.Marshal(answer)
	write(w, string(b))
}

func rerank(w http.ResponseWriter, c Call, r Reply) {
	if r.Body != "" {
		write(w, r.Body)
		return
	}
	texts, score := c.Documents, "relevance_score"
	if c.Texts != nil {
		texts, score = c.Texts, "score"
	}
	ranked := []object{}
	for i, text := range texts {
		ranked = append(ranked, object{"index": i, score: share(c.Query, text)})
	}
	slices.SortStableFunc(ranked, func(a, b object) int { return cmp.Compare(b[score].(float64), a[score].(float64)) })
	var b []byte
	if c.Texts != nil {
		b, _ = json.Marshal(ranked)
	} else {
		b, _ = json.Marshal(object{"model": c.Model, "results": ranked})
	}
	write(w, string(b))
}
