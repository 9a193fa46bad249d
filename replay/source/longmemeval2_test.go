package source

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"evalctl/harness/dataset"
	"evalctl/internal/filetest"
)

const (
	lme2Questions = `{"id": "w1", "domain": "web", "question_type": "procedure", "question": "Where is the refund form?", "image": null, "answer": "Under Orders", "eval_function": "norm_phrase_set_match|separators=,;"}
{"id": "w2", "domain": "web", "question_type": "static-environment", "question": "Which tabs are there?", "answer": ["Orders", "Stock"], "eval_function": "norm_phrase_set_match"}
{"id": "w3", "domain": "web", "question_type": "static-environment", "question": "What is this?", "image": "question_screenshots/w3.png", "answer": "A", "eval_function": "mc_choice_match"}
{"id": "e1", "domain": "enterprise", "question_type": "procedure-abs", "question": "Which key opens the vault?", "answer": "There is no vault.", "eval_function": "llm_abstention_checker"}
`
	lme2Lists = `{"w1": ["t2", "t1"], "w2": ["t2", "t1"], "w3": ["t1"], "e1": ["t3"]}`
	lme2Lines = `{"id": "t1", "domain": "web", "goal": "Refund an order", "outcome": "success", "start_url": "http://shop.test", "states": [{"state_index": 0, "url": "http://shop.test/a", "action": "click('Orders')", "thought": "It must be under Orders.", "accessibility_tree": "tab Orders", "screenshot": "screenshots/t1/0.png"}, {"state_index": 1, "url": "http://shop.test/b", "action": null, "thought": "Done.", "accessibility_tree": "form Refund", "screenshot": "screenshots/t1/1.png"}]}
{"id": "t2", "domain": "web", "goal": "Count the stock", "states": [{"url": "http://shop.test/s", "accessibility_tree": "tab Stock"}]}
{"id": "t3", "domain": "enterprise", "goal": "Reset a badge", "states": [{"url": "http://desk.test", "accessibility_tree": "list Badges"}]}
{"id": "t4", "domain": "enterprise", "goal": "Nobody asks", "states": []}
`
)

// lme2Folder writes the files of LongMemEval-V2, without those that are empty.
func lme2Folder(t *testing.T, questions, lists, lines string) string {
	t.Helper()
	path := writeFile(t, "questions.jsonl", questions)
	dir := filepath.Dir(path)
	if err := os.Mkdir(filepath.Join(dir, "haystacks"), 0o700); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"haystacks/lme_v2_small.json": lists, "haystacks/lme_v2_medium.json": "{}", "trajectories.jsonl": lines} {
		if text == "" || lists == "" {
			continue
		}
		filetest.Write(t, filepath.Join(dir, filepath.FromSlash(name)), text)
	}
	return path
}

// TestLongMemEval2 reads the texts of trajectories, shared by the questions of a domain.
func TestLongMemEval2(t *testing.T) {
	path := lme2Folder(t, lme2Questions, lme2Lists, lme2Lines)
	b := open(t, path, Options{})
	if b.Format != dataset.LongMemEval2 || len(b.Questions) != 3 || len(b.Infos()) != 2 {
		t.Fatalf("%s: %+v", b.Format, b.Questions)
	}
	first, second := b.Questions[0], b.Questions[1]
	if first.Haystack != second.Haystack || first.Type != "procedure" || first.Answer != "Under Orders" || second.Answer != "Orders, Stock" || first.Gold != nil {
		t.Errorf("%+v %+v", first, second)
	}
	h := haystack(t, b, first.Haystack)
	if len(h.Sessions) != 3 || !strings.Contains(h.Sessions[0].Text(), "tab Stock") {
		t.Fatalf("%+v", h)
	}
	text := string(h.Sessions[2].Document().Data)
	for _, want := range []string{"# Refund an order, step 2", "Goal: Refund an order\nPage: http://shop.test/b\n\nform Refund", "Thought: Done.", "Outcome: success"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in %s", want, text)
		}
	}
	var traps []string
	for _, trap := range b.Report.Traps {
		traps = append(traps, trap.Kind+" "+strings.Join(trap.Examples, " "))
	}
	if got := strings.Join(traps, "; "); !strings.Contains(got, "question-with-image w3: question_screenshots/w3.png") ||
		!strings.Contains(got, "screenshot screenshots/t1/0.png screenshots/t1/1.png") {
		t.Errorf("the traps are %s", got)
	}
	changed := lme2Folder(t, lme2Questions, lme2Lists, strings.Replace(lme2Lines, "Nobody asks", "Nobody asked", 1))
	if open(t, changed, Options{}).SHA256 == b.SHA256 {
		t.Error("the digest is not of all files")
	}
}

// TestLongMemEval2Refused has folders that lack something.
func TestLongMemEval2Refused(t *testing.T) {
	for _, c := range []struct{ questions, lists, lines, want string }{
		{lme2Questions, "", lme2Lines, "must have haystacks/lme_v2_small.json, or one other file of haystacks, and it has 0"},
		{lme2Questions, lme2Lists, "", "trajectories.jsonl: no such file"},
		{lme2Questions, strings.Replace(lme2Lists, `"w2"`, `"w9"`, 1), lme2Lines, `line 2: the question "w2" has no trajectories`},
		{lme2Questions, strings.Replace(lme2Lists, `"t3"`, `"t4"`, 1), lme2Lines, `has no trajectory "t4" with a state`},
		{lme2Questions, lme2Lists, lme2Lines + lme2Lines, `trajectories.jsonl:5: the trajectory "t1" occurs twice`},
		{lme2Questions, lme2Lists, lme2Lines + "{", "trajectories.jsonl:5: byte 0: unexpected end"},
		{strings.Replace(lme2Questions, `"question_type": "procedure", `, "", 1), lme2Lists, lme2Lines, `line 1: question "w1" has no question_type`},
	} {
		_, err := Open(t.Context(), lme2Folder(t, c.questions, c.lists, c.lines), Options{})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("want %s, got %v", c.want, err)
		}
	}
}
