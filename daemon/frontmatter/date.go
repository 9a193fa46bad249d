package frontmatter

import (
	"regexp"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
)

// dateLayouts are the accepted forms of a date: the forms of YAML, the most frequent first, and
// some more in which day and month cannot be confused.
var dateLayouts = func() []string {
	layouts := []string{
		time.RFC3339, time.DateOnly, "20060102",
		"January 2, 2006", "Jan 2, 2006", "2 January 2006", "2 Jan 2006",
		"Mon, 2 Jan 2006 15:04:05", time.RFC1123Z,
	}
	zones := []string{"", "Z07:00", " Z07:00", "Z0700", " Z0700", "Z07", " Z07"}
	for _, day := range []string{"2006-1-2", "2006/1/2", "2006/1/2 (Mon)"} {
		layouts = append(layouts, day)
		for _, clock := range []string{"T15:04:05", " 15:04:05", "T15:04", " 15:04", "t15:04:05"} {
			for _, zone := range zones {
				layouts = append(layouts, day+clock+zone)
			}
		}
	}
	return layouts
}()

// shortZone is a zone of one digit after a time of day, which YAML allows.
var shortZone = regexp.MustCompile(`(:\d\d\S*\s*[-+])(\d)$`)

type dateForm int

const (
	noDate dateForm = iota // null, or nothing but white space
	goodDate
	badDate
)

// parseDate reads a date by dateLayouts. A date without a zone is in UTC; of names of zones, only
// UTC and GMT are known. The zero time, which programs write for a missing date, counts as missing.
// A date whose year in UTC is not 1 to 9999 is bad, because RFC 3339 cannot represent it.
func parseDate(n *yaml.Node) (time.Time, dateForm) {
	if n.Kind != yaml.ScalarNode {
		return time.Time{}, badDate
	}
	s := strings.Join(strings.Fields(n.Value), " ")
	if s == "" || isNull(n) {
		return time.Time{}, noDate
	}
	for _, name := range []string{" UTC", " GMT"} {
		s = strings.TrimSuffix(s, name)
	}
	s = shortZone.ReplaceAllString(s, "${1}0$2")
	for _, layout := range dateLayouts {
		t, err := time.Parse(layout, s)
		if err != nil {
			continue
		}
		if t.IsZero() {
			return time.Time{}, noDate
		}
		if year := t.UTC().Year(); year < 1 || year > 9999 {
			return time.Time{}, badDate
		}
		return t, goodDate
	}
	if t, ok := parseWords(s); ok {
		return t, goodDate
	}
	return time.Time{}, badDate
}
