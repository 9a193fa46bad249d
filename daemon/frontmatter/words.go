package frontmatter

import (
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"evalctl/daemon/language"
)

// numeric are forms of a date in which day and month cannot be confused: year, month and day in East
// Asia and Hungary, day and month in Vietnamese, and day, month and year with dots.
var numeric = []struct {
	form             *regexp.Regexp
	year, month, day int
}{
	{regexp.MustCompile(`^(\d{4}) ?[年년] ?(\d\d?) ?[月월] ?(\d\d?) ?[日일]?(?: ?\(?\pL{1,3}\)?)?$`), 1, 2, 3},
	{regexp.MustCompile(`^(\d{4})\. ?(\d\d?)\. ?(\d\d?)\.?$`), 1, 2, 3},
	{regexp.MustCompile(`^(?:ngày )?(\d\d?) tháng (\d\d?),?(?: năm)? (\d{4})$`), 3, 2, 1},
	{regexp.MustCompile(`^(\d\d?)\. ?(\d\d?)\. ?(\d{4})\.?$`), 3, 2, 1},
}

// parseWords reads a date written in words, in the languages whose months are known: a day, the
// name of a month and a year of four digits, with names of weekdays and short words between them,
// and with digits of any script.
func parseWords(s string) (time.Time, bool) {
	s = strings.ToLower(asciiDigits(s))
	for _, n := range numeric {
		if m := n.form.FindStringSubmatch(s); m != nil {
			return dateOf(digits(m[n.year]), time.Month(digits(m[n.month])), digits(m[n.day]))
		}
	}
	var year, day int
	var month time.Month
	words := strings.FieldsFunc(s, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r) && !strings.ContainsRune("'ºª\u200c", r)
	})
	for i := 0; i < len(words); i++ {
		word := words[i]
		named := language.MonthIn(word)
		if i+1 < len(words) && named == 0 { // a name of two words
			if named = language.MonthIn(word + " " + words[i+1]); named != 0 {
				i++
			}
		}
		switch {
		case named != 0 && month == 0:
			month = named
		case year == 0 && len(word) == 4 && digits(word) > 0:
			year = digits(word)
		case day == 0 && dayOf(word) > 0:
			day = dayOf(word)
		case language.IsWeekday(word), named == 0 && utf8.RuneCountInString(word) <= 4 && !strings.ContainsFunc(word, unicode.IsDigit):
		default:
			return time.Time{}, false
		}
	}
	return dateOf(year, month, day)
}

// dateOf returns a date that exists. It rejects years of other calendars.
func dateOf(year int, month time.Month, day int) (time.Time, bool) {
	t := time.Date(year, month, day, 0, 0, 0, 0, time.UTC)
	return t, year >= 1500 && year < 2400 && t.Day() == day && t.Month() == month
}

// dayOf returns the day of a month with the ending of an ordinal number, such as 1er, 5th or 3º.
func dayOf(word string) int {
	head := strings.TrimRightFunc(word, func(r rune) bool { return !unicode.IsDigit(r) })
	if len(head) > 2 || utf8.RuneCountInString(word[len(head):]) > 2 {
		return 0
	}
	return digits(head)
}

// digits returns the number in a text of digits, else 0.
func digits(s string) int {
	n, err := strconv.Atoi(s)
	if err != nil {
		return 0
	}
	return n
}

// asciiDigits replaces the digits of other scripts. The digits of a script are consecutive code
// points, from 0 on.
func asciiDigits(s string) string {
	return strings.Map(func(r rune) rune {
		if r < utf8.RuneSelf || !unicode.IsDigit(r) {
			return r
		}
		value := rune(0)
		for value < 9 && unicode.IsDigit(r-value-1) {
			value++
		}
		return '0' + value
	}, s)
}
