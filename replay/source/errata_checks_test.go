package source

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"evalctl/harness/dataset"
	"evalctl/scorer"
)

// colours has a task whose first option is right by the file.
const colours = `[{"preference": "I like green.", "question": "Which paint?", "classification_task_options": ["red", "green", "blue"]}]`

// TestErrataOfChoices corrects the right option by its text: the check, the tag and both scores
// follow. Letters of errata do not count.
func TestErrataOfChoices(t *testing.T) {
	file := writeFile(t, "colours.json", colours)
	converted := filepath.Join(t.TempDir(), "out.jsonl")
	if _, err := Convert(t.Context(), file, converted, Options{Format: dataset.PrefEval, OptionSeed: 5}); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{file, converted} {
		o := Options{Errata: writeFile(t, "e.jsonl", `{"id":"colours-000","action":"correct","answer":"(c) green"}`)}
		if path == file {
			o.Format, o.OptionSeed = dataset.PrefEval, 5
		}
		q := open(t, path, o).Questions[0]
		letter := q.Checks[0].Choice
		if !strings.Contains(q.Text, "\n("+letter+") green") || q.Answer != "("+letter+") green" || !slices.Contains(q.Tags, "position:"+letter) {
			t.Errorf("(%s) is right: %+v", letter, q)
		}
		positions := 0
		for _, tag := range q.Dataset().Tags {
			if strings.HasPrefix(tag, "position:") {
				positions++
			}
		}
		if positions != 1 {
			t.Errorf("the tags are %q", q.Tags)
		}
		was := q.Erratum.OriginalChecks[0].Choice
		if !strings.Contains(q.Text, "\n("+was+") red") {
			t.Errorf("(%s) was right: %s", was, q.Text)
		}
		item := scorer.Item{ID: q.ID, Question: q.Text, Reference: q.Answer, Answer: "(" + letter + ")", Checks: q.Checks}
		v, err := scorer.NewDual(scorer.Checks{}, map[string]scorer.Reference{
			q.ID: {Answer: q.Erratum.OriginalAnswer, Checks: q.Erratum.OriginalChecks},
		}).Score(t.Context(), item)
		if err != nil || !v.Passed() || v.Original == nil || v.Original.Passed() {
			t.Errorf("the corrected option: %+v, %v", v, err)
		}
	}
	for _, answer := range []string{"(b)", "purple"} {
		errata := writeFile(t, "e.jsonl", `{"id":"colours-000","action":"correct","answer":"`+answer+`"}`)
		_, err := Open(t.Context(), file, Options{Format: dataset.PrefEval, Errata: errata})
		if err == nil || !strings.Contains(err.Error(), "e.jsonl:1: ") || !strings.Contains(err.Error(), "is not the text of one of its options") {
			t.Errorf("%s: %v", answer, err)
		}
	}
}

// TestErrataOfChecks: checks that do not follow from the answer are removed with it, and kept if
// only the gold is corrected.
func TestErrataOfChecks(t *testing.T) {
	lines := `{"id":"1","question":"Q","reference_answer":"red","checks":[{"contains":"red"}]}` + "\n" +
		`{"id":"2","question":"Q","reference_answer":"red","checks":[{"contains":"red"}],"expected_paths":["x.md"]}`
	b := open(t, writeFile(t, "a.jsonl", lines), Options{
		Corpus: writeFile(t, "c.jsonl", `{"path":"x.md","text":"X"}`),
		Errata: writeFile(t, "e.jsonl", `{"id":"1","action":"correct","answer":"green"}`+"\n"+`{"id":"2","action":"correct","gold":[]}`),
	})
	first, second := b.Questions[0], b.Questions[1]
	if first.Checks != nil || len(first.Erratum.OriginalChecks) != 1 || len(second.Checks) != 1 {
		t.Errorf("%+v\n%+v", first, second)
	}
	if err := (scorer.Checks{}).Check(first.Dataset().Item()); err == nil {
		t.Error("the checks of the old answer score the question")
	}
}
