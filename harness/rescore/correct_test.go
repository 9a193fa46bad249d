package rescore_test

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"evalctl/harness/rescore"
	"evalctl/harness/result"
	"evalctl/harness/resulttest"
	"evalctl/internal/filetest"
	"evalctl/scorer"
)

// TestCorrected checks that a corrected dataset decides everything that an answer is scored by,
// and is refused for what the stored answer depends on.
func TestCorrected(t *testing.T) {
	const question = `{"id":"q-00","question":"Which?","expected_substrings":["so"],`
	for _, c := range []struct{ fields, refused string }{
		{`"question_date":"2025-03-14","forbidden":["secret"],"must_cite":["b.md"]`, ""},
		{`"forbidden":["secret"],"must_cite":["b.md"]`, "asks something else"},
		{`"question_date":"2025-03-15","forbidden":["secret"],"must_cite":["b.md"]`, "asks something else"},
		{`"question_date":"2025-03-14","must_cite":["b.md"]`, "has other forbidden texts"},
	} {
		dir := t.TempDir()
		f := resulttest.New("go", began, "-")
		q := &f.Questions[0]
		q.Answer, q.Expected, q.MustCite, q.Forbidden = "it is so", []string{"so"}, []string{"a.md"}, []string{"secret"}
		q.QuestionDate, q.Citations = "2025-03-14", []json.RawMessage{json.RawMessage(`{"path":"b.md"}`)}
		f.Fill()
		r, err := rescore.Plan(rescore.Spec{
			File: f.Save(t, dir, "go.json"), Scorer: kindOf(t, "exact"),
			Dataset: filetest.Write(t, filepath.Join(dir, "q.jsonl"), question+c.fields+"}\n"),
		})
		if c.refused != "" {
			if err == nil || !strings.Contains(err.Error(), c.refused) {
				t.Errorf("%s: %v", c.fields, err)
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		j, err := r.Journal(false)
		if err != nil {
			t.Fatal(err)
		}
		if res, _, err := r.Run(t.Context(), result.Settings{Concurrency: 1}, nil, nil, j); err != nil || res.Counts.Passed != 1 {
			t.Errorf("%s: %+v, %v", c.fields, res.Counts, err)
		}
	}
}

// TestUnknownEvidence rescores imported answers whose files have no passages. The evidence that
// the dataset, or a file of an earlier version, expects is then unknown, and not lost.
func TestUnknownEvidence(t *testing.T) {
	dir := t.TempDir()
	f := resulttest.New("zep", began, "-")
	f.Imported, f.Identity.Imported, f.Identity.Scenario = &result.ImportSource{}, &result.ImportedID{}, result.ImportedAnswers
	q := &f.Questions[0]
	q.Answer, q.Expected, q.ExpectedEvidence = "no", []string{"so"}, []string{"It is so."}
	f.Fill()
	s := rescore.Spec{
		File: f.Save(t, dir, "zep.json"), Scorer: kindOf(t, "exact"),
		Dataset: filetest.Write(t, filepath.Join(dir, "q.jsonl"), `{"id":"q-00","question":"Which?","expected_substrings":["so"],"expected_evidence":["It is so."]}`+"\n"),
	}
	r, err := rescore.Plan(s)
	if err != nil {
		t.Fatal(err)
	}
	j, err := r.Journal(false)
	if err != nil {
		t.Fatal(err)
	}
	res, _, err := r.Run(t.Context(), result.Settings{Concurrency: 1}, nil, nil, j)
	if err != nil || res.Evidence != nil || res.Gate.Loss.Unknown != 1 {
		t.Errorf("evidence %+v, lost at %+v, %v", res.Evidence, res.Gate.Loss, err)
	}
	s.Scorer = kindOf(t, "retrieval")
	if _, err := rescore.Plan(s); err == nil || !strings.Contains(err.Error(), "no question in") {
		t.Errorf("its retrieval is scored: %v", err)
	}
}

func kindOf(t *testing.T, name string) scorer.Kind {
	t.Helper()
	kind, err := scorer.Find(name)
	if err != nil {
		t.Fatal(err)
	}
	return kind
}

// TestRescoredTries: answers that came after failures of the service say so, and verdicts that
// came after failures of the earlier judge do not.
func TestRescoredTries(t *testing.T) {
	f := resulttest.New("go", began, "++")
	for i, first := range []result.Outcome{result.Errored, result.Unscored} {
		q := &f.Questions[i]
		q.Answer, q.Expected, q.Tries, q.FirstTry = "it is so", []string{"so"}, 2, &result.Try{Outcome: first}
	}
	f.Fill()
	r, err := rescore.Plan(rescore.Spec{File: f.Save(t, t.TempDir(), "go.json"), Scorer: kindOf(t, "exact")})
	if err != nil {
		t.Fatal(err)
	}
	j, err := r.Journal(false)
	if err != nil {
		t.Fatal(err)
	}
	res, _, err := r.Run(t.Context(), result.Settings{Concurrency: 1}, nil, nil, j)
	if want := (&result.FirstTryRate{Passed: 1, Total: 2, PassRate: 0.5, TriedAgain: 1}); err != nil || !cmp.Equal(res.FirstTryRate, want) {
		t.Errorf("%+v, %v", res.FirstTryRate, err)
	}
}
