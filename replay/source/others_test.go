package source

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"evalctl/harness/dataset"
	"evalctl/internal/filetest"
	"evalctl/internal/sharedtest"
	"evalctl/scorer"
)

// TestPrefEval reads tasks whose first option is right, in every order.
func TestPrefEval(t *testing.T) {
	path := sharedtest.Path(t, "layouts/prefeval-mcq.json")
	b := open(t, path, Options{OptionSeed: 5})
	if b.Format != dataset.PrefEval || len(b.Questions) != 4 {
		t.Fatalf("%s, %d questions", b.Format, len(b.Questions))
	}
	q := b.Questions[0]
	letter := q.Checks[0].Choice
	if !strings.Contains(q.Text, "\n("+letter+") The Vdara Hotel & Spa") || !strings.HasPrefix(q.Text, "Can you suggest some great hotels") {
		t.Errorf("the right option is (%s):\n%s", letter, q.Text)
	}
	if text := haystack(t, b, q.Haystack).Sessions[0].Text(); !strings.Contains(text, "I absolutely avoid hotels with a bustling nightlife") {
		t.Errorf("the haystack is %s", text)
	}
	if got := open(t, path, Options{FileOrder: true}).Questions[3].Checks[0].Choice; got != "a" {
		t.Errorf("in the order of the file the right option is (%s)", got)
	}
	v, err := scorer.Checks{}.Score(t.Context(), scorer.Item{ID: q.ID, Question: q.Text, Answer: "(" + letter + ")", Checks: q.Checks})
	if err != nil || !v.Passed() {
		t.Errorf("the right letter: %+v, %v", v, err)
	}
}

// TestLettaFacts reads questions about facts, with the facts that answer them.
func TestLettaFacts(t *testing.T) {
	b := open(t, sharedtest.Path(t, "layouts/letta.jsonl"), Options{})
	if b.Format != dataset.LettaFacts {
		t.Fatalf("the format is %s", b.Format)
	}
	q := b.Questions[0]
	if q.Answer != "Nora Fishel" || len(haystack(t, b, q.Haystack).Sessions) != 4 || q.Text != "Which person collaborated with Eliza Woodley on a charity event that combined music and literature?" {
		t.Errorf("%+v", q)
	}
}

// TestWrongTypes: a value of a wrong type is named by its place and key. A list that belongs to the
// questions has one element for each.
func TestWrongTypes(t *testing.T) {
	letta := `{"question":["A?","B?"],"answer":["a","b"],"facts":["x","y"],"supporting_fact_indices":%s}`
	for _, tt := range []struct {
		format     dataset.Format
		text, want string
	}{
		{dataset.PrefEval, `[{"preference": "tea", "question": "?", "classification_task_options": "A"}]`,
			"byte 74: classification_task_options must not be a string"},
		{dataset.LettaFacts, fmt.Sprintf(letta, `[[0]]`), "line 1: it has 2 questions and 1 lists in supporting_fact_indices"},
		{dataset.LettaFacts, fmt.Sprintf(letta, `[[0],["1"]]`), "supporting_fact_indices must not be a string"},
	} {
		path := writeFile(t, "b.json", tt.text)
		if _, err := Open(t.Context(), path, Options{Format: tt.format}); err == nil || !strings.Contains(err.Error(), tt.want) ||
			strings.Contains(err.Error(), "Go ") {
			t.Errorf("%s: %v, want %s", tt.text, err, tt.want)
		}
	}
}

// TestAgentMemory reads queries with the documents of each user beside them.
func TestAgentMemory(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		filetest.Write(t, filepath.Join(dir, name), text)
	}
	write("queries.json", `[{"id": "q1", "query": "What degree?", "gold_answers": ["BA", 7], "gold_ids": ["d2", "none"], "user_id": "u1", "meta": {"question_type": "t", "query_timestamp": "2023-05-30T00:00:00+00:00"}},
		{"id": "q2", "query": "Which?", "gold_answers": ["x"], "gold_ids": [], "user_id": "u2", "meta": {}}]`)
	path := filepath.Join(dir, "queries.json")
	if _, err := Open(t.Context(), path, Options{}); err == nil || !strings.Contains(err.Error(), "documents.json") {
		t.Fatalf("without documents: %v", err)
	}
	write("documents.json", `[{"id": "d2", "content": "I took my degree.", "user_id": "u1", "timestamp": "2023-05-02T10:00:00Z"},
		{"id": "d1", "content": "Hello.", "user_id": "u1", "timestamp": "2023-05-01T10:00:00Z"}, {"id": "d3", "content": "Other.", "user_id": "u2"}]`)
	b := open(t, path, Options{})
	q := b.Questions[0]
	h := haystack(t, b, q.Haystack)
	if b.Format != dataset.AgentMemory || q.Answer != "BA or 7" || q.Type != "t" || q.Date != "2023-05-30T00:00:00Z" || len(h.Sessions) != 2 ||
		len(q.Gold) != 1 || q.Gold[0] != h.Sessions[1].Path {
		t.Errorf("%+v in %+v", q, h)
	}
	if got := fmt.Sprint(b.Report.Traps); !strings.Contains(got, "gold-not-in-haystack") {
		t.Errorf("the traps are %s", got)
	}
	write("documents.json", `[{"id": "d1", "content": "Hello.", "user_id": "u9"}]`)
	if _, err := Open(t.Context(), path, Options{}); err == nil || !strings.Contains(err.Error(), `user "u1"`) {
		t.Errorf("documents of others: %v", err)
	}
}

// TestAgentMemoryChoice: gold that names an option and its letter makes a query a multiple
// choice, and the letter alone is no expected text. Other gold of one letter is.
func TestAgentMemoryChoice(t *testing.T) {
	dir := t.TempDir()
	filetest.Write(t, filepath.Join(dir, "documents.json"), `[{"id": "d1", "content": "I like tea."}]`)
	path := filepath.Join(dir, "queries.json")
	filetest.Write(t, path, `[
		{"id": "persona", "query": "User: Ada\n\nWhat now?\n\n(a) Milk\n(b) Tea\nor so", "gold_answers": ["(b) Tea\nor so", "b"], "gold_ids": ["d1"]},
		{"id": "membench", "query": "What?\n\nA. Milk\nB. Tea", "gold_answers": ["Tea", "B"], "gold_ids": ["d1"]},
		{"id": "open", "query": "Which language?", "gold_answers": ["The language C", "C"], "gold_ids": ["d1"]}]`)
	b := open(t, path, Options{FileOrder: true})
	for i, tea := range []string{"(b) Tea\nor so", "(b) Tea"} {
		q := b.Questions[i].Dataset()
		if q.ReferenceAnswer != tea || !slices.Equal(q.ExpectedSubstrings, []string{tea}) || len(q.Checks) != 1 || q.Checks[0].Choice != "b" ||
			!strings.HasSuffix(q.Question, "?"+optionsIntro+"\n(a) Milk\n"+tea) {
			t.Errorf("%+v", q)
		}
	}
	if q := b.Questions[2]; q.Checks != nil || len(q.ExpectedSubstrings) != 2 {
		t.Errorf("%+v", q)
	}
}

// TestAbstentionInOtherLayouts: a question of LongMemEval is an abstention question in other layouts
// too, by its id and type, and its brain does not say so.
func TestAbstentionInOtherLayouts(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"queries.json": `[
			{"id": "q1_abs", "query": "What?", "gold_answers": ["Not said."], "gold_ids": ["d1"], "user_id": "q1_abs", "meta": {"question_type": "multi-session"}},
			{"id": "q2_abs", "query": "Which?", "gold_answers": ["x"], "gold_ids": ["d2"], "user_id": "q2", "meta": {"question_type": "other"}}]`,
		"documents.json": `[{"id": "d1", "content": "Hello.", "user_id": "q1_abs"}, {"id": "d2", "content": "Hello.", "user_id": "q2"}]`,
	} {
		filetest.Write(t, filepath.Join(dir, name), text)
	}
	b := open(t, filepath.Join(dir, "queries.json"), Options{})
	first, second := b.Questions[0], b.Questions[1]
	if !first.Abstention || !first.Topical || len(first.Gold) != 1 || strings.Contains(first.Brain, "abs") {
		t.Errorf("of LongMemEval: %+v", first)
	}
	if second.Abstention || second.Topical {
		t.Errorf("of another benchmark: %+v", second)
	}
	if got := fmt.Sprint(b.Report.Traps); !strings.Contains(got, "abstention-question") {
		t.Errorf("the traps are %s", got)
	}
	rows := strings.Replace(agentLines(), `"question_types": ["multi-session"]`, `"question_types": ["multi-session"], "question_ids": ["q7_abs"]`, 1)
	b = open(t, writeFile(t, "rows.jsonl", rows), Options{})
	if last := b.Questions[2]; !last.Abstention || last.Topical {
		t.Errorf("of MemoryAgentBench: %+v", last)
	}
}
