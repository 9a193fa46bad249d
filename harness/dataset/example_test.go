package dataset_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"evalctl/harness/dataset"
)

func Example() {
	dir, err := os.MkdirTemp("", "dataset")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	questions := filepath.Join(dir, "trees.jsonl")
	documents := filepath.Join(dir, "trees.corpus.jsonl")
	question := `{"id":"q1","question":"How old is the oak?","expected_paths":["oak.md"]}`
	document := `{"path":"oak.md","title":"Oak","text":"300 years"}`
	err = errors.Join(
		os.WriteFile(questions, []byte(question), 0o600),
		os.WriteFile(documents, []byte(document), 0o600))
	if err != nil {
		fmt.Println(err)
		return
	}
	all := func(dataset.Question) error { return nil }
	d, err := dataset.Open(questions, dataset.Options{Naming: dataset.BrainNaming{Default: "trees"}, Check: all})
	if err != nil {
		fmt.Println(err)
		return
	}
	for q, err := range d.Questions() {
		fmt.Println(q.ID, q.Brain, q.Question, err)
	}
	corpus, err := dataset.LoadCorpus(dataset.CorpusFor(questions))
	if err != nil {
		fmt.Println(err)
		return
	}
	brains, err := d.Brains(&corpus)
	fmt.Println(brains[0].Name, brains[0].Docs[0].Path, brains[0].Questions, err)
	// Output:
	// q1 trees How old is the oak? <nil>
	// trees oak.md 1 <nil>
}

// TestPaths checks how the paths that daemons report are translated.
func TestPaths(t *testing.T) {
	paths := dataset.PathsOf([]dataset.Doc{{Path: "a/x.md"}, {Path: "x.md"}})
	for got, want := range map[string]string{
		"raw/documents/a/x.md": "a/x.md", "srv/a/x.md": "a/x.md", "srv/x.md": "x.md",
		"y.md": "y.md",
	} {
		if name := paths.Name(got); name != want {
			t.Errorf("%s: got %s, want %s", got, name, want)
		}
	}
	if unknown := dataset.PathsOf(nil); unknown.Name("srv/x.md") != "srv/x.md" {
		t.Error("the end of a path was used although the documents are not known")
	}
}
