package llm

import (
	"math"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

const (
	fakeDontKnow = "I don't know: the notes do not say."

	maxQuotes = 3
	// A sentence must cover this share of the question's weight to be an answer.
	minCoverage = 0.25
	// Further quotes must be at least this good, against the best.
	minOfBest = 0.5
	// What a term counts for that only the rest of the sentence's note has.
	contextShare = 0.4
	// How far a newer note, and one ranked higher, wins over an equal sentence.
	recencyBonus = 0.05
	rankBonus    = 0.01
	// A heading or a question names what an answer is about; it seldom is one.
	namingShare = 0.5
)

// quotation is a sentence of a note that may answer the question.
type quotation struct {
	text  string
	score float64
}

// quoteNotes answers with up to maxQuotes sentences, best first. Notes dated
// after the question cannot answer it.
func quoteNotes(question, questionDate string, notes []fakeNote) string {
	asked, dated := parseDate(questionDate)
	notes = slices.DeleteFunc(slices.Clone(notes), func(n fakeNote) bool {
		written, ok := parseDate(n.Date)
		return dated && ok && written.After(asked)
	})
	weights, total := weigh(terms(question), notes)
	bonus := bonuses(notes)

	var found []quotation
	for i, n := range notes {
		context := terms(n.Title + " " + n.Text)
		for _, s := range sentences(n.Text) {
			score := score(weights, terms(s.text), context)
			if s.heading || strings.HasSuffix(s.text, "?") {
				score *= namingShare
			}
			if score >= minCoverage*total && score > 0 {
				found = append(found, quotation{s.text, score * (1 + bonus[i])})
			}
		}
	}
	// Stable: equal sentences keep the order of the notes.
	slices.SortStableFunc(found, func(a, b quotation) int {
		switch {
		case a.score > b.score:
			return -1
		case a.score < b.score:
			return 1
		}
		return 0
	})
	var quotes []string
	for _, q := range found {
		if len(quotes) == maxQuotes || q.score < minOfBest*found[0].score {
			break
		}
		if !slices.Contains(quotes, q.text) {
			quotes = append(quotes, q.text)
		}
	}
	if len(quotes) == 0 {
		return fakeDontKnow
	}
	return strings.Join(quotes, " ")
}

// weigh gives each question term a weight that grows with its rarity among the
// notes. A term that no note has weighs most: it is what the notes do not say.
func weigh(question map[string]bool, notes []fakeNote) (weights map[string]float64, total float64) {
	weights = map[string]float64{}
	for t := range question {
		weights[t] = 0.5
	}
	for _, n := range notes {
		for t := range terms(n.Title + " " + n.Text) {
			if _, ok := weights[t]; ok {
				weights[t]++
			}
		}
	}
	// Sorted: a sum in the map's order would differ in its last bits.
	for _, t := range sortedKeys(weights) {
		weights[t] = math.Log(1 + float64(len(notes)+1)/weights[t])
		total += weights[t]
	}
	return weights, total
}

// score is the weight of the question's terms that the sentence has, plus a
// share of those that only its note has. A sentence with none of its own is 0.
func score(weights map[string]float64, sentence, context map[string]bool) float64 {
	own, around := 0.0, 0.0
	for _, t := range sortedKeys(weights) {
		if sentence[t] {
			own += weights[t]
		} else if context[t] {
			around += weights[t]
		}
	}
	if own == 0 {
		return 0
	}
	return own + around*contextShare
}

func sortedKeys(m map[string]float64) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// bonuses is the small advantage of newer notes, then of higher ranked ones.
func bonuses(notes []fakeNote) []float64 {
	var dates []time.Time
	for _, n := range notes {
		if d, ok := parseDate(n.Date); ok {
			dates = append(dates, d)
		}
	}
	slices.SortFunc(dates, time.Time.Compare)
	out := make([]float64, len(notes))
	for i, n := range notes {
		out[i] = rankBonus * float64(len(notes)-i) / float64(len(notes))
		if d, ok := parseDate(n.Date); ok {
			older, _ := slices.BinarySearchFunc(dates, d, time.Time.Compare)
			out[i] += recencyBonus * float64(older) / float64(len(dates))
		}
	}
	return out
}

// parseDate reads the day of an RFC 3339 date or time, as it is written.
func parseDate(s string) (time.Time, bool) {
	t, err := time.Parse(time.DateOnly, s[:min(len(s), len(time.DateOnly))])
	return t, err == nil
}

// sentence is a verbatim piece of a text.
type sentence struct {
	text    string
	heading bool
}

// sentences cuts markdown into sentences. Lines are boundaries; heading, bullet,
// number and quote marks are left out.
func sentences(text string) []sentence {
	var out []sentence
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		heading := strings.HasPrefix(line, "#")
		line = trimBullet(strings.TrimSpace(strings.TrimLeft(line, "#>")))
		for line != "" {
			n := sentenceEnd(line)
			out = append(out, sentence{line[:n], heading})
			line = strings.TrimLeftFunc(line[n:], unicode.IsSpace)
		}
	}
	return out
}

func trimBullet(line string) string {
	mark, rest, ok := strings.Cut(line, " ")
	if !ok {
		return line
	}
	number := strings.TrimRight(mark, ".)")
	numbered := number != mark && number != "" && strings.Trim(number, "0123456789") == ""
	if numbered || mark == "-" || mark == "*" || mark == "+" {
		return strings.TrimSpace(rest)
	}
	return line
}

// sentenceEnd is the length of the first sentence: up to a full stop, question
// or exclamation mark that is followed by a space and does not end an
// abbreviation.
func sentenceEnd(line string) int {
	for i := 0; i < len(line); {
		r, size := utf8.DecodeRuneInString(line[i:])
		i += size
		if r != '.' && r != '!' && r != '?' {
			continue
		}
		end := i + len(line[i:]) - len(strings.TrimLeft(line[i:], `"')]*_”’`))
		if end == len(line) {
			return end
		}
		next := strings.TrimLeftFunc(line[end:], unicode.IsSpace)
		if next == line[end:] {
			continue
		}
		first, _ := utf8.DecodeRuneInString(next)
		if !unicode.IsLower(first) && (r != '.' || !abbreviated(line[:i-1])) {
			return end
		}
	}
	return len(line)
}

// abbreviated tells whether the word before a full stop is short for another.
func abbreviated(before string) bool {
	word := before[strings.LastIndexFunc(before, unicode.IsSpace)+1:]
	word = strings.TrimLeft(word, `"'(`)
	switch strings.ToLower(word) {
	case "mr", "mrs", "ms", "dr", "prof", "st", "no", "vs", "approx", "e.g", "i.e", "etc", "p.m", "a.m":
		return true
	}
	// An initial, as in "J. Marsh".
	r, size := utf8.DecodeRuneInString(word)
	return size == len(word) && unicode.IsUpper(r)
}
