package source

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"evalctl/harness/dataset"
	"evalctl/internal/filetest"
	"evalctl/internal/sharedtest"
	"evalctl/scorer"
)

const (
	lifeQuestions = `[
 {"question": "Where did I go on Monday?", "answer": "Bath", "ask_time": "2025-02", "question_type": "Information Extraction",
  "score_points": [{"description": "names Bath", "score": 7}, {"description": "names Monday", "score": 3}, {"description": "is kind", "score": 0}],
  "evidence": [{"type": "sms", "id": "4"}, {"type": "note", "id": 1}, {"type": "call", "id": 99}]},
 {"question": "What is good for the ankle?", "answer": "rest", "ask_time": "2025-01-20", "question_type": ["Single_hop", "Causal"],
  "score_points": [{"description": "names rest", "score": 10}],
  "evidence": [{"type": "agent_chat", "date": "2025-01-07", "conversation": {}, "phone_id": 0}]},
 {"question": "Who came along?", "options": [{"option": "A", "content": "Ben"}, {"option": "B", "content": "Cleo"}], "answer": "B",
  "ask_time": "2025-02", "question_type": "Multi-hop reasoning", "evidence": [{"type": "sms", "id": "4"}]},
 {"question": "Which apply?", "options": [{"option": "A", "content": "Tea"}, {"option": "B", "content": "Milk"}], "answer": "A, B",
  "ask_time": "2025-02", "question_type": "Multi-hop reasoning", "evidence": [{"type": "sms", "id": "4"}]},
 {"question": "What did the ticket cost?", "answer": "It cannot be answered", "ask_time": "2025-02", "question_type": ["Unanswerable"], "score_points": [], "evidence": []}
]`
	lifeSMS = `[{"type": "sms", "event_id": 7, "message_content": "On the train to Bath.", "contactName": "Cleo", "datetime": "2025-01-06 10:30:00", "phone_id": 4},
 {"type": "sms", "daily_event_id": "8", "message_content": "Home.", "contactName": "", "datetime": "2025-01-06 09:00:00", "phone_id": 5}]`
	lifeNote = `[{"type": "note", "title": "Trip", "content": "Bath was full.", "datetime": "2025-01-08 21:00:00", "event_id": [], "phone_id": 1, "place": {"city": "Bath"}}]`
	lifeChat = `[{"date": "2025-01-07", "type": "agent_chat", "conversation": {"turn 1": {"user": {"action": "ask", "content": "My ankle hurts."}, "assistant": {"content": "Rest it."}},
  "turn 2": {"user": {"content": "How long?"}, "assistant": {"content": ""}}}, "phone_id": 0}]`
	lifeContact = `[{"name": "Cleo", "relation": "friend", "phone_id": 0}]`
)

// lifeFolder writes the folder of a user and returns the path of the questions. Files are given by
// their path, and replace those of the folder; empty ones are left out.
func lifeFolder(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "ada")
	all := map[string]string{
		"QA/QA_clean.json": lifeQuestions, "phone_data/sms.json": lifeSMS, "phone_data/note.json": lifeNote,
		"phone_data/agent_chat.json": lifeChat, "phone_data/contact.json": lifeContact,
	}
	for path, text := range files {
		all[path] = text
	}
	for path, text := range all {
		if text == "" {
			continue
		}
		path = filepath.Join(dir, filepath.FromSlash(path))
		filetest.Write(t, path, text)
	}
	return filepath.Join(dir, "QA", "QA_clean.json")
}

// TestLifeBench reads questions about records, in both versions of the evidence.
func TestLifeBench(t *testing.T) {
	b := open(t, lifeFolder(t, nil), Options{FileOrder: true})
	if b.Format != dataset.LifeBench || len(b.Questions) != 5 || len(b.Infos()) != 1 {
		t.Fatalf("%s: %+v", b.Format, b.Questions)
	}
	h := haystack(t, b, "ada")
	var sessions []string
	for _, s := range h.Sessions {
		sessions = append(sessions, s.Date+" "+s.Title)
	}
	if got := strings.Join(sessions, "; "); got != " Records without a date; 2025-01-06T00:00:00Z Records of 6 January 2025; "+
		"2025-01-07T00:00:00Z Records of 7 January 2025; 2025-01-08T00:00:00Z Records of 8 January 2025" {
		t.Errorf("the sessions are %s", got)
	}
	day := h.Sessions[1].Text()
	if want := "user: sms\nmessage_content: Home.\ndatetime: 2025-01-06 09:00:00\n\nuser: sms\nmessage_content: On the train to Bath.\ncontactName: Cleo\n"; !strings.Contains(day, want) || strings.Contains(day, "event_id") {
		t.Errorf("the day is %s", day)
	}
	if text := h.Sessions[2].Text(); !strings.HasSuffix(text, "user: My ankle hurts.\n\nassistant: Rest it.\n\nuser: How long?") {
		t.Errorf("the chat is %s", text)
	}
	if text := h.Sessions[3].Text(); !strings.Contains(text, `place: {"city":"Bath"}`) {
		t.Errorf("the note is %s", text)
	}
	q := b.Questions[0]
	if q.ID != "ada-q001" || q.Date != "2025-02-28T00:00:00Z" || len(q.Checks) != 2 || q.Checks[0].Weight != 7 ||
		strings.Join(q.Gold, " ") != h.Sessions[1].Path+" "+h.Sessions[3].Path || len(q.Evidence) != 2 {
		t.Errorf("%+v", q)
	}
	if q := b.Questions[1]; q.Type != "Causal+Single_hop" || q.Date != "2025-01-20T00:00:00Z" || len(q.Gold) != 1 || q.Gold[0] != h.Sessions[2].Path || len(q.Evidence) != 3 {
		t.Errorf("%+v", q)
	}
	if q := b.Questions[2]; q.Answer != "(b) Cleo" || q.Checks[0].Choice != "b" {
		t.Errorf("%+v", q)
	}
	if q := b.Questions[3]; q.Text != "Which apply?\nA. Tea\nB. Milk" || q.Answer != "A, B" || q.Checks != nil {
		t.Errorf("%+v", q)
	}
	if !b.Questions[4].Abstention {
		t.Errorf("%+v", b.Questions[4])
	}
	var kinds []string
	for _, trap := range b.Report.Traps {
		kinds = append(kinds, trap.Kind)
	}
	if got := strings.Join(kinds, " "); got != "gold-not-in-haystack point-without-score" {
		t.Errorf("the traps are %s", got)
	}
	if open(t, lifeFolder(t, nil), Options{OptionSeed: 3}).Questions[2].Text == "" {
		t.Error("an option seed was not accepted")
	}
}

// TestLifeBenchRefused has folders that lack something.
func TestLifeBenchRefused(t *testing.T) {
	for _, c := range []struct {
		files map[string]string
		want  string
	}{
		{map[string]string{"phone_data/sms.json": "", "phone_data/note.json": "", "phone_data/agent_chat.json": "", "phone_data/contact.json": ""},
			"there is no folder phone_data with records in "},
		{map[string]string{"phone_data/sms.json": strings.Replace(lifeSMS, `, "phone_id": 5`, "", 1)}, "sms.json: a record has no phone_id"},
		{map[string]string{"phone_data/sms.json": `{"a": 1}`}, "sms.json: "},
		{map[string]string{"QA/QA_clean.json": strings.Replace(lifeQuestions, `"2025-02"`, `"spring"`, 1)}, `question 1: its ask_time "spring" is neither`},
		{map[string]string{"QA/QA_clean.json": strings.Replace(lifeQuestions, `"Bath"`, `""`, 1)}, `question "ada-q001" has no answer`},
	} {
		if _, err := Open(t.Context(), lifeFolder(t, c.files), Options{}); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("want %s, got %v", c.want, err)
		}
	}
}

// TestLifeBenchHealth: a record of the first version's health data belongs to its day.
func TestLifeBenchHealth(t *testing.T) {
	health := `[{"日期": "2025-01-07", "日常活动": {"步数": "12,500 steps"}, "phone_id": 0}, {"日期": "2025-01-08", "体重": {"体重": "75 kg"}, "phone_id": 1}]`
	questions := strings.Replace(lifeQuestions, `{"type": "sms", "id": "4"}, {"type": "note", "id": 1}`, `{"type": "fitness_health", "id": 0}`, 1)
	b := open(t, lifeFolder(t, map[string]string{"QA/QA_clean.json": questions, "phone_data/fitness_health.json": health}), Options{})
	h := haystack(t, b, "ada")
	if len(h.Sessions) != 4 || strings.Contains(h.Sessions[0].Text(), "steps") || !strings.Contains(h.Sessions[2].Text(), "12,500 steps") {
		t.Errorf("%+v", h.Sessions)
	}
	if q := b.Questions[0]; len(q.Gold) != 1 || q.Gold[0] != h.Sessions[2].Path {
		t.Errorf("%+v", q)
	}
}

// TestLifeBenchChoice: the right option of a question with score points, too, decides alone.
func TestLifeBenchChoice(t *testing.T) {
	points := `"score_points": [{"description": "names Cleo", "score": 5}, {"description": "names Bath", "score": 5}], "answer": "B"`
	questions := strings.Replace(lifeQuestions, `"answer": "B"`, points, 1)
	b := open(t, lifeFolder(t, map[string]string{"QA/QA_clean.json": questions}), Options{FileOrder: true})
	q := b.Questions[2]
	v, err := scorer.Checks{}.Score(t.Context(), scorer.Item{ID: q.ID, Question: q.Text, Answer: "(b)", Checks: q.Checks})
	if err != nil || !v.Passed() || len(q.Checks) != 1 {
		t.Errorf("the right letter: %+v, %v", v, err)
	}
	if got := fmt.Sprint(b.Report.Traps); !strings.Contains(got, "point-of-multiple-choice") {
		t.Errorf("the traps are %s", got)
	}
}

// TestLifeBenchFile reads published questions, whose evidence is of the first version.
func TestLifeBenchFile(t *testing.T) {
	data := filetest.Read(t, sharedtest.Path(t, "layouts/lifebench-qa.json"))
	calls := `[{"type": "call", "contactName": "Cleo", "datetime": "2025-01-03 10:00:00", "phone_id": 1}]`
	b := open(t, lifeFolder(t, map[string]string{"QA/QA_clean.json": string(data), "phone_data/call.json": calls}), Options{})
	if len(b.Questions) != 4 || len(b.Questions[2].Checks) != 3 || len(b.Questions[2].Gold) != 1 || b.Questions[1].Checks[0].Choice == "" {
		t.Errorf("%+v", b.Questions)
	}
}
