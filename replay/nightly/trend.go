package nightly

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"evalctl/harness/history"
	"evalctl/harness/key"
	"evalctl/harness/result"
	"evalctl/harness/wording"
	"evalctl/internal/figure"
	"evalctl/internal/markdown"
)

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
	last := dayOf(have[0].res)
	h := readEarlier(root, last.AddDate(0, 0, 1-nights))
	fmt.Fprint(w, "## Trend\n\n")
	var alone []string
	for _, m := range have {
		t := h.trendOf(m.res)
		if len(t.nights) == 1 && t.nights[0].others == 0 && t.leftOut == 0 {
			alone = append(alone, markdown.Code(m.Name))
			continue
		}
		t.write(w, m.Name)
	}
	if len(alone) > 0 {
		fmt.Fprintf(w, "No earlier result of the last %d days: %s.\n\n", nights, strings.Join(alone, ", "))
	}
	for i, problem := range h.unreadable {
		if i == maxUnreadable {
			fmt.Fprintf(w, "- and %d more\n", len(h.unreadable)-maxUnreadable)
			break
		}
		fmt.Fprintf(w, "- not read: %s\n", markdown.Span(problem, textLength))
	}
	if len(h.unreadable) > 0 {
		fmt.Fprintln(w)
	}
}

// write writes the nights of an arm, the last one last.
func (t trend) write(w io.Writer, arm string) {
	fmt.Fprintf(w, "%s %s\n\n<details><summary>%s</summary>\n\n", markdown.Code(arm), t.sparkline(), figure.Count(len(t.nights), "night"))
	table := markdown.NewTable("lrrrrl", "night", "pass rate", "95% CI", "passed", "USD", "changed since the night before")
	var before *result.Result
	for _, n := range t.nights {
		table.Row(n.row(before)...)
		if n.res != nil {
			before = n.res
		}
	}
	table.Write(w)
	fmt.Fprint(w, "</details>\n\n")
	if t.leftOut > 0 {
		differing := slices.Compact(slices.Sorted(slices.Values(t.differing)))
		fmt.Fprintf(w, "%s left out, with another %s, or none recorded.\n\n", figure.Count(t.leftOut, "result"), strings.Join(differing, ", "))
	}
}

// row returns the cells of a night. before is the previous result, nil if there is none.
func (n night) row(before *result.Result) []string {
	if n.res == nil {
		return []string{n.date, "missing", markdown.None, markdown.None, markdown.None, ""}
	}
	passed := fmt.Sprintf("%d/%d", n.res.Passed, n.res.Total)
	usd := markdown.None
	if c := n.res.CostAccounting; c != nil {
		usd = total(c)
	}
	var changes []string
	if before != nil {
		for _, key := range key.Changed(key.Trend, n.res.Identity, before.Identity) {
			changes = append(changes, markdown.Cell(key))
		}
	}
	if n.others > 0 {
		changes = append(changes, fmt.Sprintf("(%s of this night not shown)", figure.Count(n.others, "other result")))
	}
	date := n.date
	if !n.scored() {
		word := string(n.res.Gate.Verdict)
		if n.res.Stopped != "" {
			word = "stopped"
		}
		return []string{date, word, markdown.None, passed, usd, strings.Join(changes, " ")}
	}
	return []string{date, figure.Rate(n.res.PassRate), wording.Ends(n.res.Believed()), passed, usd, strings.Join(changes, " ")}
}

// sparkline returns one character for each night, with a legend.
func (t trend) sparkline() string {
	var rates []*float64
	for _, n := range t.nights {
		var rate *float64
		if n.scored() {
			rate = n.res.PassRate
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
