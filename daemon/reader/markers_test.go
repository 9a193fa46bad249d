package reader

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"evalctl/daemon/search"
)

// filtered passes the deltas of an answer through an Answer.
func filtered(hits []search.Hit, deltas ...string) (shown string, marks []mark) {
	a := NewAnswer(hits)
	for _, d := range deltas {
		shown += a.Write(d)
	}
	shown += a.Close()
	if shown != a.Text() {
		panic("the deltas are not the answer")
	}
	return shown, a.marks
}

var threeNotes = []search.Hit{{Text: "Set array[1] and grid.rows[0][2] first."}, {Text: "b"}, {Text: "c. [3]"}}

func TestMarkersAreNotShown(t *testing.T) {
	for _, tt := range []struct{ answer, want string }{
		{"Oslo [1].", "Oslo."},
		{"Oslo[1].", "Oslo."},
		{"Oslo. [1]", "Oslo."},
		{"Oslo [1][2] [3].", "Oslo."},
		{"Oslo [1], [2]; [3], and", "Oslo, and"},
		{"Oslo [1, 2], Rome [ 2 ; 3 ].", "Oslo, Rome."},
		{"Oslo [1-3], Rome [2–3].", "Oslo, Rome."},
		{"Oslo [[2]] and", "Oslo and"},
		{"Oslo [1] and [2] Rome", "Oslo and Rome"},
		{"Oslo [1]and", "Oslo and"},
		{"Oslo\u00a0[1]!", "Oslo!"},
		{"[1] Oslo", "Oslo"},
		{"[1]\nOslo [2]\n[3]\n", "\nOslo\n\n"},
		{"- [1] Oslo\n  [2] Rome", "- Oslo\nRome"},
		{"| Oslo [1] | 3 |", "| Oslo | 3 |"},
		{"(Oslo [1]) \"Rome [2]\"", "(Oslo) \"Rome\""},
		{"[1]", ""},
		{" [1] [2]\n", "\n"},
		{"Oslo [1", "Oslo [1"},
		{"Oslo [", "Oslo ["},
		{"Oslo  ", "Oslo  "},
		{"Oslo [1, 9].", "Oslo."}, // one of them is a note
		// Other brackets.
		{"[x] [ ] [] [4] [0] [2024] [1, 2024] [1.] [3-1] [-1] [1 2] [,]", "[x] [ ] [] [4] [0] [2024] [1, 2024] [1.] [3-1] [-1] [1 2] [,]"},
		{"see [1](https://example.org) and [[1]](x)", "see [1](https://example.org) and [[1]](x)"},
		{"see [2] [1](https://example.org)", "see [1](https://example.org)"},
		{"array[1] and `array[1]` and other[1]", "array[1] and `array[1]` and other"},
		{"grid.rows[0][2] and rows[2]", "grid.rows[0][2] and rows"},
		{"c. [3] c.[3]", "c. c."}, // what the prompt asks for is a marker, even if a note has it
		{"[[1]1] [1[2], 3]", "[[1]1] [1[2], 3]"},
		{"[[1][1]] [1[2][3]]", "[[1][1]] [1[2][3]]"},
		{"[" + strings.Repeat(" ", maxMarker) + "1]", "[" + strings.Repeat(" ", maxMarker) + "1]"},
		{"日本 [1]。🙂 [2]", "日本。🙂"},
	} {
		got, _ := filtered(threeNotes, tt.answer)
		if got != tt.want {
			t.Errorf("%q became %q, want %q", tt.answer, got, tt.want)
		}
	}
}

func TestMarksSayWhere(t *testing.T) {
	for _, tt := range []struct {
		answer string
		want   []mark
	}{
		{"Oslo [2]. Rome [1, 3][1].", []mark{{4, []int{1}}, {10, []int{0, 2}}}},
		{"[3] Oslo.", []mark{{0, []int{2}}}},
		{"Oslo.\n[3] Rome.", []mark{{6, []int{2}}}},
		{"Oslo. \n [3]\nRome.", []mark{{5, []int{2}}}},
		{"Oslo.\n[3]" + strings.Repeat(" ", 2*maxGap) + "[1]\nRome.", []mark{{5, []int{2}}, {5, []int{0}}}},
		{"[1-9]", []mark{{0, []int{0, 1, 2}}}},
		{"[4] [x]", nil},
	} {
		_, got := filtered(threeNotes, tt.answer)
		if diff := cmp.Diff(tt.want, got, cmp.AllowUnexported(mark{})); diff != "" {
			t.Errorf("%q: %s", tt.answer, diff)
		}
	}
}

// TestTextIsNotDelayed: only what may still become part of a marker waits.
func TestTextIsNotDelayed(t *testing.T) {
	a := NewAnswer(threeNotes)
	for _, tt := range []struct{ delta, want string }{
		{"Ana", "Ana"}, {" lives", " lives"}, {" ", ""}, {"in ", " in"}, {"Oslo", " Oslo"}, {".", "."},
		{" [", ""}, {"1", ""}, {"2", ""}, {"x", " [12x"}, {" [1]", ""}, {".", "."}, {" [1]", ""}, {", ", ""}, {"[", ""}, {"2]", ""},
		{", and", ", and"}, {" [7]", " [7]"}, {"\xe6\x97", ""}, {"\xa5", "日"}, {"\n", "\n"}, {" [2", ""},
	} {
		if got := a.Write(tt.delta); got != tt.want {
			t.Errorf("after %q: %q shows %q, want %q", a.Text(), tt.delta, got, tt.want)
		}
	}
	if got := a.Close(); got != " [2" {
		t.Errorf("the end shows %q", got)
	}
}

// drawAnswer draws answers with everything that matters to the filter.
func drawAnswer(t *rapid.T) string {
	piece := rapid.SampledFrom([]string{
		"Ana", "array", "日本", "🙂", "x", "rows", "grid.rows", "1", "2", "3", "4", "2024", "[", "]", "[[", "]]", "[1]", "[2]", "[3]", "[1, 2]",
		"[1-3]", "[2–3]", "[9]", "[2024]", "[x]", "(", ")", "[1](u)", ",", ";", "-", "–", " ", " ", " ", "\t", "\u00a0", "\n", "\r\n",
		". ", "! ", ".", "\"", "\xff", "\xe6\x97", "\xa5", strings.Repeat(" ", maxGap-1), strings.Repeat(" ", maxMarker-3),
	})
	return strings.Join(rapid.SliceOfN(piece, 0, 30).Draw(t, "answer"), "")
}

// cut cuts text into pieces at the offsets.
func cut(text string, at []int) []string {
	slices.Sort(at)
	var pieces []string
	from := 0
	for _, i := range at {
		pieces = append(pieces, text[from:i])
		from = i
	}
	return append(pieces, text[from:])
}

// TestMarkersInAnyDeltas: the answer and what its markers say do not depend on how it is cut, even
// within characters. What was shown is shown as it is when it passes the filter again.
func TestMarkersInAnyDeltas(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		answer := drawAnswer(t)
		hits := threeNotes[:rapid.IntRange(0, len(threeNotes)).Draw(t, "notes")]
		at := rapid.SliceOf(rapid.IntRange(0, len(answer))).Draw(t, "cuts")
		shown, marks := filtered(hits, answer)
		checkShown(t, hits, answer, shown, marks)
		cutShown, cutMarks := filtered(hits, cut(answer, at)...)
		if shown != cutShown {
			t.Fatalf("%q becomes %q, and %q when it is cut at %v", answer, shown, cutShown, at)
		}
		if diff := cmp.Diff(marks, cutMarks, cmp.AllowUnexported(mark{})); diff != "" {
			t.Fatalf("%q cut at %v: %s", answer, at, diff)
		}
	})
}

// checkShown checks what holds for every answer.
func checkShown(t interface{ Fatalf(string, ...any) }, hits []search.Hit, answer, shown string, marks []mark) {
	if again, more := filtered(hits, shown); again != shown || len(more) > 0 {
		t.Fatalf("%q becomes %q, and that %q", answer, shown, again)
	}
	if !utf8.ValidString(shown) {
		t.Fatalf("%q becomes %q", answer, shown)
	}
	last := 0
	for _, m := range marks {
		if m.at < last || m.at > len(shown) || !utf8.RuneStart((shown + "x")[m.at]) || len(m.hits) == 0 {
			t.Fatalf("%q becomes %q with %v", answer, shown, marks)
		}
		last = m.at
	}
	if len(marks) == 0 && shown != string([]rune(answer)) {
		t.Fatalf("%q has no markers and becomes %q", answer, shown)
	}
}

func FuzzMarkers(f *testing.F) {
	for _, answer := range []string{"Oslo [1].", "[[1]] [1](u) [1", "a [1], [2]\n[3]", "array[1][2] \xff[1]"} {
		f.Add(answer, 3, 7)
	}
	f.Fuzz(func(t *testing.T, answer string, a, b int) {
		at := []int{max(0, min(a, len(answer))), max(0, min(b, len(answer)))}
		shown, marks := filtered(threeNotes, answer)
		checkShown(t, threeNotes, answer, shown, marks)
		again, same := filtered(threeNotes, cut(answer, at)...)
		if again != shown || !cmp.Equal(marks, same, cmp.AllowUnexported(mark{})) {
			t.Fatalf("%q becomes %q %v, and %q %v when it is cut at %v", answer, shown, marks, again, same, at)
		}
	})
}
