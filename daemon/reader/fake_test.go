package reader

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// asked is the input of a reader.
func asked(question, date string, notes ...note) input {
	return input{Question: question, QuestionDate: date, Notes: notes}
}

func TestFakeReader(t *testing.T) {
	harbour := note{ID: 1, Title: "Harbour", Text: "# Harbour café\n\n- The café opens at 7.30 on weekdays. Ask for J. Marsh.\n- Dogs stay outside.\n"}
	tide := note{ID: 2, Title: "Tides", Text: "High water was at noon. The ferry waits for nobody!"}
	old := note{ID: 3, Date: "2025-01-10", Text: "The ferry fare is four euros."}
	fresh := note{ID: 4, Date: "2025-06-01", Text: "The ferry fare is five euros."}
	for _, tt := range []struct {
		name string
		in   input
		want string // a prefix: further quotes may follow
	}{
		{"bullet", asked("When does the harbour café open?", "", tide, harbour), "The café opens at 7.30 on weekdays."},
		{"stemmed", asked("Where do dogs stay?", "", tide, harbour), "Dogs stay outside."},
		{"newer wins", asked("What is the ferry fare?", "", old, fresh), "The ferry fare is five euros. The ferry fare is four"},
		{"before the update", asked("What is the ferry fare?", "2025-03-01T12:00:00+02:00", fresh, old), "The ferry fare is four euros."},
		{"the day itself", asked("What is the ferry fare?", "2025-06-01T08:00:00Z", old, fresh), "The ferry fare is five euros."},
		{"nothing", asked("Which violin strings did Agnes buy?", "", tide, harbour), Abstention},
		{"no notes", asked("Where do dogs stay?", ""), Abstention},
		{"no words", asked("?", "", tide), Abstention},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := fakeAnswer(tt.in, false); !strings.HasPrefix(got, tt.want) {
				t.Errorf("got  %s\nwant %s...", got, tt.want)
			}
		})
	}
}

func TestNoteSentences(t *testing.T) {
	for _, tt := range []struct {
		in   string
		want []string
	}{
		{"", nil},
		{"One. Two! Three? four", []string{"One.", "Two!", "Three? four"}},
		{"Dr. Who met J. Marsh at 6 p.m. on Friday. Then left.", []string{"Dr. Who met J. Marsh at 6 p.m. on Friday.", "Then left."}},
		{"It cost 3.50 euros. \"Fine.\" Said he.", []string{"It cost 3.50 euros.", `"Fine."`, "Said he."}},
		{"## Head\r\n\r\n  - a b\n* c\n12. d e\n> quoted\n2025 was wet", []string{"Head", "a b", "c", "d e", "quoted", "2025 was wet"}},
		{"Ends here.  ", []string{"Ends here."}},
	} {
		if got := texts(tt.in); !cmp.Equal(got, tt.want) {
			t.Errorf("%q: %s", tt.in, cmp.Diff(tt.want, got))
		}
	}
}

func texts(text string) []string {
	var out []string
	for _, s := range noteSentences(text) {
		out = append(out, s.text)
	}
	return out
}

// Sentences are verbatim pieces of the text, in order.
func FuzzNoteSentences(f *testing.F) {
	f.Add("# A\n- b. C! \"d.\" E\xff")
	f.Add("1. Dr. X... Y?")
	f.Fuzz(func(t *testing.T, text string) {
		rest := text
		for _, s := range texts(text) {
			i := strings.Index(rest, s)
			if s == "" || i < 0 {
				t.Fatalf("%q is not next in %q", s, rest)
			}
			rest = rest[i+len(s):]
		}
	})
}

// Whatever the notes contain, the answer consists of whole sentences from them, so that citation
// offsets are exact, and is the same each time.
func TestFakeReaderQuotesVerbatim(t *testing.T) {
	word := rapid.SampledFrom([]string{"ferry", "Fare", "five", "the", "dogs.", "Dogs", "é\u2028x", "\"}", "- ", "\n", "# ", "?", "! "})
	text := rapid.Custom(func(t *rapid.T) string { return strings.Join(rapid.SliceOf(word).Draw(t, "words"), " ") })
	rapid.Check(t, func(rt *rapid.T) {
		var notes []note
		var all []string
		for range rapid.IntRange(0, 4).Draw(rt, "notes") {
			n := note{Text: text.Draw(rt, "text"), Date: rapid.SampledFrom([]string{"", "2025-01-01", "x"}).Draw(rt, "date")}
			notes = append(notes, n)
			all = append(all, texts(n.Text)...)
		}
		question := text.Draw(rt, "question")
		got := fakeAnswer(input{Question: question, Notes: notes}, false)
		if again := fakeAnswer(input{Question: question, Notes: notes}, false); again != got {
			rt.Fatalf("%q, then %q", got, again)
		}
		augmented := input{Question: "How many days? " + question, Notes: notes}
		if first, again := fakeAnswer(augmented, true), fakeAnswer(augmented, true); first == "" || first != again {
			rt.Fatalf("augmented: %q, then %q", first, again)
		}
		if got != Abstention && !joined(got, all, maxQuotes) {
			rt.Fatalf("%q is not made of up to %d of %q", got, maxQuotes, all)
		}
	})
}

// joined reports whether s is up to n of the pieces, joined by single spaces.
func joined(s string, pieces []string, n int) bool {
	if n == 0 {
		return false
	}
	return slices.ContainsFunc(pieces, func(p string) bool {
		rest, ok := strings.CutPrefix(s, p)
		return ok && (rest == "" || strings.HasPrefix(rest, " ") && joined(rest[1:], pieces, n-1))
	})
}
