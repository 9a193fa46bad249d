package actor

import (
	"cmp"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"

	"evalctl/internal/llm"
	"evalctl/internal/prose"
	"evalctl/internal/reading"
)

const (
	// maxQuotes limits the number of sentences in an offline answer.
	maxQuotes = 3
	// minShare is the share of the question's weight that the best sentence must reach.
	minShare = 0.45
	// ofBest is the share of the best sentence's score that further sentences must reach.
	ofBest = 0.7
	// nearby is the weight of a term that only the same turn or the one before it has.
	nearby = 0.6
	// otherSpeaker is the factor for a sentence of a speaker whom the question does not name, if it
	// names another one.
	otherSpeaker = 0.6
	// asking is the factor for a sentence that is a question.
	asking = 0.4
	// newest is the bonus of the newest note over the oldest.
	newest = 0.05
)

// sentence is a part of a note with its context.
type sentence struct {
	text    string
	terms   map[string]bool
	near    map[string]bool // of its turn, its speaker and the turn before
	speaker string          // lower case, may be empty
	date    string
	age     float64 // from 0 for the oldest note to 1 for the newest
	score   float64
}

// fakeAnswer returns the offline reader's answer: the sentences that best match the question, or
// Abstention. The answer to a question for a time begins with the date given by the best sentence.
func fakeAnswer(m message) string {
	all := sentencesOf(known(m))
	rank(m.Question, all)
	if len(all) == 0 || all[0].score < minShare {
		return Abstention
	}
	var quotes []string
	if asksWhen.MatchString(m.Question) {
		quotes = append(quotes, dateOf(all[0]))
	}
	for _, s := range all {
		if len(quotes) == maxQuotes || s.score < max(minShare, ofBest*all[0].score) {
			break
		}
		if !slices.Contains(quotes, s.text) {
			quotes = append(quotes, s.text)
		}
	}
	return strings.Join(slices.DeleteFunc(quotes, func(q string) bool { return q == "" }), " ")
}

// known returns the notes that existed on the day of asking.
func known(m message) []note {
	return slices.DeleteFunc(slices.Clone(m.Notes), func(n note) bool { return !reading.Known(n.Date, m.AskedOn) })
}

// rank sets the scores, from 0 to about 1, and sorts the sentences, best first.
func rank(question string, all []sentence) {
	terms := make([]map[string]bool, len(all))
	for i, s := range all {
		terms[i] = s.terms
	}
	weights := reading.Weigh(question, terms)
	named := namedSpeakers(question, all)
	for i := range all {
		s := &all[i]
		if own, near := weights.Cover(s.terms, s.near); own+near > 0 {
			s.score = (own + nearby*near) / weights.Total
		}
		if len(named) > 0 && s.speaker != "" && !named[s.speaker] {
			s.score *= otherSpeaker
		}
		if strings.HasSuffix(s.text, "?") {
			s.score *= asking
		}
		s.score *= 1 + newest*s.age
	}
	slices.SortStableFunc(all, func(a, b sentence) int { return cmp.Compare(b.score, a.score) })
}

// namedSpeakers returns the speakers named in a question.
func namedSpeakers(question string, all []sentence) map[string]bool {
	named, asked := map[string]bool{}, strings.ToLower(question)
	for _, s := range all {
		if s.speaker != "" && !named[s.speaker] && strings.Contains(asked, s.speaker) {
			named[s.speaker] = true
		}
	}
	return named
}

// turnStart matches the speaker at the beginning of a line.
var turnStart = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(\p{L}[\p{L}\d .'_-]{0,40}): `)
})

// sentencesOf splits notes into sentences. A line is a turn.
func sentencesOf(notes []note) []sentence {
	ages := agesOf(notes)
	var all []sentence
	for i, n := range notes {
		speaker, before := "", map[string]bool{}
		for line := range strings.Lines(n.Text) {
			line = strings.TrimSpace(line)
			if strings.HasPrefix(line, "# ") || strings.HasPrefix(line, "Date: ") {
				continue // the title and the date of the document
			}
			if m := turnStart().FindStringSubmatch(line); m != nil {
				speaker, line = strings.ToLower(m[1]), line[len(m[0]):]
			}
			if line == "" {
				continue
			}
			turn := llm.Terms(speaker + " " + line)
			near := maps.Clone(before)
			maps.Copy(near, turn)
			before = turn
			for text := range prose.Split(line) {
				all = append(all, sentence{
					text: text, terms: llm.Terms(text), near: near,
					speaker: speaker, date: n.Date, age: ages[i],
				})
			}
		}
	}
	return all
}

// agesOf returns how new each note is, from 0 to 1. A note without a date gets 0.
func agesOf(notes []note) []float64 {
	dates := make([]string, len(notes))
	for i, n := range notes {
		dates[i] = n.Date
	}
	older, dated := reading.Older(dates)
	ages := make([]float64, len(notes))
	for i := range notes {
		ages[i] = float64(older[i]) / float64(max(dated-1, 1))
	}
	return ages
}
