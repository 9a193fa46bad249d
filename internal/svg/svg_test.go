package svg

import (
	"encoding/xml"
	"errors"
	"io"
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

var nan = math.NaN()

// wellFormed fails unless a drawing is XML without what a page forbids.
func wellFormed(t interface{ Fatalf(string, ...any) }, drawing string) {
	d := xml.NewDecoder(strings.NewReader(drawing))
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Fatalf("%v: %s", err, drawing)
		}
		if e, ok := token.(xml.StartElement); ok {
			for _, a := range e.Attr {
				if a.Name.Local == "style" || strings.HasPrefix(a.Name.Local, "on") || strings.Contains(a.Value, "NaN") || strings.Contains(a.Value, "Inf") {
					t.Fatalf("attribute %s=%q of %s", a.Name.Local, a.Value, e.Name.Local)
				}
			}
		}
	}
}

func TestBar(t *testing.T) {
	got := string(Bar(Interval{0.5, 0.25, 0.75}, 0.9))
	wellFormed(t, got)
	for _, part := range []string{
		`<rect class="value" x="0" y="4" width="100" height="8"/>`, `<path class="whisker" d="M50 8L150 8"/>`,
		`<path class="floor" d="M180 0L180 16"/>`, `aria-hidden="true"`,
	} {
		if !strings.Contains(got, part) {
			t.Errorf("no %s in %s", part, got)
		}
	}
	if got := string(Bar(Interval{0.5, nan, nan}, nan)); strings.Contains(got, "whisker") || strings.Contains(got, "floor") {
		t.Errorf("a bar without interval and floor is %s", got)
	}
}

func TestDifference(t *testing.T) {
	got := string(Difference(Interval{-0.05, -0.2, 0.05}, 0.03, 0.1))
	wellFormed(t, got)
	for _, part := range []string{
		`<path class="zero" d="M100 0L100 16"/>`, `<path class="floor" d="M70 0L70 16"/>`,
		`<path class="whisker" d="M0 8L150 8"/>`, // the lower end is cut off
		`<rect class="value" x="48" y="4" width="4" height="8"/>`,
	} {
		if !strings.Contains(got, part) {
			t.Errorf("no %s in %s", part, got)
		}
	}
}

func TestTimeline(t *testing.T) {
	got := string(Timeline([]Span{{"a", 0, 0}, {"b", 50, 100}, {"a", 100, 100}}, 100))
	wellFormed(t, got)
	want := `<path class="a" d="M0 0h2v1h-2zM498 0h2v1h-2z"/><path class="b" d="M250 0h250v1h-250z"/>`
	if !strings.Contains(got, want) {
		t.Errorf("no %s in %s", want, got)
	}
}

func TestTicks(t *testing.T) {
	for _, c := range []struct {
		axis axis
		want []float64
	}{
		{axis{low: 0, high: 1}, []float64{0, 0.2, 0.4, 0.6, 0.8, 1}},
		{axis{low: 0, high: 31}, []float64{0, 10, 20, 30}},
		{axis{low: 0.7, high: 0.95}, []float64{0.7, 0.75, 0.8, 0.85, 0.9, 0.95}},
		{axis{low: 3, high: 60, log: true}, []float64{5, 10, 20, 50}},
		{axis{low: 1, high: 10000, log: true}, []float64{1, 10, 100, 1000, 10000}},
		{axis{low: 5, high: 5}, nil},
	} {
		got := c.axis.ticks()
		same := func(a, b float64) bool { return math.Abs(a-b) < 1e-9 }
		if !slices.EqualFunc(got, c.want, same) {
			t.Errorf("ticks from %v to %v are %v, want %v", c.axis.low, c.axis.high, got, c.want)
		}
	}
}

func TestECDF(t *testing.T) {
	label := func(float64) string { return "<&" }
	got := string(ECDF(`"a" & b`, []Series{{"done <x>", []float64{1, 2, 4}}}, label))
	wellFormed(t, got)
	// From 0 at the left end over a third and two thirds to 1 at the right end.
	if want := `d="M44 206H150V142H256V78H468V14H468"`; !strings.Contains(got, want) {
		t.Errorf("the function is not drawn as %s: %s", want, got)
	}
	if !strings.Contains(got, `aria-label="&#34;a&#34; &amp; b"`) || !strings.Contains(got, "done &lt;x&gt;") {
		t.Errorf("texts are not escaped: %s", got)
	}
	for _, values := range [][]float64{{0}, {0, 0}, {5}, {0, 1, 1, 1, 1000}, {1, 1, 1, 1e9}} {
		wellFormed(t, string(ECDF("t", []Series{{"s", values}}, label)))
	}
}

func TestSkewedValuesHaveALogarithmicAxis(t *testing.T) {
	label := func(float64) string { return "" }
	for _, c := range []struct {
		values []float64
		want   bool
	}{{[]float64{1, 2, 3}, false}, {[]float64{1, 2, 1000}, true}} {
		if got := strings.Contains(string(ECDF("t", []Series{{"s", c.values}}, label)), "logarithmic"); got != c.want {
			t.Errorf("%v: logarithmic %v", c.values, got)
		}
	}
}

func TestTrend(t *testing.T) {
	points := []Point{{"a", Interval{0.8, 0.7, 0.9}, false}, {"b <", Interval{nan, nan, nan}, false}, {"c", Interval{0.6, 0.5, 0.7}, true}}
	got := string(Trend("t", points, 0.9))
	wellFormed(t, got)
	if n := strings.Count(got, "<circle"); n != 2 {
		t.Errorf("%d points are drawn, want those with a rate: %s", n, got)
	}
	if n := strings.Count(got, `class="change"`); n != 1 {
		t.Errorf("%d changes are drawn", n)
	}
	wellFormed(t, string(Trend("t", []Point{{"a", Interval{1, 1, 1}, false}}, nan)))
	wellFormed(t, string(Trend("t", []Point{{"a", Interval{nan, nan, nan}, false}}, nan)))
}

// TestECDFRises checks that the drawn function never falls or goes back.
func TestECDFRises(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		values := rapid.SliceOfN(rapid.Float64Range(0, 1e6), 1, 300).Draw(t, "values")
		slices.Sort(values)
		x := axis{low: 0, high: max(1, values[len(values)-1]), from: left, to: chartWidth - right}
		y := axis{low: 0, high: 1, from: chartHeight - bottom, to: top}
		path := steps(values, x, y)
		at := map[byte]float64{'H': left, 'V': chartHeight - bottom}
		for _, step := range strings.FieldsFunc(strings.NewReplacer("H", " H", "V", " V").Replace(path), func(r rune) bool { return r == ' ' }) {
			kind := step[0]
			if kind != 'H' && kind != 'V' {
				continue
			}
			var to float64
			if err := xml.Unmarshal([]byte("<n>"+step[1:]+"</n>"), &to); err != nil {
				t.Fatal(err)
			}
			if kind == 'H' && to < at[kind] || kind == 'V' && to > at[kind] {
				t.Fatalf("%s goes back: %s", step, path)
			}
			at[kind] = to
		}
		if math.Abs(at['V']-top) > 0.01 {
			t.Fatalf("the function ends at %v, not at 1: %s", at['V'], path)
		}
	})
}
