package reader

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"evalctl/internal/llm"
	"evalctl/internal/prose"
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
	asked, dated := noteDay(in.QuestionDate)
	notes := slices.DeleteFunc(slices.Clone(in.Notes), func(n note) bool {
		written, ok := noteDay(n.Date)
		return dated && ok && written.After(asked)
	})
	weights, total := weighTerms(llm.Terms(in.Question), notes)
	found := findQuotations(notes, weights, total)
	var counted string
	if augmented {
		found = newest(found)
		counted = countList(in.Question, notes, weights, total, found)
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
func findQuotations(notes []note, weights map[string]float64, total float64) []quotation {
	bonus := noteBonuses(notes)
	var found []quotation
	for i, n := range notes {
		context := llm.Terms(n.Title + " " + n.Text)
		for _, s := range noteSentences(n.Text) {
			terms := llm.Terms(s.text)
			score := scoreSentence(weights, terms, context)
			if s.heading || strings.HasSuffix(s.text, "?") {
				score *= namingShare
			}
			if score >= minCoverage*total && score > 0 {
				found = append(found, quotation{s.text, terms, n, score * (1 + bonus[i])})
			}
		}
	}
	// Stable: equal sentences keep the order of the notes.
	slices.SortStableFunc(found, func(a, b quotation) int { return cmp.Compare(b.score, a.score) })
	return found
}

// weighTerms weighs each term of the question by its rarity among the notes. A term that no note
// has weighs most, because the notes then lack the subject of the question.
func weighTerms(question map[string]bool, notes []note) (weights map[string]float64, total float64) {
	weights = map[string]float64{}
	for t := range question {
		weights[t] = 0.5
	}
	for _, n := range notes {
		for t := range llm.Terms(n.Title + " " + n.Text) {
			if _, ok := weights[t]; ok {
				weights[t]++
			}
		}
	}
	// Sorted: the last bits of a sum in the map's order would vary.
	for _, t := range slices.Sorted(maps.Keys(weights)) {
		weights[t] = math.Log(1 + float64(len(notes)+1)/weights[t])
		total += weights[t]
	}
	return weights, total
}

// scoreSentence returns the weight of the question's terms that the sentence has, plus a share of
// the weight of terms that only its note has. A sentence with none of its own scores 0.
func scoreSentence(weights map[string]float64, sentence, context map[string]bool) float64 {
	own, rest := 0.0, 0.0
	for _, t := range slices.Sorted(maps.Keys(weights)) {
		if sentence[t] {
			own += weights[t]
		} else if context[t] {
			rest += weights[t]
		}
	}
	if own == 0 {
		return 0
	}
	return own + rest*contextShare
}

// noteBonuses returns the small advantage of newer notes, then of higher ranked ones.
func noteBonuses(notes []note) []float64 {
	var dates []time.Time
	for _, n := range notes {
		if d, ok := noteDay(n.Date); ok {
			dates = append(dates, d)
		}
	}
	slices.SortFunc(dates, time.Time.Compare)
	out := make([]float64, len(notes))
	for i, n := range notes {
		out[i] = rankBonus * float64(len(notes)-i) / float64(len(notes))
		if d, ok := noteDay(n.Date); ok {
			older, _ := slices.BinarySearchFunc(dates, d, time.Time.Compare)
			out[i] += recencyBonus * float64(older) / float64(len(dates))
		}
	}
	return out
}

// noteDay returns the day of an RFC 3339 date or time as it is written, in its own zone.
func noteDay(s string) (time.Time, bool) {
	t, err := time.Parse(time.DateOnly, s[:min(len(s), len(time.DateOnly))])
	return t, err == nil
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
