package source

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"evalctl/harness/dataset"
	"evalctl/internal/filetest"
	"evalctl/internal/sharedtest"
	"evalctl/scorer"
)

// beamChat has two batches; the second turn of the first has no words of its own.
const beamChat = `[
 {"batch_number": 1, "time_anchor": null, "turns": [
  [{"role": "user", "id": 0, "time_anchor": "March-15-2024", "index": "1,1", "content": "I have 3 goats. ->-> 1,1"},
   {"role": "assistant", "id": 1, "content": "Fine."}],
  [{"role": "user", "id": 2, "time_anchor": null, "content": "And a cat."}]]},
 {"batch_number": 2, "time_anchor": null, "turns": [
  [{"role": "user", "id": 3, "time_anchor": "April-02-2024", "content": "Now I have 4 goats."}]]}]`

const beamQuestions = `{
 "knowledge_update": [{"question": "How many goats?", "answer": 4, "rubric": ["states: 4"],
   "source_chat_ids": {"original_info": [0], "updated_info": [3]}}],
 "abstention": [{"question": "And how many sheep?", "ideal_response": "It was not said.", "rubric": "['says that it was not said']"}],
 "instruction_following": [{"question": "List them.", "expected_compliance": "A table.", "rubric": ["is a table", "has goats"],
   "source_chat_ids": "[2, 2, 9]"}]}`

func beamFolder(t *testing.T, root, name, chat, questions string) string {
	t.Helper()
	dir := filepath.Join(root, name)
	if err := os.MkdirAll(filepath.Join(dir, "probing_questions"), 0o755); err != nil {
		t.Fatal(err)
	}
	for path, text := range map[string]string{"chat.json": chat, beamProbes: questions} {
		filetest.Write(t, filepath.Join(dir, path), text)
	}
	return dir
}

func TestBEAM(t *testing.T) {
	dir := beamFolder(t, t.TempDir(), "7", beamChat, beamQuestions)
	b := open(t, filepath.Join(dir, "chat.json"), Options{})
	if b.Format != dataset.BEAM {
		t.Fatalf("format %s", b.Format)
	}
	h := haystack(t, b, "beam-7")
	path := func(n int) string { return h.Sessions[n].Path }
	want := []Question{
		{
			ID: "beam-7-abstention-1", Type: "abstention", Text: "And how many sheep?", Answer: "It was not said.",
			Abstention: true, Checks: []scorer.Check{{Judge: "says that it was not said", Name: "rubric", Weight: 1}},
		},
		{
			ID: "beam-7-instruction_following-1", Type: "instruction_following", Text: "List them.", Answer: "A table.",
			Gold: []string{path(1)}, Evidence: []string{"And a cat."}, Checks: []scorer.Check{
				{Judge: "is a table", Name: "rubric", Weight: 1}, {Judge: "has goats", Name: "rubric", Weight: 1},
			},
		},
		{
			ID: "beam-7-knowledge_update-1", Type: "knowledge_update", Text: "How many goats?", Answer: "4",
			Gold: []string{path(0), path(2)}, Evidence: []string{"I have 3 goats.", "Now I have 4 goats."}, Checks: []scorer.Check{{Judge: "states: 4", Name: "rubric", Weight: 1}},
		},
	}
	for i := range want {
		want[i].Haystack, want[i].Brain, want[i].Date = "beam-7", h.Brain, "2024-04-02T00:00:00Z"
	}
	if d := cmp.Diff(want, b.Questions); d != "" {
		t.Error(d)
	}
	if got := string(h.Documents()[0].Data); !strings.Contains(got, "date: 2024-03-15T00:00:00Z") ||
		!strings.Contains(got, "user: I have 3 goats.\n\nassistant: Fine.") || strings.Contains(got, "->->") {
		t.Errorf("document:\n%s", got)
	}
	var kinds []string
	for _, trap := range b.Report.Traps {
		kinds = append(kinds, trap.Kind)
	}
	if d := cmp.Diff([]string{"abstention-question", "answer-not-text", "gold-not-in-haystack", "plan-mark-in-text"}, kinds); d != "" {
		t.Error(d)
	}
}

// A folder of chats is one benchmark. Its digest is that of all its files.
func TestBEAMFolder(t *testing.T) {
	root := t.TempDir()
	for _, name := range []string{"10", "9"} {
		beamFolder(t, root, name, beamChat, beamQuestions)
	}
	b := open(t, root, Options{})
	var ids []string
	for _, info := range b.Infos() {
		ids = append(ids, info.ID)
	}
	if !slices.Equal(ids, []string{"beam-9", "beam-10"}) || len(b.Questions) != 6 {
		t.Errorf("haystacks %v, %d questions", ids, len(b.Questions))
	}
	beamFolder(t, root, "10", beamChat, strings.Replace(beamQuestions, "sheep", "ducks", 1))
	if again := open(t, root, Options{}); again.SHA256 == b.SHA256 {
		t.Error("the digest does not depend on the questions of the last chat")
	}
}

// beamLists is beamChat as lists of messages, with an answer to a question of the assistant.
const beamLists = `[
 [{"content": "I have 3 goats. ->-> 1,1", "id": 0, "index": "1,1", "question_type": "main_question", "role": "user", "time_anchor": "March-15-2024"},
  {"content": "Fine. Where?", "id": 1, "index": null, "question_type": null, "role": "assistant", "time_anchor": null},
  {"content": "Here.", "id": 5, "index": null, "question_type": "answer_ai_question", "role": "user", "time_anchor": null},
  {"content": "And a cat.", "id": 2, "index": "1,2", "question_type": "main_question", "role": "user", "time_anchor": null}],
 [{"content": "Now I have 4 goats.", "id": 3, "role": "user", "time_anchor": "April-02-2024"},
  {"content": "And a dog.", "id": 4, "role": "user", "time_anchor": null}]]`

// A chat may be lists of messages, or plans of batches; absent plans may be null.
func TestBEAMForms(t *testing.T) {
	batch := func(id string) string {
		return `[{"batch_number": 1, "turns": [[{"role": "user", "id": ` + id + `, "time_anchor": "March-15-2024", "content": "Message ` + id + `."}]]}]`
	}
	for _, form := range []struct {
		name, chat string
		first      []string // the first turn of each session
		gold       []int    // the sessions with the messages 0 and 3
	}{
		{"lists", beamLists, []string{"I have 3 goats.", "And a cat.", "Now I have 4 goats.", "And a dog."}, []int{0, 2}},
		{
			"plans", `[{"plan-2": null, "plan-1": ` + batch("0") + `}, {"plan-10": ` + batch("3") + `, "plan-2": ` + batch("2") + `}]`,
			[]string{"Message 0.", "Message 2.", "Message 3."}, []int{0, 2},
		},
	} {
		t.Run(form.name, func(t *testing.T) {
			dir := beamFolder(t, t.TempDir(), "7", form.chat, beamQuestions)
			b := open(t, dir, Options{})
			h := haystack(t, b, "beam-7")
			var first, gold []string
			for _, s := range h.Sessions {
				first = append(first, s.Turns[0].Text)
			}
			for _, i := range form.gold {
				gold = append(gold, h.Sessions[i].Path)
			}
			if d := cmp.Diff(form.first, first); d != "" {
				t.Error(d)
			}
			if d := cmp.Diff(gold, b.Questions[2].Gold); b.Format != dataset.BEAM || d != "" {
				t.Errorf("format %s, gold %s", b.Format, d)
			}
		})
	}
}

func TestBEAMErrors(t *testing.T) {
	for want, files := range map[string][2]string{
		"the first message has no time_anchor":              {strings.Replace(beamChat, `"March-15-2024"`, "null", 1), beamQuestions},
		`the time_anchor "15.3." is not like March-15-2024`: {strings.Replace(beamChat, "March-15-2024", "15.3.", 1), beamQuestions},
		"element 2: it has neither turns nor a plan": {strings.Replace(beamChat, `"time_anchor": null, "turns": [
  [{"role": "user", "id": 3`, `"turn": [
  [{"role": "user", "id": 3`, 1), beamQuestions},
		"two messages have the id 0":                            {strings.Replace(beamChat, `"id": 1`, `"id": 0`, 1), beamQuestions},
		`question "beam-x-knowledge_update-1": rubric: it must`: {beamChat, strings.Replace(beamQuestions, `["states: 4"]`, `4`, 1)},
	} {
		dir := beamFolder(t, t.TempDir(), "x", files[0], files[1])
		_, err := Open(t.Context(), filepath.Join(dir, "chat.json"), Options{})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	dir := beamFolder(t, t.TempDir(), "x", beamChat, beamQuestions)
	if err := os.Remove(filepath.Join(dir, beamProbes)); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(t.Context(), dir, Options{}); err == nil || !strings.Contains(err.Error(), "the questions of the chat") {
		t.Errorf("without questions: %v", err)
	}
}

// TestSharedBEAM reads published chats.
func TestSharedBEAM(t *testing.T) {
	b := open(t, sharedtest.Path(t, "beam"), Options{})
	if len(b.Questions) != 80 || len(b.Infos()) != 4 {
		t.Errorf("%d questions of %d chats, want 80 of 4", len(b.Questions), len(b.Infos()))
	}
	gold := 0
	for _, q := range b.Questions {
		if len(q.Checks) == 0 || q.Answer == "" {
			t.Errorf("%s has no rubric or no answer", q.ID)
		}
		if len(q.Gold) > 0 {
			gold++
		}
	}
	for _, trap := range b.Report.Traps {
		t.Logf("%s ×%d: %s", trap.Kind, trap.Count, trap.Examples[0])
	}
	if gold != 72 { // all but the 8 about what was not said
		t.Errorf("%d questions have gold, want 72", gold)
	}
}

// TestGoldInOtherForms: a number keeps its digits, and a list is an answer too.
func TestGoldInOtherForms(t *testing.T) {
	for value, want := range map[string]string{
		`1500000`: "1500000", `0.25`: "0.25", `["a", "b"]`: "a, b", `"['a', 'b']"`: "a, b",
	} {
		dir := beamFolder(t, t.TempDir(), "7", beamChat, `{"knowledge_update": [{"question": "Which?", "answer": `+value+`, "rubric": ["names them"]}]}`)
		if got := open(t, filepath.Join(dir, "chat.json"), Options{}).Questions[0].Answer; got != want {
			t.Errorf("BEAM: %s is read as %q, want %q", value, got, want)
		}
	}
	file := strings.Replace(convoMem, `"answer": "Mint"`, `"answer": 1500000`, 1)
	if got := open(t, writeFile(t, "facts.json", file), Options{}).Questions[0].Answer; got != "1500000" {
		t.Errorf("ConvoMem: %q", got)
	}
}

// TestBEAMWithoutText leaves out a turn without text: it is neither written nor gold.
func TestBEAMWithoutText(t *testing.T) {
	dir := beamFolder(t, t.TempDir(), "7", strings.Replace(beamChat, "And a cat.", " ", 1), beamQuestions)
	b := open(t, filepath.Join(dir, "chat.json"), Options{})
	h := haystack(t, b, "beam-7")
	if len(h.Sessions) != 2 {
		t.Fatalf("%d sessions: %+v", len(h.Sessions), h.Sessions)
	}
	if got := b.Questions[1].Gold; len(got) > 0 {
		t.Errorf("the turn without text is gold: %q", got)
	}
	if got := b.Questions[2].Gold; !slices.Equal(got, []string{h.Sessions[0].Path, h.Sessions[1].Path}) {
		t.Errorf("the gold after it is %q", got)
	}
	counts := map[string]int{}
	for _, trap := range b.Report.Traps {
		counts[trap.Kind] = trap.Count
	}
	if counts["empty-session"] != 1 || counts["gold-not-in-haystack"] != 3 {
		t.Errorf("%v", counts)
	}
}
