package scorer

import (
	"testing"

	"evalctl/internal/llm"
)

const rubric = "The user would prefer responses that suggest resources specifically tailored to Adobe Premiere Pro, " +
	"especially those that delve into its advanced settings. They might not prefer general video editing resources."

// The offline judge decides by the rules of the type, with right and wrong answers of each.
func TestFakeVerdict(t *testing.T) {
	const days = "How many days passed between the two visits?"
	for _, tt := range []struct {
		name, kind, question, reference, answer string
		pass                                    bool
	}{
		{"same count", TypeTemporal, days, "7 days. 8 days (including the last day) is also acceptable.", "7 days", true},
		{"one more", TypeTemporal, days, "18 days", "It took nineteen days... no: 19 days.", true},
		{"one less", TypeTemporal, days, "three weeks", "2 weeks", true},
		{"two more", TypeTemporal, days, "18 days", "20 days", false},
		{"another unit", TypeTemporal, days, "3 weeks", "3 months", false},
		{"a count among others", TypeTemporal, days, "2 weeks and 4 weeks, so 6 weeks", "6 weeks", true},
		{"a year alone", TypeTemporal, "When was it?", "2022", "In 2022.", true},
		{"bare numbers", TypeTemporal, days, "4", "5", true},
		{"bare reference", TypeTemporal, days, "4", "5 days", true},
		{"bare number of another unit", TypeTemporal, days, "4", "5 months", false},
		{"a year is no count", TypeTemporal, "In which year?", "2022", "2023", false},
		{"a date is no count", TypeTemporal, "When was it?", "7 May", "8 June", false},
		{"a date", TypeTemporal, "When was it?", "7 May 2023", "On May 7, 2023.", true},
		{"count in a refusal", TypeTemporal, days, "7 days", "I don't know, perhaps 7 days.", false},

		{"newest value", TypeKnowledgeUpdate, "", "$400,000", "It was $350,000 and is now $400,000.", true},
		{"old value", TypeKnowledgeUpdate, "", "$400,000 from Wells Fargo", "Wells Fargo offered $350,000.", false},
		{"declines", TypeKnowledgeUpdate, "", "$400,000", "I don't know.", false},

		{"respects the rubric", TypePreference, "Where can I learn video editing?", rubric, "Adobe's own Premiere tutorials.", true},
		{"general advice", TypePreference, "Where can I learn video editing?", rubric, "There are many resources on video editing.", false},
		{"declines to advise", TypePreference, "", rubric, "I don't know which Adobe Premiere course suits you.", false},
		{"no advice", TypePreference, "", rubric, "", false},
		{"empty rubric", TypePreference, "", "The user would prefer suggestions.", "suggestions", false},

		{"declines for lack of information", TypeAbstention, "", "You did not mention this.", "I don't know: the notes do not say.", true},
		{"the reference", TypeAbstention, "", "The information provided is not enough.", "The information provided is not enough.", true},
		{"later in the answer", TypeAbstention, "", "x", "You have a cat. You didn’t mention a hamster.", true},
		{"invents", TypeAbstention, "", "You did not mention this.", "Luna", false},
		{"says nothing", TypeAbstention, "", "You did not mention this.", "", false},

		{"standard", TypeStandard, "", "Blue", "It is blue.", true},
		{"no type", "", "", "Blue", "It is red.", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			j, err := NewTyped(llm.NewFake(), llm.FakeModel, ReplayPrompts())
			if err != nil {
				t.Fatal(err)
			}
			v, err := j.Score(t.Context(), Item{
				ID: "q", Type: tt.kind, Question: tt.question, Reference: tt.reference, Answer: tt.answer,
			})
			if err != nil || !v.Scored || v.Passed() != tt.pass {
				t.Errorf("%+v, %v", v, err)
			}
		})
	}
}

func TestDeclines(t *testing.T) {
	for text, want := range map[string]bool{
		"":                                 false,
		"I don't know.":                    true,
		"You did not mention your hamster": true,
		"I know.":                          false,
		"Luna, as you mentioned":           false,
	} {
		if Declines(text) != want {
			t.Errorf("%q: %v", text, !want)
		}
	}
}
