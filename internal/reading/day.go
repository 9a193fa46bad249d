// Package reading has what the readers of notes share, in the daemon and in a replay: the days of
// notes and, for the offline readers, how well a sentence covers a question.
package reading

import (
	"slices"
	"time"
)

// Day returns the day of an RFC 3339 date or time as it is written, in its own zone.
func Day(date string) (day time.Time, ok bool) {
	day, err := time.Parse(time.DateOnly, date[:min(len(date), len(time.DateOnly))])
	return day, err == nil
}

// Weekday returns the day of the week of a date, from which a model can count to "last Friday". It
// is empty without a date.
func Weekday(date string) string {
	if day, ok := Day(date); ok {
		return day.Weekday().String()
	}
	return ""
}

// Known reports whether a note of a date existed on the day of asking. A note without a date did.
func Known(date, askedOn string) bool {
	written, ok := Day(date)
	asked, dated := Day(askedOn)
	return !ok || !dated || !written.After(asked)
}

// Older returns for each date how many of the others are before it, 0 for a text that is no date,
// and how many are dates.
func Older(dates []string) (older []int, dated int) {
	var days []time.Time
	for _, date := range dates {
		if day, ok := Day(date); ok {
			days = append(days, day)
		}
	}
	slices.SortFunc(days, time.Time.Compare)
	older = make([]int, len(dates))
	for i, date := range dates {
		if day, ok := Day(date); ok {
			older[i], _ = slices.BinarySearchFunc(days, day, time.Time.Compare)
		}
	}
	return older, len(days)
}
