package dataset

import (
	"bytes"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"evalctl/internal/filetest"
	"evalctl/scorer"
)

func labelsFile(tb testing.TB, text string) string {
	tb.Helper()
	return filetest.Write(tb, filepath.Join(tb.TempDir(), "labels.jsonl"), text)
}

func acceptItem(scorer.Item) error { return nil }

func TestReadLabels(t *testing.T) {
	got, err := ReadLabels(labelsFile(t, "\xef\xbb\xbf# two raters\r\n"+
		`{"id":"a","question":"Q","reference_answer":"R","answer":"A","label":true,"source":"x"}`+"\n\n"+
		`{"id":"b","question":"Q","reference_answer":"R","answer":"","label":"incorrect","type":"temporal","question_date":"2025-03-14","sample":7}`+"\n"+
		`{"id":"c","question":"Q","answer":"A","label":"correct","sample":"disagreement"}`+"\n"), acceptItem)
	want := []Label{
		{Item: scorer.Item{ID: "a", Question: "Q", Reference: "R", Answer: "A"}, Right: true},
		{Item: scorer.Item{ID: "b", Question: "Q", Reference: "R", Type: "temporal", QuestionDate: "2025-03-14"}},
		{Item: scorer.Item{ID: "c", Question: "Q", Answer: "A"}, Right: true, Disagreement: true},
	}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Error(err, diff)
	}
}

func TestReadLabelsRejects(t *testing.T) {
	const start = `{"id":"a","question":"Q","reference_answer":"R","answer":"A",`
	for text, want := range map[string]string{
		start + `"label":1}`:                                            `:1: label "a": "label" is 1; it must be true, false`,
		start + `"label":"true"}`:                                       `"label" is "true"; it must be true, false`,
		start + `"label":"yes"}`:                                        `"label" is "yes"`,
		start + `"label":["correct"]}`:                                  `"label" is ["correct"]`,
		start + `"label":null}`:                                         `"label" is missing`,
		start + `"x":1}`:                                                `"label" is missing`,
		start + `"lable":true}`:                                         `unknown field "lable": did you mean "label"?`,
		start + `"correct":true}`:                                       `unknown field "correct": did you mean "label"?`,
		start + `"label":true,"label":true}`:                            `"label" is given twice`,
		start + `"label":true,"question_date":"May"}`:                   `"question_date": "May"`,
		`{"id":"a","question":"Q","reference_answer":"R","label":true}`: `"answer" is missing`,
		`{"id":"a","question":"Q","candidate":"A","label":true}`:        `did you mean "answer"?`,
		`{"id":"a","answer":"A","label":true}`:                          `"question" is missing`,
		`{"question":"Q","answer":"A","label":true}`:                    `"id" is missing`,
		`{"id":"a","question":"Q","answer":7,"label":true}`:             `"answer" must be a string`,
		`{"id":"a","question":"Q","answer":"7","skipped":"yes"}`:        `"skipped" must be true or false, not a string`,
		`[]`: `expected one JSON object`,
		`{"id":"a","question":"Q","answer":"A","label":true`: "ends inside",
		"{\"id\":\"\xff\"}": "UTF-8",
		"":                  "no labels",
		"# nothing\n":       "no labels",
		start + `"label":true}` + "\n" + start + `"label":false}`: `:2: id "a" is already used on line 1`,
	} {
		path := labelsFile(t, text)
		if got, err := ReadLabels(path, acceptItem); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), path) || got != nil {
			t.Errorf("%s: got %v, %v, want %s", text, got, err, want)
		}
	}
	path := labelsFile(t, start+`"label":true}`)
	if _, err := ReadLabels(path, func(i scorer.Item) error { return errors.New("no " + i.ID) }); err == nil || err.Error() != path+":1: no a" {
		t.Errorf("got %v", err)
	}
	if _, err := ReadLabels(t.TempDir(), acceptItem); err == nil || !strings.Contains(err.Error(), "is a folder") {
		t.Errorf("got %v", err)
	}
	if _, err := ReadLabels(path+".missing", acceptItem); err == nil || !strings.Contains(err.Error(), "open labels") {
		t.Errorf("got %v", err)
	}
}

func FuzzReadLabels(f *testing.F) {
	for _, s := range []string{
		"", `{"id":"a","question":"Q","reference_answer":"R","answer":"A","label":true}`,
		`{"id":"a","question":"Q","answer":"","label":"incorrect","type":"temporal","question_date":"2025-03-14"}` + "\n{",
		`{"id":"a","question":"Q","answer":"","label":{}}`, "{\"id\":\"\xff\"}", `{"label":"\u0000"}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		labels, err := readLabels(bytes.NewReader(data), "labels", acceptItem)
		if (err == nil) != (len(labels) > 0) {
			t.Fatalf("%d labels, %v", len(labels), err)
		}
		seen := map[string]bool{}
		for _, l := range labels {
			if l.Item.ID == "" || l.Item.Question == "" || seen[l.Item.ID] {
				t.Fatalf("accepted %+v", l)
			}
			seen[l.Item.ID] = true
		}
	})
}
