package compare

import (
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"evalctl/harness/result"
	"evalctl/internal/filetest"
)

func TestOpenLines(t *testing.T) {
	run := openLines(t, "run", "\ufeff"+`{"id": "a", "question": "Who?", "passed": true, "score": 0.75, "tags": ["x"], "latency_ms": 12, "extra": 1}`+
		"\r\n\n"+`{"id": "b", "passed": false, "score": null, "more": {}, "extra": 2}`)
	if run.format != JSONLines || run.Result() != nil || len(run.questions) != 2 {
		t.Fatalf("read %+v", run)
	}
	a, b := run.questions[0], run.questions[1]
	if a.id != "a" || a.text != "Who?" || !a.attempts[0].passed || a.attempts[0].values[measureScore] != 0.75 ||
		a.attempts[0].values[measureTotal] != 12 || a.tags[0] != "x" {
		t.Errorf("read %+v", a)
	}
	if b.attempts[0].passed || b.attempts[0].outcome != result.Scored ||
		!math.IsNaN(b.attempts[0].values[measureScore]) || !math.IsNaN(b.attempts[0].values[measureTotal]) {
		t.Errorf("read %+v", b)
	}
	if run.ignored["extra"] != 2 || run.ignored["more"] != 1 || len(run.ignored) != 2 {
		t.Errorf("ignored %v", run.ignored)
	}
}

func TestOpenRejects(t *testing.T) {
	const good = `{"id": "a", "passed": true}` + "\n"
	for _, c := range []struct{ name, text, want string }{
		{"duplicate", good + `{"id": "a", "passed": true}`, `:2: duplicate id "a", first used on line 1`},
		{"first line", `{"id": "a", "passed": tru}`, `:1: bad JSON`},
		{"later line", good + "\n" + `{"id": "b"`, `:3: bad JSON`},
		{"no object", good + `["b"]`, `:2: expected one JSON object`},
		{"two objects", good + good + `{"id": "b", "passed": true} {}`, `:2: duplicate id`},
		{"no passed", `{"id": "a"}`, `:1: the question needs "passed"`},
		{"null passed", `{"id": "a", "passed": null}`, `:1: "passed" must be true or false`},
		{"no id", `{"passed": true}`, `:1: the question needs an "id"`},
		{"empty id", good + `{"id": "", "passed": true}`, `:2: the question needs an "id"`},
		{"number", `{"id": 7, "passed": true}`, `:1: "id" must be a string`},
		{"tags", `{"id": "a", "passed": true, "tags": "x"}`, `:1: "tags" must be a list of strings`},
		{"score", `{"id": "a", "passed": true, "score": 1.5}`, `:1: score 1.5 is not between 0 and 1`},
		{"latency", `{"id": "a", "passed": true, "latency_ms": -1}`, `:1: a latency is below 0`},
		{"repeated key", `{"id": "a", "passed": true, "id": "b"}`, `:1: the key "id" is given twice`},
		{"encoding", "{\"id\": \"a\xff\", \"passed\": true}", `:1: the line is not valid UTF-8`},
		{"long", good + `{"id": "b", "passed": true, "answer": "` + strings.Repeat("x", maxLine) + `"}`, `:2: the line is longer than 8 MiB`},
		{"sweep", "{\n\"cells\": []}", "it is a sweep file"},
		{"journal", `{"kind": "run", "identity": {}}` + "\n" + `{"kind": "answer"}` + "\n", "it is the journal of a run"},
		{"conformance", "{\n\"endpoint\": \"http://x\", \"planned\": 1, \"results\": []}", "it is a report of evalctl conformance"},
		{"empty", "", "the file is empty"},
		{"text", "hello\n", "it is not a result file: it begins with 'h'"},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := filetest.Write(t, filepath.Join(t.TempDir(), "run.jsonl"), c.text)
			run, err := Open(path)
			if err == nil || !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, %v, want %q", run, err, c.want)
			}
		})
	}
	if _, err := Open(t.TempDir()); err == nil || !strings.Contains(err.Error(), "is a folder") {
		t.Errorf("a folder: %v", err)
	}
	if _, err := Open(filepath.Join(t.TempDir(), "none.json")); !os.IsNotExist(unwrapAll(err)) {
		t.Errorf("a missing file: %v", err)
	}
}

func unwrapAll(err error) error {
	for {
		inner, ok := err.(interface{ Unwrap() error })
		if !ok || os.IsNotExist(err) {
			return err
		}
		err = inner.Unwrap()
	}
}

func TestOpenResult(t *testing.T) {
	f := newFile("go", "pfeun")
	f.Questions[0].ExpectedPaths = []string{"a.md"}
	f.Questions[0].Retrieval = &result.QuestionRetrieval{Recall: 1, NDCG: 0.5, ReciprocalRank: 0.25, AveragePrecision: 0.125}
	f.Questions[0].ExpectedEvidence = []string{"words"}
	f.Questions[0].Evidence = &result.QuestionEvidence{Ranks: []int{0}}
	f.Questions[2].ExpectedPaths = []string{"a.md"}
	run := f.open(t)
	if run.format != ResultFile || run.Result().SDK != "go" || len(run.sha256) != 64 || len(run.questions) != 5 {
		t.Fatalf("read %+v", run)
	}
	v := run.questions[0].attempts[0].values
	if [7]float64(v[:7]) != [7]float64{1, 0, 1, 0.5, 0.25, 0.125, 100} || !math.IsNaN(v[measureFirst]) {
		t.Errorf("measures %v", v)
	}
	errored := run.questions[2].attempts[0]
	if v := errored.values; v[measureRecall] != 0 || v[measureAP] != 0 || !math.IsNaN(v[measureScore]) || !math.IsNaN(v[measureTotal]) {
		t.Errorf("the measures of an error are %v", v)
	}
	if passed, judged := run.questions[2].passes(); passed != 0 || judged != 1 {
		t.Errorf("an error counts as %d of %d", passed, judged)
	}
	if _, judged := run.questions[3].passes(); judged != 0 {
		t.Error("an unscored question has a verdict")
	}
	if run.questions[4].counts() {
		t.Error("a question without gold was asked")
	}
}

func FuzzLines(f *testing.F) {
	f.Add(`{"id": "a", "passed": true, "score": 0.5, "tags": ["x"], "latency_ms": 1e3}` + "\n" + `{"id":"b","passed":false}`)
	f.Add("{\"id\": \"\u2028\", \"passed\": true, \"id \": [{}]}")
	f.Fuzz(func(t *testing.T, text string) {
		ignored := map[string]int{}
		seen := map[string]bool{}
		for rec, err := range readLines(strings.NewReader(text), "run.jsonl", ignored) {
			if err != nil {
				if !strings.Contains(err.Error(), "run.jsonl") {
					t.Errorf("%q: the error has no file: %v", text, err)
				}
				break
			}
			if rec.ID == "" || seen[rec.ID] || rec.Line == 0 || rec.Score != nil && !(*rec.Score >= 0 && *rec.Score <= 1) {
				t.Errorf("%q: read %+v", text, rec)
			}
			seen[rec.ID] = true
		}
	})
}

func TestFind(t *testing.T) {
	path := newFile("go", "ppf").write(t, filepath.Join(t.TempDir(), "go.json"))
	found, err := find(path, "q002")
	if err != nil || len(found.Records) != 1 || found.Records[0].Passed || found.Result == nil || found.Near != nil {
		t.Errorf("found %+v, %v", found, err)
	}
	found, err = find(path, "Q00")
	if err != nil || len(found.Records) != 0 || strings.Join(found.Near, " ") != "q000 q001 q002" {
		t.Errorf("near %v, %v", found.Near, err)
	}
	if found, _ = find(path, "entirely different"); len(found.Near) != 0 {
		t.Errorf("near %v", found.Near)
	}
}

func TestNames(t *testing.T) {
	for _, c := range []struct{ paths, sdks, want string }{
		{"r/ts.json r/go.json", "ts go", "ts go"},
		{"before.json after.json", "go go", "before after"},
		{"r/2026-03-01/go.json r/2026-03-02/go.json", "go go", "2026-03-01 2026-03-02"},
		{"/go.json a/go.json", "go go", "/go a/go"},
		{"x/a/go.json x/b/go.json y/b/py.json", "go go py", "a/go b/go b/py"},
		{"a.json a.jsonl", "go ", "a.json a.jsonl"},
	} {
		sdks := strings.Split(c.sdks, " ")
		got := strings.Join(Names(strings.Fields(c.paths), sdks), " ")
		if got != c.want {
			t.Errorf("%s (%s): got %s, want %s", c.paths, c.sdks, got, c.want)
		}
	}
}

// TestEvidenceComesFirst checks that runs that are scored by evidence are compared in it, and in
// documents only if both know these in one way.
func TestEvidenceComesFirst(t *testing.T) {
	run := func(name string, by *result.MappedService) *Run {
		f := newFile(name, "ppffppffppff")
		f.Identity.Scorer, f.ScorerName, f.Gold = "retrieval", "retrieval", result.ByEvidence
		f.Retrieval, f.Mapped = &result.Retrieval{}, by
		for i := range f.Questions {
			q := &f.Questions[i]
			q.ExpectedPaths, q.ExpectedEvidence = []string{"a.md"}, []string{"words"}
			q.Retrieval = &result.QuestionRetrieval{Recall: 1}
			q.Evidence = &result.QuestionEvidence{Ranks: []int{i % 2}, Recall: float64(i % 2)}
		}
		return f.open(t)
	}
	measured := func(a, b *Run) (names []string) {
		c, err := Compare([]*Run{a, b}, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(c.Primary, []string{"evidence_recall"}) {
			t.Errorf("primary %v", c.Primary)
		}
		for _, m := range c.Pairs[0].Measures {
			names = append(names, m.Name)
		}
		return names
	}
	if got := measured(run("a", nil), run("b", nil)); !slices.Contains(got, "recall") || !slices.Contains(got, "evidence_recall") {
		t.Errorf("both by id: measures %v", got)
	}
	if got := measured(run("a", nil), run("b", &result.MappedService{ByText: 3})); slices.Contains(got, "recall") || !slices.Contains(got, "evidence_recall") {
		t.Errorf("by id and by text: measures %v", got)
	}
}

// TestUnknownEvidence compares imported answers whose file, of an earlier version, has evidence
// that was looked for in no passage. Nothing is known of it.
func TestUnknownEvidence(t *testing.T) {
	run := func(name string, source *result.ImportSource) *Run {
		f := newFile(name, "ppffppff")
		f.Imported = source
		for i := range f.Questions {
			q := &f.Questions[i]
			q.ExpectedEvidence, q.Evidence = []string{"words"}, &result.QuestionEvidence{Ranks: []int{0}}
		}
		return f.open(t)
	}
	for _, m := range mustCompare(t, Options{}, run("go", nil), run("zep", &result.ImportSource{})).Pairs[0].Measures {
		if m.Name == "evidence_recall" {
			t.Errorf("the evidence is compared: %+v", m)
		}
	}
}
