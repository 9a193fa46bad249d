package imports

import (
	"regexp"
	"testing"
)

// TestRetrieved imports what was retrieved: the gold at rank 2 of one question, and not at all of the
// other. It is scored, and no answer is judged by it.
func TestRetrieved(t *testing.T) {
	log := file(t, "r.jsonl", `{"question_id": "q1", "retrieval_results": {"ranked_items": [{"corpus_id": "other"}, {"corpus_id": "s0_4"}]}}
{"question_id": "q2", "retrieval_results": {"ranked_items": [{"corpus_id": "other"}]}}
`)
	im := read(t, Spec{Files: []string{log}, Dataset: longMemEval(t)})
	res := writes(t, im)
	if res.Counts.Unjudged != 2 || res.Identity.TopK != 2 || res.Retrieval == nil {
		t.Fatalf("%+v, top-k %d, %+v", res.Counts, res.Identity.TopK, res.Retrieval)
	}
	first, second := im.Records[0].Retrieval, im.Records[1].Retrieval
	if first.Recall != 1 || first.ReciprocalRank != 0.5 || second.Recall != 0 {
		t.Errorf("%+v, %+v", first, second)
	}
	if got := res.Retrieval.Macro["recall@1"]; got != 0 {
		t.Errorf("recall@1 is %v", got)
	}
	// Sessions of LoCoMo's outputs, of which the dataset has no evidence, have no measure.
	outputs := `[{"sample_id": "mara-jon", "qa": [{"question": "What does Jon bake?", "answer": "rye bread", "category": 4, "m_prediction": "rye", "m_f1": 0.667, "m_prediction_context": ["S1", "D1:2"]}]}]`
	im = read(t, Spec{Files: []string{file(t, "o.json", outputs)}, Dataset: benchmark(t, own+"talks.json")})
	res = writes(t, im)
	if r := im.Records[0]; len(r.Retrieved) != 2 || r.Retrieved[0].Path == "" || r.Retrieved[0].Path != r.Retrieved[1].Path || r.Retrieval != nil || res.Passed != 1 {
		t.Errorf("%+v", r.Retrieved)
	}
}

// TestRetrievedInAnotherFile: verdicts and what was retrieved come from two files, in any order.
func TestRetrievedInAnotherFile(t *testing.T) {
	verdicts := file(t, "v.jsonl", hypotheses)
	ranked := `{"question_id": "q1", "hypothesis": "18 days", "retrieval_results": {"ranked_items": [{"corpus_id": "s0"}]}}
{"question_id": "q2", "hypothesis": "no", "retrieval_results": {"ranked_items": [{"corpus_id": "other"}]}}
`
	same := file(t, "same.jsonl", ranked)
	only := file(t, "only.jsonl", regexp.MustCompile(`"hypothesis": "[^"]*", `).ReplaceAllString(ranked, ""))
	for _, files := range [][]string{{verdicts, same}, {same, verdicts}, {verdicts, only}, {only, verdicts}} {
		res := writes(t, read(t, Spec{Files: files, Dataset: longMemEval(t)}))
		if res.Passed != 1 || res.Total != 2 || res.Retrieval == nil || res.Retrieval.Macro["recall@1"] != 0.5 {
			t.Errorf("%q: %d of %d passed, %+v", files, res.Passed, res.Total, res.Retrieval)
		}
	}
}
