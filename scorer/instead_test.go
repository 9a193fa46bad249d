package scorer

import (
	"strings"
	"testing"
)

// TestInstead: an error about a missing answer names a scorer that can be used.
func TestInstead(t *testing.T) {
	gold := Ranking{{Path: "a.md", Gain: 1}}
	for _, c := range []struct {
		scorer Scorer
		item   Item
		want   string
	}{
		{&Judge{}, Item{}, "use the exact scorer"},
		{&Judge{}, Item{Gold: gold}, "use the retrieval scorer"},
		{&Judge{}, Item{Evidence: gold}, "use the retrieval scorer"},
		{&Judge{}, Item{Gold: gold, Expected: []string{"tea"}}, "use the exact scorer"},
		{Exact{}, Item{}, "use the judge scorer"},
		{Exact{}, Item{Gold: gold}, "use the retrieval scorer"},
		{Exact{}, Item{Gold: gold, Reference: "tea"}, "use the judge scorer"},
	} {
		if err := c.scorer.Check(c.item); err == nil || !strings.HasSuffix(err.Error(), c.want) {
			t.Errorf("%+v: got %v, want %s", c.item, err, c.want)
		}
	}
}
