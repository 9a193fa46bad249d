package actor

import (
	"cmp"
	"maps"
	"math"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"evalctl/internal/llm"
	"evalctl/internal/prose"
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
	asked, dated := day(m.AskedOn)
	return slices.DeleteFunc(slices.Clone(m.Notes), func(n note) bool {
		written, ok := day(n.Date)
		return dated && ok && written.After(asked)
	})
}

// rank sets the scores, from 0 to about 1, and sorts the sentences, best first.
func rank(question string, all []sentence) {
	weights := weigh(llm.Terms(question), all)
	terms := slices.Sorted(maps.Keys(weights)) // sums of fractions depend on their order
	total := 0.0
	for _, t := range terms {
		total += weights[t]
	}
	named := namedSpeakers(question, all)
	for i := range all {
		s := &all[i]
		for _, t := range terms {
			switch {
			case s.terms[t]:
				s.score += weights[t] / total
			case s.near[t]:
				s.score += nearby * weights[t] / total
			}
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

// weigh weighs the terms of a question by rarity. A term that no sentence has gets the greatest
// weight, because the subject of the question is then missing.
func weigh(question map[string]bool, all []sentence) map[string]float64 {
	weights := map[string]float64{}
	for t := range question {
		having := 0.5
		for _, s := range all {
			if s.terms[t] {
				having++
			}
		}
		weights[t] = math.Log(1 + float64(len(all)+1)/having)
	}
	return weights
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
	var days []time.Time
	for _, n := range notes {
		if d, ok := day(n.Date); ok {
			days = append(days, d)
		}
	}
	slices.SortFunc(days, time.Time.Compare)
	ages := make([]float64, len(notes))
	for i, n := range notes {
		if d, ok := day(n.Date); ok && len(days) > 1 {
			older, _ := slices.BinarySearchFunc(days, d, time.Time.Compare)
			ages[i] = float64(older) / float64(len(days)-1)
		}
	}
	return ages
}
