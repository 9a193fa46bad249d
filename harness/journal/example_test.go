package journal_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"evalctl/harness/journal"
	"evalctl/harness/result"
	"evalctl/internal/filetest"
)

func Example() {
	dir, err := os.MkdirTemp("", "journal")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	id := result.Identity{
		SchemaVersion: result.SchemaVersion, SDK: "go", Dataset: result.DatasetID{Selected: 2},
	}
	j, err := journal.Create(dir, id, time.Now(), nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	answer := result.Record{ID: "q1", Reply: result.Reply{Answer: "in March"}, Outcome: result.Unscored}
	err = j.Append(journal.Entry{Kind: journal.KindAnswer, Index: 0, Record: &answer})
	fmt.Println(err, j.Close())

	j, err = journal.Open(filepath.Join(dir, "go.journal"))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer j.Close()
	r, err := j.Record(0)
	fmt.Println(j.State(0), r.Answer, err, j.State(1))
	// Output:
	// <nil> <nil>
	// {true false false false} in March <nil> {false false false false}
}

// TestWriteResult checks that a result file has the questions of the journal, in order, under two
// names, and that a resumed run writes the same one.
func TestWriteResult(t *testing.T) {
	dir := t.TempDir()
	id := result.Identity{
		SchemaVersion: result.SchemaVersion, SDK: "go", Dataset: result.DatasetID{Selected: 2},
	}
	j, err := journal.Create(dir, id, time.Date(2026, 3, 21, 23, 5, 9, 0, time.FixedZone("", 3600)), nil)
	if err != nil {
		t.Fatal(err)
	}
	for i, name := range []string{"q2", "q1"} {
		r := result.Record{ID: name, Outcome: result.Scored}
		graded := journal.Entry{Kind: journal.KindGrade, Index: 1 - i, Record: &r}
		if err := j.Append(graded); err != nil {
			t.Fatal(err)
		}
	}
	own := ""
	for i := range 3 {
		path, err := j.WriteResult(&result.Result{SDK: "go", Planned: i})
		if err != nil || path != filepath.Join(dir, "go.json") {
			t.Fatal(path, err)
		}
		var ids []string
		for _, r := range readQuestions(t, path) {
			ids = append(ids, r.ID)
		}
		if fmt.Sprint(ids) != "[q1 q2]" {
			t.Errorf("got %v", ids)
		}
		named, latest := journal.Names(path)
		if again, _ := journal.Names(named); again != named || latest != path || own != "" && named != own {
			t.Errorf("the names are %s (%s before) and %s", named, own, latest)
		}
		if ok, _ := filepath.Match(filepath.Join(dir, "go-20260321T220509Z-??????.json"), named); !ok {
			t.Errorf("the own name is %s", named)
		}
		own = named
		if err := j.Close(); err != nil {
			t.Fatal(err)
		}
		if j, err = journal.Open(j.Path()); err != nil {
			t.Fatal(err)
		}
	}
	defer j.Close()
	if files, err := filepath.Glob(filepath.Join(dir, "*.json")); len(files) != 2 || err != nil {
		t.Errorf("files: %v, %v", files, err)
	}
}

func readQuestions(t *testing.T, path string) []result.Record {
	t.Helper()
	data := filetest.Read(t, path)
	var f struct {
		result.Result
		Questions []result.Record `json:"questions"`
	}
	if err := json.Unmarshal(data, &f); err != nil {
		t.Fatal(err)
	}
	return f.Questions
}
