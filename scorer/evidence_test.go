package scorer

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestEvidenceRanks(t *testing.T) {
	const (
		ticket = "A single ticket on the Lorne ferry costs six euros."
		long   = "Yesterday I finally took the bus to Porto to see the small workshop where my aunt repaired violins " +
			"for forty years, and the new owner let me hold the last one she made in 1987, which still has her label"
	)
	for _, c := range []struct {
		name, evidence string
		passages       []Passage
		want           int
	}{
		{"word for word", ticket, []Passage{{"", "The fares. " + ticket + " Children travel free."}}, 1},
		{"second passage", ticket, []Passage{{"", "Nothing."}, {"", ticket}}, 2},
		{"case, quotes, spaces, line ends", ticket, []Passage{{"", "a SINGLE ticket on\r\n  the “Lorne” ferry\u00a0costs six euros"}}, 1},
		{"Markdown", ticket, []Passage{{"", "- A **single ticket** on the _Lorne_ ferry costs `six` euros"}}, 1},
		{"JSON as text", ticket, []Passage{{"", `{"content":"fares:\nA single ticket on the \"Lorne\" ferry costs\nsix euros."}`}}, 1},
		{"JSON in ASCII", "We had a great time 😀 at the lake with Ana 𠮷", []Passage{
			{"", `{"text": "We had a great time \ud83d\ude00 at the lake with Ana \uD842\uDFB7"}`}}, 1},
		{"another fact", ticket, []Passage{{"", "A single ticket on the Lorne ferry costs four euros."}}, 0},
		{"another fact at the end", "The ferry leaves on Monday", []Passage{{"", "The ferry leaves on Sunday"}}, 0},
		{"the words of another fact", "Ada gave Bob the old key", []Passage{{"", "Bob gave Ada the old key"}}, 0},
		{"cut", ticket, []Passage{{"", "A single ticket on the Lorne ferry costs"}}, 0},
		{"part of a word", "the cat sat", []Passage{{"", "the cat saturated"}}, 0},
		{"one word", "Porto", []Passage{{"", "She moved to Porto."}}, 1},
		{"two words", "blue boat", []Passage{{"", "a boat, blue"}, {"", "the blue boat"}}, 2},
		{"one word of many", long, []Passage{{"", strings.Replace(long, "small", "tiny", 1)}}, 1},
		{"two words of many", long, []Passage{{"", strings.NewReplacer("small", "tiny", "aunt", "uncle").Replace(long)}}, 0},
		{"a number of many words", long, []Passage{{"", strings.Replace(long, "1987", "1978", 1)}}, 0},
		{"a number at the end", long + " from 1987", []Passage{{"", long + " from 1978"}}, 0},
		{"no words", "…", []Passage{{"", "…"}}, 0},
		{"no passages", ticket, nil, 0},
		{"Japanese", "駅は町の北にある", []Passage{{"", "昔から駅は町の北にあると言う。"}}, 1},
		{"Japanese, another fact", "駅は町の北にある", []Passage{{"", "駅は町の南にある"}}, 0},
		{"Thai", "แมวอยู่บนโต๊ะ", []Passage{{"", "เมื่อวานแมวอยู่บนโต๊ะตัวเก่า"}}, 1},
		{"Hindi", "नाव नीली है", []Passage{{"", "हमारी नाव नीली है।"}}, 1},
		{"halves of a document", ticket, []Passage{
			{"a.md", "A single ticket on the Lorne"}, {"b.md", "x"}, {"a.md", "ferry costs six euros."},
		}, 3},
		{"halves, the second one first", ticket, []Passage{{"a.md", "ferry costs six euros."}, {"a.md", "A single ticket on the Lorne"}}, 2},
		{"halves of two documents", ticket, []Passage{{"a.md", "A single ticket on the Lorne"}, {"b.md", "ferry costs six euros."}}, 0},
		{"halves of unknown documents", ticket, []Passage{{"", "A single ticket on the Lorne"}, {"", "ferry costs six euros."}}, 0},
		{"halves without a word between them", ticket, []Passage{{"a.md", "A single ticket on the"}, {"a.md", "ferry costs six euros."}}, 0},
	} {
		if got := EvidenceRanks([]string{c.evidence}, c.passages); got[0] != c.want {
			t.Errorf("%s: rank %d, want %d", c.name, got[0], c.want)
		}
	}
	two := []Passage{{"a", "the blue boat is old"}, {"b", "the red boat is new"}}
	if got := EvidenceRanks([]string{"red boat is new", "green boat", "the blue boat"}, two); !slices.Equal(got, []int{2, 0, 1}) {
		t.Errorf("several pieces have the ranks %v", got)
	}
}

// TestEvidenceIsFound checks that a text has every part of itself, wherever it is, and that cutting a
// text into two passages loses nothing.
func TestEvidenceIsFound(t *testing.T) {
	words := rapid.SliceOfN(rapid.StringMatching(`[a-zé0-9]{1,4}`), 3, 30)
	rapid.Check(t, func(t *rapid.T) {
		text := words.Draw(t, "text")
		from := rapid.IntRange(0, len(text)-1).Draw(t, "from")
		to := rapid.IntRange(from+1, len(text)).Draw(t, "to")
		cut := rapid.IntRange(0, len(text)).Draw(t, "cut")
		evidence := strings.Join(text[from:to], " ")
		whole := []Passage{{"", strings.Join(text, ", ")}}
		if EvidenceRanks([]string{evidence}, whole)[0] != 1 {
			t.Fatalf("%q is not found in %q", evidence, whole)
		}
		halves := []Passage{{"a", strings.Join(text[cut:], " ")}, {"a", strings.Join(text[:cut], " ")}}
		if EvidenceRanks([]string{evidence}, halves)[0] == 0 {
			t.Fatalf("%q is not found in the halves %q", evidence, halves)
		}
	})
}

func FuzzEvidence(f *testing.F) {
	f.Add("a b c", `a \n b \" c \u00e9 \x`)
	f.Fuzz(func(t *testing.T, evidence, text string) {
		unescaped(text)
		if found := EvidenceRanks([]string{evidence}, []Passage{{"", evidence}})[0] == 1; found != HasWords(evidence) {
			t.Errorf("%q is found in itself: %t", evidence, found)
		}
		EvidenceRanks([]string{evidence}, []Passage{{"", text}, {"", evidence}})
	})
}

// TestIdentify: three words identify a text, or as much of a script without spaces.
func TestIdentify(t *testing.T) {
	for text, want := range map[string]bool{
		"": false, "two words": false, "three whole words": true,
		"小李养了": false, "小李养了一只": true, "小李 owns two": true, "แมวของฉัน": false, "แมวของฉันชื่อส้มโอ": true,
	} {
		if got := WordsOf(text).Identify(); got != want {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	}
}
