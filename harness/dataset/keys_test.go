package dataset

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"evalctl/internal/filetest"
	"evalctl/internal/sharedtest"
)

// TestUnknownKeys checks which keys of a question are errors and which are extra ones.
func TestUnknownKeys(t *testing.T) {
	const line = `{"id":"a","question":"q",`
	for key, want := range map[string]string{
		"expected_path": "expected_paths", "tag": "tags", "expected_substring": "expected_substrings",
		"reference": "reference_answer", "questiondate": "question_date",
		"answer": "reference_answer", "referenceAnswer": "reference_answer",
		"Reference Answer": "reference_answer", "refrence_answer": "reference_answer",
		"REFERENCE_ANSWER": "reference_answer", "expected-paths": "expected_paths",
		"expected_pahts": "expected_paths", "question_dates": "question_date",
		"date": "question_date", "gold": "expected_paths", "ground_truth": "reference_answer",
		"tgas": "tags", "tgs": "tags", "brian": "brain", "brains": "brain", "brain_id": "brain",
		"Tags": "tags", "expected": "expected_substrings",

		"category": "", "difficulty": "", "source": "", "train": "", "data": "", "language": "",
		"question_type": "", "split": "", "notes": "", "page": "", "pages": "", "t": "", "": "",
		"🦉": "", "comment": "", "metadata": "", "ids": "", "idx": "", "expected_count": "",
		strings.Repeat("tags", 100): "",
	} {
		_, errs := readAll(line + string(encodeJSON(key)) + `:"x"}`)
		switch {
		case want == "" && errs != nil:
			t.Errorf("%q: %q", key, errs)
		case want != "" && (len(errs) != 1 || errs[0] !=
			`d.jsonl:1: unknown field `+string(encodeJSON(key))+`: did you mean "`+want+`"?`):
			t.Errorf("%q: got %q, want a hint at %s", key, errs, want)
		}
	}
}

// TestExtraKeys checks that a key is an extra one if the line has the field that it may mean.
func TestExtraKeys(t *testing.T) {
	_, errs := readAll(`{"id":"a","question_id":"a","question":"q","query":"q","tag":"x","tags":[],` +
		`"answer":"x","reference_answer":"x"}`)
	if errs != nil {
		t.Error(errs)
	}
	_, errs = readAll(`{"id":"a","question":"q","x\u001b[2J":1,"tag":"x"}` + "\n" +
		`{"id":"b","question":"q","other":1,"other":2}`)
	want := []string{`d.jsonl:1: unknown field "tag": did you mean "tags"?`,
		`d.jsonl:2: field "other" is given twice`}
	if diff := cmp.Diff(want, errs); diff != "" {
		t.Error(diff)
	}
}

func TestUnknownKeysOfDocuments(t *testing.T) {
	for line, want := range map[string]string{
		`{"path":"a.md","content":"x"}`:              `unknown field "content": did you mean "text"?`,
		`{"path":"a.md","title":"a","body":"x"}`:     `unknown field "body": did you mean "text"?`,
		`{"id":"a.md","text":"x"}`:                   `unknown field "id": did you mean "path"?`,
		`{"file_name":"a.md","text":"x"}`:            `unknown field "file_name": did you mean "path"?`,
		`{"path":"a.md","text":"x","titel":"a"}`:     `unknown field "titel": did you mean "title"?`,
		`{"path":"a.md","text":"x","dates":"2025"}`:  `unknown field "dates": did you mean "date"?`,
		`{"path":"a.md","text":"x","brain_id":"b1"}`: `unknown field "brain_id": did you mean "brain"?`,
	} {
		file := filetest.Write(t, filepath.Join(t.TempDir(), "c.jsonl"), line)
		if _, err := LoadCorpus(file); err == nil || err.Error() != file+":1: "+want {
			t.Errorf("%s: got %v", line, err)
		}
	}
}

// TestUnknownKeysAreCounted checks the counts, which concern all lines, not only the selected ones.
func TestUnknownKeysAreCounted(t *testing.T) {
	d, err := Open(questionLines(t, `,"source":1,"split":"x"`, "", `,"source":null`),
		Options{Selection: Selection{Limit: 1}})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]int{"source": 2, "split": 1}, d.Unknown); diff != "" {
		t.Error(diff)
	}
	c := corpusLines(t, `{"path":"a","text":"x","id":7}`, `{"path":"b","text":"x","id":"a","url":""}`)
	if diff := cmp.Diff(map[string]int{"id": 2, "url": 1}, c.Unknown); diff != "" {
		t.Error(diff)
	}
	if d := openAll(t, writeDataset(t, 2)); d.Unknown != nil {
		t.Error(d.Unknown)
	}
}

// TestSharedData checks that no line of the real datasets has a key that is taken for a mistake.
func TestSharedData(t *testing.T) {
	files, err := filepath.Glob(sharedtest.Path(t, "neutral") + "/*/questions.jsonl")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, questions := range files {
		d := openAll(t, questions)
		delete(d.Unknown, "adversarial_answer")
		c, err := LoadCorpus(filepath.Join(filepath.Dir(questions), "corpus.jsonl"))
		if err != nil || len(d.Unknown)+len(c.Unknown) > 0 {
			t.Errorf("%s: %v %v %v", questions, d.Unknown, c.Unknown, err)
		}
	}
}
