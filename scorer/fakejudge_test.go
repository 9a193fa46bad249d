package scorer

import (
	"encoding/json"
	"strings"
	"testing"

	"evalctl/internal/llm"
)

func TestFakeJudge(t *testing.T) {
	for _, tt := range []struct {
		name, reference, candidate string
		want                       float64
	}{
		{"same", "Five euros", "It costs five euros.", 1},
		{"stemmed", "She paints boats", "painting a boat", 1},
		{"half", "red boat", "the boat is blue", 0.5},
		{"a third", "red wooden boat", "boat", 0.33},
		{"numbers", "14 March", "March 15", 0.5},
		{"nothing", "red boat", "", 0},
		{"stop words alone", "No", "no", 1},
		{"stop words differ", "No", "yes", 0},
		{"part of a word", "yes", "yesterday", 0},
		{"both abstain", "I don't know: not recorded.", "I don’t know.", 1},
		{"only reference abstains", "Not mentioned.", "Five euros", 0},
		{"only candidate abstains", "Five euros", "I do not know; perhaps five euros", 0},
		{"abstention quoted later", "Agnes was unsure", "Agnes was unsure. She said: I don't know.", 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			text := Prompts{}.fakeReply(Item{Question: "q", Reference: tt.reference, Answer: tt.candidate})
			var got struct {
				Score  *float64
				Reason string
			}
			if err := json.Unmarshal([]byte(text), &got); err != nil || got.Score == nil || *got.Score != tt.want || got.Reason == "" {
				t.Errorf("got %s (%v), want %v", text, err, tt.want)
			}
		})
	}
}

// The offline judge's reply has the form that the prompt asks for, to the byte, and judges the
// answer as the prompt contains it.
func TestFakeJudgeReply(t *testing.T) {
	j, err := NewJudge(llm.NewFake(), llm.FakeModel, DefaultPrompts())
	if err != nil {
		t.Fatal(err)
	}
	in := item
	in.Reference = "a red wooden boat"
	if got, want := j.Request(in).Fake(), `{"score": 0.00, "reason": "0 of 3 reference words found"}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	in.Answer = strings.Repeat("x ", maxCandidate/2) + "red wooden boat"
	v, err := j.Score(t.Context(), in)
	if err != nil || !v.Scored || v.Score != 0 {
		t.Errorf("words beyond the limit count: %+v, %v", v, err)
	}
}
