package report

import (
	"slices"
	"testing"

	"evalctl/harness/result"
)

// TestTagRows: a tag that repeats a stratum is shown if it has a floor, and a floor without questions
// is shown last.
func TestTagRows(t *testing.T) {
	six, four := &result.TagFigures{Counts: result.Counts{Total: 6, Passed: 3}}, &result.TagFigures{Counts: result.Counts{Total: 4}}
	r := result.Result{
		Replay: &result.Replay{},
		Tags: map[string]*result.TagFigures{
			"type:fact": six, "fact": six, "category:fact": six, "type:date": four, "date": four, "hard": four,
		},
		Gate: &result.Gate{Tags: []result.TagGate{{Tag: "unknown", Floor: 0.5}, {Tag: "date", Floor: 0.9}}},
	}
	var got []string
	for _, row := range tagRows(&r) {
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
