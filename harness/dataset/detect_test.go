package dataset

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"evalctl/internal/filetest"
	"evalctl/internal/sharedtest"
)

func TestDetect(t *testing.T) {
	question := `{"id":"a","question":"q"}`
	for _, c := range []struct {
		name, text string
		want       Format
	}{
		{"empty", "", ""}, {"comments", "# a\n# b\n", ""}, {"prose", "Dear Sir, or Madam\n", ""},
		{"lines", question + "\n" + question, JSONL}, {"one line", question, JSONL},
		{"mark and comments", "\xef\xbb\xbf# a, question\r\n\r\n" + question + "\r\n", JSONL},
		{"a broken first line", `{"id":"a",` + "\n" + question, JSONL},
		{"lines with a late key of ConvoMem", `{"id":"a","contextSize":1}` + "\n" + question, JSONL},
		{"ConvoMem", "{\n\"contextSize\":1,", ConvoMem},
		{"a cut line", `{"id":"a",`, JSONL},
		{"a long line", `{"id":"a","question":"` + strings.Repeat("x", headBytes), JSONL},
		{"an object over lines", "{\n  \"id\": \"a\",\n  \"question\": \"q\"\n}\n", JSONArray},
		{"a long object over lines", "{\n\"id\":\"" + strings.Repeat("x", headBytes), JSONArray},
		{"an array", "[" + question + "]", JSONArray}, {"an empty array", "[]", JSONArray},
		{"an array over lines", "[\n  " + question + "\n]", JSONArray},
		{"an array of strings", `["conversation"]`, JSONArray}, {"lists of strings", `[["qa","x"]]`, JSONArray},
		{"a key within", `[{"id":"a","x":{"qa":1},"y":[{"qa":2}]},{"qa":1}]`, JSONArray},
		{"a value", `[{"id":"qa","question":"conversation"}]`, JSONArray},
		{"LongMemEval", `[{"question_id":"a","n":1,"x":[[1]],"haystack_dates":[`, LongMemEval},
		{"LoCoMo", `[{"qa":[{"question":"q`, LoCoMo},
		{"LoCoMo, late", `[{"event_summary":{"a":{}},"observation":[],"sample_id":`, LoCoMo},
		{"CSV", "id,question,tags\na,q,x\n", CSV}, {"CSV quoted", "\"Question\",\"Answer\"\r\n", CSV},
		{"CSV of Excel", "\xef\xbb\xbfid;question\na;q\n", CSV}, {"TSV", "id\tquestion\na\tq\n", TSV},
		{"a sentence with the column", "What a question, indeed\n", ""},
		{"CSV without a known column", "a,b\n1,2\n", ""},
		{"CSV of documents", "path,title\n", CSV},
		{"YAML list", "- id: a\n  question: q\n", YAML}, {"YAML document", "---\n- id: a\n", YAML},
		{"YAML comment", "# x, id\nquestions:\n  - id: a\n", YAML},
		{"YAML quoted", "- \"id\": a\n", YAML}, {"YAML flow", "- {id: a}\n", YAML},
	} {
		if got := Detect([]byte(c.text[:min(len(c.text), headBytes)])); got != c.want {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
	}
}

// TestOpenNamesFormat checks that a file in another format is not read line by line.
func TestOpenNamesFormat(t *testing.T) {
	dir := t.TempDir()
	for name, c := range map[string]struct{ text, want string }{
		"q.csv": {"id,question\na,q\n", "q.csv is CSV and not JSONL, one JSON object per line; " +
			"convert it:\n  evalctl dataset convert DIR/q.csv --output DIR/q.jsonl"},
		"my q.jsonl": {`[{"id":"a","question":"q"}]`, "my q.jsonl is JSON over several lines " +
			"and not JSONL, one JSON object per line; convert it:\n" +
			"  evalctl dataset convert 'DIR/my q.jsonl' --output questions.jsonl"},
		"questions.jsonl": {`{"id":"a","question":"q","eval_function":"x"}`, "questions.jsonl is a LongMemEval-V2 benchmark " +
			"and not JSONL, one JSON object per line; convert it:\n  evalctl dataset convert DIR/questions.jsonl " +
			"--output converted.jsonl, or measure with it as it is:\n  evalctl replay --sdk go --dataset DIR/questions.jsonl"},
		"l.json": {`[{"sample_id":"a"}]`, "l.json is a LoCoMo benchmark and not JSONL, " +
			"one JSON object per line; convert it:\n  evalctl dataset convert DIR/l.json " +
			"--output DIR/l.jsonl, or measure with it as it is:\n  evalctl replay --sdk go --dataset DIR/l.json"},
	} {
		file := filetest.Write(t, filepath.Join(dir, name), c.text)
		_, err := Open(file, Options{Check: accept})
		if _, ok := errors.AsType[*FormatError](err); !ok ||
			!strings.HasSuffix(strings.ReplaceAll(err.Error(), dir, "DIR"), c.want) {
			t.Errorf("%s: got %v\nwant %s", name, err, c.want)
		}
	}
}

func TestLoadCorpusNamesFormat(t *testing.T) {
	for name, want := range map[string]string{
		"docs.csv": "docs.corpus.jsonl", "docs.corpus.csv": "docs.corpus.jsonl",
		"docs.corpus.jsonl": "documents.corpus.jsonl",
	} {
		t.Chdir(t.TempDir())
		filetest.Write(t, name, "path,title\na.md,A\n")
		_, err := LoadCorpus(name)
		if f, ok := errors.AsType[*FormatError](err); !ok || f.Output != want || f.Format != CSV {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

func TestDetectSharedData(t *testing.T) {
	for file, want := range map[string]Format{
		"locomo/locomo5.json": LoCoMo, "longmemeval/lme_mini.json": LongMemEval,
		"longmemeval/longmemeval_s_3.json":       LongMemEval,
		"neutral/locomo-session/corpus.jsonl":    JSONL,
		"neutral/locomo-session/questions.jsonl": JSONL, "neutral/cisi/corpus.jsonl": JSONL,
	} {
		f, err := os.Open(sharedtest.Path(t, file))
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if head, _ := readHead(f); Detect(head) != want {
			t.Errorf("%s: got %q", file, Detect(head))
		}
	}
}

func FuzzDetect(f *testing.F) {
	for _, s := range []string{"", "[", `[{"a":[{}],"qa"`, "{\n", "id,question", "- id:", "#\n{"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, head []byte) {
		if got := Detect(head); got != "" && got.title() == "" {
			t.Fatal(got)
		}
	})
}
