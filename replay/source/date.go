package source

import (
	"fmt"
	"strings"
	"time"
)

// lmeLayout is the usual date format of LongMemEval: 2023/05/30 (Tue) 23:40.
const lmeLayout = "2006/01/02 (Mon) 15:04"

// lmeDate parses a LongMemEval date. Without a zone it is in UTC. ISO 8601 dates and wrong weekdays
// are counted as traps, with where at the start of the examples.
func lmeDate(text, where string, traps *traps) (time.Time, error) {
	example := fmt.Sprintf("%s, %.40q", where, text)
	text = strings.TrimSpace(text)
	if day, clock, ok := cutWeekday(text); ok {
		if t, err := time.Parse("2006/01/02 15:04", day+" "+clock); err == nil {
			if t.Format(lmeLayout) != text {
				traps.add(trapWeekday, example)
			}
			return t, nil
		}
	}
	if t, ok := isoDate(text); ok {
		traps.add(trapISODate, example)
		return t, nil
	}
	return time.Time{}, fmt.Errorf("the date %q is neither like 2023/05/30 (Tue) 23:40 "+
		"nor like 2023-05-30T23:40:00", text)
}

// cutWeekday splits a date around the weekday in parentheses.
func cutWeekday(text string) (day, clock string, ok bool) {
	day, rest, ok := strings.Cut(text, " (")
	if !ok {
		return "", "", false
	}
	_, clock, ok = strings.Cut(rest, ") ")
	return day, clock, ok
}

// locomoDate parses a LoCoMo date, such as 1:56 pm on 8 May, 2023, or the ISO 8601 dates of files
// with the same layout. It is in UTC.
func locomoDate(text string) (time.Time, error) {
	text = strings.TrimSpace(text)
	t, err := time.Parse("3:04 pm on 2 January, 2006", strings.ToLower(text))
	if err == nil {
		return t, nil
	}
	if t, ok := isoDate(text); ok {
		return t, nil
	}
	return t, fmt.Errorf("the date %q is neither like 1:56 pm on 8 May, 2023 nor like 2023-05-08", text)
}

// isoDate parses an ISO 8601 date. Without a zone it is in UTC.
func isoDate(text string) (time.Time, bool) {
	for _, layout := range []string{
		time.RFC3339, "2006-01-02T15:04:05", "2006-01-02T15:04", "2006-01-02 15:04:05", time.DateOnly,
	} {
		if t, err := time.Parse(layout, text); err == nil {
			return t.UTC(), true
		}
	}
	return time.Time{}, false
}
