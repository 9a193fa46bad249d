package nightly

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"time"

	"evalctl/harness/history"
	"evalctl/harness/report"
	"evalctl/internal/markdown"
)

// nights is the length of the trend in days, including the night of the report.
const nights = 14

// maxUnreadable limits the number of unreadable files that are named.
const maxUnreadable = 5

// trends writes the trend of each arm, and the unreadable files of the history.
func trends(w *bytes.Buffer, arms []*armResult, root string) error {
	var have []*armResult
	for _, m := range arms {
		if m.res != nil && m.res.Replay != nil {
			have = append(have, m)
		}
	}
	if root == "" || len(have) == 0 {
		return nil
	}
	entries, unreadable := readEarlier(root, dayOf(have[0].res).AddDate(0, 0, 1-nights))
	fmt.Fprint(w, "## Trend\n\n")
	var alone []string
	for _, m := range have {
		past := history.PastOf(m.res, entries, nights)
		if len(past.Nights) == 1 && past.Nights[0].Others == 0 && past.LeftOut == 0 {
			alone = append(alone, markdown.Code(m.Name))
			continue
		}
		if err := report.Markdown(w, report.Past{Arm: m.Name, Past: past}, report.MaxSummary-w.Len()); err != nil {
			return err
		}
	}
	if len(alone) > 0 {
		fmt.Fprintf(w, "No earlier result of the last %d days: %s.\n\n", nights, strings.Join(alone, ", "))
	}
	for i, problem := range unreadable {
		if i == maxUnreadable {
			fmt.Fprintf(w, "- and %d more\n", len(unreadable)-maxUnreadable)
			break
		}
		fmt.Fprintf(w, "- not read: %s\n", markdown.Span(problem, textLength))
	}
	if len(unreadable) > 0 {
		fmt.Fprintln(w)
	}
	return nil
}

// readEarlier reads the results in a folder since the date first, and names the files that could not
// be read, with the reasons. A missing folder has none.
func readEarlier(root string, first time.Time) (entries []*history.Entry, unreadable []string) {
	f, err := history.Read(root, first)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, []string{err.Error()}
	}
	for _, u := range f.Unreadable {
		unreadable = append(unreadable, u.Reason)
	}
	return f.Entries, unreadable
}
