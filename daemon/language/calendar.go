package language

import (
	"strings"
	"sync"
	"time"
	"unicode/utf8"
)

// MonthIn returns the month that a word in lower case names in English or another language with
// month names here, in any of its forms. It returns 0 if there is none or if languages differ.
func MonthIn(word string) time.Month { return calendar().months[word] }

// IsWeekday reports whether a word in lower case is the name of a weekday in some language.
func IsWeekday(word string) bool {
	return calendar().weekdays[word] || calendar().weekdays[strings.TrimSuffix(word, "en")] // onsdagen
}

// names of months and weekdays of all languages.
type calendarNames struct {
	months   map[string]time.Month
	weekdays map[string]bool
}

var calendar = sync.OnceValue(func() calendarNames {
	c := calendarNames{months: map[string]time.Month{}, weekdays: map[string]bool{}}
	add := func(name string, month time.Month) {
		if of, known := c.months[name]; known && of != month {
			month = 0
		}
		c.months[name] = month
	}
	for name, month := range Months {
		add(name, month)
		add(name[:3], month)
	}
	add("sept", time.September)
	for name := range Weekdays {
		c.weekdays[name], c.weekdays[name[:3]] = true, true
	}
	for line := range strings.Lines(calendarLists) {
		names := strings.Fields(line)
		if names[0] == "#" {
			continue
		}
		for i, forms := range names[1:] {
			for form := range strings.SplitSeq(strings.ReplaceAll(forms, "-", " "), "|") {
				switch {
				case len(names) == 13:
					add(form, time.Month(i+1))
				case utf8.RuneCountInString(form) > 1:
					for part := range strings.FieldsSeq(form) {
						c.weekdays[part] = true
					}
				}
			}
		}
	}
	return c
})
