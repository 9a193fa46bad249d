package imports

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"evalctl/harness/result"
	"evalctl/harness/verify"
	"evalctl/internal/filetest"
	"evalctl/internal/sharedtest"
	"evalctl/replay/source"
)

const (
	own = "../../datasets/audit/"
)

func benchmark(t *testing.T, path string) *source.Benchmark {
	t.Helper()
	b, err := source.Open(t.Context(), path, source.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { b.Close() })
	return b
}

func read(t *testing.T, s Spec) *Import {
	t.Helper()
	im, err := Read(s)
	if err != nil {
		t.Fatal(err)
	}
	return im
}

// file writes a file and returns its path.
func file(t *testing.T, name, text string) string {
	t.Helper()
	return filetest.Write(t, filepath.Join(t.TempDir(), name), text)
}

// writes writes the result, checks that verify can recompute it, and returns it.
func writes(t *testing.T, im *Import) result.Result {
	t.Helper()
	res, path, err := im.Write(t.Context(), t.TempDir(), im.Identity("other", result.ToolID{Version: "v", OS: "linux", Arch: "amd64", Go: "go", CPUs: 1}))
	if err != nil {
		t.Fatal(err)
	}
	rep, err := verify.File(path)
	if err != nil {
		t.Fatal(err)
	}
	if !rep.OK {
		t.Errorf("%s: %+v", path, rep.Differences)
	}
	return res
}

// TestPublishedRates imports published files. Their rates are those of their authors, to the
// question.
func TestPublishedRates(t *testing.T) {
	for _, tt := range []struct {
		name, dataset  string
		files          []string
		passed, total  int
		format         string
		timed, unasked int
	}{
		{"own", own + "talks.json", []string{own + "answers.json"}, 23, 28, "zep", 28, 2},
		{"own wrong", own + "talks.json", []string{own + "wrong.json"}, 4, 28, "locomo-audit", 0, 2},
		{"zep", "", []string{"zep_locomo_grades.json", "zep_locomo_responses.json"}, 551, 719, "zep", 719, 216},
		{"memobase", "", []string{"memobase_eval_0503_3000.json"}, 507, 719, "memobase", 0, 216},
		{"lines", "none", []string{"published-runs/evermemos.jsonl"}, 1425, 1540, "lines", 0, 0},
		{"wrong on purpose", "", []string{"audit_wrong_on_purpose_v1_scored.json"}, 92, 719, "locomo-audit", 0, 216},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dataset, files := tt.dataset, tt.files
			if dataset == "none" {
				res := writes(t, read(t, Spec{Files: []string{sharedtest.Path(t, files[0])}}))
				if res.Passed != tt.passed || res.Total != tt.total {
					t.Errorf("%d of %d passed, and their authors count %d of %d", res.Passed, res.Total, tt.passed, tt.total)
				}
				return
			}
			if dataset == "" {
				dataset = sharedtest.Path(t, "locomo/locomo5.json")
				for i := range files {
					files[i] = sharedtest.Path(t, "imports/"+files[i])
				}
			}
			im := read(t, Spec{Files: files, Dataset: benchmark(t, dataset)})
			res := writes(t, im)
			if res.Passed != tt.passed || res.Total != tt.total {
				t.Errorf("%d of %d passed, and their authors count %d of %d", res.Passed, res.Total, tt.passed, tt.total)
			}
			timed := 0
			for _, r := range im.Records {
				if !r.Untimed {
					timed++
				}
			}
			rep := im.Report
			if got := rep.Files[0].Format; got != tt.format || timed != tt.timed || res.Latency.N != tt.timed ||
				len(rep.Unanswered) != tt.unasked || len(rep.Unmatched)+len(rep.GoldDiffers) > 0 {
				t.Errorf("format %s, %d timed (%d), %d unanswered, %v unmatched, %v gold", got, timed, res.Latency.N,
					len(rep.Unanswered), rep.Unmatched, rep.GoldDiffers)
			}
		})
	}
}

// TestTwins gives answers to questions of one conversation that have the same text.
func TestTwins(t *testing.T) {
	talks := file(t, "talks.json", `[{"sample_id": "s", "conversation": {"speaker_a": "A", "speaker_b": "B",
		"session_1_date_time": "4:10 pm on 3 March, 2025", "session_1": [{"speaker": "A", "dia_id": "D1:1", "text": "t"}]},
		"qa": [{"question": "What?", "answer": "one", "category": 4}, {"question": "Who?", "answer": "x", "category": 4},
		{"question": "What?", "answer": "two", "category": 4}, {"question": "What?", "answer": "two", "category": 1}]}]`)
	b := benchmark(t, talks)
	answers := func(rows ...string) *Import {
		return read(t, Spec{Dataset: b, Files: []string{file(t, "a.json", `{"c": [`+strings.Join(rows, ",")+`]}`)}})
	}
	row := func(id, question, gold string) string {
		return fmt.Sprintf(`{"question_id": %q, "question": %q, "answer": "a", "golden_answer": %q, "grade": true}`, id, question, gold)
	}
	im := answers(row("", "who?", "x"), row("", " What? ", "One"), row("c-2", "What?", "two"), row("", "Where?", ""), row("", "What?", "two"))
	var ids []string
	for _, r := range im.Records {
		ids = append(ids, r.ID)
	}
	if diff := cmp.Diff([]string{"s-q000", "s-q001", "s-q002", "s-q003"}, ids); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(map[string]int{byText: 2, byPosition: 1, byOrder: 1}, im.Report.MatchedBy); diff != "" {
		t.Error(diff)
	}
	if u := im.Report.Unmatched; len(u) != 1 || u[0].Place != "$['c'][3]" {
		t.Errorf("unmatched: %+v", u)
	}
	// Of as many answers as questions, each is to the next one. Fewer tell nothing.
	if u := answers(row("", "Who?", "x"), row("", "What?", "two")).Report.Unmatched; len(u) != 1 ||
		!strings.Contains(u[0].Reason, "2 questions have this text") {
		t.Errorf("one answer for two questions: %+v", u)
	}
	// An id that names the conversation, and the place in the list, tell questions apart.
	im = answers(row("", "Where?", ""), row("", "Where?", ""), row("", "Where?", ""), row("", "What?", "two"), row("s/2", "What?", "none"))
	if got := im.Report.MatchedBy; got[byPosition] != 2 || len(im.Report.Unmatched) != 3 {
		t.Errorf("matched by %v", got)
	}
	im = answers(row("", "who?", "y"), row("", "Who?", "x"), row("", "Where?", "z"))
	if u := im.Report.Unmatched; len(u) != 2 || !strings.Contains(u[0].Reason, `"s-q001" has an answer earlier`) ||
		!strings.Contains(u[1].Reason, "no question of the conversation s has this text") {
		t.Errorf("unmatched: %+v", u)
	}
	if g := im.Report.GoldDiffers; len(g) != 1 || g[0].ID != "s-q001" || g[0].InFile != "y" || g[0].Dataset != "x" {
		t.Errorf("golds: %+v", g)
	}
}

const hypotheses = `{"question_id": "q1", "hypothesis": "18 days", "prompt": "p", "autoeval_label": {"model": "m", "label": true}}
{"question_id": "q2", "hypothesis": "no", "prompt": "p", "autoeval_label": {"model": "m", "label": false}}
{"question_id": "q9", "hypothesis": "no", "prompt": "p", "autoeval_label": {"model": "m", "label": false}}
`

// longMemEval is a benchmark of two questions.
func longMemEval(t *testing.T) *source.Benchmark {
	t.Helper()
	var parts []string
	for i, answer := range []string{"18 days", "yes"} {
		parts = append(parts, fmt.Sprintf(`{"question_id": "q%d", "question_type": "temporal-reasoning", "question": "Q%d?", "answer": %q,
			"question_date": "2023/05/30 (Tue) 23:40", "answer_session_ids": ["s%d"], "haystack_session_ids": ["s%d"],
			"haystack_dates": ["2023/05/20 (Sat) 02:21"], "haystack_sessions": [[{"role": "user", "content": "c"}]]}`, i+1, i+1, answer, i, i))
	}
	return benchmark(t, file(t, "lme.json", "["+strings.Join(parts, ",")+"]"))
}

// TestLongMemEval imports hypotheses, which have neither question nor gold.
func TestLongMemEval(t *testing.T) {
	b := longMemEval(t)
	res := writes(t, read(t, Spec{Files: []string{file(t, "log.jsonl", hypotheses)}, Dataset: b}))
	if res.Passed != 1 || res.Total != 2 || len(res.Imported.Unmatched) != 1 || res.Imported.Unmatched[0].ID != "q9" {
		t.Errorf("%d of %d passed, unmatched %+v", res.Passed, res.Total, res.Imported.Unmatched)
	}
	if diff := cmp.Diff(map[string]int{"prompt": 3}, res.Imported.Files[0].LeftOut); diff != "" {
		t.Error(diff)
	}
	if id := res.Identity.Imported; !slices.Equal(id.JudgeModels, []string{"m"}) || id.Votes != "1" || id.JudgePrompt != "" {
		t.Errorf("the judge is %+v", id)
	}
	bare := strings.ReplaceAll(strings.ReplaceAll(hypotheses, `, "autoeval_label": {"model": "m", "label": true}`, ""),
		`, "autoeval_label": {"model": "m", "label": false}`, "")
	im := read(t, Spec{Files: []string{file(t, "bare.jsonl", bare)}, Dataset: b})
	if res = writes(t, im); res.Counts.Unjudged != 2 || res.PassRate != nil || im.Records[0].Reason != "the files have no verdict on it" {
		t.Errorf("%+v: %s", res.Counts, im.Records[0].Reason)
	}
	// The log completes the hypotheses, and nothing counts twice.
	res = writes(t, read(t, Spec{Dataset: b, Files: []string{file(t, "bare.jsonl", bare), file(t, "log.jsonl", hypotheses)}}))
	if res.Passed != 1 || res.Total != 2 {
		t.Errorf("%d of %d passed", res.Passed, res.Total)
	}
	if _, err := Read(Spec{Files: []string{file(t, "bare.jsonl", bare)}}); err == nil || !strings.Contains(err.Error(), "--dataset") {
		t.Errorf("without a dataset: %v", err)
	}
}

const outputs = `[{"sample_id": "mara-jon", "extra": 1, "qa": [
	{"question": "What does Jon bake?", "answer": "rye bread", "category": 4, "evidence": [], "m_prediction": "rye", "m_f1": 0.667, "n_prediction": "bread", "n_f1": 0.25},
	{"question": "Which kind of tomato did Mara plant?", "answer": "Black Krim", "category": 4, "evidence": [], "m_prediction": "Roma", "m_f1": 0.0, "n_prediction": "x", "n_f1": 0}]}]`

// TestLoCoMo imports the reference outputs of LoCoMo, whose keys contain the names of systems.
func TestLoCoMo(t *testing.T) {
	b, path := benchmark(t, own+"talks.json"), file(t, "out.json", outputs)
	if _, err := Read(Spec{Files: []string{path}, Dataset: b}); err == nil || !strings.Contains(err.Error(), "--system: m, n") {
		t.Errorf("without --system: %v", err)
	}
	if _, err := Read(Spec{Files: []string{path}, Dataset: b, System: "o"}); err == nil || !strings.Contains(err.Error(), "it has answers of m, n") {
		t.Errorf("another system: %v", err)
	}
	im := read(t, Spec{Files: []string{path}, Dataset: b, System: "m"})
	res := writes(t, im)
	if res.Passed != 1 || *res.MeanScore != 0.3335 || im.Records[1].Answer != "rye" {
		t.Errorf("%d passed, mean %v, %q", res.Passed, *res.MeanScore, im.Records[1].Answer)
	}
	want := map[string]int{"$.extra": 1, "evidence": 2, "n_prediction": 2, "n_f1": 2}
	if diff := cmp.Diff(want, im.Report.Files[0].LeftOut); diff != "" {
		t.Error(diff)
	}
}

// TestMapping reads answers of unknown layouts: JSON, a table, and a file with gzip.
func TestMapping(t *testing.T) {
	mapping := file(t, "m.yaml", `
name: mine
conversations: $.runs.*
answers: $.items[*]
question: $.q
gold: $.truth[*]
answer: $.said
verdict: $.grade.label
right: [A]
wrong: [B, C]
latency_s: $.secs
input_tokens: $.use.in
output_tokens: $.use.out
`)
	data := `{"runs": {"x": {"items": [
		{"q": "Where?", "truth": ["here", "there"], "said": "here", "grade": {"label": "A", "by": "j"}, "secs": 1.5, "use": {"in": 10, "out": 2}},
		{"q": "Who?", "truth": ["me"], "said": "you", "grade": {"label": "C"}, "secs": "2", "use": {"in": 11, "out": 3}}], "note": "n"}}}`
	var zipped bytes.Buffer
	z := gzip.NewWriter(&zipped)
	_, _ = z.Write([]byte(data))
	_ = z.Close()
	for _, text := range []string{data, zipped.String()} {
		im := read(t, Spec{Files: []string{file(t, "a.json", text)}, Mapping: mapping})
		res := writes(t, im)
		r := im.Records[0]
		if res.Passed != 1 || r.ID != "x-q000" || r.Reference != "here or there" || r.LatencyMS != 1500 || r.Usage.InputTokens != 10 {
			t.Errorf("%d passed: %+v", res.Passed, r)
		}
		if diff := cmp.Diff(map[string]int{"$.note": 1, "grade.by": 1}, im.Report.Files[0].LeftOut); diff != "" {
			t.Error(diff)
		}
	}
	table := file(t, "t.csv", "id,the question,said,ok\nmara-jon-q005,What does Jon bake?,\"rye, \"\"I guess\"\"\",yes\nmara-jon-q001,,x,no\n")
	mapping = file(t, "t.yaml", "id: $.id\nquestion: $['the question']\nanswer: $.said\nverdict: $.ok\n")
	im := read(t, Spec{Files: []string{table}, Mapping: mapping, Dataset: benchmark(t, own+"talks.json")})
	if res := writes(t, im); res.Passed != 1 || res.Total != 2 || im.Records[1].Answer != `rye, "I guess"` {
		t.Errorf("%d of %d: %q", res.Passed, res.Total, im.Records[1].Answer)
	}
}

// TestQueries finds answers at any depth, and makes a verdict of judgements by each rule.
func TestQueries(t *testing.T) {
	path := file(t, "q.json", `{"system": "s", "results": [{"query_id": "q1", "query": "Q1?", "answer": "18", "context": "c",
		"gold_answers": ["18 days"], "correct": true, "judge_reason": "same", "meta": {"category": "time", "n": 1}}]}`)
	im := read(t, Spec{Files: []string{path}, Dataset: longMemEval(t)})
	if r := im.Records[0]; !r.Passed || r.Reason != "same" || r.ID != "q1" || im.Report.Files[0].LeftOut["meta.n"] != 1 {
		t.Errorf("%+v, %v", r, im.Report.Files[0].LeftOut)
	}
	var l layout
	for _, tt := range []struct {
		values []any
		rule   result.VoteRule
		known  bool
		score  float64
	}{
		{nil, "", false, 0}, {[]any{"CORRECT"}, "", true, 1}, {[]any{0.25}, "", true, 0.25},
		{[]any{true, false}, result.VotesMajority, false, 0}, {[]any{true, false}, result.VotesMean, true, 0.5},
		{[]any{true, false, "yes"}, result.VotesMajority, true, 1}, {[]any{false, true, "yes"}, result.VotesFirst, true, 0},
		{[]any{"no", nil, false}, result.VotesMajority, true, 0},
	} {
		votes, err := l.judged(tt.values)
		v := (&answer{votes: votes}).verdict(tt.rule)
		if err != nil || v.Scored != tt.known || v.Score != tt.score {
			t.Errorf("%v is %+v, %v", tt.values, v, err)
		}
	}
	if _, err := l.judged([]any{"partly"}); err == nil {
		t.Error("an unknown word is a verdict")
	}
}

// TestJudge reads who judged, who wrote the answers and which benchmark it is from the files, from
// the mapping and from what the user says.
func TestJudge(t *testing.T) {
	queries := `{"dataset": "locomo", "split": "locomo10", "judge_llm": "gemini:flash", "answer_llm": "gemini:pro", "other": 1,
		"results": [{"query_id": "q1", "query": "Q1?", "answer": "a", "gold_answers": ["a"], "correct": true}]}`
	audit := `{"c": [{"question": "Q1?", "golden_answer": "g", "generated_answer": "a", "llm_judgments": {"1": true, "2": true, "3": false}},
		{"question": "Q2?", "golden_answer": "g", "generated_answer": "a", "llm_judgments": {"1": false}}]}`
	own := `{"judge": "m", "answerer": "r", "bench": "B 2", "rows": [{"q": "Q1?", "said": "a", "ok": 1, "prompt": "Judge!"}, {"q": "Q2?", "said": "a", "ok": 0, "prompt": "Judge!"}]}`
	paths := "answers: $.rows[*]\nquestion: $.q\nanswer: $.said\nverdict: $.ok\n"
	some := strings.Replace(own, `, "prompt": "Judge!"}]`, "}]", 1)
	prompt := fmt.Sprintf("%x", sha256.Sum256([]byte("Judge!")))
	for name, c := range map[string]struct {
		text, mapping string
		spec          Spec
		want          result.ImportedID
		leftOut       map[string]int
	}{
		"queries": {text: queries, want: result.ImportedID{Benchmark: "locomo locomo10", JudgeModels: []string{"gemini:flash"}, Votes: "1"},
			leftOut: map[string]int{"$.other": 1}},
		"votes": {text: audit, want: result.ImportedID{Votes: "1, or the mean of 3", VoteRule: result.VotesMean}},
		"said": {text: audit, spec: Spec{JudgeID: "j", ReaderID: "r"},
			want: result.ImportedID{JudgeID: "j", Reader: "r", Votes: "1, or the mean of 3", VoteRule: result.VotesMean}},
		"mapped": {text: own, mapping: paths + "judge_model: $.judge\njudge_prompt: $.prompt\nmodel: $.answerer\nbenchmark: $.bench\n",
			want: result.ImportedID{Benchmark: "B 2", JudgeModels: []string{"m"}, JudgePrompt: prompt, Votes: "1"}},
		"in the mapping": {text: own, mapping: paths + "judge_id: j\nreader_id: r\n", spec: Spec{JudgeID: "k"},
			want:    result.ImportedID{JudgeID: "k", Reader: "r", Votes: "1"},
			leftOut: map[string]int{"$.judge": 1, "$.answerer": 1, "$.bench": 1, "prompt": 2}},
		"of one answer": {text: some, mapping: paths + "judge_prompt: $.prompt\n", want: result.ImportedID{Votes: "1"},
			leftOut: map[string]int{"$.judge": 1, "$.answerer": 1, "$.bench": 1}},
	} {
		t.Run(name, func(t *testing.T) {
			c.spec.Files = []string{file(t, "a.json", c.text)}
			if c.mapping != "" {
				c.spec.Mapping = file(t, "m.yaml", c.mapping)
			}
			im := read(t, c.spec)
			writes(t, im)
			got := im.ID
			got.Formats, got.SHA256, got.MappingSHA256 = nil, nil, ""
			if diff := cmp.Diff(c.want, got, cmpopts.EquateEmpty()); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(c.leftOut, im.Report.Files[0].LeftOut, cmpopts.EquateEmpty()); diff != "" {
				t.Error(diff)
			}
			if model := im.Records[0].Model; name == "mapped" && model != "r" || name == "queries" && model != "gemini:pro" {
				t.Errorf("the answer is by %q", model)
			}
		})
	}
}

// TestRefused has files from which nothing is imported, with what the message must say.
func TestRefused(t *testing.T) {
	zep := `{"c": [{"question": "What?", "answer": "a", "golden_answer": "g", "grade": true}]}`
	for _, tt := range []struct {
		name, text, mapping string
		want                []string
	}{
		{"empty", "", "", []string{"a.json", "empty"}},
		{"cut", "[\n{\"a\": 1},\n{\"b\"", "", []string{"a.json", "line 3"}},
		{"key twice", "[\n{\"a\": [{\"v\": 1}, {\"v\": 0}], \"v\": 1,\n\"\\u0076\": 0}]", "", []string{"a.json", `"v" is given twice`, "line 3"}},
		{"column twice", "id,answer,v, v\n1,a,0,1\n", "", []string{"a.json", `"v"`, "columns 3 and 4"}},
		{"unknown", `[{"foo": 1, "bar": 2}]`, "", []string{`"bar", "foo"`, "--mapping", "locomo-audit"}},
		{"nothing at path", zep, "answer: $.a\nid: $.i\nanswers: $.x[*]\n", []string{"selects nothing", "$.x[*]"}},
		{"no path", zep, "answer: a\nid: $.i\n", []string{"m.yaml", `"a" is not a JSON path`}},
		{"unknown key", zep, "answer: $.a\nanwser: $.b\n", []string{`m.yaml:2: unknown key "anwser": did you mean "answer"?`}},
		{"no answer", zep, "id: $.a\n", []string{"no answer"}},
		{"no question", zep, "answer: $.a\n", []string{"neither id nor question"}},
		{"verdict", strings.Replace(zep, "true", `"maybe"`, 1), "", []string{"$['c'][0]", `"maybe"`, "--mapping"}},
		{"number", zep, "answer: $.answer\nid: $.question\nconversations: $.c\nlatency_ms: $.answer\n", []string{"latency_ms", `"a"`}},
		{"no object", `["a"]`, "answer: $.a\nid: $.i\n", []string{"$[0]", "not an object"}},
		{"another dataset", zep, "", []string{"none of 1 answer", "no question of the dataset has this text"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := Spec{Files: []string{file(t, "a.json", tt.text)}, Dataset: benchmark(t, own+"talks.json")}
			if tt.mapping != "" {
				s.Mapping = file(t, "m.yaml", tt.mapping)
			}
			_, err := Read(s)
			if err == nil {
				t.Fatal("it is imported")
			}
			for _, want := range tt.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%q does not say %q", err, want)
				}
			}
		})
	}
	a := file(t, "a.json", zep)
	other := file(t, "b.json", strings.Replace(zep, `"a"`, `"b"`, 1))
	if _, err := Read(Spec{Files: []string{a, other}}); err == nil || !strings.Contains(err.Error(), "have different answers") {
		t.Errorf("two systems: %v", err)
	}
	if _, err := Read(Spec{Files: []string{a, a}}); err == nil || !strings.Contains(err.Error(), "name it once") {
		t.Errorf("one file twice: %v", err)
	}
}

// FuzzRead reads any file. It must not panic, and what it imports must be a result.
func FuzzRead(f *testing.F) {
	for _, seed := range []string{hypotheses, outputs, `{"c": [{"question": "What?", "answer": "a", "golden_answer": 1, "grade": true}]}`, "id,answer,passed\n1,a,yes\n"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		path := filetest.Write(t, filepath.Join(t.TempDir(), "a"), text)
		im, err := Read(Spec{Files: []string{path}})
		if err != nil {
			return
		}
		seen := map[result.AskedID]bool{}
		for _, r := range im.Records {
			if r.ID == "" || r.Question == "" || seen[r.Asked()] || r.Score != nil && (*r.Score < 0 || *r.Score > 1) {
				t.Errorf("%+v", r)
			}
			seen[r.Asked()] = true
		}
		rep := im.Report
		if len(im.Records)+len(rep.Unmatched) > rep.Answers {
			t.Errorf("%d records and %d unmatched of %d answers", len(im.Records), len(rep.Unmatched), rep.Answers)
		}
	})
}

// TestWrapped has answers below further keys, in one list, and without the answer of one that failed.
func TestWrapped(t *testing.T) {
	b := benchmark(t, own+"talks.json")
	rows := `{"question": "What does Jon bake?", "golden_answer": "rye bread", "answer": "rye", "grade": true},
		{"question": "Who wired the engine?", "golden_answer": "her neighbour Piet", "error": "timeout", "grade": false}`
	for name, text := range map[string]string{
		"list": "[" + rows + "]", "wrapped": `{"meta": {"n": 2}, "runs": {"first": {"results": [` + rows + `]}}}`,
	} {
		im := read(t, Spec{Files: []string{file(t, "a.json", text)}, Dataset: b})
		if res := writes(t, im); res.Passed != 1 || res.Total != 2 || im.Report.Files[0].Format != "zep" {
			t.Errorf("%s: %d of %d passed, format %s", name, res.Passed, res.Total, im.Report.Files[0].Format)
		}
	}
	im := read(t, Spec{System: "m", Files: []string{file(t, "o.json", `{"outputs": `+outputs+`}`)}, Dataset: b})
	if len(im.Records) != 2 || im.Report.Conversations["mara-jon"] != "" || im.Report.Files[0].Format != "locomo" {
		t.Errorf("%+v", im.Report)
	}
}

// TestOneAnswer maps a file that is one answer.
func TestOneAnswer(t *testing.T) {
	mapping := file(t, "m.yaml", "conversations: $.it\nanswers: $\nquestion: $.q\nanswer: $.a\n")
	im := read(t, Spec{Mapping: mapping, Files: []string{file(t, "a.json", `{"it": {"q": "Q?", "a": "A", "more": [{"x": 1}]}}`)}})
	if r := im.Records[0]; r.Question != "Q?" || r.Answer != "A" {
		t.Errorf("%+v", r)
	}
	mapping = file(t, "m.yaml", "answers: $\nquestion: $.q\nanswer: $.a\n")
	im = read(t, Spec{Mapping: mapping, Files: []string{file(t, "a.json", `{"q": "Q?", "a": "A", "more": [{"x": 1}]}`)}})
	if len(im.Records) != 1 || im.Records[0].ID != "q000" {
		t.Errorf("%+v", im.Records)
	}
}

// TestOneLine imports a single line that has a list of objects, such as what was retrieved.
func TestOneLine(t *testing.T) {
	line := `{"question_id": "q1", "question": "Q?", "hypothesis": "x", "autoeval_label": {"model": "m", "label": true}, "retrieval_results": {"ranked_items": [{"corpus_id": "a"}]}}`
	if im := read(t, Spec{Files: []string{file(t, "h.jsonl", line)}}); len(im.Records) != 1 || !im.Records[0].Passed {
		t.Errorf("%+v", im.Records)
	}
}

// TestConversations finds conversations of other names by their questions, if most of them fit, and
// does not trust an id whose question has another text.
func TestConversations(t *testing.T) {
	b := benchmark(t, own+"talks.json")
	row := func(id, question string) string {
		return fmt.Sprintf(`{"question_id": %q, "question": %q, "answer": "a", "golden_answer": "g", "grade": true}`, id, question)
	}
	im := read(t, Spec{Dataset: b, Files: []string{file(t, "a.json", `{"c": [`+strings.Join([]string{
		row("", "What does Jon bake?"), row("", "Who?"), row("", "Where?"),
	}, ",")+`], "d": [`+strings.Join([]string{
		row("", "Who wired the engine?"), row("mara-jon-q005", "What did Tariq lose?"), row("mara-jon-q001", "Never asked?"),
	}, ",")+`]}`)}})
	if diff := cmp.Diff(map[string]string{"d": "lena-tariq"}, im.Report.Conversations); diff != "" {
		t.Error(diff)
	}
	var ids []string
	for _, r := range im.Records {
		ids = append(ids, r.ID)
	}
	if diff := cmp.Diff([]string{"mara-jon-q005", "lena-tariq-q003", "lena-tariq-q007"}, ids); diff != "" {
		t.Error(diff)
	}
	u := im.Report.Unmatched
	if len(u) != 3 || !strings.Contains(u[2].Reason, `the question with the id "mara-jon-q001" has another text`) {
		t.Errorf("%+v", u)
	}
}

// TestStatedCost: the costs that files state are added up, and are not what was spent.
func TestStatedCost(t *testing.T) {
	rows := `{"results": {"version": 3, "results": [
		{"promptIdx": 0, "testIdx": 0, "vars": {"question": "Q1?"}, "success": true, "provider": {"id": "p:a"}, "response": {"output": "a"}, "cost": 0.0025},
		{"promptIdx": 0, "testIdx": 1, "vars": {"question": "Q2?"}, "success": false, "provider": {"id": "p:a"}, "response": {"output": "x"}, "cost": COST}]}}`
	for cost, want := range map[string]result.StatedCost{
		"0.001": {USD: 3_500_000, Answers: 2}, "0": {USD: 2_500_000, Answers: 2}, "null": {USD: 2_500_000, Answers: 1},
	} {
		res := writes(t, read(t, Spec{Files: []string{file(t, "a.json", strings.Replace(rows, "COST", cost, 1))}}))
		if got := res.Imported.StatedCost; got == nil || *got != want || res.Cost.SpentUSD != 0 {
			t.Errorf("%s: %+v, spent %v", cost, got, res.Cost.SpentUSD)
		}
	}
	for _, cost := range []string{"-1", "2000000"} {
		if _, err := Read(Spec{Files: []string{file(t, "a.json", strings.Replace(rows, "COST", cost, 1))}}); err == nil {
			t.Errorf("a cost of %s is read", cost)
		}
	}
	if res := writes(t, read(t, Spec{Files: []string{file(t, "a.json", inspectLog)}})); res.Imported.StatedCost != nil {
		t.Errorf("a log without costs: %+v", res.Imported.StatedCost)
	}
}
