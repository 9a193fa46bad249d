package result_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"evalctl/harness/result"
)

func TestTimeline(t *testing.T) {
	var got result.Timeline
	for _, e := range []struct {
		event string
		at    time.Duration
	}{
		{"retrieve", 12*time.Millisecond + 340*time.Microsecond},
		{"answer_delta", 100 * time.Millisecond}, {"answer_delta", 101 * time.Millisecond},
		{"answer_delta", 141*time.Millisecond + 60*time.Microsecond},
		{"answer_delta", 142 * time.Millisecond},
		{"citation", 142 * time.Millisecond}, {"answer_delta", 150 * time.Millisecond},
		{"done", 2 * time.Second},
	} {
		got.Add(e.event, e.at)
	}
	want := result.Timeline{
		{Event: "retrieve", AtMS: 12.3},
		{Event: "answer_delta", AtMS: 100, LastMS: 142, N: 4, GapMS: 40.1},
		{Event: "citation", AtMS: 142}, {Event: "answer_delta", AtMS: 150},
		{Event: "done", AtMS: 2000},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestTimelineIsBounded checks that kinds which alternate do not make a timeline long, and that no
// event is lost.
func TestTimelineIsBounded(t *testing.T) {
	kinds := []string{"retrieve", "answer_delta", "citation", "done", "error", "other"}
	rapid.Check(t, func(t *rapid.T) {
		var got result.Timeline
		counts := map[string]int{}
		at := time.Duration(0)
		for range rapid.IntRange(0, 400).Draw(t, "events") {
			kind := rapid.SampledFrom(kinds).Draw(t, "kind")
			at += time.Duration(rapid.IntRange(0, 5000).Draw(t, "pause")) * time.Microsecond
			got.Add(kind, at)
			counts[kind]++
		}
		if len(got) > 64+len(kinds) {
			t.Fatalf("%d entries", len(got))
		}
		before := 0.0
		for i, e := range got {
			counts[e.Event] -= max(1, e.N)
			if e.AtMS < before || e.N == 1 || e.N == 0 && e.LastMS != 0 || e.N > 0 && e.LastMS < e.AtMS ||
				e.GapMS > e.LastMS {
				t.Fatalf("entry %d is %+v", i, e)
			}
			before = e.AtMS
		}
		for kind, left := range counts {
			if left != 0 {
				t.Errorf("%d of %s are missing", left, kind)
			}
		}
	})
}
