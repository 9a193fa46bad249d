package table

import (
	"slices"
	"testing"

	"evalctl/harness/bench/record"
)

// TestErrors checks the share of errors next to their number, also if all requests fail.
func TestErrors(t *testing.T) {
	for _, tt := range []struct {
		failed, offered int64
		want            string
	}{
		{0, 184, "0"},
		{184, 184, "184 (100 %)"},
		{1, 3000, "1 (0.0333 %)"},
	} {
		if got := errorsOf(record.OpFigures{Offered: tt.offered, Errors: map[string]int64{"status 500": tt.failed}}); got != tt.want {
			t.Errorf("%d of %d: %q, want %q", tt.failed, tt.offered, got, tt.want)
		}
	}
}

// TestGrowthOfWhatIsNotKnown has a target of which nothing but the time is known, and one without a
// disk.
func TestGrowthOfWhatIsNotKnown(t *testing.T) {
	bytes := func(n int64) *int64 { return &n }
	f := &record.File{
		Plan:    record.Plan{Stages: []record.Stage{{}}, Sizes: []int{10, 100}},
		Targets: []record.Target{{Name: "running"}, {Name: "started"}, {Name: "null", Null: true}},
		Fills: []record.Fill{
			{Target: 0, Size: 10, Seconds: 1},
			{Target: 0, Size: 100, Seconds: 1},
			{Target: 1, Size: 10, Seconds: 1, RSSBytes: bytes(1000), IndexBytes: bytes(500), DiskBytes: bytes(0)},
			{Target: 1, Size: 100, Seconds: 1, RSSBytes: bytes(10_000), IndexBytes: bytes(500), DiskBytes: bytes(0)},
		},
	}
	f.Compute()
	got := map[string][]string{}
	for _, row := range growth(f).Rows[1:] {
		got[row[0]+" "+row[1]] = row[2:]
	}
	for name, want := range map[string][]string{
		"running rss":   {"not known", "not known", "-", "-"},
		"running disk":  {"not known", "not known", "-", "-"},
		"running index": {"not known", "not known", "-", "-"},
		"started rss":   {"1.0 kB", "10.0 kB", "1.00", "-"},
		"started disk":  {"0 B", "0 B", "-", "-"},
		"started index": {"500 B", "500 B", "0.00", "-"},
	} {
		if !slices.Equal(got[name], want) {
			t.Errorf("%s: %q, want %q", name, got[name], want)
		}
	}
	if len(got) != 8 { // with the time to fill of both
		t.Errorf("%d rows: %v", len(got), got)
	}
}

// TestGrowthThatIsNoPower has a constant, and a figure that one exponent does not fit.
func TestGrowthThatIsNoPower(t *testing.T) {
	constant := 5.0
	f := &record.File{Plan: record.Plan{Stages: []record.Stage{{}}, Sizes: []int{10, 100, 1000}}, Targets: []record.Target{{Name: "a"}}}
	f.Growth = []record.Growth{
		{Op: "search", Figure: "p50", Exponent: 1, Constant: &constant},
		{Op: "search", Figure: "p99", Exponent: 0.5, Steps: []float64{0.9, 0.1}},
	}
	rows := growth(f).Rows[1:]
	if got := rows[0][5:]; !slices.Equal(got, []string{"1.00 above 5.0 ms", "-"}) {
		t.Errorf("with a constant: %q", got)
	}
	if got := rows[1][5:]; !slices.Equal(got, []string{"0.90, then 0.10", "no single one fits"}) {
		t.Errorf("with steps: %q", got)
	}
}
