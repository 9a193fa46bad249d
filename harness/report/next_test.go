package report

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"evalctl/harness/board"
	"evalctl/harness/compare"
	"evalctl/harness/history"
	"evalctl/harness/result"
	"evalctl/harness/resulttest"
	"evalctl/internal/terminal"
)

// TestNextCommandIsAccepted checks that the next command has the flags without which evalctl
// compare refuses the results.
func TestNextCommandIsAccepted(t *testing.T) {
	root := t.TempDir()
	save := func(day int, name string, change func(*result.Result)) *Run {
		f := resulttest.New("go", time.Date(2026, 9, day, 3, 0, 0, 0, time.UTC), "++-+")
		change(&f.Result)
		f.Fill()
		return &Run{Path: f.Save(t, root, name), Result: f.Result, Questions: f.Questions}
	}
	before := save(1, "a.json", func(*result.Result) {})
	stopped := save(2, "b.json", func(r *result.Result) { r.Planned, r.Stopped = 5, result.StopDaemon })
	after := save(3, "c.json", func(r *result.Result) { r.Identity.TopK = 10 })
	command := func(a, b *Run, flags string) string {
		return strings.TrimSpace("evalctl compare " + a.Path + " " + b.Path + " " + flags)
	}

	folder, err := history.Read(root, time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	lines := history.Lines(folder.Entries, 0)
	lines[0].Changes = []history.Change{{Date: "2026-09-03"}}
	after.Result.Gate.Baseline = &result.BaselineGate{Path: before.Path}
	replay := Replay{Arms: Arms{{Name: "a", Run: before}, {Name: "b", Run: stopped}}, Compared: &compare.Arms{}}
	ranked := Board{Board: &board.Board{Groups: []board.Group{{Rows: []board.Row{{Path: before.Path}, {Path: after.Path}}}}}}
	var closing strings.Builder
	s := ranked.closing()
	s.Close(terminal.New(&closing, func(string) string { return "" }, false))
	for name, c := range map[string]struct{ got, want string }{
		"trend": {closed(Trend{Trend: history.Trend{Lines: lines}}, ""), command(before, after, "--accept top_k")},
		"run":   {closed(after, ""), command(before, after, "--accept top_k")},
		"arms":  {replay.next(), command(before, stopped, "--intersect")},
		"board": {closing.String(), command(before, after, "--accept top_k")},
		"hook":  {noticeOf(t, replay, nil).Next, command(before, stopped, "--intersect")},
		"both":  {comparing(stopped.Path, after.Path), command(stopped, after, "--intersect --accept top_k")},
		"none":  {comparing(before.Path, filepath.Join(root, "d.json")), command(before, &Run{Path: filepath.Join(root, "d.json")}, "")},
	} {
		if !strings.HasSuffix(strings.TrimSpace(c.got), c.want) {
			t.Errorf("%s: got\n%s\nwant\n%s", name, c.got, c.want)
		}
	}
}
