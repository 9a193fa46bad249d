package reader

import (
	"cmp"
	"slices"
	"strings"

	"evalctl/internal/llm"
	"evalctl/internal/prose"
	"evalctl/internal/reading"
)

const (
	maxQuotes = 3
	// A sentence must cover this share of the question's weight to be quoted.
	minCoverage = 0.25
	// Further quotes must score at least this share of the best one.
	minOfBest = 0.5
	// The weight of a term that the sentence lacks and the rest of its note has.
	contextShare = 0.4
	// The advantage of a newer note, and of one ranked higher, over an equal sentence.
	recencyBonus = 0.05
	rankBonus    = 0.01
	// The weight of a heading or a question, which seldom answers anything itself.
	namingShare = 0.5
)

// quotation is a sentence of a note that may answer the question, with its score.
type quotation struct {
	text  string
	terms map[string]bool
	note  note
	score float64
}

// fakeAnswer is the offline reader's answer: up to maxQuotes sentences of the notes, each verbatim,
// best first, or Abstention. Notes dated after the question cannot answer it. Augmented mode is in
// fakeaugmented.go.
func fakeAnswer(in input, augmented bool) string {
	notes := slices.DeleteFunc(slices.Clone(in.Notes), func(n note) bool { return !reading.Known(n.Date, in.QuestionDate) })
	contexts := make([]map[string]bool, len(notes))
	for i, n := range notes {
		contexts[i] = llm.Terms(n.Title + " " + n.Text)
	}
	weights := reading.Weigh(in.Question, contexts)
	found := findQuotations(notes, contexts, weights)
	var counted string
	if augmented {
		found = newest(found)
		counted = countList(in.Question, notes, contexts, weights, found)
	}
	var quotes []string
	for _, q := range found {
		if len(quotes) == maxQuotes || q.score < minOfBest*found[0].score {
			break
		}
		if augmented && asksForDate().MatchString(in.Question) {
			q.text = resolveDate(q)
		}
		if !slices.Contains(quotes, q.text) {
			quotes = append(quotes, q.text)
		}
	}
	if counted != "" {
		quotes = append([]string{counted}, quotes[:min(len(quotes), maxQuotes-1)]...)
	}
	if len(quotes) == 0 {
		return Abstention
	}
	return strings.Join(quotes, " ")
}

// findQuotations returns the sentences that cover enough of the question, best first.
func findQuotations(notes []note, contexts []map[string]bool, weights reading.Weights) []quotation {
	bonus := noteBonuses(notes)
	var found []quotation
	for i, n := range notes {
		for _, s := range noteSentences(n.Text) {
			terms := llm.Terms(s.text)
			score := scoreSentence(weights, terms, contexts[i])
			if s.heading || strings.HasSuffix(s.text, "?") {
				score *= namingShare
			}
			if score >= minCoverage*weights.Total && score > 0 {
				found = append(found, quotation{s.text, terms, n, score * (1 + bonus[i])})
			}
		}
	}
	// Stable: equal sentences keep the order of the notes.
	slices.SortStableFunc(found, func(a, b quotation) int { return cmp.Compare(b.score, a.score) })
	return found
}

// scoreSentence returns the weight of the question's terms that the sentence has, plus a share of
// the weight of terms that only its note has. A sentence with none of its own scores 0.
func scoreSentence(weights reading.Weights, sentence, context map[string]bool) float64 {
	own, rest := weights.Cover(sentence, context)
	if own == 0 {
		return 0
	}
	return own + rest*contextShare
}

// noteBonuses returns the small advantage of newer notes, then of higher ranked ones.
func noteBonuses(notes []note) []float64 {
	dates := make([]string, len(notes))
	for i, n := range notes {
		dates[i] = n.Date
	}
	older, dated := reading.Older(dates)
	out := make([]float64, len(notes))
	for i := range notes {
		out[i] = rankBonus * float64(len(notes)-i) / float64(len(notes))
		out[i] += recencyBonus * float64(older[i]) / float64(max(dated, 1))
	}
	return out
}

// noteSentence is a verbatim piece of a note.
type noteSentence struct {
	text    string
	heading bool
}

// noteSentences cuts Markdown into sentences. Lines are boundaries; the marks of headings,
// bullets, numbered items and quotations are left out.
func noteSentences(text string) []noteSentence {
	var out []noteSentence
	for line := range strings.Lines(text) {
		heading := isHeading(strings.TrimSpace(line))
		for s := range prose.Split(prose.Unmarked(line)) {
			out = append(out, noteSentence{s, heading})
		}
	}
	return out
}
