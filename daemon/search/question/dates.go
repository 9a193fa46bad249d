package question

import (
	"slices"
	"strings"
	"time"
	"unicode"

	"evalctl/daemon/language"
)

// Period is the time from one instant to another, which is not part of it.
type Period struct {
	From, To time.Time
}

// Contains reports whether a time is in the period, by its day and time of day as they are written,
// ignoring its zone.
func (p Period) Contains(t time.Time) bool {
	t = time.Date(t.Year(), t.Month(), t.Day(), t.Hour(), t.Minute(), t.Second(), t.Nanosecond(), p.From.Location())
	return !t.Before(p.From) && t.Before(p.To)
}

// writingLag is the number of days after an event in which people still write about it.
const writingLag = 7

// Periods returns the periods that a question names in English: "on 5 March 2023", "in May",
// "during 2022", "two weeks ago", "last Sunday", "in the past three months", "yesterday". Relative
// periods count from asOf and are left out if it is zero. Periods are generous, because people
// write about an event a little later, and count days roughly.
func Periods(question string, asOf time.Time) (periods []Period) {
	r := dateReader{asOf: asOf}
	r.words = strings.FieldsFunc(strings.ToLower(question), func(c rune) bool {
		return !unicode.IsLetter(c) && !unicode.IsDigit(c)
	})
	readers := []func(int) (Period, bool){r.month, r.year, r.ago, r.last, r.yesterday}
	for i := range r.words {
		for _, read := range readers {
			if p, ok := read(i); ok {
				periods = append(periods, p)
			}
		}
	}
	return periods
}

// aboutTime are English words that add nothing to a question about a time.
var aboutTime = strings.Fields("ago last past previous this today yesterday happen happened day days week weeks weekend weekends month months year years since during until before after early mid late go went going on")

// OnlyTime reports whether all English words of a question with a meaning are about a time, as in
// "What happened on 5 March 2023?".
func OnlyTime(question string) bool {
	for start, end := range language.Words(question) {
		word := strings.ToLower(question[start:end])
		_, month := language.Months[word]
		_, weekday := language.Weekdays[word]
		if !month && !weekday && language.Day(word) == 0 && language.Year(word) == 0 && numberOf(word) == 0 &&
			!slices.Contains(aboutTime, word) && language.English.Term(word) != "" {
			return false
		}
	}
	return true
}

// dateReader reads a question word by word.
type dateReader struct {
	words []string
	asOf  time.Time
}

// word returns the word at i, "" outside the question.
func (r *dateReader) word(i int) string {
	if i < 0 || i >= len(r.words) {
		return ""
	}
	return r.words[i]
}

// today returns the beginning of the day on which the question is asked.
func (r *dateReader) today() time.Time {
	y, m, d := r.asOf.Date()
	return time.Date(y, m, d, 0, 0, 0, 0, r.asOf.Location())
}

// month reads "5 march 2023", "march 5th" or "in march" if word i is the name of a month.
func (r *dateReader) month(i int) (Period, bool) {
	month := language.Months[r.words[i]]
	if month == 0 {
		return Period{}, false
	}
	day, year, next := language.Day(r.word(i-1)), 0, i+1
	if day == 0 && r.word(i-1) == "of" {
		day = language.Day(r.word(i - 2))
	}
	if day == 0 {
		if day = language.Day(r.word(next)); day > 0 {
			next++
		}
	}
	if year = language.Year(r.word(next)); year == 0 && !slices.Contains(beforeDate, r.word(i-1)) && day == 0 {
		return Period{}, false // "may" and "march" are verbs as well
	}
	if year == 0 {
		if r.asOf.IsZero() {
			return Period{}, false
		}
		if year = r.asOf.Year(); month > r.asOf.Month() || month == r.asOf.Month() && day > r.asOf.Day() {
			year-- // a question is about the past
		}
	}
	if day > 0 {
		start := time.Date(year, month, day, 0, 0, 0, 0, r.asOf.Location())
		return Period{start.AddDate(0, 0, -1), start.AddDate(0, 0, 1+writingLag)}, true
	}
	start := time.Date(year, month, 1, 0, 0, 0, 0, r.asOf.Location())
	return Period{start, start.AddDate(0, 1, writingLag)}, true
}

// year reads "in 2022".
func (r *dateReader) year(i int) (Period, bool) {
	year := language.Year(r.words[i])
	if year == 0 || !slices.Contains(beforeDate, r.word(i-1)) {
		return Period{}, false
	}
	start := time.Date(year, 1, 1, 0, 0, 0, 0, r.asOf.Location())
	return Period{start, start.AddDate(1, 0, writingLag)}, true
}

// ago reads "two weeks ago" if word i is its number. The period extends by half a unit on both
// sides.
func (r *dateReader) ago(i int) (Period, bool) {
	n, unit := numberOf(r.words[i]), i+1
	if r.word(unit) == "of" { // "a couple of"
		unit++
	}
	if n == 0 || r.asOf.IsZero() || r.word(unit+1) != "ago" {
		return Period{}, false
	}
	then, half, ok := back(r.today(), n, r.word(unit))
	if !ok {
		return Period{}, false
	}
	return Period{then.AddDate(0, 0, -half), then.AddDate(0, 0, 1+half)}, true
}

// last reads "last week", "the past three months" or "last sunday" if word i is its first word.
func (r *dateReader) last(i int) (Period, bool) {
	switch r.words[i] {
	case "last", "past", "previous", "this":
	default:
		return Period{}, false
	}
	if r.asOf.IsZero() {
		return Period{}, false
	}
	n, unit := 1, i+1
	if m := numberOf(r.word(unit)); m > 0 {
		n, unit = m, unit+1
	}
	if day, ok := language.Weekdays[r.word(unit)]; ok {
		ago := (int(r.today().Weekday()) - int(day) + 7) % 7
		if ago == 0 && r.words[i] != "this" {
			ago = 7
		}
		start := r.today().AddDate(0, 0, -ago)
		return Period{start, start.AddDate(0, 0, 2)}, true
	}
	start, half, ok := back(r.today(), n, r.word(unit))
	if !ok {
		return Period{}, false
	}
	return Period{start.AddDate(0, 0, -half), r.today().AddDate(0, 0, 1)}, true
}

func (r *dateReader) yesterday(i int) (Period, bool) {
	if r.words[i] != "yesterday" || r.asOf.IsZero() {
		return Period{}, false
	}
	return Period{r.today().AddDate(0, 0, -1), r.today().AddDate(0, 0, 1)}, true
}

// back returns the day n units of time before day, and half a unit, in days. ok is false if unit is
// not a unit of time.
func back(day time.Time, n int, unit string) (then time.Time, half int, ok bool) {
	switch strings.TrimSuffix(unit, "s") {
	case "day":
		return day.AddDate(0, 0, -n), 1, true
	case "week", "weekend":
		return day.AddDate(0, 0, -7*n), 4, true
	case "month":
		return day.AddDate(0, -n, 0), 15, true
	case "year":
		return day.AddDate(-n, 0, 0), 183, true
	}
	return day, 0, false
}

// beforeDate are the words after which a number is a year, and "may" or "march" is a month.
var beforeDate = strings.Fields("in during since of from last this by until before after early mid late")

var numberWords = map[string]int{
	"a": 1, "an": 1, "one": 1, "two": 2, "couple": 2, "three": 3, "few": 3, "four": 4, "five": 5,
	"six": 6, "seven": 7, "eight": 8, "nine": 9, "ten": 10, "eleven": 11, "twelve": 12,
}

// numberOf returns the number from 1 to 999 that word is, else 0.
func numberOf(word string) int {
	if n := numberWords[word]; n > 0 {
		return n
	}
	return language.Number(word, 999)
}
