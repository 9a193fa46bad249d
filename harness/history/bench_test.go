package history

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	"evalctl/harness/bench/record"
	"evalctl/harness/result"
	"evalctl/internal/filetest"
)

// writeBench writes a bench of two operations with a p50 of so many milliseconds.
func writeBench(t *testing.T, root string, day, hour int, ms float64, edit func(f *record.File)) {
	t.Helper()
	if testing.Short() {
		t.Skip("a bench has much to compute, and nothing of that is concurrent")
	}
	started := time.Date(2026, 11, day, hour, 0, 0, 0, time.UTC)
	f := &record.File{
		Version: record.Version, Kind: record.Kind, SDK: "go", StartedAt: started, FinishedAt: started.Add(time.Minute),
		Plan:    record.Plan{Arrival: record.Constant, Stages: []record.Stage{{From: 50, To: 50}}, Sizes: []int{1000}, Rounds: 40, TopK: 10},
		Targets: []record.Target{{Name: "go"}, {Name: "null", Null: true}},
	}
	for round := range 40 {
		for target := range 2 {
			b := record.Block{Target: target, Size: 1000, Round: round, Seconds: 1}
			for _, op := range []string{"ask", "search"} {
				o := record.OpBlock{Op: op, Offered: 50, OK: 50, InTime: 50, Latency: record.NewHistogram()}
				for range 50 {
					o.Latency.Add(int64(ms / float64(1+9*target) * 1e6))
				}
				b.Ops = append(b.Ops, o)
			}
			f.Blocks = append(f.Blocks, b)
		}
	}
	if edit != nil {
		edit(f)
	}
	f.Compute()
	data, err := json.Marshal(f)
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(root, started.Format(time.DateOnly))
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	filetest.Write(t, filepath.Join(dir, started.Format("go.bench-20060102T150405Z")+".json"), data)
}

func TestBenches(t *testing.T) {
	root := t.TempDir()
	writeBench(t, root, 1, 3, 10, nil)
	writeBench(t, root, 2, 3, 20, nil)
	writeBench(t, root, 2, 4, 30, nil)                                                         // the last of the night
	writeBench(t, root, 2, 5, 99, func(f *record.File) { f.Stopped = result.StopInterrupted }) // is listed, and no night
	writeBench(t, root, 3, 3, 40, func(f *record.File) { f.Plan.TopK = 5 })                    // other work
	f, err := Read(root, time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	if len(f.Entries) != 5 || len(f.Unreadable)+len(f.Others) != 0 {
		t.Fatalf("%d entries, not read: %v, others: %v", len(f.Entries), f.Unreadable, f.Others)
	}
	for _, e := range f.Entries {
		if e.Kind != Bench || e.Name != "go" || len(e.Loads) != 3 || e.Loads[1].Op != "search" || e.Loads[1].Arrival != "50/s" || e.Loads[2].Op != record.All {
			t.Errorf("entry %+v", e)
		}
	}
	trend := f.Trend(0)
	if trend.LeftOut != 0 || len(trend.Lines) != 0 || len(trend.Benches) != 6 {
		t.Fatalf("%d left out, %d lines of runs, %d of benches", trend.LeftOut, len(trend.Lines), len(trend.Benches))
	}
	line := trend.Benches[4] // after the three of the other work, which are newer
	if line.Op != "search" || len(line.Nights) != 2 {
		t.Fatalf("%+v", line)
	}
	for i, want := range []float64{10, 30} {
		n := line.Nights[i]
		if n.P50.Value < 0.99*want || n.P50.Value > 1.01*want || n.P50.Low == nil || n.NullP99 == nil || n.NullP99.Value > 0.11*want || n.Daemon != "" {
			t.Errorf("night %s: %+v", n.Date, n.Load)
		}
	}
	if cut := f.Trend(1).Benches[4]; len(cut.Nights) != 1 || cut.Older != 1 {
		t.Errorf("the last night of %+v", cut)
	}
	filetest.Write(t, filepath.Join(root, "half.bench.json"), `{"schema_version":1,"kind":"bench","sdk":`)
	if f, err = Read(root, time.Time{}); err != nil || len(f.Unreadable) != 1 {
		t.Errorf("%v, not read: %v", err, f.Unreadable)
	}
}
