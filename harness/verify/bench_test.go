package verify_test

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"evalctl/harness/bench/record"
	"evalctl/harness/result"
	"evalctl/harness/verify"
	"evalctl/internal/filetest"
)

// writeBench writes a bench of two targets, edited as JSON by edit.
func writeBench(t *testing.T, edit func(f map[string]any)) string {
	t.Helper()
	if testing.Short() {
		t.Skip("a bench has much to compute, and nothing of that is concurrent")
	}
	f := &record.File{
		Version: record.Version, Kind: record.Kind, SDK: "go", StartedAt: time.Unix(0, 0).UTC(), FinishedAt: time.Unix(60, 0).UTC(),
		Tool: result.ToolID{Version: "1", Go: "go1", OS: "linux", Arch: "amd64", CPUs: 2},
		Plan: record.Plan{
			Mix: []record.Share{{Op: "search", Weight: 1}}, Arrival: record.Constant, MaxInFlight: 10, Stages: []record.Stage{{From: 10, To: 10}},
			Rounds: 6, BlockSeconds: 1, TimeoutSeconds: 1, TopK: 1, Sizes: []int{10}, Brains: 1, Objectives: "p50<5ms", FailOver: 0.1,
		},
		Targets: []record.Target{{Name: "a"}, {Name: "b"}},
		Fills:   []record.Fill{}, Faults: []record.Fault{}, Probes: []record.Probe{},
	}
	for round := range 6 {
		for target := range 2 {
			o := record.OpBlock{Op: "search", Offered: 12, OK: 10, InTime: 10, Dropped: 1, Errors: map[string]int64{"timeout": 1}, Latency: record.NewHistogram()}
			for i := range 10 {
				o.Latency.Add(int64(1+i+10*target+round) * 1e6)
			}
			f.Blocks = append(f.Blocks, record.Block{Target: target, Size: 10, Round: round, Seconds: 1, Ops: []record.OpBlock{o}})
		}
	}
	earlier := *f
	earlier.SHA256 = strings.Repeat("0a", 32)
	var err error
	if f.Baseline, err = record.NewBaseline(&earlier, f); err != nil {
		t.Fatal(err)
	}
	f.Compute()
	data, err := json.Marshal(f)
	if err != nil {
		t.Fatal(err)
	}
	if edit != nil {
		var v map[string]any
		if err := json.Unmarshal(data, &v); err != nil {
			t.Fatal(err)
		}
		edit(v)
		// The order of the keys tells a bench from other files.
		rest, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		data = append([]byte(`{"schema_version":1,"kind":"bench",`), rest[1:]...)
	}
	return filetest.Write(t, filepath.Join(t.TempDir(), "go.bench.json"), data)
}

// at returns a part of a JSON value.
func at(v any, path ...any) map[string]any {
	for _, p := range path {
		switch p := p.(type) {
		case string:
			v = v.(map[string]any)[p]
		case int:
			v = v.([]any)[p]
		}
	}
	return v.(map[string]any)
}

func TestBench(t *testing.T) {
	for name, c := range map[string]struct {
		edit func(f map[string]any)
		path string // of the difference
	}{
		"as it was written":  {},
		"a quantile":         {func(f map[string]any) { at(f, "summaries", 0, "ops", 0, "latency", "p50_ms")["value"] = 1.0 }, ".summaries[0].ops[0].latency.p50_ms.value"},
		"an interval":        {func(f map[string]any) { at(f, "summaries", 0, "ops", 0, "rate")["low"] = 1.0 }, ".summaries[0].ops[0].rate.low"},
		"a ratio":            {func(f map[string]any) { at(f, "comparisons", 0)["ratio"] = 1.0 }, ".comparisons[0].ratio"},
		"a verdict":          {func(f map[string]any) { at(f, "verdicts", 0)["held"] = true }, ".verdicts[0].held"},
		"a verdict left out": {func(f map[string]any) { f["verdicts"] = []any{} }, ".verdicts"},
		"a count":            {func(f map[string]any) { at(f, "blocks", 3, "ops", 0)["dropped"] = 0.0 }, ".blocks[3].ops[0].offered"},
		"a histogram that was exchanged": {func(f map[string]any) {
			at(f, "blocks", 2, "ops", 0)["latency"] = at(f, "blocks", 0, "ops", 0)["latency"]
		}, ".summaries[0].ops[0].latency"},
		"a figure of the baseline": {func(f map[string]any) {
			at(f, "baseline", "series", 0)["before"].([]any)[0] = 1.0
		}, ".baseline.series[0].before[0]"},
		"a ratio to the baseline": {func(f map[string]any) { at(f, "baseline", "series", 0)["ratio"] = 2.0 }, ".baseline.series[0].ratio"},
		"a block of the baseline": {func(f map[string]any) {
			at(f, "baseline", "blocks", 1, "ops", 0)["latency"] = at(f, "baseline", "blocks", 0, "ops", 0)["latency"]
		}, ".baseline.series[0]"},
		"a count of the baseline": {func(f map[string]any) {
			at(f, "baseline", "blocks", 1, "ops", 0)["dropped"] = 0.0
		}, ".baseline.blocks[1].ops[0].offered"},
		"a key that is not known": {func(f map[string]any) { f["more"] = 1.0 }, "."},
	} {
		t.Run(name, func(t *testing.T) {
			rep, err := verify.File(writeBench(t, c.edit))
			if err != nil {
				t.Fatal(err)
			}
			if rep.Kind != "bench" || rep.Blocks != 12 || rep.Figures < 100 {
				t.Errorf("kind %s, %d figures of %d blocks", rep.Kind, rep.Figures, rep.Blocks)
			}
			if rep.OK != (c.path == "") {
				t.Errorf("ok is %v: %+v", rep.OK, rep.Differences)
			}
			found := c.path == ""
			for _, d := range rep.Differences {
				found = found || strings.HasPrefix(d.Path, c.path)
			}
			if !found {
				t.Errorf("no difference at %s: %+v", c.path, rep.Differences)
			}
		})
	}
}

func TestUnreadableBench(t *testing.T) {
	for name, edit := range map[string]func(f map[string]any){
		"a damaged histogram": func(f map[string]any) { at(f, "blocks", 0, "ops", 0)["latency"] = "HISTFAAAAB" },
		"a target too many":   func(f map[string]any) { at(f, "blocks", 0)["target"] = 7.0 },
		"no time":             func(f map[string]any) { at(f, "blocks", 0)["seconds"] = 0.0 },
	} {
		if _, err := verify.File(writeBench(t, edit)); err == nil {
			t.Errorf("%s: the file is verified", name)
		}
	}
}
