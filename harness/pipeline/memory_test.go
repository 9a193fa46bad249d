package pipeline

import (
	"testing"

	"evalctl/harness/dataset"
	"evalctl/harness/result"
)

// TestNewMemory: an earlier answer is kept and judged again, also if the headline had judged it;
// that verdict is kept until there is another one. A question that failed is asked again.
func TestNewMemory(t *testing.T) {
	d, err := dataset.FromQuestions("q.jsonl", "", []dataset.Question{{ID: "a", Question: "A?"}})
	if err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		earlier       result.Record
		asked, judged bool
	}{
		"failed":              {result.Record{Outcome: result.Errored, Error: &result.Failure{Kind: result.KindTransport}}, true, false},
		"no verdict":          {result.Record{Outcome: result.Unscored, JudgeUnanswered: true}, false, false},
		"one verdict missing": {result.Record{Outcome: result.Scored, Score: new(1.0), Passed: true, JudgeUnanswered: true}, false, true},
	} {
		if !tt.earlier.Outage() {
			t.Errorf("%s: it is not an outage", name)
		}
		m := NewMemory(1, map[int]result.Record{0: tt.earlier})
		n := 0
		for j, err := range (UnfinishedSource{Dataset: d, Keeper: m, Again: map[int]bool{0: true}}).Jobs(t.Context()) {
			n++
			if err != nil || !j.Reopen || (j.Earlier != nil) != tt.asked || (j.Answer != nil) == tt.asked || (j.Judged != nil) != tt.judged {
				t.Fatalf("%s: %+v, %v", name, j, err)
			}
			if r := j.Answer; r != nil && (r.Outcome != result.Unscored || r.Score != nil || r.Tries != 2) {
				t.Errorf("%s: %+v", name, r)
			}
			if j.Judged != nil && !j.Judged.Passed {
				t.Errorf("%s: the verdict is %+v", name, j.Judged)
			}
		}
		if n != 1 {
			t.Errorf("%s: %d questions", name, n)
		}
	}
}
