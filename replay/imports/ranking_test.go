package imports

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"evalctl/harness/result"
	"evalctl/internal/filetest"
	"evalctl/replay/source"
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

// TestWholeHaystack imports rankings of all documents with the gold last, which is not found
// among as many as count. A haystack of fewer documents is said to be covered.
func TestWholeHaystack(t *testing.T) {
	var ids, sessions, dates, ranked []string
	for i := range 12 {
		ids, dates = append(ids, fmt.Sprintf(`"s%d"`, i)), append(dates, fmt.Sprintf(`"2023/05/%02d (Sat) 02:21"`, i+1))
		sessions = append(sessions, fmt.Sprintf(`[{"role": "user", "content": "I saw %d geese."}]`, i))
		ranked = append(ranked, fmt.Sprintf(`{"corpus_id": "s%d"}`, 11-i))
	}
	list := func(of []string) string { return "[" + strings.Join(of, ", ") + "]" }
	dataset := file(t, "lme.json", `[{"question_id": "q1", "question_type": "multi-session", "question": "How many?", "answer": "0",
		"question_date": "2023/05/30 (Tue) 23:40", "answer_session_ids": ["s0"], "haystack_session_ids": `+list(ids)+`,
		"haystack_dates": `+list(dates)+`, "haystack_sessions": `+list(sessions)+`}]`)
	log := file(t, "r.jsonl", `[{"question_id": "q1", "retrieval_results": {"ranked_items": `+list(ranked)+`}}]`)
	for topK, c := range map[int]struct {
		counted int
		recall  float64
		warned  int
	}{0: {10, 0, 0}, 11: {11, 0, 0}, 50: {12, 1, 1}} {
		im := read(t, Spec{Files: []string{log}, Dataset: benchmark(t, dataset), TopK: topK})
		res := writes(t, im)
		if got := im.Records[0].Retrieval; im.TopK != c.counted || got.Recall != c.recall || len(im.Warnings) != c.warned || im.Listed != 12 ||
			slices.ContainsFunc(res.Retrieval.Warnings, func(w result.Warning) bool { return w.Kind == result.TopKCoversBrain }) != (c.warned > 0) {
			t.Errorf("top-k %d: %d of %d count, %+v, %+v", topK, im.TopK, im.Listed, got, res.Retrieval.Warnings)
		}
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

// TestEvidence imports answers to a question with evidence. It is looked for only in passages
// whose texts are in the files: of other answers it is not known what came back.
func TestEvidence(t *testing.T) {
	dataset := file(t, "lme.json", `[{"question_id": "q1", "question_type": "multi-session", "question": "How many?", "answer": "18",
		"question_date": "2023/05/30 (Tue) 23:40", "answer_session_ids": ["s0"], "haystack_session_ids": ["s0"],
		"haystack_dates": ["2023/05/20 (Sat) 02:21"], "haystack_sessions": [[{"role": "user", "content": "I saw 18 geese.", "has_answer": true}]]}]`)
	mapping := file(t, "m.yaml", "id: $.id\nanswer: $.said\nverdict: $.ok\nretrieved: $.found\n")
	for _, c := range []struct {
		found  string
		recall float64 // -1 for none
	}{
		{`[]`, -1}, {`["s0"]`, -1}, {`["Ducks came too.", "I saw 18 geese."]`, 1}, {`["Ducks came too."]`, 0},
	} {
		rows := file(t, "a.json", `[{"id": "q1", "said": "18", "ok": true, "found": `+c.found+`}]`)
		im := read(t, Spec{Files: []string{rows}, Mapping: mapping, Dataset: benchmark(t, dataset)})
		res, r := writes(t, im), im.Records[0]
		if known := c.recall >= 0; known != (r.Evidence != nil) || known != (res.Evidence != nil) || known && r.Evidence.Recall != c.recall {
			t.Errorf("%s: evidence of the answer %+v, of the result %+v", c.found, r.Evidence, res.Evidence)
		}
	}
}

// TestCorrectedGrades imports an answer to a question with graded gold, of which errata have
// removed a document. Its grade is not in the record.
func TestCorrectedGrades(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "birds")
	if err := os.MkdirAll(filepath.Join(dir, "qrels"), 0o700); err != nil {
		t.Fatal(err)
	}
	filetest.Write(t, filepath.Join(dir, "queries.jsonl"), `{"_id": "1", "text": "Which owl is white?"}`+"\n")
	filetest.Write(t, filepath.Join(dir, "corpus.jsonl"), `{"_id": "d1", "title": "", "text": "A grey owl."}
{"_id": "d2", "title": "", "text": "A white owl."}
{"_id": "d3", "title": "", "text": "A nearly white owl."}
`)
	filetest.Write(t, filepath.Join(dir, "qrels", "test.tsv"), "query-id\tcorpus-id\tscore\n1\td1\t2\n1\td2\t3\n1\td3\t1\n")
	errata := file(t, "errata.jsonl", `{"id": "1", "action": "correct", "gold": ["d2", "d3"], "reason": "grey"}`)
	b, err := source.Open(t.Context(), dir, source.Options{Errata: errata})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { b.Close() })
	log := file(t, "r.json", `[{"question_id": "1", "retrieval_results": {"ranked_items": [{"corpus_id": "d2"}]}}]`)
	im := read(t, Spec{Files: []string{log}, Dataset: b})
	writes(t, im)
	r := im.Records[0]
	if len(r.ExpectedPaths) != 2 || !maps.Equal(r.ExpectedGrades, map[string]float64{r.ExpectedPaths[0]: 3}) || r.Retrieval == nil {
		t.Errorf("gold %q, grades %v, %+v", r.ExpectedPaths, r.ExpectedGrades, r.Retrieval)
	}
}
