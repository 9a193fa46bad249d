// Package text prints terminal output other than reports: inputs, forecasts, lists, trends, and a
// question side by side. Texts of datasets, daemons and models are shortened, made safe to print,
// and never interpreted.
package text

import (
	"fmt"
	"strings"

	"evalctl/harness/report/form"
	"evalctl/harness/result"
	"evalctl/harness/wording"
	"evalctl/internal/terminal"
)

// Hint prints a hint about a missing part of a daemon's setup, unless it is empty.
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

// PassedOn names the variables with which a started daemon may spend money, before anything is
// asked.
func PassedOn(e *result.DaemonEnv) (s form.Section) {
	if e == nil {
		return s
	}
	passed := &result.DaemonEnv{Passed: e.Passed, HomeOfUser: e.HomeOfUser}
	if text := wording.DaemonEnv(passed); text != "" {
		s.Fact("daemon env", "%s", form.Path(text))
	}
	return s
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

// Recipes lists the recipes of a panel.
func Recipes(recipes []result.Recipe) (s form.Section) {
	for i, r := range recipes {
		role := ""
		if i == 0 {
			role = "  the headline"
		}
		s.Fact("recipe", "%s %s  %s%s", form.Path(r.Name), form.Digest(r.SHA256), judgeName(r.Judge), role)
	}
	return s
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
