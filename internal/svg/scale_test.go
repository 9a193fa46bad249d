package svg

import (
	"fmt"
	"strings"
	"testing"
)

func TestScale(t *testing.T) {
	s := Scale{Low: -0.1, High: 0.1, Floor: -0.05}
	got := string(s.Row(Interval{0.05, -0.05, 0.2}, false))
	wellFormed(t, got)
	for _, part := range []string{
		`class="point hollow" cx="74%"`, `<line class="whisker" x1="26%" y1="11" x2="98%" y2="11"/>`,
		`<line class="zero" x1="50%"`, `<line class="floor" x1="26%"`,
	} {
		if !strings.Contains(got, part) {
			t.Errorf("no %s in %s", part, got)
		}
	}
	if strings.Contains(got, `x1="98%" y1="7"`) {
		t.Error("an end outside of the scale is marked as one inside")
	}
	if got := string(s.Row(Interval{0, nan, nan}, true)); strings.Contains(got, "whisker") || strings.Contains(got, "hollow") {
		t.Errorf("a certain value without interval is %s", got)
	}
	axis := string(s.Axis(func(v float64) string { return fmt.Sprintf("<%.2f>", v) }))
	wellFormed(t, axis)
	if !strings.Contains(axis, "&lt;0.05&gt;") {
		t.Errorf("no label in %s", axis)
	}
	whole := string(Scale{High: 1, Floor: nan}.Axis(func(v float64) string { return fmt.Sprintf("%.1f", v) }))
	if !strings.Contains(whole, ">0.0<") || !strings.Contains(whole, ">1.0<") {
		t.Errorf("the ends have other labels in %s", whole)
	}
}
