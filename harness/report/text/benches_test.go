package text

import (
	"bytes"
	"testing"
	"time"

	"evalctl/harness/bench/record"
	"evalctl/harness/history"
	"evalctl/harness/result"
	"evalctl/internal/goldentest"
	"evalctl/internal/terminal"
)

// loads are a search with an interval, an ask too short for intervals, and figures without one.
var loads = []history.Load{
	{Target: "go", Op: "search", Arrival: "8 clients", Documents: 50, Rate: &record.Quantity{Value: 350, Low: new(300.0), High: new(400.0)}, P50: &record.Quantity{Value: 2, Low: new(1.5)}},
	{Target: "go", Op: "a\x1bsk", Arrival: "8 clients", Documents: 50, Rate: &record.Quantity{Value: 29.5}},
}

func TestBenches(t *testing.T) {
	start := time.Date(2026, 11, 30, 19, 5, 0, 0, time.UTC)
	f := &history.Folder{Root: "results", Entries: []*history.Entry{
		{Kind: history.Bench, Name: "go", Path: "results/2026-11-30/go.bench.json", StartedAt: start, Loads: loads},
		{Kind: history.Run, Name: "go", Path: "results/2026-11-30/go.json", StartedAt: start},
		{Kind: history.Bench, Name: "py", Path: "results/2026-11-30/py.bench.json", StartedAt: start, Stopped: result.StopInterrupted},
	}}
	var buf bytes.Buffer
	term := terminal.New(&buf, func(string) string { return "" }, false)
	buf.WriteString(Benches(term, f))
	goldentest.Compare(t, "testdata/benches.golden", buf.String())
}
