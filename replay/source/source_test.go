package source

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"evalctl/docs"
	"evalctl/harness/dataset"
	"evalctl/internal/filetest"
)

// TestAdders checks that the files of every benchmark can be read.
func TestAdders(t *testing.T) {
	for _, b := range dataset.Benchmarks() {
		if f := b.Format; (elements[f] == nil) == (wholes[f] == nil) {
			t.Errorf("%s is read as a stream, or as a whole, not by both or none", b.Title)
		}
	}
}

// TestFormatsInSchema: the schema of results has all formats.
func TestFormatsInSchema(t *testing.T) {
	schema, err := docs.Schemas.ReadFile("result.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	if want := fmt.Sprintf(`"format": {"enum": ["%s"]}`, strings.ReplaceAll(strings.Trim(fmt.Sprint(Formats()), "[]"), " ", `", "`)); !strings.Contains(string(schema), want) {
		t.Errorf("the schema has not %s", want)
	}
}

// TestDetect checks formats and the errors for files that are no benchmark.
func TestDetect(t *testing.T) {
	for text, want := range map[string]string{
		`[{"question_id":"a"}]`:                   "longmemeval",
		byteOrderMark + ` [{"haystack_dates":[`:   "longmemeval",
		`[{"x":1,"haystack_sessions":[[{"role":"`: "longmemeval",
		`[{"qa":[]}]`:                   "locomo",
		`{"id":"a"}`:                    "jsonl",
		`[{"batch_number":1,"turns":[[`: "beam",
		`{"evidenceItems":[{"question"`: "convomem",
		"{\n \"contextSize\": 2,":       "convomem",
		"question_id,question_type,question,correct_answer,all_options\n": "personamem",
		`{"context":"a","questions":["b"]}`:                               "memoryagentbench",
		`[{"context":"` + strings.Repeat("a", 1<<16):                      "memoryagentbench",
		`[{"context":"a","question":"b"}]`:                                "evalctl dataset convert",
		"# c\n\n# d\n{\"id\":\"a\"}\n{}":                                  "jsonl",
		"":                                                                "the file is empty",
		" \n":                                                             "the file is empty",
		"[]":                                                              "the array is empty",
		"[1]":                                                             "must be an object",
		`[{"a":1}]`:                                                       `has the keys "a"; LongMemEval has haystack_sessions`,
		`[{"id":1,"question":"x"}]`:                                       "evalctl dataset convert",
		`{"qa":[]}`:                                                       "is a JSON array of such objects",
		"id,question\n1,2\n":                                              `the file is not JSON; a benchmark is`,
		"id\tquestion\n":                                                  "for CSV, TSV and YAML use evalctl dataset convert",
		"- id: 1\n":                                                       "evalctl dataset convert",
		"# a comment\nid: 1":                                              "evalctl dataset convert",
		"# a\nb,c\n{":                                                     "the first line that is not a comment is not a JSON object",
		"\x1f\x8b\x08":                                                    "compressed",
		"\xff\xfe[\x00":                                                   "UTF-16",
	} {
		format, err := detect([]byte(text))
		if err != nil && !strings.Contains(err.Error(), want) || err == nil && string(format) != want {
			t.Errorf("%q: got %s, %v, want %s", text, format, err, want)
		}
	}
}

// TestOpenErrors checks errors that do not depend on the format.
func TestOpenErrors(t *testing.T) {
	file := writeFile(t, "a.json", encode(t, []object{lmeInstance("q1")}))
	for want, o := range map[string]Options{
		"the format locomo was expected and the content is longmemeval": {Format: dataset.LoCoMo},
		`unknown format "csv"; known are [longmemeval locomo beam convomem personamem memoryagentbench prefeval agent-memory-benchmark letta halumem locomo-plus longmemeval-v2 lifebench beir jsonl]`: {Format: "csv"},
		"a corpus was given": {Corpus: "x.jsonl"},
	} {
		if _, err := Open(t.Context(), file, o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: got %v, want %s", o, err, want)
		}
	}
	filetest.Write(t, filepath.Join(filepath.Dir(file), "b.json"), "[]")
	_, err := Open(t.Context(), filepath.Dir(file), Options{})
	if err == nil || !strings.Contains(err.Error(), "it is a folder of files of longmemeval; name one of them") {
		t.Errorf("a folder: %v", err)
	}
	if _, err := Open(t.Context(), t.TempDir(), Options{}); err == nil || !strings.Contains(err.Error(), "is a folder without chat.json") {
		t.Errorf("an empty folder: %v", err)
	}
	b := open(t, file, Options{})
	if _, err := b.Haystack("q2"); err == nil || !strings.Contains(err.Error(), `no haystack "q2"`) {
		t.Errorf("got %v", err)
	}
}

// TestChangedFile checks that a haystack is not read from a file that has changed.
func TestChangedFile(t *testing.T) {
	text := encode(t, []object{lmeInstance("q1"), lmeInstance("q2")})
	for _, changed := range []string{
		strings.Replace(text, "I like tea.", "I like teX.", 1), text[:len(text)/3],
	} {
		file := writeFile(t, "a.json", text)
		b := open(t, file, Options{})
		haystack(t, b, "q2")
		filetest.Write(t, file, changed)
		if _, err := b.Haystack("q2"); !errors.Is(err, ErrChanged) {
			t.Errorf("got %v", err)
		}
	}
}

// TestGrowingFile checks that a file that grows while it is read is refused.
func TestGrowingFile(t *testing.T) {
	path := writeFile(t, "a.json", "[1]")
	f, err := openFile(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	filetest.Write(t, path, "[1,2]")
	if _, err := f.rehash(t.Context()); !errors.Is(err, ErrChanged) {
		t.Errorf("got %v", err)
	}
}

// TestCanceled checks that the end of the context ends the reading.
func TestCanceled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	file := writeFile(t, "a.json", encode(t, []object{lmeInstance("q1")}))
	if _, err := Open(ctx, file, Options{}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

// TestJSONL checks that the brains of lines become haystacks.
func TestJSONL(t *testing.T) {
	file := writeFile(t, "a.jsonl", `# a comment
{"id":"1","question":"Q1","reference_answer":"A1","expected_paths":["x.md","x.md"],"brain":"one",`+
		`"tags":["a","type:temporal"],"question_date":"2024-05-06"}
{"id":"2","question":"Q2","expected_substrings":["A2"],"tags":["category:b","abstention"]}
`)
	corpus := filepath.Join(filepath.Dir(file), "a.corpus.jsonl")
	if err := os.WriteFile(corpus, []byte(`{"path":"x.md","text":"X","brain":"one"}
{"path":"y.md","text":"Y"}
`), 0o600); err != nil {
		t.Fatal(err)
	}
	b := open(t, file, Options{})
	want := []Question{
		{
			ID: "1", Type: "temporal", Text: "Q1", Date: "2024-05-06T00:00:00Z", Answer: "A1",
			Haystack: "one", Brain: "one", Gold: []string{"x.md"},
			Tags: []string{"a", "type:temporal"}, Line: 2,
		},
		{
			ID: "2", Type: "b", Text: "Q2", Abstention: true, Haystack: "replay", Brain: "replay",
			ExpectedSubstrings: []string{"A2"}, Tags: []string{"category:b", "abstention"}, Line: 3,
		},
	}
	if diff := cmp.Diff(want, b.Questions); diff != "" {
		t.Error(diff)
	}
	docs := haystack(t, b, "one").Documents()
	if want := []dataset.Doc{{Path: "x.md", Brain: "one", Data: []byte("X\n"), Line: 1}}; !cmp.Equal(want, docs) {
		t.Errorf("documents: %s", cmp.Diff(want, docs))
	}
	if b.Corpus != corpus || len(b.CorpusSHA256) != 64 || len(b.SHA256) != 64 {
		t.Errorf("corpus %q, %q, %q", b.Corpus, b.CorpusSHA256, b.SHA256)
	}
	if got := b.Questions[0].Dataset().Tags; !cmp.Equal(got, []string{"type:temporal", "a"}) {
		t.Errorf("tags %q", got)
	}
	if b.Questions[0].JudgeType() != "temporal" || b.Questions[1].JudgeType() != "abstention" {
		t.Error("judge types")
	}
	if d := b.Questions[0].Dataset(); d.Type != "temporal" || d.Item().Type != "temporal" {
		t.Errorf("type %q, judged as %q", d.Type, d.Item().Type)
	}
}

func TestJSONLErrors(t *testing.T) {
	for text, want := range map[string]string{
		`{"id":"1","question":"Q"}`: `:1: question "1" has neither`,
		`{"id":"1","question":"Q","expected_paths":["z.md"]}`: `:1: question "1" expects "z.md", ` +
			`which is not in brain replay`,
		`{"id":"1"}`: `"question" is missing`,
	} {
		file := writeFile(t, "a.jsonl", text)
		corpus := writeFile(t, "c.jsonl", `{"path":"x.md","text":"X"}`)
		_, err := Open(t.Context(), file, Options{Corpus: corpus})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", text, err, want)
		}
	}
}
