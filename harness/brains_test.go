package harness

import (
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"evalctl/harness/daemontest"
	"evalctl/harness/dataset"
	"evalctl/harness/result"
	"evalctl/internal/filetest"
)

// TestSeveralBrains checks that each question is asked in its brain, by the brain's id.
func TestSeveralBrains(t *testing.T) {
	s := daemontest.New(t, func(w http.ResponseWriter, r *http.Request, c daemontest.Call) {
		daemontest.Stream(w,
			event("answer_delta", `{"delta":"`+r.URL.Path+`"}`)+event("done", `{"ok":true}`))
	})
	file := filetest.Write(t, filepath.Join(t.TempDir(), "q.jsonl"), strings.Join([]string{
		`{"id":"q1","question":"question 1","brain":"b",` +
			`"expected_substrings":["/v1/brains/id-b/ask"]}`,
		`{"id":"q2","question":"question 2","expected_substrings":["/v1/brains/id-eval/ask"]}`,
	}, "\n"))
	d, err := dataset.Open(file, dataset.Options{Naming: dataset.BrainNaming{Default: "eval"}, Check: accept})
	if err != nil {
		t.Fatal(err)
	}
	cfg := setUp(t, s, d, t.TempDir())
	targetIn(cfg.Asker).Brains = map[string]string{"b": "id-b", "eval": "id-eval"}
	cfg.Brains = []dataset.Brain{
		{Name: "b", Questions: 1, Docs: make([]dataset.Doc, 3)}, {Name: "eval", Questions: 1},
	}
	path := cfg.finish(t)
	res := readResult(t, path)
	if res.Passed != 2 || res.Questions[0].Brain != "b" || res.Questions[1].Brain != "eval" {
		t.Errorf("got %+v", res.Questions)
	}
	want := []result.BrainInfo{{ID: "b", Documents: new(3), Questions: 1},
		{ID: "eval", Questions: 1}}
	if diff := cmp.Diff(want, res.Brains); diff != "" {
		t.Error(diff)
	}
}
