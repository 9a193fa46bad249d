package reader

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"evalctl/internal/llm"
	"evalctl/internal/prose"
	"evalctl/internal/reading"
)

// In augmented mode the offline reader follows the prompt in simple cases:
//
//   - Of two sentences that say nearly the same, it quotes the one of the newer note.
//   - Asked for a date, it adds the date of a word such as "yesterday", from the note's date.
//   - Asked "how many", it counts the items of the list whose heading is about the question.

const (
	// sameShare is the share of their terms that two sentences about one thing have in common.
	sameShare = 0.5
	// Conflicts are looked for among this many of the best sentences.
	maxCompared = 64
	// A list is counted if its heading and its note cover this share of the question's weight.
	minListCoverage = 0.5
)

// newest drops the sentences that a sentence of a newer note nearly repeats.
func newest(found []quotation) []quotation {
	compared := found[:min(len(found), maxCompared)]
	var kept []quotation
	for _, q := range found {
		old, dated := reading.Day(q.note.Date)
		if !dated || !slices.ContainsFunc(compared, func(p quotation) bool {
			day, ok := reading.Day(p.note.Date)
			return ok && day.After(old) && sameThing(p.terms, q.terms)
		}) {
			kept = append(kept, q)
		}
	}
	return kept
}

func sameThing(a, b map[string]bool) bool {
	common := 0
	for t := range a {
		if b[t] {
			common++
		}
	}
	return float64(common) >= sameShare*float64(len(a)+len(b)-common)
}

var weekdays = []string{"sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday"}

var relativeDate = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)\b(today|tonight|this (?:morning|afternoon|evening)|` +
		`yesterday|last night|tomorrow|\d{1,3} days ago|(?:last|next) (?:` + strings.Join(weekdays, "|") + `))\b`)
})

var asksForDate = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)\b(when|dates?|days?)\b`)
})

// resolveDate returns a quotation with the date of the first phrase in it that counts from the
// note's date. "The last Sunday of May" does not.
func resolveDate(q quotation) string {
	at := relativeDate().FindStringIndex(q.text)
	day, ok := reading.Day(q.note.Date)
	if at == nil || !ok || strings.HasPrefix(q.text[at[1]:], " of ") {
		return q.text
	}
	phrase := q.text[at[0]:at[1]]
	day = day.AddDate(0, 0, daysFrom(day.Weekday(), strings.ToLower(phrase)))
	return fmt.Sprintf("%s (%s: %s) [%d]", q.text, phrase, day.Format("2 January 2006"), q.note.ID)
}

// daysFrom returns how many days after a day of the week a phrase matched by relativeDate is.
func daysFrom(day time.Weekday, phrase string) int {
	first, rest, _ := strings.Cut(phrase, " ")
	n, err := strconv.Atoi(first)
	switch {
	case err == nil:
		return -n
	case phrase == "yesterday", phrase == "last night":
		return -1
	case phrase == "tomorrow":
		return 1
	case first == "last":
		return -1 - (int(day)-slices.Index(weekdays, rest)+6)%7
	case first == "next":
		return 1 + (slices.Index(weekdays, rest)-int(day)+6)%7
	}
	return 0
}

// countList answers a question for a number by the items of a list. It returns "" for another
// question, without such a list, and if an equally good quotation has a number itself.
func countList(question string, notes []note, contexts []map[string]bool, weights reading.Weights, found []quotation) string {
	if !strings.Contains(strings.ToLower(question), "how many") {
		return ""
	}
	best, answer := 0.0, ""
	for i, n := range notes {
		for _, l := range lists(n.Text) {
			score := scoreSentence(weights, llm.Terms(n.Title+" "+l.about), contexts[i])
			if len(l.items) > 1 && score > best && score >= minListCoverage*weights.Total {
				best = score
				answer = fmt.Sprintf("%d: %s. [%d]", len(l.items), strings.Join(l.items, ", "), n.ID)
			}
		}
	}
	for _, q := range found {
		if q.score >= best && hasNumber(q.text) {
			return ""
		}
	}
	return answer
}

var numbers = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)\d|\b(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve)\b`)
})

func hasNumber(text string) bool { return numbers().MatchString(text) }

// itemList is a list in Markdown. About is the heading or the line with a colon before it.
type itemList struct {
	about string
	items []string
}

// lists returns the lists of a text. A list ends at the first line that is not an item.
func lists(text string) []itemList {
	var all []itemList
	about, open := "", false
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		item, isItem := prose.Item(line)
		switch {
		case line == "":
		case isItem:
			if !open {
				all = append(all, itemList{about: about})
			}
			l := &all[len(all)-1]
			l.items = append(l.items, strings.TrimRight(item, ".,;"))
			open = true
			continue
		case strings.HasPrefix(line, "#"), strings.HasSuffix(line, ":"):
			about, open = strings.Trim(line, "#: "), false
		default:
			about, open = "", false
		}
	}
	return all
}
