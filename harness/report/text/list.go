package text

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"evalctl/harness/history"
	"evalctl/harness/report"
	"evalctl/harness/report/form"
	"evalctl/harness/result"
	"evalctl/harness/wording"
	"evalctl/internal/figure"
	"evalctl/internal/terminal"
)

// Entries returns a table of the entries of a folder except benches, "" if there are none.
func Entries(t *terminal.Terminal, f *history.Folder) string {
	benches := func(e *history.Entry) bool { return e.Kind == history.Bench }
	if !slices.ContainsFunc(f.Entries, func(e *history.Entry) bool { return !benches(e) }) {
		return ""
	}
	header := []string{"started (UTC)", "kind", "name", "dataset", "scorer", "passed", "rate", "95% Wilson", "verdict", "cost", "file"}
	selections := slices.ContainsFunc(f.Entries, func(e *history.Entry) bool { return e.Selection != "" })
	if selections {
		header = append(header, "selection")
	}
	rows := [][]string{header}
	for _, e := range f.Entries {
		if benches(e) {
			continue
		}
		row := []string{
			e.StartedAt.UTC().Format("2006-01-02 15:04"), string(e.Kind), terminal.Short(e.Name, 16), terminal.Short(filepath.Base(e.Dataset), 28),
			terminal.Short(e.Scorer, 12), "–", "–", "–", terminal.Short(e.VerdictText(), 16), "–", terminal.Line(f.Below(e.Path)),
		}
		if e.Result == nil {
			row[3] = "–"
		} else {
			row[5], row[9] = fmt.Sprintf("%d/%d", e.Passed, e.Total), wording.Amount(e.Result)
		}
		if e.Scored() {
			row[6], row[7] = fmt.Sprintf("%.3f", *e.PassRate), report.EndsBy(e.Interval, result.MethodWilson).String()
		}
		if selections {
			row = append(row, terminal.Short(e.Selection, 60))
		}
		rows = append(rows, row)
	}
	return t.Fit(rows, "lllllrrllrll"[:len(header)])
}

// maxUnfinished limits the named journals.
const maxUnfinished = 5

// NotListed prints the rest of a folder besides the listed results: older results, and files
// that are not results. target and kind are the filters of the list, empty for none.
func NotListed(t *terminal.Terminal, f *history.Folder, older int, target, kind string) {
	switch {
	case older > 0:
		t.Field("more", "%s not listed: give --rows 0", figure.Count(older, "older result"))
	case len(f.Entries) == 0:
		t.Field("empty", "%s", noResults(f, target, kind))
	}
	for i, path := range f.Journals {
		if i == maxUnfinished {
			t.Field("", "and %d more", len(f.Journals)-i)
			break
		}
		t.Field("unfinished", "%s  in progress, or to be continued with --resume", terminal.Line(path))
	}
	var others []string
	if n := len(f.Conformance); n > 0 {
		others = append(others, figure.Count(n, "report")+" of conformance")
	}
	if n := len(f.Others); n > 0 {
		others = append(others, figure.Count(n, "other JSON file"))
	}
	if len(others) > 0 {
		t.Field("not listed", "%s", strings.Join(others, ", "))
	}
	unreadable(t, f.Unreadable)
}

// Newest prints the verdict on the newest result of a folder, its reason, and the command that
// shows it. It prints nothing without a result of a run or a replay.
func Newest(t *terminal.Terminal, f *history.Folder) {
	i := slices.IndexFunc(f.Entries, func(e *history.Entry) bool { return e.Result != nil })
	if i < 0 {
		return
	}
	e := f.Entries[i]
	reason := form.Text{}
	if g := e.Result.Gate; g != nil && g.Sentence != "" {
		reason = form.F("%s", form.Data(g.Sentence))
	}
	verdict := form.F("%s  %s of %s, the newest", form.Name(e.VerdictText()), form.Name(e.Name), e.StartedAt.UTC().Format("2006-01-02 15:04"))
	last := form.Closing(verdict, reason, terminal.CommandLine("evalctl", "show", e.Path))
	last.Close(t)
}

// unreadable prints the first unreadable files.
func unreadable(t *terminal.Terminal, files []history.Unreadable) {
	s := form.Section{}
	report.NotRead(&s, form.Terminal, files)
	s.Text(t)
}

// noResults advises how to get results that a folder lacks, of a target and of a kind; either is
// empty for all.
func noResults(f *history.Folder, target, kind string) string {
	root := terminal.Line(f.Root)
	switch {
	case target != "" && kind != "":
		return fmt.Sprintf("no such result in %s: leave out --of or --kind", root)
	case target != "":
		return fmt.Sprintf("no result of %s in %s: leave out --of", terminal.Short(target, 32), root)
	case kind != "":
		return fmt.Sprintf("no %s in %s: leave out --kind", kind, root)
	}
	return fmt.Sprintf("no results in %s: try evalctl run --sdk go --dataset datasets/smoke.jsonl --scorer exact", root)
}
