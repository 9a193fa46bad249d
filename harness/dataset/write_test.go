package dataset_test

import (
	"encoding/json"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"evalctl/harness/dataset"
	"evalctl/internal/filetest"
)

// TestWrittenQuestions: a question that is written as a line is read as the same question.
func TestWrittenQuestions(t *testing.T) {
	for _, name := range []string{"core", "smoke", "lifecycle"} {
		want := questionsIn(t, "../../datasets/"+name+".jsonl")
		path := filepath.Join(t.TempDir(), name+".jsonl")
		var lines []byte
		for _, q := range want {
			line, err := json.Marshal(q)
			if err != nil {
				t.Fatal(err)
			}
			lines = append(append(lines, line...), '\n')
		}
		filetest.Write(t, path, lines)
		if diff := cmp.Diff(want, questionsIn(t, path), cmpopts.EquateEmpty(), cmpopts.IgnoreUnexported(dataset.Question{}), cmpopts.IgnoreFields(dataset.Question{}, "Line")); diff != "" || len(want) == 0 {
			t.Errorf("%s: %d questions: %s", name, len(want), diff)
		}
	}
}

func questionsIn(t *testing.T, path string) (all []dataset.Question) {
	t.Helper()
	accept := func(dataset.Question) error { return nil }
	d, err := dataset.Open(path, dataset.Options{Naming: dataset.BrainNaming{Default: "eval"}, Check: accept})
	if err != nil {
		t.Fatal(err)
	}
	for q, err := range d.Questions() {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, q)
	}
	return all
}
