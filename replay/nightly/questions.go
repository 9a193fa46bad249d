package nightly

import (
	"cmp"
	"fmt"
	"io"
	"strings"

	"evalctl/harness/result"
	"evalctl/internal/markdown"
)

// failuresOfAll writes the questions that some of several arms did not pass, each once, with what
// became of it in each arm.
func failuresOfAll(w io.Writer, arms []*measured) {
	lost := map[string]bool{}
	disagree, shown := 0, arms[0].shown
	ids := union(arms)
	for _, id := range ids {
		passed, failed := 0, 0
		for _, m := range arms {
			switch o, ok := m.outcomes[id]; {
			case !ok || o.kind == result.NoGold:
			case o.passed:
				passed++
			default:
				failed++
			}
		}
		lost[id] = failed > 0
		if passed > 0 && failed > 0 {
			disagree++
		}
	}
	n := 0
	var items strings.Builder
	for _, id := range ids {
		if !lost[id] {
			continue
		}
		if n++; n <= shown {
			failureOfAll(&items, arms, id)
		}
	}
	if n == 0 {
		return
	}
	fmt.Fprintf(w, "<details><summary>Questions that an arm did not pass: %d; the arms disagree about %d</summary>\n\n%s", n, disagree, items.String())
	if n > shown {
		fmt.Fprintf(w, "- … and %d more, in the result files\n", n-shown)
	}
	fmt.Fprint(w, "\n</details>\n\n")
}

// failureOfAll writes a question that some arm did not pass as an item of a list.
func failureOfAll(w io.Writer, arms []*measured, id string) {
	var lost *result.Record
	typ := ""
	for _, m := range arms {
		typ = cmp.Or(typ, m.outcomes[id].typ)
		if lost == nil {
			lost = m.failure(id)
		}
	}
	fmt.Fprintf(w, "- %s %s\n", markdown.Code(id), markdown.Code(typ))
	if lost != nil {
		asked(w, lost)
	}
	for _, m := range arms {
		fmt.Fprintf(w, "  - %s: ", markdown.Code(m.Name))
		o, finished := m.outcomes[id]
		switch r := m.failure(id); {
		case !finished:
			fmt.Fprintln(w, "not asked")
		case o.passed:
			fmt.Fprintln(w, "passed")
		case r != nil:
			fmt.Fprintln(w, strings.Join(append([]string{lostBy(r)}, got(r, m.res.Identity.TopK)...), "; "))
		default:
			fmt.Fprintln(w, markdown.Code(string(o.kind)))
		}
	}
}

// failure returns the record of a question that did not pass, nil if it passed or is not kept.
func (m *measured) failure(id string) *result.Record {
	for i := range m.failures {
		if m.failures[i].ID == id {
			return &m.failures[i]
		}
	}
	return nil
}

// union returns the ids of the questions that an arm has finished, in the order of the first arms.
func union(arms []*measured) []string {
	var ids []string
	seen := map[string]bool{}
	for _, m := range arms {
		for _, id := range m.ids {
			if !seen[id] {
				seen[id] = true
				ids = append(ids, id)
			}
		}
	}
	return ids
}
