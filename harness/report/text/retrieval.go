package text

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"evalctl/harness/result"
	"evalctl/internal/figure"
	"evalctl/internal/terminal"
)

// printRetrieval prints the retrieval metrics.
func printRetrieval(t *terminal.Terminal, res result.Result) {
	r := res.Retrieval
	if len(r.Ks) == 0 {
		return
	}
	names := r.PrimaryMetrics()
	FieldParts(t, "retrieval", primaryParts(r))
	thing := "question"
	if res.Repeats != nil {
		thing = "attempt"
	}
	over := fmt.Sprintf("over %s with expected_paths", figure.Count(r.Questions, thing))
	if r.NoGold > 0 {
		over += fmt.Sprintf(", leaving out %d without", r.NoGold)
	}
	parts := []string{over}
	if brackets := brackets(r); brackets != "" {
		parts = []string{brackets, over}
	}
	if r.Errors > 0 {
		parts = append(parts, fmt.Sprintf("%s count as 0", figure.Count(r.Errors, "error")))
	}
	if res.GoldMissed > 0 {
		parts = append(parts, fmt.Sprintf("%d with no gold document in the top %d", res.GoldMissed, r.Ks[len(r.Ks)-1]))
	}
	FieldParts(t, "", parts)
	if depth := res.DepthText(); depth != "" {
		t.Field("depth", "%s", depth)
	}
	if len(r.ByTag) == 0 {
		return
	}
	header := []string{"tag", "n"}
	for _, name := range names {
		metric, _, _ := strings.Cut(result.MetricName(name), "@") // the lines above show the depth
		header = append(header, metric)
	}
	rows := [][]string{header}
	room := max(8, t.Columns()-len("  n 1000  recall    any    all    MRR   nDCG  "))
	for _, tag := range slices.Sorted(maps.Keys(r.ByTag)) {
		m := r.ByTag[tag]
		if m == nil {
			continue
		}
		row := []string{terminal.Short(tag, min(room, 32)), fmt.Sprint(m.N)}
		for _, name := range names {
			row = append(row, fmt.Sprintf("%.3f", m.Macro[name]))
		}
		rows = append(rows, row)
	}
	t.Table(rows)
}

// primaryParts returns the primary metrics with their intervals.
func primaryParts(r *result.Retrieval) []string {
	var parts []string
	for _, name := range r.PrimaryMetrics() {
		part := fmt.Sprintf("%s %.3f", result.MetricName(name), r.Macro[name])
		if i, ok := r.Intervals[name]; ok {
			part += fmt.Sprintf(" [%.3f %.3f]", i.Low, i.High)
		}
		parts = append(parts, part)
	}
	return parts
}

// brackets says what the intervals in brackets are, empty if there are none.
func brackets(r *result.Retrieval) string {
	name := r.IntervalName()
	if name == "" {
		return ""
	}
	text := "brackets: " + name
	if cluster := r.Clusters(); cluster != "" {
		text += fmt.Sprintf(", clusters: %s (%d)", terminal.Short(cluster, 32), r.Basis.Units)
	}
	return text
}

// FieldParts prints a field of several parts, wrapped between parts to the width of the terminal.
func FieldParts(t *terminal.Terminal, name string, parts []string) {
	room := t.Columns() - terminal.FieldIndent
	line := ""
	for _, part := range parts {
		if line != "" && utf8.RuneCountInString(line)+len("  ")+utf8.RuneCountInString(part) > room {
			t.Field(name, "%s", line)
			name, line = "", ""
		}
		if line != "" {
			line += "  "
		}
		line += part
	}
	t.Field(name, "%s", line)
}

// Warnings prints what makes the retrieval metrics less meaningful.
func Warnings(t *terminal.Terminal, warnings []result.Warning) {
	for _, w := range warnings {
		ids := ""
		if len(w.IDs) > 0 {
			var named []string
			for _, id := range w.IDs {
				named = append(named, terminal.Short(id, 40))
			}
			if more := w.Count - len(w.IDs); more > 0 {
				named = append(named, fmt.Sprintf("and %d more", more))
			}
			ids = " (" + strings.Join(named, ", ") + ")"
		}
		t.Field("warning", "%s%s", terminal.Line(w.Message), ids)
	}
}
