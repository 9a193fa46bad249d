package actor

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"evalctl/internal/reading"
)

// asksWhen matches questions for a time.
var asksWhen = regexp.MustCompile(`(?i)^(?:when|since when)\b|\b(?:(?:what|which) (?:date|day|month|year))\b`)

const (
	weekdayNames = `sunday|monday|tuesday|wednesday|thursday|friday|saturday`
	smallNumbers = `a|an|one|two|three|four|five|six|seven|eight|nine|ten`
)

// relative matches phrases that count from the date of a note.
var relative = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)\b(?:(yesterday|last night|today|tonight|this morning|tomorrow)|` +
		`(last|this|next) (week|weekend|month|year|` + weekdayNames + `|` + abbreviatedDays + `)|` +
		`(\d{1,3}|` + smallNumbers + `) (day|week|month|year)s? ago)\b`)
})

const abbreviatedDays = `sun|mon|tue|tues|wed|thu|thurs|fri|sat`

// dateOf returns the date given by a sentence: the date that its first relative phrase means, or
// else the date of its note. It is empty if the note has no date.
func dateOf(s sentence) string {
	d, ok := reading.Day(s.date)
	if !ok {
		return ""
	}
	if m := relative().FindStringSubmatch(strings.ToLower(s.text)); m != nil {
		switch {
		case m[1] != "":
			return longDate(d.AddDate(0, 0, daysTo(m[1]))) + "."
		case m[2] != "":
			return named(d, m[2], m[3]) + "."
		default:
			return ago(d, m[4], m[5]) + "."
		}
	}
	return longDate(d) + "."
}

func longDate(d time.Time) string { return d.Format("2 January 2006") }

func daysTo(phrase string) int {
	switch phrase {
	case "yesterday", "last night":
		return -1
	case "tomorrow":
		return 1
	}
	return 0
}

// named returns the period called last, this or next unit on day d.
func named(d time.Time, which, unit string) string {
	step := map[string]int{"last": -1, "next": 1}[which]
	relation := map[string]string{"last": "before", "this": "of", "next": "after"}[which]
	switch unit {
	case "year":
		return strconv.Itoa(d.Year() + step)
	case "month":
		first := time.Date(d.Year(), d.Month(), 1, 0, 0, 0, 0, time.UTC)
		return first.AddDate(0, step, 0).Format("January 2006")
	case "week", "weekend":
		return fmt.Sprintf("The %s %s %s", unit, relation, longDate(d))
	}
	names := strings.Split(weekdayNames, "|")
	wanted := slices.IndexFunc(names, func(n string) bool { return strings.HasPrefix(n, unit[:3]) })
	ahead := (wanted - int(d.Weekday()) + 7) % 7
	switch {
	case which == "last":
		ahead = ahead - 7
	case which == "next" && ahead == 0:
		ahead = 7
	}
	date := longDate(d.AddDate(0, 0, ahead))
	if which == "this" {
		return date
	}
	return fmt.Sprintf("%s (the %s %s %s)", date, d.AddDate(0, 0, ahead).Weekday(), relation, longDate(d))
}

// ago returns the time a number of units before day d.
func ago(d time.Time, number, unit string) string {
	n, err := strconv.Atoi(number)
	if err != nil {
		n = max(1, slices.Index(strings.Split(smallNumbers, "|"), number)-1) // after "a" and "an"
	}
	switch unit {
	case "year":
		return strconv.Itoa(d.Year() - n)
	case "month":
		first := time.Date(d.Year(), d.Month(), 1, 0, 0, 0, 0, time.UTC)
		return first.AddDate(0, -n, 0).Format("January 2006")
	case "week":
		n *= 7
	}
	return longDate(d.AddDate(0, 0, -n))
}
