package svg

import (
	"strconv"
	"strings"
	"testing"
)

func TestXY(t *testing.T) {
	label := func(v float64) string { return strconv.FormatFloat(v, 'g', 3, 64) }
	chart := XY{
		Title: `"cost" & rate`, X: Dimension{Name: "cost", Log: true, Format: label}, Y: Dimension{Name: "rate", Zero: true, Format: label}, Front: true,
		Limits: []Limit{{Name: "p99<50ms", At: 10, OfX: true}, {Name: "floor", At: 0.5}},
		Lines: []Line{
			{Name: "a<b>", Joined: true, Points: []Place{{X: 1, Y: 0.5, Low: 0.4, High: 0.6}, {X: 0, Y: 0.7, Low: nan, High: nan}}},
			{Name: "c", Points: []Place{{X: 2, Y: 0.4, Low: nan, High: nan, Label: "dominated"}, {X: 4, Y: 0.9, Low: nan, High: nan}}},
		},
	}
	got := string(chart.Draw())
	wellFormed(t, got)
	for part, n := range map[string]int{
		`class="point"`: 2, `class="mark1"`: 3, `class="whisker"`: 1, `class="floor"`: 2, `a&lt;b&gt;`: 1, "dominated": 1,
		"cost (logarithmic)": 1, `aria-label="&#34;cost&#34; &amp; rate"`: 1, `class="front"`: 1,
	} {
		if strings.Count(got, part) != n {
			t.Errorf("%s is there %d times, want %d: %s", part, strings.Count(got, part), n, got)
		}
	}
	_, front, _ := strings.Cut(got, `class="front" d="`)
	front, _, _ = strings.Cut(front, `"`)
	if strings.Count(front, "V") != 1 {
		t.Errorf("the front has not exactly the two points that no other beats: %s", front)
	}
	if got := (XY{Lines: []Line{{}}}).Draw(); got != "" {
		t.Errorf("a chart without points is %s", got)
	}
}
