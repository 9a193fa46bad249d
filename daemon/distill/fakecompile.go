package distill

import (
	"cmp"
	"slices"
	"strings"
)

// fakeSummaries is the offline reply to compilePrompt: a summary for each group of at least two
// notes on a subject, which lists their lines, oldest first.
func fakeSummaries(in notesInput) string {
	reply := summariesReply{Summaries: []summaryReply{}}
	size := len(encode(reply))
	for _, group := range groups(in.Notes) {
		s, ok := summarize(group)
		if n := len(encode(s)) + len(","); ok && len(reply.Summaries) < maxSummaries && size+n <= maxFakeReply {
			reply.Summaries = append(reply.Summaries, s)
			size += n
		}
	}
	return encode(reply)
}

// summarize lists the lines of the notes once each. Notes that do not fit are left out. ok is false
// if fewer than two fit.
func summarize(group []noteInput) (s summaryReply, ok bool) {
	slices.SortStableFunc(group, func(a, b noteInput) int { return cmp.Compare(a.Date, b.Date) })
	seen := map[string]bool{}
	var lines []string
	size := 0
	for _, n := range group {
		own := noteLines(n)
		added := 0
		for _, text := range own {
			if !seen[plainWords(text)] {
				added += len("- \n") + len(text)
			}
		}
		if len(own) == 0 || size+added > maxFakeText {
			continue
		}
		for _, text := range own {
			if !seen[plainWords(text)] {
				seen[plainWords(text)] = true
				lines = append(lines, "- "+text)
			}
		}
		size += added
		s.From = append(s.From, n.ID)
	}
	slices.SortStableFunc(lines, func(a, b string) int { return cmp.Compare(dayPrefix(a), dayPrefix(b)) })
	s.Title, s.Text = subject(group), strings.Join(lines, "\n")
	return s, len(s.From) > 1
}

// noteLines returns the lines of a note, each with its date.
func noteLines(n noteInput) []string {
	var lines []string
	for line := range strings.SplitSeq(flatten(n.Text), "\n") {
		text := strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(line), "- "))
		if text == "" {
			continue
		}
		if n.Date != "" && !startsWithDay(text) {
			text = n.Date + ": " + text
		}
		lines = append(lines, text)
	}
	return lines
}

// dayPrefix returns the date with which a list item begins, empty without one.
func dayPrefix(line string) string {
	text := strings.TrimPrefix(line, "- ")
	if !startsWithDay(text) {
		return ""
	}
	return text[:len("2006-01-02")]
}

func startsWithDay(text string) bool {
	const form = "0000-00-00: "
	if len(text) < len(form) {
		return false
	}
	for i := range len(form) {
		digit := '0' <= text[i] && text[i] <= '9'
		if (form[i] == '0') != digit || form[i] != '0' && text[i] != form[i] {
			return false
		}
	}
	return true
}
