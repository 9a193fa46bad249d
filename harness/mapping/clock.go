package mapping

import (
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

// clock recognises dates that come from the service's own clock: dates near now on documents with
// another date or none. They say when a text was written to the service, not when it originated.
type clock struct {
	opened time.Time
	seen   atomic.Bool
}

// nearNow is how far from now a date of the service's clock may be. It allows for time zones that a
// date does not state.
const nearNow = 25 * time.Hour

// wrote reports whether a passage's date comes from the service's own clock. document is the date
// that its document was written with, "" if unknown.
func (c *clock) wrote(date, document string) bool {
	at, ok := parseDate(date)
	if !ok || at.Before(c.opened.Add(-nearNow)) || at.After(time.Now().Add(nearNow)) {
		return false
	}
	if of, ok := parseDate(document); ok && at.Sub(of).Abs() < nearNow {
		return false
	}
	c.seen.Store(true)
	return true
}

// text says why dates cannot be measured, "" if none came from the service's clock.
func (c *clock) text() string {
	if !c.seen.Load() {
		return ""
	}
	return "the dates in its replies are when the texts were written to it, by its own clock"
}

// parseDate parses a date, a time, or a number of seconds or milliseconds since 1970.
func parseDate(text string) (time.Time, bool) {
	text = strings.TrimSpace(text)
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04:05.999999999", "2006-01-02 15:04:05.999999999Z07:00", "2006-01-02 15:04:05.999999999", time.DateOnly} {
		if t, err := time.Parse(layout, text); err == nil {
			return t, true
		}
	}
	seconds, err := strconv.ParseFloat(text, 64)
	switch {
	case err != nil || seconds < 1e9 || seconds > 1e14:
		return time.Time{}, false
	case seconds > 1e11:
		seconds /= 1000
	}
	return time.Unix(0, int64(seconds*1e9)), true
}

// dateOf returns the date that a document was written with, "" if unknown.
func (b *brain) dateOf(path string) string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.dates[path]
}
