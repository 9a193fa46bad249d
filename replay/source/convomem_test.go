package source

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"evalctl/internal/sharedtest"
)

const convoMem = `{"evidenceItems": [
 {"question": "Which tea?", "answer": "Mint", "category": "facts", "message_evidences": [{"speaker": "User", "text": "I drink mint tea. "}],
  "conversations": [{"id": "own", "messages": [{"speaker": "User", "text": "I drink mint tea."}, {"speaker": "Assistant", "text": "Good."}]}]},
 {"question": "Which cat?", "answer": 7, "category": "x_category_5", "message_evidences": [{"speaker": "User", "text": "nowhere"}],
  "conversations": [{"id": "b", "messages": [{"speaker": "User", "text": "Hello."}]}]}],
 "conversations": [{"id": "b", "messages": [{"speaker": "User", "text": "Hello."}], "containsEvidence": false},
  {"id": "empty", "messages": [{"speaker": "User", "text": " "}]}],
 "contextSize": 2}`

func TestConvoMem(t *testing.T) {
	b := open(t, writeFile(t, "facts.json", convoMem), Options{})
	h := haystack(t, b, "convomem-facts")
	if len(h.Sessions) != 2 || h.Sessions[1].SourceID != "own" {
		t.Fatalf("sessions %+v, want b and own", h.Sessions)
	}
	want := []Question{
		{ID: "facts-q001", Type: "facts", Text: "Which tea?", Answer: "Mint", Gold: []string{h.Sessions[1].Path}, Evidence: []string{"I drink mint tea. "}},
		{ID: "facts-q002", Type: "x_category_5", Text: "Which cat?", Answer: notMentioned, Abstention: true},
	}
	for i := range want {
		want[i].Haystack, want[i].Brain = h.ID, h.Brain
	}
	if d := cmp.Diff(want, b.Questions); d != "" {
		t.Error(d)
	}
	doc := string(h.Documents()[1].Data)
	if doc != "# Conversation 2\n\nuser: I drink mint tea.\n\nassistant: Good.\n" {
		t.Errorf("document %q: it has a date, or other words", doc)
	}
	var kinds []string
	for _, trap := range b.Report.Traps {
		kinds = append(kinds, trap.Kind)
	}
	if got := strings.Join(kinds, " "); got != "adversarial-answer answer-not-text conversation-of-a-question "+
		"empty-session empty-turn gold-not-in-haystack" {
		t.Errorf("irregularities %s", got)
	}
}

// TestSharedConvoMem reads published files: each question but the adversarial ones has its evidence.
func TestSharedConvoMem(t *testing.T) {
	b := open(t, sharedtest.Path(t, "convomem"), Options{})
	abstain := 0
	for _, q := range b.Questions {
		if q.Abstention {
			abstain++
		} else if len(q.Gold) == 0 {
			t.Errorf("%s has no gold", q.ID)
		}
	}
	if len(b.Questions) != 79 || abstain != 47 {
		t.Errorf("%d questions, %d abstentions, want 79 and 47", len(b.Questions), abstain)
	}
}
