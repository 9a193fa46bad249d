package scorer

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestExact(t *testing.T) {
	for _, tt := range []struct {
		name     string
		expected []string
		answer   string
		want     float64
	}{
		{"inside", []string{"blue boat"}, "It was the blue boat.", 1},
		{"case", []string{"Blue BOAT"}, "it was the bLUE boat", 1},
		{"any of them", []string{"red", "boat"}, "a boat", 1},
		{"none", []string{"red", "ship"}, "a boat", 0},
		{"full folding", []string{"STRASSE"}, "Lange Straße 4", 1},
		{"full folding of the expected", []string{"Straße"}, "LANGE STRASSE 4", 1},
		{"final sigma", []string{"ΟΔΟΣ"}, "οδος", 1},
		{"empty answer", []string{"x"}, "", 0},
		{"words apart", []string{"blue boat"}, "blue wooden boat", 0},
		{"decomposed", []string{"café"}, "the cafe\u0301 in Lyon", 1},
		{"decomposed in the expected", []string{"cafe\u0301"}, "the CAFÉ in Lyon", 1},
		{"another letter", []string{"cafe"}, "the café in Lyon", 0},
		{"case of a decomposed letter", []string{"\u01f0"}, "J\u030c", 1},
		{"no-break space", []string{"25 kg"}, "about 25\u00a0kg", 1},
		{"narrow no-break space", []string{"25\u00a0000 km"}, "25\u202f000 km", 1},
		{"other spaces", []string{"a b c d"}, "a\u2007b\u2009c\u3000d", 1},
		{"no space", []string{"25 kg"}, "25kg", 0},
		{"a line is not a space", []string{"25 kg"}, "25\nkg", 0},
		{"apostrophe", []string{"O'Brien's"}, "Mr O’Brien‘s", 1},
		{"letter apostrophe", []string{"o’brien"}, "OʼBrien", 1},
		{"wide apostrophe", []string{"it's"}, "it＇s", 1},
		{"ŉ folds to ʼn", []string{"'n boot"}, "ŉ boot", 1},
		{"quotation marks", []string{`"Emma"`}, "the novel “Emma”", 1},
		{"low quotation mark", []string{"“Emma”"}, "der Roman „Emma‟", 1},
		{"hyphen", []string{"twenty-one"}, "twenty\u2011one", 1},
		{"dash", []string{"1990-1995"}, "1990–1995", 1},
		{"minus", []string{"-5 °C"}, "it was −5 °C", 1},
		{"hidden in the answer", []string{"blue boat"}, "the b\u00adlue\u200b boat", 1},
		{"hidden in the expected", []string{"blue\u2060 boat\ufeff"}, "the blue boat", 1},
		{"line ends", []string{"blue\r\nboat"}, "the blue  \nboat", 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			v, err := Exact{}.Score(t.Context(), Item{ID: "q", Expected: tt.expected, Answer: tt.answer})
			if err != nil || !v.Scored || v.Score != tt.want || v.Passed() != (tt.want == 1) || v.Reason == "" {
				t.Errorf("%+v, %v; want %v", v, err, tt.want)
			}
		})
	}
}

func TestExactCase(t *testing.T) {
	for _, tt := range []struct {
		expected, answer string
		want             float64
	}{
		{"US", "in the US", 1},
		{"US", "tell us", 0},
		{"Élan", "élan", 0},
		{"Élan 5", "E\u0301lan\u00a05", 1}, // typography never matters
		{"O'Brien", "O’Brien", 1},
		{"O'Brien", "O’brien", 0},
		{"Straße", "STRASSE", 0},
	} {
		v, err := Exact{Case: true}.Score(t.Context(), Item{ID: "q", Expected: []string{tt.expected}, Answer: tt.answer})
		if err != nil || v.Score != tt.want {
			t.Errorf("%q in %q: %+v, %v; want %v", tt.expected, tt.answer, v, err, tt.want)
		}
	}
}

func TestExactRefuses(t *testing.T) {
	for _, expected := range [][]string{nil, {}, {""}, {"ok", " \n"}, {"\u200b"}} {
		item := Item{ID: "q7", Expected: expected, Answer: "anything"}
		if err := (Exact{}).Check(item); err == nil || !strings.Contains(err.Error(), `"q7"`) || !strings.Contains(err.Error(), "expected_substrings") {
			t.Errorf("%q: %v", expected, err)
		}
		if v, err := (Exact{}).Score(t.Context(), item); err == nil || v.Scored {
			t.Errorf("%q: scored %+v", expected, v)
		}
	}
}

// Case never matters, and surrounding text never hides a match.
func TestExactProperty(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		want := rapid.StringMatching(`[a-zA-Z0-9é]{1,8}`).Draw(rt, "want")
		before, after := rapid.String().Draw(rt, "before"), rapid.StringMatching(`[ -~]*`).Draw(rt, "after")
		cased := want
		if rapid.Bool().Draw(rt, "upper") {
			cased = strings.ToUpper(want)
		}
		v, err := Exact{}.Score(t.Context(), Item{Expected: []string{want}, Answer: before + cased + after})
		if err != nil || v.Score != 1 {
			rt.Fatalf("%+v, %v", v, err)
		}
	})
}

func TestPassed(t *testing.T) {
	for _, tt := range []struct {
		v    Verdict
		want bool
	}{
		{Verdict{Score: 0.5, Scored: true}, true},
		{Verdict{Score: 0.499999, Scored: true}, false},
		{Verdict{Score: 1, Scored: false}, false},
		{Verdict{}, false},
	} {
		if got := tt.v.Passed(); got != tt.want {
			t.Errorf("%+v: %v", tt.v, got)
		}
	}
}

func ExampleExact() {
	v, err := Exact{}.Score(context.Background(), Item{ID: "q1", Expected: []string{"14 March", "March 14"}, Answer: "On march 14, I think."})
	fmt.Println(v.Score, v.Passed(), err)
	// Output: 1 true <nil>
}
