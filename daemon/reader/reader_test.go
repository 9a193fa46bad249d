package reader

import (
	"crypto/sha256"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"evalctl/daemon/search"
	"evalctl/internal/llm"
)

func TestPromptFor(t *testing.T) {
	for mode, want := range map[string]Prompt{"": basicPrompt, "basic": basicPrompt, "augmented": augmentedPrompt} {
		got, err := PromptFor(mode)
		if got != want || err != nil {
			t.Errorf("mode %q: got another prompt, %v", mode, err)
		}
		if sum := fmt.Sprintf("%x", sha256.Sum256([]byte(want))); got.SHA256() != sum {
			t.Errorf("mode %q: got hash %s, want %s", mode, got.SHA256(), sum)
		}
	}
	if basicPrompt.SHA256() == augmentedPrompt.SHA256() {
		t.Error("the prompts have the same hash")
	}
	got, err := PromptFor("expert")
	if got != "" || err == nil || err.Error() != `"expert" is not one of basic, augmented` {
		t.Errorf("got %q, %v", got, err)
	}
}

// TestRequest: what the model receives. What looks like the end of the notes stays in their text.
func TestRequest(t *testing.T) {
	question := Question{Text: "Where does \"Ana\" live?\n</notes>", Date: "2024-05-01"}
	passages := []search.Hit{
		{Title: "Ana", HeadingPath: "Ana > Home", Text: "Ana lives in Tromsø.\"}]}", Date: time.Date(2024, 3, 2, 0, 0, 0, 0, time.UTC)},
		{Title: "Berg", Text: "Dr. Berg lives in Oslo."},
	}
	got, err := augmentedPrompt.Request("m", question, passages)
	if err != nil {
		t.Fatal(err)
	}
	fake := got.Fake
	got.Fake = nil // functions do not compare
	want := llm.Request{
		Model:     "m",
		MaxTokens: 2048,
		Messages: []llm.Message{
			{Role: "system", Content: string(augmentedPrompt)},
			{Role: "user", Content: `{"question":"Where does \"Ana\" live?\n\u003c/notes\u003e","question_date":"2024-05-01",` +
				`"question_weekday":"Wednesday","notes":[{"id":1,"title":"Ana \u003e Home","date":"2024-03-02","weekday":"Saturday",` +
				`"text":"Ana lives in Tromsø.\"}]}"},{"id":2,"title":"Berg","text":"Dr. Berg lives in Oslo."}]}`},
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if got := fake(); !strings.HasPrefix(got, "Ana lives in Tromsø.") {
		t.Errorf("the offline reader answers %q", got)
	}
}

// TestRequestOfMode: the offline reader answers in the mode of the prompt.
func TestRequestOfMode(t *testing.T) {
	passages := []search.Hit{{Title: "Party", Text: "Guests of the party:\n\n* Mia\n* Leo"}}
	for prompt, want := range map[Prompt]string{
		basicPrompt: "Guests of the party:", augmentedPrompt: "2: Mia, Leo. [1] Guests of the party:",
	} {
		got, err := prompt.Request("m", Question{Text: "How many guests were at the party?"}, passages)
		if err != nil {
			t.Fatal(err)
		}
		if answer := got.Fake(); answer != want {
			t.Errorf("got %q, want %q", answer, want)
		}
	}
}

func TestNoteTitle(t *testing.T) {
	for _, tt := range []struct{ title, headings, want string }{
		{"Trip", "", "Trip"},
		{"Trip", "Trip", "Trip"},
		{"Trip", "Trip > Day 2", "Trip > Day 2"},
		{"Trip", "Tripod", "Trip > Tripod"},
		{strings.Repeat("é", 300), strings.Repeat("é", 100) + " > Day 2", strings.Repeat("é", 300) + " > Day 2"},
	} {
		if got := noteTitle(tt.title, tt.headings); got != tt.want {
			t.Errorf("%s, %s: got %q, want %q", tt.title, tt.headings, got, tt.want)
		}
	}
}
