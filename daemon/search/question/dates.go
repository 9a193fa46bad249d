package question

import (
	"maps"
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
//
// "before 2022", "until May", "after 5 March 2023" and "since last Sunday" name all the time on
// that side, up to the day of asOf. Such a period has no day that the question excludes, and is
// left out if nothing remains. "The week before 5 March 2023" names that day, because people write
// about the week on it.
func Periods(question string, asOf time.Time) (periods []Period) {
	r := newDateReader(question, asOf)
	readers := []func(int) (date, bool){r.month, r.year, r.ago, r.last, r.yesterday}
	open := noSide // of the last period
	for i := range r.words {
		for _, read := range readers {
			d, ok := read(i)
			if !ok {
				continue
			}
			p, side := r.limited(d)
			if n := len(periods); n > 0 && open != noSide && side == -open {
				if both := p.overlap(periods[n-1], side); both.From.Before(both.To) {
					periods[n-1], open = both, noSide
					continue
				}
			}
			if p.From.Before(p.To) {
				periods, open = append(periods, p), side
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
	iso   map[int]bool // words that begin a date such as 2022-03-05
	asOf  time.Time
}

func newDateReader(question string, asOf time.Time) *dateReader {
	r := &dateReader{asOf: asOf, iso: map[int]bool{}}
	sign := func(c rune) bool { return !unicode.IsLetter(c) && !unicode.IsDigit(c) }
	for field := range strings.FieldsSeq(strings.ToLower(question)) {
		r.iso[len(r.words)] = isDate(strings.TrimFunc(field, sign))
		r.words = append(r.words, strings.FieldsFunc(field, sign)...)
	}
	return r
}

// isDate reports whether a text has the form 2022-03-05, unlike a file or a version with a date in
// its name, and a time of day after a year.
func isDate(text string) bool {
	digits := strings.FieldsFunc(text, func(c rune) bool { return c == '-' })
	return len(text) == len("2022-03-05") && len(digits) == 3 && len(digits[0]) == 4 && len(digits[1]) == 2
}

// date is a date that a question names, and the place of its first word.
type date struct {
	first int
	// named is the time that it means, around the generous period.
	named, around Period
}

// side is the side of a date on which a period is open.
type side int

const (
	earlier side = iota - 1
	noSide
	later
)

// overlap returns what two periods have in common that are open on opposite sides, p on the side
// of.
func (p Period) overlap(other Period, of side) Period {
	if of == earlier {
		return Period{other.From, p.To}
	}
	return Period{p.From, other.To}
}

// limited returns the period that a date means with the words before it, and the side on which
// another date may limit it. "from March" is March unless an end follows.
func (r *dateReader) limited(d date) (Period, side) {
	i, part := d.first-1, ""
	for ; slices.Contains(withinDate, r.word(i)); i-- {
		if slices.Contains(partOfDate, r.word(i)) {
			part = r.word(i)
		}
	}
	if r.counted(i) {
		return d.around, noSide
	}
	// "before mid 2022" has a part of 2022, so it has all of it.
	from, to := d.named.From, d.named.To
	switch part {
	case "end":
		from = to
	case "beginning", "start":
		to = from
	case "":
		switch r.word(i) {
		case "before":
			to = from
		case "after":
			from = to
		}
	}
	switch r.word(i) {
	case "before", "until":
		return Period{time.Date(1, 1, 1, 0, 0, 0, 0, to.Location()), to}, earlier
	case "after", "since":
		if r.asOf.IsZero() {
			return Period{from, time.Date(9999, 12, 31, 0, 0, 0, 0, from.Location())}, later
		}
		return Period{from, r.today().AddDate(0, 0, 1)}, later
	case "from":
		return d.around, later
	}
	return d.around, noSide
}

// counted reports whether "two weeks" or "the day" is before word i.
func (r *dateReader) counted(i int) bool {
	if _, _, unit := back(r.asOf, 1, r.word(i-1)); !unit {
		return false
	}
	at := i - 2
	if r.word(at) == "of" { // "a couple of"
		at--
	}
	if strings.HasSuffix(r.word(i-1), "s") {
		return numberOf(r.word(at)) > 0 // not "in the years before"
	}
	return numberOf(r.word(at)) > 0 || r.word(at) == "the" // not "this year before" or "the best day since"
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
func (r *dateReader) month(i int) (date, bool) {
	month := language.Months[r.words[i]]
	if month == 0 {
		return date{}, false
	}
	first, year, next := i-1, 0, i+1
	day := language.Day(r.word(first))
	if day == 0 && r.word(first) == "of" {
		first--
		day = language.Day(r.word(first))
	}
	if day == 0 {
		first = i
		if day = language.Day(r.word(next)); day > 0 {
			next++
		}
	}
	if year = language.Year(r.word(next)); year == 0 && !slices.Contains(beforeDate, r.word(i-1)) && day == 0 {
		return date{}, false // "may" and "march" are verbs as well
	}
	if year == 0 {
		if r.asOf.IsZero() {
			return date{}, false
		}
		if year = r.asOf.Year(); month > r.asOf.Month() || month == r.asOf.Month() && day > r.asOf.Day() {
			year-- // a question is about the past
		}
	}
	if day > 0 {
		return r.day(first, year, month, day), true
	}
	start := time.Date(year, month, 1, 0, 0, 0, 0, r.asOf.Location())
	named := Period{start, start.AddDate(0, 1, 0)}
	return date{first, named, Period{start, start.AddDate(0, 1, writingLag)}}, true
}

func (r *dateReader) day(first, year int, month time.Month, day int) date {
	start := time.Date(year, month, day, 0, 0, 0, 0, r.asOf.Location())
	around := Period{start.AddDate(0, 0, -1), start.AddDate(0, 0, 1+writingLag)}
	return date{first, Period{start, start.AddDate(0, 0, 1)}, around}
}

// year reads "2022-03-05" or "in 2022".
func (r *dateReader) year(i int) (date, bool) {
	year := language.Year(r.words[i])
	if year == 0 {
		return date{}, false
	}
	introduced := slices.Contains(beforeDate, r.word(i-1))
	if month, day := language.Number(r.word(i+1), 12), language.Day(r.word(i+2)); month > 0 && day > 0 && (introduced || r.iso[i]) {
		return r.day(i, year, time.Month(month), day), true
	}
	if !introduced {
		return date{}, false
	}
	start := time.Date(year, 1, 1, 0, 0, 0, 0, r.asOf.Location())
	named := Period{start, start.AddDate(1, 0, 0)}
	return date{i, named, Period{start, start.AddDate(1, 0, writingLag)}}, true
}

// ago reads "two weeks ago" if word i is its number. The period extends by half a unit on both
// sides.
func (r *dateReader) ago(i int) (date, bool) {
	n, unit := numberOf(r.words[i]), i+1
	if r.word(unit) == "of" { // "a couple of"
		unit++
	}
	if n == 0 || r.asOf.IsZero() || r.word(unit+1) != "ago" {
		return date{}, false
	}
	then, half, ok := back(r.today(), n, r.word(unit))
	if !ok {
		return date{}, false
	}
	around := Period{then.AddDate(0, 0, -half), then.AddDate(0, 0, 1+half)}
	return date{i, around, around}, true
}

// last reads "last week", "the past three months" or "last sunday" if word i is its first word.
func (r *dateReader) last(i int) (date, bool) {
	switch r.words[i] {
	case "last", "past", "previous", "this":
	default:
		return date{}, false
	}
	if r.asOf.IsZero() {
		return date{}, false
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
		return date{i, Period{start, start.AddDate(0, 0, 1)}, Period{start, start.AddDate(0, 0, 2)}}, true
	}
	start, half, ok := back(r.today(), n, r.word(unit))
	if !ok {
		return date{}, false
	}
	around := Period{start.AddDate(0, 0, -half), r.today().AddDate(0, 0, 1)}
	named := around
	if unit == i+1 && r.words[i] != "past" {
		named = r.calendar(r.word(unit), r.words[i] == "this", around)
	}
	return date{i, named, around}, true
}

// calendar returns the present week, month or year, or the one before, with weeks from Monday. It
// returns other for any other unit.
func (r *dateReader) calendar(unit string, present bool, other Period) Period {
	today, back := r.today(), -1
	if present {
		back = 0
	}
	switch unit {
	case "week":
		start := today.AddDate(0, 0, 7*back-(int(today.Weekday())+6)%7)
		return Period{start, start.AddDate(0, 0, 7)}
	case "month":
		start := time.Date(today.Year(), today.Month()+time.Month(back), 1, 0, 0, 0, 0, today.Location())
		return Period{start, start.AddDate(0, 1, 0)}
	case "year":
		start := time.Date(today.Year()+back, 1, 1, 0, 0, 0, 0, today.Location())
		return Period{start, start.AddDate(1, 0, 0)}
	}
	return other
}

func (r *dateReader) yesterday(i int) (date, bool) {
	if r.words[i] != "yesterday" || r.asOf.IsZero() {
		return date{}, false
	}
	start := r.today().AddDate(0, 0, -1)
	return date{i, Period{start, r.today()}, Period{start, start.AddDate(0, 0, 2)}}, true
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

// partOfDate are the words for a part of a date, as in "the end of 2022".
var partOfDate = strings.Fields("early mid middle late beginning start end")

// withinDate are the words between "before" and a date, as in "before the end of last May".
var withinDate = slices.Concat(partOfDate, weekdays, strings.Fields("the of last past previous this"))

var weekdays = slices.Collect(maps.Keys(language.Weekdays))

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
