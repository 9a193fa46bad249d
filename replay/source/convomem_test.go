package source

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"evalctl/internal/filetest"
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

// The published questions: test cases in an array, and a person's evidence items. The folders name
// the kinds of question, and the names of files recur.
func TestConvoMemPublished(t *testing.T) {
	conversation := func(text string) string {
		return `{"id": "c", "messages": [{"speaker": "user", "text": "` + text + `"}, {"speaker": "assistant", "text": "Good."}]}`
	}
	item := func(answer, evidence string) string {
		return `{"question": "Which tea?", "answer": "` + answer + `", "category": "Personal Life",
			"message_evidences": [{"speaker": "user", "text": "` + evidence + `"}], "conversations": [` + conversation("I\u2019d like a mint tea, please.") + `]}`
	}
	testCase := func(text, items string) string {
		return `{"contextSize": 2, "evidenceItems": [` + items + `], "conversations": [` + conversation(text) + `]}`
	}
	fact, unknown := item("Mint", "I'd like  a Mint tea please"), item(convoUnknown, "I\u2019d like a mint tea, please.")
	root := t.TempDir()
	for path, text := range map[string]string{
		"user_evidence/1_evidence/batched_000.json":       "[" + testCase("Hello.", fact+","+fact) + "," + testCase("Bye.", fact) + "]",
		"abstention_evidence/1_evidence/batched_000.json": "[" + testCase("Hello.", unknown) + "]",
		"preference_evidence/2_evidence/0a1b_Nurse.json":  `{"evidence_items": [` + fact + "," + fact + `], "checkpoint": "0a1b"}`,
	} {
		filetest.Write(t, filepath.Join(root, filepath.FromSlash(path)), text)
	}
	b := open(t, root, Options{})
	var got []string
	for _, q := range b.Questions {
		d := q.Dataset()
		h := haystack(t, b, q.Haystack)
		got = append(got, fmt.Sprintf("%s %s %s %d/%d", q.ID, q.Type, d.JudgeType, len(d.ExpectedPaths), len(h.Sessions)))
		if strings.Contains(q.Brain, "evidence") || len(q.Gold) != 1 || h.Sessions[len(h.Sessions)-1].Path != q.Gold[0] {
			t.Errorf("brain %s, gold %s", q.Brain, q.Gold)
		}
	}
	want := []string{
		"abstention_evidence-1_evidence-batched_000-001-q001 abstention_evidence abstention 0/2",
		"preference_evidence-2_evidence-0a1b_Nurse-001-q001 preference_evidence preference 1/1",
		"preference_evidence-2_evidence-0a1b_Nurse-002-q001 preference_evidence preference 1/1",
		"user_evidence-1_evidence-batched_000-001-q001 user_evidence standard 1/2",
		"user_evidence-1_evidence-batched_000-001-q002 user_evidence standard 1/2",
		"user_evidence-1_evidence-batched_000-002-q001 user_evidence standard 1/2",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	alone := open(t, writeFile(t, "batched_000.json", "["+testCase("Hello.", unknown)+"]"), Options{}).Questions[0]
	if alone.Type != "Personal Life" || !alone.Abstention || !alone.Topical || alone.Answer != convoUnknown {
		t.Errorf("without folders: %+v", alone)
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
