// Package text prints terminal output other than reports: inputs, forecasts, lists, trends, and a
// question side by side. Texts of datasets, daemons and models are shortened, made safe to print,
// and never interpreted.
package text

import (
	"fmt"
	"strings"

	"evalctl/harness/result"
	"evalctl/harness/wording"
	"evalctl/internal/llm"
	"evalctl/internal/terminal"
)

// PricesOf names the day of the prices of a cost, "" if unknown.
func PricesOf(date string) string {
	if date == "" {
		return ""
	}
	return "  prices of " + terminal.Line(date)
}

// printDaemonEnv prints the variables that a started daemon got.
func printDaemonEnv(t *terminal.Terminal, e *result.DaemonEnv) {
	if text := wording.DaemonEnv(e); text != "" {
		t.Field("daemon env", "%s", terminal.Line(text))
	}
}

// Hint prints what a daemon probably lacks, unless hint is empty.
func Hint(t *terminal.Terminal, hint string) {
	if hint != "" {
		t.Field("note", "%s", terminal.Line(hint))
	}
}

// Unchained prints a note about a resumed file whose lines are not chained by hashes.
func Unchained(t *terminal.Terminal, path string, unchained bool) {
	if unchained {
		t.Field("note", "%s is of an older version, which did not link lines: if somebody changed one, that is not noticed", terminal.Line(path))
	}
}

// PassedOn warns of variables with which a started daemon may spend money, before anything is
// asked.
func PassedOn(t *terminal.Terminal, e *result.DaemonEnv) {
	if e != nil {
		printDaemonEnv(t, &result.DaemonEnv{Passed: e.Passed, HomeOfUser: e.HomeOfUser})
	}
}

// OfCap formats the cap to follow an amount.
func OfCap(limit *llm.USD) string {
	if limit == nil {
		return " (no cap)"
	}
	return " of " + limit.String()
}

// withMethod formats the ends of an interval for a column whose title names a method. It names any
// other method.
func withMethod(i *result.Interval, titled string) string {
	if i == nil || i.Method == titled {
		return wording.Ends(i)
	}
	name, known := wording.Method(i.Method)
	if !known {
		name = terminal.Short(name, 24)
	}
	return wording.Ends(i) + " " + name
}

// Warnings prints the warnings about retrieval metrics.
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

// Recipes prints the recipes of a panel, nothing for one judge.
func Recipes(t *terminal.Terminal, recipes []result.Recipe) {
	for i, r := range recipes {
		role := ""
		if i == 0 {
			role = "  the headline"
		}
		t.Field("recipe", "%s %s  %s%s", terminal.Line(r.Name), terminal.Short(r.SHA256, 9), judgeName(r.Judge), role)
	}
}

// Escaped prints the processes that a daemon had left behind, which were ended with it. If they are
// nil, it prints that they are unknown.
func Escaped(t *terminal.Terminal, processes []string) {
	switch {
	case processes == nil:
		t.Field("left", "whether the daemon left processes behind is not known: only Linux shows those that leave its "+
			"process group and its environment")
	case len(processes) > 0:
		t.Field("left", "%s: %s", wording.Escaped, terminal.Line(strings.Join(processes, ", ")))
	}
}
