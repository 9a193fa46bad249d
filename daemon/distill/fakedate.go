package distill

import (
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode"

	"evalctl/daemon/language"
)

// mention is a date that a sentence names.
type mention struct {
	end  int       // of its words, in bytes of the sentence
	date time.Time // zero unless it names a day
	says string    // the date in words; empty if the sentence says as much
}

// resolveDates returns a sentence with each relative date explained in parentheses, "yesterday (7
// May 2023)", and the first day that it names. Dates count from the day on which it was written. If
// that is zero, only complete dates are read.
func resolveDates(sentence string, written time.Time) (resolved string, day time.Time) {
	r := newDateReader(sentence, written)
	var out strings.Builder
	from := 0
	for i := 0; i < len(r.words); i++ {
		m, ok := r.mention(i)
		if !ok {
			continue
		}
		if day.IsZero() {
			day = m.date
		}
		end := m.end
		for end < len(sentence) && (strings.HasPrefix(sentence[end:], "'s") || strings.HasPrefix(sentence[end:], "’s")) {
			end += len(sentence[end:]) - len(strings.TrimLeft(sentence[end:], "'’s"))
		}
		if m.says != "" {
			out.WriteString(sentence[from:end] + " (" + m.says + ")")
			from = end
		}
		for i+1 < len(r.words) && r.words[i+1].start < end {
			i++
		}
	}
	out.WriteString(sentence[from:])
	return out.String(), day
}

// dateReader reads a sentence word by word.
type dateReader struct {
	words []dateWord
	today time.Time // at midnight in UTC; zero if unknown
}

type dateWord struct {
	text       string // in lower case
	start, end int
	capital    bool // begins with a capital
}

func newDateReader(sentence string, written time.Time) *dateReader {
	r := &dateReader{}
	if !written.IsZero() {
		y, m, d := written.Date()
		r.today = time.Date(y, m, d, 0, 0, 0, 0, time.UTC)
	}
	start := -1
	for i, c := range sentence + " " {
		word := unicode.IsLetter(c) || unicode.IsDigit(c)
		switch {
		case word && start < 0:
			start = i
		case !word && start >= 0:
			word := sentence[start:i]
			r.words = append(r.words, dateWord{strings.ToLower(word), start, i, word[0] <= 'Z'})
			start = -1
		}
	}
	return r
}

// at returns the word at i, "" outside the sentence.
func (r *dateReader) at(i int) string {
	if i < 0 || i >= len(r.words) {
		return ""
	}
	return r.words[i].text
}

// month returns the month that word i names, else 0. "may" and "march" in lower case are verbs.
func (r *dateReader) month(i int) time.Month {
	month := language.Months[r.at(i)]
	if (month == time.May || month == time.March) && !r.words[i].capital {
		return 0
	}
	return month
}

// mention reads the date that begins with word i.
func (r *dateReader) mention(i int) (mention, bool) {
	readers := []func(int) (mention, int){r.iso, r.monthDay, r.dayMonth}
	if !r.today.IsZero() {
		readers = append(readers, r.near, r.relative, r.ago, r.ahead)
	}
	for _, read := range readers {
		if m, words := read(i); words > 0 {
			m.end = r.words[i+words-1].end
			return m, true
		}
	}
	return mention{}, false
}

func (r *dateReader) day(days int) mention {
	d := r.today.AddDate(0, 0, days)
	return mention{date: d, says: dayText(d)}
}

func dayText(d time.Time) string { return d.Format("2 January 2006") }

// iso reads "2023-05-08".
func (r *dateReader) iso(i int) (mention, int) {
	year, month := language.Year(r.at(i)), language.Number(r.at(i+1), 12)
	if d, ok := calendarDay(year, time.Month(month), language.Number(r.at(i+2), 31)); ok && len(r.at(i+1)) == 2 &&
		r.words[i+2].end-r.words[i].start == len(time.DateOnly) {
		return mention{date: d}, 3
	}
	return mention{}, 0
}

// monthDay reads "May 8", "May 8th, 2023" and "May 2023", which names no day.
func (r *dateReader) monthDay(i int) (mention, int) {
	month := r.month(i)
	if month == 0 {
		return mention{}, 0
	}
	if d := language.Day(r.at(i + 1)); d > 0 {
		return r.complete(month, d, 2, i)
	}
	if language.Year(r.at(i+1)) > 0 {
		return mention{}, 2
	}
	return mention{}, 0
}

// dayMonth reads "8 May", "8th of May" and "8 May 2023".
func (r *dateReader) dayMonth(i int) (mention, int) {
	d, n := language.Day(r.at(i)), 1
	if r.at(i+n) == "of" {
		n++
	}
	if month := r.month(i + n); d > 0 && month > 0 {
		return r.complete(month, d, n+1, i)
	}
	return mention{}, 0
}

// complete reads the year after n words of a date. Without a year, it returns the nearest such
// date.
func (r *dateReader) complete(month time.Month, day, n, i int) (mention, int) {
	if year := language.Year(r.at(i + n)); year > 0 {
		d, ok := calendarDay(year, month, day)
		if !ok {
			return mention{}, 0
		}
		return mention{date: d}, n + 1
	}
	if r.today.IsZero() {
		return mention{}, 0
	}
	var nearest time.Time
	for year := r.today.Year() - 1; year <= r.today.Year()+1; year++ {
		d, ok := calendarDay(year, month, day)
		if ok && (nearest.IsZero() || d.Sub(r.today).Abs() < nearest.Sub(r.today).Abs()) {
			nearest = d
		}
	}
	if nearest.IsZero() {
		return mention{}, 0
	}
	return mention{date: nearest, says: dayText(nearest)}, n
}

// near reads "today", "last night", "the day before yesterday" and the like.
func (r *dateReader) near(i int) (mention, int) {
	switch r.at(i) {
	case "today", "tonight":
		return r.day(0), 1
	case "yesterday":
		return r.day(-1), 1
	case "tomorrow":
		return r.day(1), 1
	case "day":
		if r.at(i+1) == "before" && r.at(i+2) == "yesterday" {
			return r.day(-2), 3
		}
		if r.at(i+1) == "after" && r.at(i+2) == "tomorrow" {
			return r.day(2), 3
		}
	case "last":
		if r.at(i+1) == "night" {
			return r.day(-1), 2
		}
	case "this":
		switch r.at(i + 1) {
		case "morning", "afternoon", "evening":
			return r.day(0), 2
		}
	}
	return mention{}, 0
}

// relative reads "last Saturday", "next week", "this month" and "last May".
func (r *dateReader) relative(i int) (mention, int) {
	step := 0
	switch r.at(i) {
	case "last", "past":
		step = -1
	case "next":
		step = 1
	case "this":
	default:
		return mention{}, 0
	}
	unit := r.at(i + 1)
	if weekday, ok := language.Weekdays[unit]; ok {
		days := (int(weekday-r.today.Weekday()) + 7) % 7 // from now on
		switch {
		case step < 0:
			days -= 7
		case step > 0 && days == 0:
			days = 7
		}
		return r.day(days), 2
	}
	if month := r.month(i + 1); month > 0 {
		year := r.today.Year()
		switch {
		case step < 0 && month >= r.today.Month():
			year--
		case step > 0 && month <= r.today.Month():
			year++
		}
		return mention{says: fmt.Sprint(month, " ", year)}, 2
	}
	sinceMonday := (int(r.today.Weekday()) + 6) % 7
	monday := r.today.AddDate(0, 0, 7*step-sinceMonday)
	switch unit {
	case "week":
		return mention{says: "the week of " + dayText(monday)}, 2
	case "weekend":
		return mention{says: "the weekend of " + dayText(monday.AddDate(0, 0, 5))}, 2
	case "month":
		return mention{says: monthText(r.today, step)}, 2
	case "year":
		return mention{says: strconv.Itoa(r.today.Year() + step)}, 2
	}
	return mention{}, 0
}

// ago reads "three days ago" and "a couple of months ago".
func (r *dateReader) ago(i int) (mention, int) {
	n, words := r.count(i)
	if n == 0 || r.at(i+words+1) != "ago" {
		return mention{}, 0
	}
	if m := r.distant(-n, r.at(i+words)); m.says != "" {
		return m, words + 2
	}
	return mention{}, 0
}

// ahead reads "in three days".
func (r *dateReader) ahead(i int) (mention, int) {
	n, words := r.count(i + 1)
	if r.at(i) != "in" || n == 0 || r.at(i+words+2) == "of" {
		return mention{}, 0
	}
	if m := r.distant(n, r.at(i+1+words)); m.says != "" {
		return m, words + 2
	}
	return mention{}, 0
}

// count reads a number of units of time.
func (r *dateReader) count(i int) (n, words int) {
	words = 1
	switch r.at(i) {
	case "a", "an":
		if next := r.at(i + 1); next == "few" {
			return 3, 2
		} else if next == "couple" && r.at(i+2) == "of" {
			return 2, 3
		}
		return 1, 1
	case "couple":
		return 2, 1
	}
	if n = numberWords[r.at(i)]; n == 0 {
		n = language.Number(r.at(i), 999)
	}
	return n, words
}

// distant returns a date some units from today. A distance in months or years names no day.
func (r *dateReader) distant(n int, unit string) mention {
	switch strings.TrimSuffix(unit, "s") {
	case "day":
		return r.day(n)
	case "week":
		return mention{says: "about " + dayText(r.today.AddDate(0, 0, 7*n))}
	case "month":
		return mention{says: monthText(r.today, n)}
	case "year":
		return mention{says: strconv.Itoa(r.today.Year() + n)}
	}
	return mention{}
}

// monthText returns the month some months from a day.
func monthText(day time.Time, months int) string {
	return time.Date(day.Year(), day.Month()+time.Month(months), 1, 0, 0, 0, 0, time.UTC).Format("January 2006")
}

func calendarDay(year int, month time.Month, day int) (time.Time, bool) {
	d := time.Date(year, month, day, 0, 0, 0, 0, time.UTC)
	return d, year > 0 && month > 0 && day > 0 && d.Month() == month && d.Day() == day
}

var numberWords = map[string]int{
	"one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9,
	"ten": 10, "eleven": 11, "twelve": 12,
}
