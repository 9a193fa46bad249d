package reading_test

import (
	"math"
	"slices"
	"testing"

	"evalctl/internal/llm"
	"evalctl/internal/reading"
)

func TestKnown(t *testing.T) {
	for _, c := range []struct {
		date, askedOn string
		want          bool
	}{
		{"2025-06-01", "2025-06-01T08:00:00+02:00", true}, {"2025-06-02T00:30:00+02:00", "2025-06-01", false},
		{"", "2025-06-01", true}, {"2025-06-01", "", true}, {"soon", "2025-06-01", true}, {"2025-06-01", "x", true},
	} {
		if got := reading.Known(c.date, c.askedOn); got != c.want {
			t.Errorf("%q, asked on %q: got %t", c.date, c.askedOn, got)
		}
	}
}

func TestOlder(t *testing.T) {
	older, dated := reading.Older([]string{"2025-03-01", "", "2025-01-01", "2025-03-01T10:00:00Z"})
	if !slices.Equal(older, []int{1, 0, 0, 1}) || dated != 3 {
		t.Errorf("got %v of %d", older, dated)
	}
}

func TestWeigh(t *testing.T) {
	boat, red := llm.Terms("The boat leaks."), llm.Terms("It is red.")
	w := reading.Weigh("Is the boat red or green?", []map[string]bool{boat, red, llm.Terms("A boat.")})
	own, near := w.Cover(red, boat)
	other, _ := w.Cover(boat, nil)
	green, _ := w.Cover(llm.Terms("green"), nil)
	if own <= other || near != other || green <= own || math.Abs(w.Total-own-near-green) > 1e-9 {
		t.Errorf("red weighs %v, boat %v and %v, green %v, all %v", own, other, near, green, w.Total)
	}
	if none := reading.Weigh("?", nil); none.Total != 0 {
		t.Errorf("got %v", none.Total)
	}
}
