package reading

import (
	"maps"
	"math"
	"slices"

	"evalctl/internal/llm"
)

// Weights are the weights of a question's terms.
type Weights struct {
	// Total is the sum of the weights.
	Total float64

	of    map[string]float64
	terms []string // sorted: the last bits of sums in the order of the map would vary
}

// Weigh weighs the terms of a question by their rarity among the terms of texts. A term that no text
// has weighs most, because the texts then lack the subject of the question.
func Weigh(question string, texts []map[string]bool) Weights {
	w := Weights{of: map[string]float64{}}
	asked := llm.Terms(question)
	w.terms = slices.Sorted(maps.Keys(asked))
	for _, t := range w.terms {
		having := 0.5
		for _, text := range texts {
			if text[t] {
				having++
			}
		}
		w.of[t] = math.Log(1 + float64(len(texts)+1)/having)
		w.Total += w.of[t]
	}
	return w
}

// Cover returns the weight of the question's terms that a text has, and of those that only its
// context has.
func (w Weights) Cover(text, context map[string]bool) (own, near float64) {
	for _, t := range w.terms {
		switch {
		case text[t]:
			own += w.of[t]
		case context[t]:
			near += w.of[t]
		}
	}
	return own, near
}
