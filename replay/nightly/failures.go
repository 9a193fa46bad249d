package nightly

import (
	"cmp"
	"fmt"
	"io"
	"strings"

	"evalctl/harness/result"
	"evalctl/internal/markdown"
)

// failuresOf writes the questions that did not pass.
func (m *measured) failuresOf(w io.Writer) {
	if m.failed == 0 {
		return
	}
	fmt.Fprintf(w, "<details><summary>Questions that did not pass: %d</summary>\n\n", m.failed)
	for i := range m.failures {
		failure(w, &m.failures[i], m.res.Identity.TopK)
	}
	if more := m.failed - len(m.failures); more > 0 {
		fmt.Fprintf(w, "- … and %d more, in the result file\n", more)
	}
	fmt.Fprint(w, "\n</details>\n\n")
}

// failure writes a question that did not pass as an item of a list.
func failure(w io.Writer, r *result.Record, topK int) {
	fmt.Fprintf(w, "- %s %s, %s\n", markdown.Code(r.ID), markdown.Code(r.Type), lostBy(r))
	asked(w, r)
	for _, part := range got(r, topK) {
		fmt.Fprintf(w, "  - %s\n", part)
	}
}

// lostBy names what lost a question.
func lostBy(r *result.Record) string {
	return markdown.Code(cmp.Or(string(r.Cause), string(r.Outcome)))
}

// asked writes what was asked and what was expected.
func asked(w io.Writer, r *result.Record) {
	line := func(what, text string) {
		if text != "" {
			fmt.Fprintf(w, "  - %s: %s\n", what, markdown.Span(text, textLength))
		}
	}
	line("question", r.Question)
	line("expected", cmp.Or(r.Reference, strings.Join(r.Expected, " | ")))
	if o := r.Original; o != nil && o.Reference != r.Reference {
		line("expected by the dataset", o.Reference)
	}
}

// got says what the arm answered and retrieved, as parts of Markdown.
func got(r *result.Record, topK int) (parts []string) {
	add := func(what, text string) {
		if text != "" {
			parts = append(parts, what+": "+markdown.Span(text, textLength))
		}
	}
	add("answer", r.Answer)
	add("reason", r.Reason)
	if r.Error != nil {
		add("error", r.Error.Message)
	}
	if r.Retrieval != nil && len(r.Retrieval.Gold) > 0 {
		parts = append(parts, "gold: "+ranks(r))
	}
	add("retrieved instead", r.RetrievedInstead(topK))
	return parts
}

// ranks says where the gold documents were retrieved.
func ranks(r *result.Record) string {
	text := r.GoldRanks()
	if r.DeepRank != nil && *r.DeepRank > 0 {
		text += fmt.Sprintf("; the first missing one is at rank %d", *r.DeepRank)
	}
	return text
}
