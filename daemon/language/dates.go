package language

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Months has the English names of months, in lower case.
var Months = names(time.January, time.December)

// Weekdays has the English names of the days of the week, in lower case.
var Weekdays = names(time.Sunday, time.Saturday)

func names[T interface {
	~int
	String() string
}](first, last T) map[string]T {
	out := map[string]T{}
	for v := first; v <= last; v++ {
		out[strings.ToLower(v.String())] = v
	}
	return out
}

// Day returns the day of a month that a word means, such as "5" or "5th", or 0.
func Day(word string) int {
	for _, ending := range []string{"st", "nd", "rd", "th"} {
		if number, ok := strings.CutSuffix(word, ending); ok {
			return Number(number, 31)
		}
	}
	return Number(word, 31)
}

// Year returns the year from 1900 to 2099 that a word means, else 0.
func Year(word string) int {
	if n := Number(word, 2099); n >= 1900 {
		return n
	}
	return 0
}

// Number returns the number from 1 to most that the digits of a word mean, else 0.
func Number(word string, most int) int {
	if n, err := strconv.Atoi(word); err == nil && 1 <= n && n <= most {
		return n
	}
	return 0
}

func monthNames() []string { return slices.Collect(maps.Keys(Months)) }

func weekdayNames() []string { return slices.Collect(maps.Keys(Weekdays)) }
