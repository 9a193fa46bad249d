package actor

import (
	"strings"
	"testing"
	"unicode/utf8"

	"evalctl/internal/prose"
	"evalctl/scorer"
)

var talk = []note{
	{Date: "2023-05-08T13:56:00Z", Title: "First", Text: "Date: 8 May\n\nAnn: I went to the pottery class yesterday, Bob. " +
		"It was fun! What about you?\nBob: My dog Rex was ill."},
	{Date: "2023-06-09T10:00:00Z", Text: "Bob: We moved last week. My rent is 900 euros.\nAnn: Where do you live now?\nBob: In Porto, by the sea."},
	{Date: "2023-07-01", Text: "Bob: My rent is 950 euros."},
	{Text: "# Rex the dog\n\nDate: 2 July\n\nRex likes to swim."},
}

func TestFakeAnswer(t *testing.T) {
	for _, c := range []struct {
		question, asked string
		want            string // a prefix
	}{
		{"When did Ann go to the pottery class?", "", "7 May 2023. I went to the pottery class yesterday, Bob."},
		{"When did Bob move?", "", "The week before 9 June 2023. We moved last week."},
		{"What is Bob's rent?", "", "My rent is 950 euros."},
		{"What is Bob's rent?", "2023-06-20T00:00:00Z", "My rent is 900 euros."},
		{"What was wrong with Bob's dog?", "", "My dog Rex was ill."},
		{"Where does Bob live now?", "", "In Porto, by the sea."},
		{"What does Rex like?", "", "Rex likes to swim."},
		{"Which violin did Ann buy in Lisbon?", "", Abstention},
		{"When did Bob go to the pottery class in Lisbon?", "", Abstention},
		{"?", "", Abstention},
	} {
		got := fakeAnswer(message{Question: c.question, AskedOn: c.asked, Notes: talk})
		if !strings.HasPrefix(got, c.want) {
			t.Errorf("%s\ngot  %s\nwant %s...", c.question, got, c.want)
		}
	}
	if got := fakeAnswer(message{Question: "What is Bob's rent?"}); got != Abstention || !scorer.Declines(got) {
		t.Errorf("without notes: %s", got)
	}
}

// TestDateOf counts from Friday, 9 June 2023.
func TestDateOf(t *testing.T) {
	for text, want := range map[string]string{
		"We met yesterday.":           "8 June 2023.",
		"Last night was fun.":         "8 June 2023.",
		"Tomorrow we leave.":          "10 June 2023.",
		"It is today.":                "9 June 2023.",
		"I saw it.":                   "9 June 2023.",
		"Two days ago.":               "7 June 2023.",
		"A week ago we met.":          "2 June 2023.",
		"It was 3 months ago.":        "March 2023.",
		"That was ten years ago.":     "2013.",
		"Last year I ran.":            "2022.",
		"This year I run.":            "2023.",
		"Next month we go.":           "July 2023.",
		"Last month we went.":         "May 2023.",
		"Last week we went.":          "The week before 9 June 2023.",
		"This weekend we go.":         "The weekend of 9 June 2023.",
		"Last Friday we met.":         "2 June 2023 (the Friday before 9 June 2023).",
		"Last Sun we met.":            "4 June 2023 (the Sunday before 9 June 2023).",
		"Next Friday we meet.":        "16 June 2023 (the Friday after 9 June 2023).",
		"This saturday we meet.":      "10 June 2023.",
		"On the last of the monthly.": "9 June 2023.",
	} {
		if got := dateOf(sentence{text: text, date: "2023-06-09T22:00:00Z"}); got != want {
			t.Errorf("%s: got %s, want %s", text, got, want)
		}
	}
	if got := dateOf(sentence{text: "Yesterday."}); got != "" {
		t.Errorf("without a date: %s", got)
	}
}

// FuzzFakeAnswer checks that an answer is always the same, and only has what the notes have.
func FuzzFakeAnswer(f *testing.F) {
	f.Add("When did Bob move?", "2023-06-20", "2023-06-09", "Bob: We moved last week.\nAnn: Oh! \xff")
	f.Add("Bob", "", "x", ": : .!?\n. .")
	f.Fuzz(func(t *testing.T, question, asked, date, text string) {
		if !utf8.ValidString(text) {
			t.Skip("notes are decoded from JSON")
		}
		m := message{Question: question, AskedOn: asked, Notes: []note{{Date: date, Text: text}, {Text: text}}}
		got := fakeAnswer(m)
		if got == "" || fakeAnswer(m) != got {
			t.Fatalf("got %q", got)
		}
		if asksWhen.MatchString(question) || got == Abstention {
			return
		}
		for s := range prose.Split(got) {
			for _, word := range strings.Fields(s) {
				if !strings.Contains(text, word) {
					t.Fatalf("%q of %q is not in the notes", word, got)
				}
			}
		}
	})
}
