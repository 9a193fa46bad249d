package imports

import (
	"archive/zip"
	"bytes"
	"fmt"
	"io"
	"regexp"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"evalctl/internal/sharedtest"
)

// TestPublishedLayouts imports the first entries of published files, each in the layout of its
// project. The counts are those of the verdicts, golds, types and durations that a reader finds in the
// entries of the file; the totals that the files state are of all their entries, and do not match.
func TestPublishedLayouts(t *testing.T) {
	for _, tt := range []struct {
		name                    string
		format                  Format
		passed, total, unjudged int
		rate                    float64 // of votes, 0 without
		timed, golds, types     int
	}{
		{"amb-result.json", Queries, 3, 4, 0, 0, 0, 4, 3},
		{"backboard.json", ByType, 19, 20, 0, 0, 0, 20, 4},
		{"deltamemory.json", ByType, 12, 16, 0, 0, 16, 16, 4},
		{"evermemos-judged.json", Zep, 37, 40, 0, 112.0 / 120, 40, 40, 4},
		{"ironmem.json", PerQuestion, 3, 4, 0, 0, 0, 4, 3},
		{"memorybench-report.json", MemoryBench, 0, 0, 1, 0, 0, 1, 1},
		{"openclaw.json", JudgeResult, 3, 4, 0, 0, 0, 0, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			im := read(t, Spec{Files: []string{sharedtest.Path(t, "layouts/"+tt.name)}})
			res := writes(t, im)
			if res.Passed != tt.passed || res.Total != tt.total || res.Counts.Unjudged != tt.unjudged || im.Report.Files[0].Format != string(tt.format) {
				t.Errorf("%s: %d of %d passed, %d unjudged", im.Report.Files[0].Format, res.Passed, res.Total, res.Counts.Unjudged)
			}
			if v := res.Votes; (v != nil) != (tt.rate > 0) || v != nil && (v.Rate < tt.rate-1e-6 || v.Rate > tt.rate+1e-6) {
				t.Errorf("votes %+v", v)
			}
			golds, types := 0, map[string]bool{}
			for _, r := range im.Records {
				if r.Reference != "" {
					golds++
				}
				if r.Type != "" {
					types[r.Type] = true
				}
			}
			if res.Latency.N != tt.timed || golds != tt.golds || len(types) != tt.types {
				t.Errorf("%d timed, %d golds, types %v", res.Latency.N, golds, types)
			}
		})
	}
	for _, name := range []string{"amb-external.json", "amb-queries.json", "letta.jsonl", "lifebench-qa.json", "locomo-plus.json", "prefeval-mcq.json"} {
		if _, err := Read(Spec{Files: []string{sharedtest.Path(t, "layouts/"+name)}}); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s has no answers and is imported: %v", name, err)
		}
	}
}

const inspectLog = `{"version": 2, "eval": {"task": "mem", "model": "m/x"}, "samples": [
 {"id": 1, "epoch": 1, "input": "Q1?", "target": "a", "output": {"model": "m/x", "completion": "a", "usage": {"input_tokens": 7, "output_tokens": 2}}, "scores": {"match": {"value": "C"}}, "total_time": 1.5},
 {"id": 1, "epoch": 2, "input": "Q1?", "target": "a", "output": {"model": "m/x", "completion": "x"}, "scores": {"match": {"value": "I"}}},
 {"id": 2, "epoch": 1, "input": [{"role": "system", "content": "S"}, {"role": "user", "content": "Q2?"}], "target": ["b", "c"], "output": {"model": "m/x", "completion": "b"}, "scores": {"match": {"value": "C"}}},
 {"id": 2, "epoch": 2, "input": [{"role": "system", "content": "S"}, {"role": "user", "content": "Q2?"}], "target": ["b", "c"], "output": {"model": "m/x", "completion": "?"}, "scores": {"match": {"value": "N"}}}]}`

// evalFile is inspectLog in the format .eval, compressed by a method.
func evalFile(t *testing.T, method uint16) string { return evalLog(t, method, true) }

// evalLog has no header unless its run ended.
func evalLog(t *testing.T, method uint16, ended bool) string {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	z.RegisterCompressor(zipZstandard, func(w io.Writer) (io.WriteCloser, error) { return zstd.NewWriter(w) })
	add := func(name, text string) {
		w, err := z.CreateHeader(&zip.FileHeader{Name: name, Method: method})
		if err == nil {
			_, err = w.Write([]byte(text))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if ended {
		add("header.json", `{"version": 2, "eval": {"task": "mem", "model": "m/x"}}`)
	}
	_, samples, _ := strings.Cut(inspectLog, `"samples": [`)
	for i, s := range strings.Split(strings.TrimSuffix(strings.TrimSpace(samples), "]}"), ",\n ") {
		add("samples/"+string(rune('a'+i))+".json", s)
	}
	add("summaries.json", "[]")
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return file(t, "log.eval", b.String())
}

// TestHarnesses imports results of evaluation harnesses.
func TestHarnesses(t *testing.T) {
	letta := `{"sample_id": 1, "agent_id": "x", "model_handle": "m/x", "submissions": {"quality": "a"}, "grades": {"quality": {"score": 1.0, "rationale": "same"}}, "usage": {"prompt_tokens": 5, "completion_tokens": 1}, "timing": {"total": 3.0, "target": 2.0}}
{"sample_id": 2, "agent_id": "y", "model_handle": "m/x", "submissions": {}, "grades": {}, "timing": {"total": 3.0, "target": 2.0}, "error": {"message": "m"}}
{"sample_id": 3, "agent_id": "z", "model_handle": "m/x", "submissions": {"quality": "b"}, "grades": {"quality": {"score": 0.0}}, "timing": {"total": 3.0, "target": 2.0}}
`
	suite := `{"suite": "s", "samples": [{"id": 1, "input": "Q1?", "ground_truth": "a"}, {"id": 2, "input": "Q2?", "ground_truth": "b"}, {"id": 3, "input": "Q3?", "ground_truth": "c"}]}`
	promptfoo := `{"evalId": "e", "results": {"version": 3, "stats": {"successes": 1, "failures": 1}, "results": [
		{"promptIdx": 0, "testIdx": 0, "vars": {"question": "Q1?", "expected": "a"}, "success": true, "provider": {"id": "p:a"}, "response": {"output": "a", "tokenUsage": {"prompt": 9, "completion": 1}}, "latencyMs": 12, "gradingResult": {"pass": true, "reason": "same"}, "testCase": {"vars": {"question": "Q1?"}, "provider": "p:a"}},
		{"promptIdx": 0, "testIdx": 1, "vars": {"question": "Q2?", "expected": "b"}, "success": false, "provider": {"id": "p:a"}, "response": {"output": "x"}, "latencyMs": 12}]}}`
	for name, c := range map[string]struct {
		files                   []string
		format                  Format
		passed, total, unjudged int
		first                   string // question, gold, answer, model
		timed                   int
		tokens                  bool
	}{
		"inspect":           {[]string{file(t, "a.json", inspectLog)}, Inspect, 2, 4, 0, "Q1?|a|a|m/x", 1, true},
		"eval":              {[]string{evalFile(t, zip.Deflate)}, Inspect, 2, 4, 0, "Q1?|a|a|m/x", 1, true},
		"eval by zstandard": {[]string{evalFile(t, zipZstandard)}, Inspect, 2, 4, 0, "Q1?|a|a|m/x", 1, true},
		"letta":             {[]string{file(t, "r.jsonl", letta), file(t, "suite.json", suite)}, Letta, 1, 3, 0, "Q1?|a|a|m/x", 2, true},
		"letta lines": {[]string{file(t, "r.jsonl", `{"type": "result", "result": {"sample": {"id": 0, "input": "Q1?", "ground_truth": "a"}, "submission": "a", "grade": {"score": 1.0}, "model_name": "m/x"}}
{"type": "result", "result": {"sample": {"id": 1, "input": "Q2?", "ground_truth": "b"}, "submission": "c", "grade": {"score": 0.0}, "model_name": "m/x"}}`)}, Letta, 1, 2, 0, "Q1?|a|a|m/x", 0, false},
		"promptfoo": {[]string{file(t, "p.json", promptfoo)}, Promptfoo, 1, 2, 0, "Q1?|a|a|p:a", 2, true},
		"langsmith": {[]string{file(t, "l.jsonl", `{"id": "r1", "reference_example_id": "e1", "inputs": {"question": "Q1?"}, "outputs": {"answer": "a"}, "reference_outputs": {"answer": "a"}, "feedback_stats": {"correctness": {"n": 1, "avg": 1.0}}, "latency": 1.5}
{"id": "r2", "reference_example_id": "e2", "inputs": {"question": "Q2?"}, "outputs": {"answer": "b"}, "reference_outputs": {"answer": "c"}, "feedback_stats": {}}`)}, LangSmith, 1, 1, 1, "Q1?|a|a|", 1, false},
		"langsmith table": {[]string{file(t, "l.csv", "id,inputs,outputs,reference_outputs,latency,correctness\nr1,\"{\"\"question\"\": \"\"Q1?\"\"}\",\"{\"\"output\"\": \"\"a\"\"}\",\"{\"\"answer\"\": \"\"a\"\"}\",0.5,1\nr2,\"{\"\"question\"\": \"\"Q2?\"\"}\",\"{\"\"output\"\": \"\"x\"\"}\",\"{\"\"answer\"\": \"\"a\"\"}\",0.5,0\n")},
			LangSmith, 1, 2, 0, "Q1?|a|a|", 2, false},
		"memorybench": {[]string{file(t, "m.json", `{"provider": "p", "benchmark": "locomo", "judge": "j", "answeringModel": "m/x", "summary": {"totalQuestions": 2, "correctCount": 1, "accuracy": 0.5}, "evaluations": [
			{"questionId": "q1", "questionType": "t", "question": "Q1?", "score": 1, "label": "correct", "hypothesis": "a", "groundTruth": "a", "totalDurationMs": 5},
			{"questionId": "q2", "questionType": "t", "question": "Q2?", "score": 0, "label": "incorrect", "hypothesis": "x", "groundTruth": "b", "totalDurationMs": 5}]}`)},
			MemoryBench, 1, 2, 0, "Q1?|a|a|m/x", 2, false},
		"mirix": {[]string{file(t, "m.json", `{"detailed_results": [{"question": "Q1?", "answer": "a", "response": "a", "llm_score": 1, "bleu_score": 0.5}, {"question": "Q1?", "answer": "b", "response": "x", "llm_score": 0}, {"question": "Q3?", "answer": "b", "response": "b", "llm_score": 1}],
			"overall_summary": {"total_questions": 3, "overall_avg_llm_score": 0.6666666666666666}}`)}, Memobase, 2, 3, 0, "Q1?|a|a|", 0, false},
	} {
		t.Run(name, func(t *testing.T) {
			im := read(t, Spec{Files: c.files})
			res := writes(t, im)
			if n := res.Counts; n.Passed != c.passed || n.Total != c.total || n.Unjudged != c.unjudged || im.Report.Files[0].Format != string(c.format) {
				t.Errorf("%s: %+v", im.Report.Files[0].Format, n)
			}
			r := im.Records[0]
			if got := strings.Join([]string{r.Question, r.Reference, r.Answer, r.Model}, "|"); got != c.first {
				t.Errorf("the first answer is %q", got)
			}
			if res.Latency.N != c.timed || (r.Usage != nil) != c.tokens {
				t.Errorf("%d timed, tokens %v", res.Latency.N, r.Usage)
			}
			for _, s := range im.Report.Stated {
				if !s.Agrees {
					t.Errorf("%+v", s)
				}
			}
			if len(im.Report.Unmatched) > 0 {
				t.Errorf("%+v", im.Report.Unmatched)
			}
		})
	}
	failing := strings.NewReplacer(`"match": {"value": "I"}`, ``, `"scores": {}`, `"scores": {}, "error": {"message": "it broke"}`)
	log := failing.Replace(failing.Replace(inspectLog))
	im := read(t, Spec{Files: []string{file(t, "failed.json", log)}})
	if n := writes(t, im).Counts; n.Errors != 1 || n.Total != 4 || n.Passed != 2 || im.Records[1].Error.Message != "it broke" {
		t.Errorf("a sample that failed: %+v, %+v", n, im.Records[1])
	}
	unjudged := strings.NewReplacer(`"match": {"value": "C"}`, ``, `"match": {"value": "N"}`, ``).Replace(log)
	im = read(t, Spec{Files: []string{file(t, "unjudged.json", unjudged)}})
	if n := writes(t, im).Counts; n.Unjudged != 4 || n.Total != 0 || !strings.Contains(im.Records[1].Reason, "it broke") {
		t.Errorf("a log without verdicts: %+v, %+v", n, im.Records[1])
	}
	if res := writes(t, read(t, Spec{Files: []string{evalFile(t, zip.Deflate)}})); res.Identity.Dataset.Repeats != 2 || res.Repeats.Stable+res.Repeats.Never != 0 {
		t.Errorf("epochs are %d repeats: %+v", res.Identity.Dataset.Repeats, res.Repeats)
	}
	two := strings.Replace(promptfoo, `"provider": {"id": "p:a"}, "response": {"output": "x"}`, `"provider": {"id": "p:b"}, "response": {"output": "x"}`, 1)
	path := file(t, "two.json", two)
	if _, err := Read(Spec{Files: []string{path}}); err == nil || !strings.Contains(err.Error(), "--system: p:a, p:b") {
		t.Errorf("two providers: %v", err)
	}
	if im := read(t, Spec{Files: []string{path}, System: "p:b"}); len(im.Records) != 1 || im.Records[0].Question != "Q2?" {
		t.Errorf("one of two providers: %+v", im.Records)
	}
	if stated := read(t, Spec{Files: []string{path}, System: "p:b"}).Report.Stated; len(stated) > 0 {
		t.Errorf("totals of two providers are those of one: %+v", stated)
	}
	prompts := strings.Replace(promptfoo, `"promptIdx": 0, "testIdx": 1, "vars": {"question": "Q2?"`, `"promptIdx": 1, "testIdx": 0, "vars": {"question": "Q1?"`, 1)
	path = file(t, "prompts.json", prompts)
	if _, err := Read(Spec{Files: []string{path}}); err == nil || !strings.Contains(err.Error(), "--system: p:a, promptIdx 0; p:a, promptIdx 1") {
		t.Errorf("two prompts: %v", err)
	}
	if im := read(t, Spec{Files: []string{path}, System: "p:a, promptIdx 1"}); len(im.Records) != 1 || im.Records[0].Passed {
		t.Errorf("one of two prompts: %+v", im.Records)
	}
	one := file(t, "one.json", promptfoo) // with a single prompt
	for _, system := range []string{"p:a", "p:a, promptIdx 0"} {
		if im := read(t, Spec{Files: []string{one}, System: system}); len(im.Records) != 2 {
			t.Errorf("%s of one prompt: %+v", system, im.Records)
		}
	}
	skipped := strings.NewReplacer(`"scores": {"match": {"value": "N"}}`, `"scores": {}, "error": false`).Replace(inspectLog)
	if n := writes(t, read(t, Spec{Files: []string{file(t, "skipped.json", skipped)}})).Counts; n.Errors != 0 || n.Unjudged != 1 {
		t.Errorf("an answer whose error is false: %+v", n)
	}
	if _, err := Read(Spec{Files: []string{file(t, "suite.json", suite)}}); err == nil || !strings.Contains(err.Error(), "questions and no answers") {
		t.Errorf("a suite alone: %v", err)
	}
	if _, err := Read(Spec{Files: []string{file(t, "x.zip", "PK\x03\x04broken")}}); err == nil || !strings.Contains(err.Error(), "x.zip") {
		t.Errorf("a broken archive: %v", err)
	}
}

// TestFeedback: scores of several names are of several scorers, one of which is chosen.
// Correctness is taken unless another one is named.
func TestFeedback(t *testing.T) {
	experiment := func(first, second string) string {
		run := `{"id": "r1", "inputs": {"question": "Q%d?"}, "outputs": {"answer": "a"}, %s}` + "\n"
		return file(t, "l.jsonl", fmt.Sprintf(run, 1, first)+fmt.Sprintf(run, 2, second))
	}
	stats := func(name string) string {
		return experiment(`"feedback_stats": {"conciseness": {"n": 1, "avg": 1}, "`+name+`": {"n": 1, "avg": 0.2}}`, `"feedback_stats": {"conciseness": {"n": 1, "avg": 1}}`)
	}
	scores := experiment(`"evaluation_scores": [{"key": "conciseness", "score": 1}, {"key": "helpfulness", "score": 0.2}]`, `"evaluation_scores": []`)
	feedback := experiment(`"feedback": {"conciseness": {"score": 1}, "helpfulness": {"score": 0.2}}`, `"feedback": {"conciseness": 1, "helpfulness": 0}`)
	for _, c := range []struct {
		path, system  string
		passed, total int // a total of 0 for refused
	}{
		{stats("helpfulness"), "", 0, 0}, {stats("helpfulness"), "helpfulness", 0, 1}, {stats("helpfulness"), "conciseness", 2, 2},
		{stats("correctness"), "", 0, 1}, {stats("correctness"), "conciseness", 2, 2}, {experiment(`"feedback": {"brevity": 1}`, `"feedback": {}`), "", 1, 1},
		{scores, "", 0, 0}, {scores, "helpfulness", 0, 1}, {scores, "conciseness", 1, 1},
		{feedback, "", 0, 0}, {feedback, "helpfulness", 0, 2}, {feedback, "conciseness", 2, 2},
	} {
		im, err := Read(Spec{Files: []string{c.path}, System: c.system})
		if c.total == 0 {
			if err == nil || !strings.Contains(err.Error(), "2 scorers; choose one with --system: conciseness, helpfulness") {
				t.Errorf("%+v: %v", c, err)
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		if res := writes(t, im); res.Passed != c.passed || res.Total != c.total || res.Votes != nil {
			t.Errorf("%+v: %+v, %+v", c, res.Counts, res.Votes)
		}
	}
}

// TestOneText: a question, a gold or an answer is one member of an object, of which the layout
// does not guess one. Of the messages to a system, the last one of the user is the question.
func TestOneText(t *testing.T) {
	run := `{"id": "r1", "inputs": %s, "outputs": %s, "reference_outputs": %s, "feedback_stats": {"correctness": {"avg": 1}}}` + "\n"
	for _, c := range []struct{ inputs, outputs, golds, want string }{
		{`{"ctx": "long", "q": "Q1?"}`, `{"out": "a"}`, `{"x": "a"}`, "question: it has several texts, under ctx and q"},
		{`{"q": "Q1?"}`, `{"out": "a", "cites": ["x"]}`, `{"x": "a"}`, "answer: it has several texts, under cites and out"},
		{`{"q": "Q1?"}`, `{"out": "a"}`, `{"x": "a", "y": "b"}`, "gold: it has several texts, under x and y"},
		{`{"q": "Q1?", "ctx": null}`, `{"out": "a", "cites": ""}`, `{"x": "a"}`, ""},
	} {
		im, err := Read(Spec{Files: []string{file(t, "l.jsonl", fmt.Sprintf(run+run, c.inputs, c.outputs, c.golds, `{"q": "Q2?"}`, `{"out": "a"}`, `{"x": "a"}`))}})
		switch {
		case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "--mapping")):
			t.Errorf("%+v: %v", c, err)
		case c.want == "" && err != nil:
			t.Error(err)
		case c.want == "" && (im.Records[0].Question != "Q1?" || im.Records[0].Answer != "a" || im.Records[0].Reference != "a"):
			t.Errorf("%+v", im.Records[0])
		}
	}
	for input, want := range map[string]string{
		`"Q?"`: "Q?",
		`[{"role": "user", "content": [{"type": "text", "text": "Q?"}, {"type": "image", "image": "i"}]}]`:                                                             "Q?",
		`[{"role": "user", "content": "before"}, {"role": "assistant", "content": "b"}, {"role": "user", "content": "Q?"}, {"role": "assistant", "content": "Well:"}]`: "Q?",
	} {
		log := `{"status": "success", "samples": [{"id": 1, "epoch": 1, "input": ` + input + `, "target": ["a", "b"], "output": {"completion": "a"}, "scores": {"match": {"value": "C"}}}]}`
		if r := read(t, Spec{Files: []string{file(t, "i.json", log)}}).Records[0]; r.Question != want || r.Reference != "a or b" {
			t.Errorf("%s: %q, %q", input, r.Question, r.Reference)
		}
	}
}

// TestStoppedLog refuses a log of which only a part was asked.
func TestStoppedLog(t *testing.T) {
	for _, status := range []string{"started", "cancelled", "error"} {
		log := strings.Replace(inspectLog, "{", `{"status": "`+status+`", `, 1)
		if _, err := Read(Spec{Files: []string{file(t, "a.json", log)}}); err == nil || !strings.Contains(err.Error(), `its status is "`+status+`"`) {
			t.Errorf("%s: %v", status, err)
		}
	}
}

// TestLogWithoutHeader refuses the log of a run that was killed: the header is written last.
func TestLogWithoutHeader(t *testing.T) {
	if _, err := Read(Spec{Files: []string{evalLog(t, zip.Deflate, false)}}); err == nil || !strings.Contains(err.Error(), `its status is "started"`) {
		t.Error(err)
	}
}

// TestUnscoredSample reads what Python writes for a number that is none as no verdict.
func TestUnscoredSample(t *testing.T) {
	for value, unjudged := range map[string]int{`"C"`: 0, "NaN": 1, "-Infinity": 1, `"C", "explanation": "not \"NaN, \\\" or NaN"`: 0} {
		one := strings.Replace(inspectLog, `"match": {"value": "C"`, `"match": {"value": `+value, 1)
		if n := writes(t, read(t, Spec{Files: []string{file(t, "a.json", one)}})).Counts; n.Unjudged != unjudged || n.Total != 4-unjudged {
			t.Errorf("%s: %+v", value, n)
		}
	}
}

// TestProviderErrors: a request that failed has no verdict, whatever the file calls success.
func TestProviderErrors(t *testing.T) {
	row := `{"promptIdx": 0, "testIdx": %d, "vars": {"question": "Q%d?"}, "provider": {"id": "p:a"}, %s}`
	list := []string{
		`"success": true, "response": {"output": "a"}, "latencyMs": 12, "failureReason": 0`,
		`"success": false, "response": {"output": "x"}, "latencyMs": 12, "failureReason": 1, "error": "expected a"`,
		`"success": false, "response": {"error": "API error 500"}, "latencyMs": 0, "failureReason": 2, "error": "API error 500"`,
		`"success": false, "latencyMs": 0, "failureReason": 2, "error": "no route"`,
	}
	for i, one := range list {
		list[i] = fmt.Sprintf(row, i, i, one)
	}
	im := read(t, Spec{Files: []string{file(t, "p.json", `{"results": {"results": [`+strings.Join(list, ",")+`]}}`)}})
	res := writes(t, im)
	if n := res.Counts; n.Errors != 2 || n.Passed != 1 || n.Total != 4 || res.Latency.N != 2 {
		t.Errorf("%+v, %d timed", n, res.Latency.N)
	}
	if e := im.Records[3].Error; e == nil || e.Message != "no route" {
		t.Errorf("%+v", im.Records[3])
	}
}

// TestRepeatsBesideQuestions: a file with the questions only does not hide that another one has
// several answers to each.
func TestRepeatsBesideQuestions(t *testing.T) {
	lines := ""
	for range 2 {
		for id, answer := range map[int]string{1: "a", 2: "x"} {
			lines += fmt.Sprintf(`{"sample_id": %d, "agent_id": "x", "model_handle": "m/x", "submissions": {"quality": %q}, "grades": {"quality": {"score": %d}}}`+"\n",
				id, answer, 2-id)
		}
	}
	answers := file(t, "r.jsonl", lines)
	suite := file(t, "suite.json", `{"suite": "s", "samples": [{"id": 1, "input": "Q1?", "ground_truth": "a"}, {"id": 2, "input": "Q2?", "ground_truth": "b"}]}`)
	for _, files := range [][]string{{answers, suite}, {suite, answers}} {
		res := writes(t, read(t, Spec{Files: files}))
		if res.Identity.Dataset.Repeats != 2 || res.Identity.Dataset.Questions() != 2 || res.Passed != 2 || res.Total != 4 {
			t.Errorf("%q: %d repeats of %d questions, %d of %d passed", files, res.Identity.Dataset.Repeats, res.Identity.Dataset.Questions(), res.Passed, res.Total)
		}
	}
}

// TestFailedEpoch: a sample that failed has no model of its own, and the log calls the model
// otherwise than the samples do.
func TestFailedEpoch(t *testing.T) {
	log := strings.ReplaceAll(inspectLog, `"output": {"model": "m/x"`, `"output": {"model": "m/x-0718"`)
	log = strings.Replace(log, `"output": {"model": "m/x-0718", "completion": "x"}, "scores": {"match": {"value": "I"}}`,
		`"output": {"model": "", "completion": ""}, "scores": {}, "error": {"message": "it broke"}`, 1)
	res := writes(t, read(t, Spec{Files: []string{file(t, "a.json", log)}}))
	if res.Counts.Errors != 1 || res.Counts.Total != 4 || res.Identity.Dataset.Repeats != 2 {
		t.Errorf("%+v, %d repeats", res.Counts, res.Identity.Dataset.Repeats)
	}
	mapping := file(t, "m.yaml", "id: $.id\nquestion: $.q\nanswer: $.a\nverdict: $.ok\nmodel: $.by\nerror: $.failed\n")
	rows := `[{"id": 1, "q": "Q?", "failed": "timeout"}, {"id": 1, "q": "Q?", "a": "x", "ok": 1, "by": "m"}, {"id": 1, "q": "Q?", "a": "x", "ok": 1, "by": "BY"}]`
	res = writes(t, read(t, Spec{Mapping: mapping, Files: []string{file(t, "a.json", strings.Replace(rows, "BY", "m", 1))}}))
	if res.Counts.Errors != 1 || res.Counts.Passed != 2 {
		t.Errorf("mapped: %+v", res.Counts)
	}
	if _, err := Read(Spec{Mapping: mapping, Files: []string{file(t, "a.json", rows)}}); err == nil || !strings.Contains(err.Error(), `of different models, "m" and "BY"`) {
		t.Errorf("two models after a failure: %v", err)
	}
}

// TestModelOfFailure: an answer that failed is by the model that the file names, unless it is an
// error.
func TestModelOfFailure(t *testing.T) {
	report := `{"answerer_model": "m", "per_question": [
		{"question_id": "q1", "question": "Q1?", "ground_truth": "a", "generated_answer": "a", "score": 1},
		{"question_id": "q2", "question": "Q2?", "ground_truth": "b", "generated_answer": "", "score": 0, "error": "timeout"},
		{"question_id": "q3", "question": "Q3?", "ground_truth": "c", "generated_answer": "", "score": null, "error": "timeout"}]}`
	for name, c := range map[string]struct{ text, want string }{
		"judged":     {report, "m,m,"},
		"not judged": {regexp.MustCompile(`"score": \w+`).ReplaceAllString(report, `"score": null`), "m,m,m"},
	} {
		im := read(t, Spec{Files: []string{file(t, "a.json", c.text)}})
		writes(t, im)
		var models []string
		for _, r := range im.Records {
			models = append(models, r.Model)
		}
		if got := strings.Join(models, ","); got != c.want {
			t.Errorf("%s: the answers are by %q, want %q", name, got, c.want)
		}
	}
}

// TestIncompleteRows: answers in a list of answers count, also those that lack a key of the layout.
func TestIncompleteRows(t *testing.T) {
	for name, c := range map[string]struct {
		rows                            string
		format                          Format
		passed, total, unjudged, failed int
		leftOut                         map[string]int
	}{
		"langsmith": {`{"id": "r1", "inputs": {"question": "Q1?"}, "outputs": {"answer": "a"}, "feedback_stats": {"correctness": {"avg": 1.0}}}
{"id": "r2", "inputs": {"question": "Q2?"}, "error": "timeout"}`, LangSmith, 1, 2, 0, 1, nil},
		"judge stopped": {`[{"question": "Q1?", "answer": "a", "golden_answer": "a", "judge_result": {"label": "CORRECT", "score": 1.0}}, {"question": "Q2?", "answer": "b", "golden_answer": "b"}]`,
			JudgeResult, 1, 1, 1, 0, nil},
		"ironmem": {`{"per_question": [{"question_id": "q1", "question": "Q1?", "ground_truth": "a", "generated_answer": "a", "score": 1, "error": null},
			{"question_id": "q2", "question": "Q2?", "ground_truth": "b", "generated_answer": "", "score": null, "error": "timeout"},
			{"question_id": "q3", "question": "Q3?", "ground_truth": "c", "score": null, "error": "timeout"}]}`, PerQuestion, 1, 3, 0, 2, nil},
		"letta lines": {`{"result": {"sample": {"id": 0, "input": "Q1?", "ground_truth": "a"}, "submission": "a", "grade": {"score": 1.0}, "model_name": "m"}}
{"result": {"sample": {"id": 1, "input": "Q2?", "ground_truth": "b"}, "submission": "b", "model_name": "m"}}`, Letta, 1, 1, 1, 0, nil},
		"another list": {`{"runs": {"c": [{"question": "Q1?", "answer": "a", "judge_result": {"label": "CORRECT"}}], "d": [{"question": "Q2?", "answer": "b"}, {"question": "Q3?", "answer": "b"}]},
			"more": [{"question": "Q4?", "answer": "b"}]}`, JudgeResult, 1, 1, 0, 0, map[string]int{"$.runs.d": 2, "$.more": 1}},
	} {
		t.Run(name, func(t *testing.T) {
			im := read(t, Spec{Files: []string{file(t, "a.json", c.rows)}})
			n := writes(t, im).Counts
			if n.Passed != c.passed || n.Total != c.total || n.Unjudged != c.unjudged || n.Errors != c.failed || im.Report.Files[0].Format != string(c.format) {
				t.Errorf("%s: %+v", im.Report.Files[0].Format, n)
			}
			for i := 1; i < len(im.Records); i++ {
				if im.Records[i-1].Question > im.Records[i].Question {
					t.Errorf("%q is before %q", im.Records[i-1].Question, im.Records[i].Question)
				}
			}
			for key, want := range c.leftOut {
				if got := im.Report.Files[0].LeftOut[key]; got != want {
					t.Errorf("%d left out of %s, want %d: %v", got, key, want, im.Report.Files[0].LeftOut)
				}
			}
		})
	}
}

// TestStatedOfAPart: a total over a part of the answers is not compared with all of them.
func TestStatedOfAPart(t *testing.T) {
	text := `{"SCOPE", "question_count": 2, "results": {"overall": 1.0}, "per_question": [
		{"question_id": "q1", "question": "Q1?", "ground_truth": "a", "generated_answer": "a", "score": 1},
		{"question_id": "q2", "question": "Q2?", "ground_truth": "b", "generated_answer": "x", "score": 0}]}`
	for scope, want := range map[string]int{
		`"overall_scope": "categories 1-4 (adversarial excluded)"`: 1, `"overall_scope": "all categories"`: 2, `"other": 1`: 2,
	} {
		im := read(t, Spec{Files: []string{file(t, "a.json", strings.Replace(text, `"SCOPE"`, scope, 1))}})
		if got := im.Report.Stated; len(got) != want {
			t.Errorf("%s: %+v, want %d totals", scope, got, want)
		}
	}
}
