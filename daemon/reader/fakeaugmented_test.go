package reader

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestFakeReaderInAugmentedMode compares the offline reader's modes.
func TestFakeReaderInAugmentedMode(t *testing.T) {
	old := note{ID: 1, Date: "2025-01-10", Text: "The ferry fare is four euros."}
	fresh := note{ID: 2, Date: "2025-06-01", Text: "From June the ferry fare is five euros. Dogs are free."}
	visit := note{ID: 3, Date: "2025-06-04T20:00:00+02:00", Text: "The plumber came yesterday. Next Monday the painter comes. Rain on the last Sunday of May."}
	undated := note{ID: 4, Text: "The plumber came yesterday."}
	pets := note{ID: 5, Title: "Ana", Text: "# Ana's pets\n\n- Fig, a cat.\n- Plum\n1. Kiwi\n\nA parrot has left.\n\n## Shopping\n\n- pet food\n- nails"}
	colon := note{ID: 6, Text: "Guests of the party:\n\n* Mia\n* Leo"}
	said := note{ID: 7, Text: "Ana has two pets."}
	for _, tt := range []struct {
		name             string
		in               input
		basic, augmented string
	}{
		{"the newest of conflicting facts", asked("What is the ferry fare?", "", old, fresh),
			"From June the ferry fare is five euros. The ferry fare is four euros.", "From June the ferry fare is five euros."},
		{"before the change", asked("What is the ferry fare?", "2025-03-01", fresh, old),
			"The ferry fare is four euros.", "The ferry fare is four euros."},
		{"dates that count from the note's", asked("When did the plumber come?", "", visit),
			"The plumber came yesterday. Next Monday the painter comes.",
			"The plumber came yesterday. (yesterday: 3 June 2025) [3] Next Monday the painter comes. (Next Monday: 9 June 2025) [3]"},
		{"not asked for a date", asked("Who came? The plumber?", "", visit),
			"The plumber came yesterday.", "The plumber came yesterday."},
		{"a date without a note's", asked("When did the plumber come?", "", undated),
			"The plumber came yesterday.", "The plumber came yesterday."},
		{"a list", asked("How many pets does Ana have?", "", pets),
			"pet food Ana's pets", "3: Fig, a cat, Plum, Kiwi. [5] pet food Ana's pets"},
		{"a list after a colon", asked("How many guests were at the party?", "", colon),
			"Guests of the party:", "2: Mia, Leo. [6] Guests of the party:"},
		{"a number that is given", asked("How many pets does Ana have?", "", pets, said),
			"Ana has two pets. pet food", "Ana has two pets. pet food"},
		{"no list about it", asked("How many houses does Ana own?", "", colon), Abstention, Abstention},
		{"nothing", asked("How many violin strings did Agnes buy?", "2025-03-01", visit, pets), Abstention, Abstention},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.basic, fakeAnswer(tt.in, false)); diff != "" {
				t.Error("basic:", diff)
			}
			if diff := cmp.Diff(tt.augmented, fakeAnswer(tt.in, true)); diff != "" {
				t.Error("augmented:", diff)
			}
		})
	}
}

func TestResolveDate(t *testing.T) {
	for text, want := range map[string]string{ // written on a Wednesday
		"It rained today.":             "It rained today. (today: 1 May 2024) [9]",
		"THIS EVENING we sing":         "THIS EVENING we sing (THIS EVENING: 1 May 2024) [9]",
		"Last night it rained.":        "Last night it rained. (Last night: 30 April 2024) [9]",
		"Tomorrow, and today.":         "Tomorrow, and today. (Tomorrow: 2 May 2024) [9]",
		"Bought 3 days ago.":           "Bought 3 days ago. (3 days ago: 28 April 2024) [9]",
		"It was last Wednesday.":       "It was last Wednesday. (last Wednesday: 24 April 2024) [9]",
		"It was last Tuesday.":         "It was last Tuesday. (last Tuesday: 30 April 2024) [9]",
		"It was last Thursday.":        "It was last Thursday. (last Thursday: 25 April 2024) [9]",
		"It is next Wednesday.":        "It is next Wednesday. (next Wednesday: 8 May 2024) [9]",
		"It is next Thursday.":         "It is next Thursday. (next Thursday: 2 May 2024) [9]",
		"It is next Tuesday.":          "It is next Tuesday. (next Tuesday: 7 May 2024) [9]",
		"The last Sunday of May.":      "The last Sunday of May.",
		"Yesterdays and a todayism.":   "Yesterdays and a todayism.",
		"999 days ago, long ago.":      "999 days ago, long ago. (999 days ago: 6 August 2021) [9]",
		"99999999999 days ago, or so.": "99999999999 days ago, or so.",
	} {
		if got := resolveDate(quotation{text: text, note: note{ID: 9, Date: "2024-05-01T23:59:00-09:00"}}); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	for _, date := range []string{"", "soon"} {
		if got := resolveDate(quotation{text: "Today.", note: note{Date: date}}); got != "Today." {
			t.Errorf("date %q: got %q", date, got)
		}
	}
}

func TestLists(t *testing.T) {
	const text = "- loose\n\n# Pets #\n\n- Fig.\n- Plum\n\n- Kiwi\nText\n- other\n\nTo buy:\n1) milk\n2. eggs;\n10 was"
	want := []itemList{
		{"", []string{"loose"}}, {"Pets", []string{"Fig", "Plum", "Kiwi"}}, {"", []string{"other"}}, {"To buy", []string{"milk", "eggs"}},
	}
	if diff := cmp.Diff(want, lists(text), cmp.AllowUnexported(itemList{})); diff != "" {
		t.Error(diff)
	}
}
