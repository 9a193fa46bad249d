package result

import (
	"slices"
	"testing"
)

// TestTagRows: a tag that repeats a stratum is shown if it has a floor, and a floor without questions
// is shown last.
func TestTagRows(t *testing.T) {
	six, four := &TagFigures{Counts: Counts{Total: 6, Passed: 3}}, &TagFigures{Counts: Counts{Total: 4}}
	r := Result{
		Replay: &Replay{},
		Tags: map[string]*TagFigures{
			"type:fact": six, "fact": six, "category:fact": six, "type:date": four, "date": four, "hard": four,
		},
		Gate: &Gate{Tags: []TagGate{{Tag: "unknown", Floor: 0.5}, {Tag: "date", Floor: 0.9}}},
	}
	var got []string
	for _, row := range r.TagRows() {
		if row.Floor != nil && row.Floor.Tag != row.Tag {
			t.Errorf("%s has the floor of %s", row.Tag, row.Floor.Tag)
		}
		name := row.Tag
		if row.Floor != nil {
			name += " floor"
		}
		got = append(got, name)
	}
	want := []string{"date floor", "hard", "type:date", "type:fact", "unknown floor"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestTimings: only latencies of answered questions are shown.
func TestTimings(t *testing.T) {
	r := Result{Latency: Quantiles{N: 3}, Felt: &Quantiles{N: 3}}
	var got []string
	for _, row := range r.Timings() {
		got = append(got, row.Name)
		if of := row.Of(&Record{Reply: Reply{LatencyMS: 5}}); of == nil || *of != 5 {
			t.Errorf("%s of a question is %v, want 5", row.Name, of)
		}
	}
	if want := []string{"done", "done, with waits"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
