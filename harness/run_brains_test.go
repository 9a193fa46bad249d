package harness

import (
	"net/http"
	"testing"

	"evalctl/harness/daemontest"

	"github.com/google/go-cmp/cmp"
)

// TestRunAsksEachQuestionInItsBrain, also where its name is not the id.
func TestRunAsksEachQuestionInItsBrain(t *testing.T) {
	s := daemontest.New(t, func(w http.ResponseWriter, r *http.Request, c daemontest.Call) {
		daemontest.Stream(w, daemontest.Event("answer_delta", `{"delta":"`+r.URL.Path+`"}`)+daemontest.Event("done", `{"ok":true}`))
	})
	file := questionLines(t, `,"brain":"b","expected_substrings":["/v1/brains/id-b/ask"]`, `,"expected_substrings":["/v1/brains/id-eval/ask"]`)
	d, err := Survey(file, nil, Naming{Default: "eval"}, func(Question) error { return nil })
	if err != nil {
		t.Fatal(err)
	}
	cfg := setUp(t, s, d, t.TempDir())
	cfg.Target.Brains = map[string]string{"b": "id-b", "eval": "id-eval"}
	cfg.Brains = []Brain{{Name: "b", Questions: 1, Docs: make([]Doc, 3)}, {Name: "eval", Questions: 1}}
	_, path, err := cfg.run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	res := readResult(t, path)
	if res.Passed != 2 || res.Questions[0].Brain != "b" || res.Questions[1].Brain != "eval" {
		t.Errorf("got %+v", res.Questions)
	}
	if diff := cmp.Diff([]BrainUse{{"b", new(3), 1}, {"eval", nil, 1}}, res.Brains); diff != "" {
		t.Error(diff)
	}
}
