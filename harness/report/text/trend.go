package text

import (
	"evalctl/harness/history"
	"evalctl/internal/figure"
	"evalctl/internal/terminal"
)

// NotInTrend prints the files that the trend of a folder omits. target is the filter of the trend,
// empty for none.
func NotInTrend(t *terminal.Terminal, f *history.Folder, trend history.Trend, target string) {
	if len(trend.Lines)+len(trend.Benches) == 0 {
		t.Field("empty", "%s", noResults(f, target, ""))
	}
	if trend.LeftOut > 0 {
		t.Field("left out", "%s: no results of runs, replays or benches", figure.Count(trend.LeftOut, "file"))
	}
	unreadable(t, f.Unreadable)
}
