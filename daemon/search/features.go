package search

import (
	"slices"

	"evalctl/daemon/language"
	"evalctl/daemon/search/question"
)

// features are the summands of a chunk's score.
type features struct {
	bm25, neighbours, feedback, language, date, reply float64
}

func (e *features) score() float64 {
	return e.bm25 + e.neighbours + e.feedback + e.language + e.date + e.reply
}

// components adds the features to into by their component constants: bm25 always, the others if
// they are above 0.
func (e *features) components(into map[string]float64) {
	for i, score := range [...]float64{e.bm25, e.neighbours, e.feedback, e.language, e.date, e.reply} {
		if i == 0 || score > 0 {
			into[wordComponents[i]] = score
		}
	}
}

// scoredChunk is a chunk with the features of its score.
type scoredChunk struct {
	candidate
	features
}

func chunkNumbers(of []scoredChunk) []uint32 {
	numbers := make([]uint32, len(of))
	for i, f := range of {
		numbers[i] = f.chunk
	}
	return numbers
}

// addLanguage raises the scores of chunks whose documents are in the language of the query, or in
// none, by a share of their other features. Names are found in every language.
func (ix *Index) addLanguage(of language.Language, best []scoredChunk) {
	if of == language.None {
		return
	}
	for i := range best {
		switch ix.chunks[best[i].chunk].doc.Language {
		case of, language.None, language.Code:
			best[i].language = ix.weights.language * best[i].features.score()
		}
	}
}

// addDates raises the scores of chunks whose documents are dated in one of the periods, by a share
// of their other features. Undated documents gain nothing.
func (ix *Index) addDates(periods []question.Period, best []scoredChunk) {
	for i := range best {
		date := ix.chunks[best[i].chunk].doc.Date
		in := func(p question.Period) bool { return p.Contains(date) }
		if !date.IsZero() && slices.ContainsFunc(periods, in) {
			best[i].date = ix.weights.date * best[i].features.score()
		}
	}
}
