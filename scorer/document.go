package scorer

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"evalctl/internal/visible"
)

// Document is a cited or retrieved document.
type Document struct {
	// Names are its paths and ids as given by the daemon.
	Names []string
	// Exact is set if Names are relative to the corpus. Otherwise they may begin with folders of
	// the daemon.
	Exact bool
	// Date is as given by the daemon, empty for none.
	Date string
}

// is reports whether the document has this path in the corpus.
func (d Document) is(want string) bool {
	want = visible.Path(path.Clean(want))
	return slices.ContainsFunc(d.Names, func(name string) bool {
		name = visible.Path(name)
		return name == want || !d.Exact && strings.HasSuffix(name, "/"+want)
	})
}

// name returns the document's name for messages.
func (d Document) name() string {
	if len(d.Names) == 0 {
		return "a document without a name"
	}
	return fmt.Sprintf("%.200q", d.Names[0])
}

// cites reports whether the document is among the cited ones.
func cites(cited []Document, want string) (bool, string) {
	if slices.ContainsFunc(cited, func(d Document) bool { return d.is(want) }) {
		return true, "it is cited"
	}
	return false, fmt.Sprintf("it is not among the cited documents (%d)", len(cited))
}

// before reports whether all cited and retrieved documents are dated before a day. Dates are
// compared as calendar days in their own time zone. An undated document fails.
func before(item Item, day string) (bool, string) {
	documents := 0
	for _, list := range [][]Document{item.Retrieved, item.Cited} {
		for _, d := range list {
			documents++
			switch got, err := calendarDay(d.Date); {
			case d.Date == "":
				return false, d.name() + " has no date"
			case err != nil:
				return false, fmt.Sprintf("%s has a date that cannot be read: %.40q", d.name(), d.Date)
			case got >= day:
				return false, d.name() + " is dated " + got
			}
		}
	}
	return true, fmt.Sprintf("all documents are dated before it (%d)", documents)
}

// calendarDay returns the calendar day of a date or an RFC 3339 time, in its own offset.
func calendarDay(date string) (string, error) {
	for _, layout := range []string{time.DateOnly, time.RFC3339, "2006-01-02T15:04:05", "2006-01-02 15:04:05"} {
		if t, err := time.Parse(layout, date); err == nil {
			return t.Format(time.DateOnly), nil
		}
	}
	return "", fmt.Errorf("%q is not a date", date)
}
