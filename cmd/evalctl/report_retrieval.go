package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"evalctl/harness/result"
)

// retrieval prints how good the rankings were.
func (t *terminal) retrieval(res result.Result) {
	r := res.Retrieval
	names := r.PrimaryMetrics()
	var parts []string
	for _, name := range names {
		part := fmt.Sprintf("%s %.3f", figureName(name), r.Macro[name])
		if i, ok := r.Intervals[name]; ok {
			part += fmt.Sprintf(" [%.3f %.3f]", i.Low, i.High)
		}
		parts = append(parts, part)
	}
	t.fieldOf("retrieval", parts)
	over := fmt.Sprintf("over %s with expected_paths", count(r.Questions, "question"))
	if r.NoGold > 0 {
		over += fmt.Sprintf(", leaving out %d without", r.NoGold)
	}
	parts = []string{over}
	if r.Errors > 0 {
		parts = append(parts, fmt.Sprintf("%s count as 0", count(r.Errors, "error")))
	}
	if res.GoldMissed > 0 {
		parts = append(parts, fmt.Sprintf("%d got no gold document in the top %d", res.GoldMissed, r.Ks[len(r.Ks)-1]))
	}
	t.fieldOf("", parts)
	if len(r.ByTag) == 0 {
		return
	}
	header := []string{"tag", "n"}
	for _, name := range names {
		measure, _, _ := strings.Cut(figureName(name), "@") // the depth stands above
		header = append(header, measure)
	}
	rows := [][]string{header}
	room := max(8, t.columns()-len("  n 1000  recall    any    all    MRR   nDCG  "))
	for _, tag := range slices.Sorted(maps.Keys(r.ByTag)) {
		m := r.ByTag[tag]
		row := []string{short(tag, min(room, 32)), fmt.Sprint(m.N)}
		for _, name := range names {
			row = append(row, fmt.Sprintf("%.3f", m.Macro[name]))
		}
		rows = append(rows, row)
	}
	t.table(rows)
}

// figureName is a figure's name as people write it.
func figureName(name string) string {
	return strings.NewReplacer("mrr", "MRR", "ndcg", "nDCG").Replace(name)
}

// fieldOf prints a field of several parts, on as many lines as the terminal
// needs.
func (t *terminal) fieldOf(name string, parts []string) {
	room := t.columns() - len("  retrieval   ")
	line := ""
	for _, part := range parts {
		if line != "" && utf8.RuneCountInString(line)+len("  ")+utf8.RuneCountInString(part) > room {
			t.field(name, "%s", line)
			name, line = "", ""
		}
		if line != "" {
			line += "  "
		}
		line += part
	}
	t.field(name, "%s", line)
}

// guards warns of what makes the measures of retrieval worth little.
func (t *terminal) guards(guards []result.Warning) {
	for _, g := range guards {
		ids := ""
		if len(g.IDs) > 0 {
			var named []string
			for _, id := range g.IDs {
				named = append(named, short(id, 40))
			}
			if more := g.Count - len(g.IDs); more > 0 {
				named = append(named, fmt.Sprintf("and %d more", more))
			}
			ids = " (" + strings.Join(named, ", ") + ")"
		}
		t.field("warning", "%s%s", printable(g.Message, oneLine), ids)
	}
}
