package llm

import (
	"strings"
	"testing"
)

// answersAfterThoughts have a text, the answer in it, and what Speech passes on of its pieces if
// that differs.
var answersAfterThoughts = []struct{ text, said, passed string }{
	{"London.", "London.", ""},
	{" London. ", " London. ", ""},
	{"", "", ""},
	{" \n", " \n", ""},
	{"<think>Paris?</think>\nLondon", "London", ""},
	{"\n<think>\n\n</think>\n\n London ", "London ", ""},
	{"◁think▷Paris?◁/think▷London", "London", ""},
	{"<|channel|>analysis<|message|>Paris?<|end|><|start|>assistant<|channel|>final<|message|>London", "London", ""},
	{"[THINK]Use <think>.[/THINK]London", "London", ""},
	{"<think>so", "", ""},
	{"<think>so</think>", "", ""},
	{"[1] London", "[1] London", ""},
	{"<b>London</b>, the capital of England", "<b>London</b>, the capital of England", ""},
	{"[TH", "[TH", ""},
	{"Use <thinking> tags.", "Use <thinking> tags.", ""},
	{"<think>Tags?</think>Use <think> and </think>.", "Use <think> and </think>.", ""},
	{"Paris?</think>\nLondon", "London", "Paris?</think>\nLondon"}, // begun in the prompt
	{"<think>It says </think>, so</think>London", "London", ", so</think>London"},
}

func TestAfterThoughts(t *testing.T) {
	for _, tt := range answersAfterThoughts {
		if got := AfterThoughts(tt.text); got != tt.said {
			t.Errorf("%q: got %q, want %q", tt.text, got, tt.said)
		}
	}
}

func TestSpeech(t *testing.T) {
	for _, tt := range answersAfterThoughts {
		want := tt.passed
		if want == "" {
			want = tt.said
		}
		var s Speech
		var got strings.Builder
		for _, r := range tt.text {
			got.WriteString(s.Next(string(r)))
		}
		got.WriteString(s.Rest())
		if got.String() != want {
			t.Errorf("%q: passed %q, want %q", tt.text, got.String(), want)
		}
	}
}
