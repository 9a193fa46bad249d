package scorer

import (
	"fmt"
	"path"
	"regexp"
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
			switch got, ok := Day(d.Date); {
			case d.Date == "":
				return false, d.name() + " has no date"
			case !ok:
				return false, fmt.Sprintf("%s has a date that cannot be read: %.40q", d.name(), d.Date)
			case got >= day:
				return false, d.name() + " is dated " + got
			}
		}
	}
	return true, fmt.Sprintf("all documents are dated before it (%d)", documents)
}

// dateAlone matches a date that begins with its year, with a time of day or without.
var dateAlone = regexp.MustCompile(`^([\d/-]{8,10})(?:[Tt\s]+\d\d?:\d\d.*)?$`)

// Day returns the calendar day of a date as it is written, in its own time zone. It reads what
// front matter usually has: timestamps of YAML, RFC 3339, and days with slashes or only digits.
func Day(date string) (day string, ok bool) {
	m := dateAlone.FindStringSubmatch(strings.TrimSpace(date))
	if m == nil {
		return "", false
	}
	for _, layout := range []string{"2006-1-2", "2006/1/2", "20060102"} {
		if t, err := time.Parse(layout, m[1]); err == nil {
			return t.Format(time.DateOnly), true
		}
	}
	return "", false
}
