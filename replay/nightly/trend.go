package nightly

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"time"

	"evalctl/harness/history"
	"evalctl/harness/report"
	"evalctl/harness/result"
	"evalctl/internal/figure"
	"evalctl/internal/markdown"
)

// nights is the length of the trend in days, including the night of the report.
const nights = 14

// maxUnreadable limits the number of unreadable files that are named.
const maxUnreadable = 5

// trends writes the trend of each arm, and the unreadable files of the history.
func trends(w io.Writer, arms []*armResult, root string) {
	var have []*armResult
	for _, m := range arms {
		if m.res != nil && m.res.Replay != nil {
			have = append(have, m)
		}
	}
	if root == "" || len(have) == 0 {
		return
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
		writeTrend(w, m.Name, past)
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

// writeTrend writes the nights of an arm, the last one last.
func writeTrend(w io.Writer, arm string, past history.Past) {
	all := everyNight(past.Nights)
	fmt.Fprintf(w, "%s %s\n\n<details><summary>%s</summary>\n\n", markdown.Code(arm), sparkline(all), figure.Count(len(all), "night"))
	table := markdown.NewTable("lrrrrl", "night", "pass rate", "95% Wilson", "passed", "USD", "changed since the night before")
	for _, n := range all {
		table.Row(row(n)...)
	}
	table.Write(w)
	fmt.Fprint(w, "</details>\n\n")
	if past.LeftOut > 0 {
		fmt.Fprintf(w, "%s left out, with another %s, or none recorded.\n\n", figure.Count(past.LeftOut, "result"), strings.Join(past.Differing, ", "))
	}
}

// everyNight adds the nights without a result between others. They have no entry.
func everyNight(have []history.Night) (all []history.Night) {
	for _, n := range have {
		for len(all) > 0 {
			next := dayAfter(all[len(all)-1].Date)
			if next >= n.Date {
				break
			}
			all = append(all, history.Night{Date: next})
		}
		all = append(all, n)
	}
	return all
}

// dayAfter returns the day after a date, which is one of time.DateOnly.
func dayAfter(date string) string {
	day, _ := time.Parse(time.DateOnly, date)
	return day.AddDate(0, 0, 1).Format(time.DateOnly)
}

// row returns the cells of a night.
func row(n history.Night) []string {
	if n.Entry == nil {
		return []string{n.Date, "missing", markdown.None, markdown.None, markdown.None, ""}
	}
	res := n.Entry.Result
	passed := fmt.Sprintf("%d/%d", res.Passed, res.Total)
	usd := markdown.None
	if c := res.CostAccounting; c != nil {
		usd = total(c)
	}
	var changes []string
	for _, key := range n.Changed {
		changes = append(changes, markdown.Cell(key))
	}
	if n.Others > 0 {
		changes = append(changes, fmt.Sprintf("(%s of this night not shown)", figure.Count(n.Others, "other result")))
	}
	rate, interval := figure.Rate(res.PassRate), report.EndsBy(n.Entry.Interval, result.MethodWilson).Markdown()
	if !n.Entry.Scored() {
		rate, interval = string(n.Entry.Verdict), markdown.None
		if res.Stopped != "" {
			rate = "stopped"
		}
	}
	return []string{n.Date, rate, interval, passed, usd, strings.Join(changes, " ")}
}

// sparkline returns one character for each night, with a legend.
func sparkline(all []history.Night) string {
	var rates []*float64
	for _, n := range all {
		var rate *float64
		if n.Entry != nil && n.Entry.Scored() {
			rate = n.Entry.PassRate
		}
		rates = append(rates, rate)
	}
	s := history.NewSparkline(rates)
	return s.Signs + " " + s.Scale()
}

// total formats the cost of an arm.
func total(c *result.CostAccounting) string {
	if !c.SpentKnown() && c.TotalUSD == 0 {
		return "unknown"
	}
	return strings.TrimPrefix(c.TotalUSD.String(), "$")
}
