package dataset

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"go.yaml.in/yaml/v3"
	"pgregory.net/rapid"

	"evalctl/internal/filetest"
)

func TestConvert(t *testing.T) {
	const one = `{"id": "a", "question": "Who, \"he\"?", "question_date": "2025-03-14", ` +
		`"expected_substrings": ["x", "y z"], "reference_answer": "7", "tags": ["t"], "level": `
	for _, c := range []struct {
		name, text string
		format     Format
		want       string
	}{
		{"CSV", "level,id,question,tags,expected_substrings,reference_answer,question_date,brain\r\n" +
			"3,a,\"Who, \"\"he\"\"?\",t,x; y z ;,7,2025-03-14,\r\n", CSV, one + `"3"}`},
		{"CSV with semicolons and a mark", "\xef\xbb\xbfid;question;question_date;expected_substrings;" +
			"reference_answer;tags;level\n" + `a;"Who, ""he""?";2025-03-14;"[""x"",""y z""]";7;t;3`, CSV, one + `"3"}`},
		{"TSV", "id\tquestion\tquestion_date\texpected_substrings\treference_answer\ttags\tlevel\n" +
			"a\tWho, \"he\"?\t2025-03-14\tx;y z\t7\tt\t3\n", TSV, one + `"3"}`},
		{"TSV with cells that begin with a quotation mark", "id\tquestion\tanswer\na\tWho?\t\"To be\" is by him\r\n" +
			"b\t\"Or\"\t\"not\r\nc\t\"\"\"d\"\" e\nf\"\t5\" tall", TSV,
			`{"id": "a", "question": "Who?", "reference_answer": "\"To be\" is by him"}` + "\n" +
				`{"id": "b", "question": "Or", "reference_answer": "\"not"}` + "\n" +
				`{"id": "c", "question": "\"d\" e\nf", "reference_answer": "5\" tall"}`},
		{"YAML", `# a comment
- id: a
  question: Who, "he"?
  question_date: 2025-03-14
  expected_substrings: [x, y z]
  reference_answer: 7
  tags: t
  level: {n: 3}
  brain:
`, YAML, one + `{"n":3}}`},
		{"JSON", `[{"level": 3, "id": "a", "question": "Who, \"he\"?", "question_date": "2025-03-14",
			"expected_substrings": ["x", "y z"], "reference_answer": 7, "tags": "t", "brain": null}]`,
			JSONArray, one + `3}`},
		{"two objects", "{\"id\":\"a\",\n\"question\":\"q\"}\n{\"id\":\"b\",\"question\":\"q\"}", JSONArray,
			`{"id": "a", "question": "q"}` + "\n" + `{"id": "b", "question": "q"}`},
		{"objects with commas after them", "{\"id\":\"a\",\"question\":\"q\"},\n{\"id\":\"b\",\"question\":\"q\"} ,\n", JSONArray,
			`{"id": "a", "question": "q"}` + "\n" + `{"id": "b", "question": "q"}`},
		{"a list within", `{"version": 2, "authors": ["x"], "data": [{"id":"a","question":"<q>"}]}`, JSONArray,
			`{"id": "a", "question": "<q>"}`},
		{"a list within YAML", "version: 2\nquestions:\n  - {id: 01, question: q}\n", YAML, `{"id": "01", "question": "q"}`},
		{"objects with checks", "{\"id\":\"a\",\n\"question\":\"q\",\"checks\":[{\"contains\":\"x\"}]}\n" +
			"{\"id\":\"b\",\"Question\":\"q\",\"documents\":[{\"path\":\"a\"}]}", JSONArray,
			`{"id": "a", "question": "q", "checks": [{"contains":"x"}]}` + "\n" +
				`{"id": "b", "question": "q", "documents": [{"path":"a"}]}`},
		{"an alias with checks", "{\"id\":\"a\",\n\"query\":\"q\",\"assertions\":[{\"contains\":\"x\"}]}", JSONArray,
			`{"id": "a", "question": "q", "checks": [{"contains":"x"}]}`},
		{"a prompt for several", "{\"prompt\":\"about\",\n\"tests\":[{\"id\":\"a\",\"question\":\"q\"}]}", JSONArray, `{"id": "a", "question": "q"}`},
		{"YAML documents with checks", "id: a\nquestion: q\nchecks:\n- contains: x\n---\nid: b\nquestion: q\n", YAML,
			`{"id": "a", "question": "q", "checks": [{"contains":"x"}]}` + "\n" + `{"id": "b", "question": "q"}`},
		{"a list called like a field", `{"text": "about", "question": [{"id":"a","question":"q"}]}`, JSONArray,
			`{"id": "a", "question": "q"}`},
		{"YAML documents", "---\nid: a\nquestion: |\n  q\n  r\n---\nid: yes\nquestion: ~x\ntags: []\n", YAML,
			`{"id": "a", "question": "q\nr\n"}` + "\n" + `{"id": "yes", "question": "~x", "tags": []}`},
		{"other names", "Question,Answer,Question Date,gold\nq,x,2025-01-01,a.md;b.md\n", CSV,
			`{"id": "q1", "question": "q", "question_date": "2025-01-01", "reference_answer": "x", "expected_paths": ["a.md", "b.md"]}`},
		{"two names", "id,question,answer,reference_answer\na,q,x,y\n", CSV,
			`{"id": "a", "question": "q", "reference_answer": "y", "answer": "x"}`},
		{"an empty last column", "id,question,\na,q,\n", CSV, `{"id": "a", "question": "q"}`},
		{"lines within a cell", "id,question\n\na,\"q\nr\"\n", CSV, `{"id": "a", "question": "q\nr"}`},
		{"documents", "file,title,content,date\na.md,A,x,2025-01-01\n", CSV,
			`{"path": "a.md", "title": "A", "date": "2025-01-01", "text": "x"}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := Convert("f", []byte(c.text), c.format)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want+"\n", string(got.Lines)); diff != "" {
				t.Error(diff)
			}
			if f := Detect([]byte(c.text)); f != c.format && !strings.HasPrefix(c.name, "a list") {
				t.Errorf("detected %q", f)
			}
			if got.Documents != (c.name == "documents") || got.Numbered != (c.name == "other names") ||
				got.Count != strings.Count(c.want, "\n")+1 {
				t.Errorf("%+v", got)
			}
		})
	}
}

func TestConvertReports(t *testing.T) {
	got, err := Convert("f", []byte("Question,Answer,x\nq,x,1\n"), CSV)
	if err != nil || !got.Numbered {
		t.Fatal(got, err)
	}
	want := []string{"Answer → reference_answer", "Question → question"}
	if diff := cmp.Diff(want, got.Renames()); diff != "" {
		t.Error(diff)
	}
}

func TestConvertRejects(t *testing.T) {
	for _, c := range []struct {
		name, text string
		format     Format
		want       []string
	}{
		{"no header", "a,q\nb,q\n", CSV, []string{`f:2: the fields are "a", "q": a question needs id and question`}},
		{"only a header", "id,question\n", CSV, []string{"f has no questions"}},
		{"a row too short", "id,question\na,q\nb\n", CSV, []string{"f:3: the row has not the 2 columns of the header"}},
		{"a stray quote", "id,question\na,a \"q\"\n", CSV, []string{`f:2: bare " in non-quoted-field; write a quote`}},
		{"an open quote", "id,question\na,\"q\n\n", CSV, []string{`f:2: extraneous or missing " in quoted-field`}},
		{"no name", "id,question,\na,q,\nb,q,x\n", CSV, []string{"f:3: column 3 has a value and no name"}},
		{"two meanings", "id,question,answer,Reference\na,q,x,y\n", CSV,
			[]string{`f:2: "answer" and "Reference" both mean "reference_answer"; remove one`}},
		{"options", `[{"id": "a", "question": "q", "options": [{"option": "A"}], "answer": "A"}]`, JSONArray,
			[]string{`f:1: the key "options" has options, which a table of questions cannot keep`}},
		{"preferences", `[{"preference": "p", "question": "q", "explanation": "e"}]`, JSONArray, []string{`f:1: the key "explanation" has a preference to follow`}},
		{"PersonaMem-v2", "persona_id,user_query,question,correct_answer,incorrect_answers\n1,q,q,a,b\n", CSV, []string{`f:2: the key "incorrect_answers" has options`}},
		{"several bad rows", "id,question,question_date,tag\na,q,soon,\nb,,,\na,q,,x\n", CSV, []string{
			`f:2: question "a": "question_date": "soon" is neither`, `f:3: question "b": "question" is missing or empty`,
			`f:4: unknown field "tag": did you mean "tags"?`}},
		{"the same id", "id,question\na,q\na,r\n", CSV, []string{`f:3: id "a" is already used on line 2`}},
		{"a bad list", "id,question,tags\na,q,[x\n", CSV, []string{`f:2: column "tags" begins with [ and is not a JSON array`}},
		{"a list of lists", "id,question,tags\na,q,[[]]\n", CSV, []string{`f:2: field "tags" must be a list of texts`}},
		{"Latin-1", "id,question\na,caf\xe9\n", CSV, []string{"f:2: the line is not valid UTF-8"}},
		{"UTF-16", "\xff\xfei\x00", CSV, []string{"f is in UTF-16; save it as UTF-8"}},
		{"bad JSON", "[\n{\"id\":\"a\",\n\"question\" \"q\"}]", JSONArray, []string{"f:3: bad JSON: invalid character"}},
		{"cut JSON", "[\n{\"id\":\"a\"}", JSONArray, []string{"f:2: bad JSON: unexpected EOF"}},
		{"an object's line", "[{\"id\":\"a\",\"question\":\"q\"},\n\n {\"id\":\"a\",\n\"question\":\"q\"}]", JSONArray,
			[]string{`f:3: id "a" is already used on line 1`}},
		{"equal objects", "[{\"id\":\"a\",\"question\":\"q\"},\n{\"id\":\"a\",\"question\":\"q\"}]", JSONArray,
			[]string{`f:2: id "a" is already used on line 1`}},
		{"two commas", "{\"id\":\"a\",\"question\":\"q\"},\n,{}", JSONArray, []string{"f:2: bad JSON: invalid character ','"}},
		{"the same id, with commas", "{\"id\":\"a\",\"question\":\"q\"},\n\n{\"id\":\"a\",\"question\":\"q\"},\n", JSONArray,
			[]string{`f:3: id "a" is already used on line 1`}},
		{"no objects", `["a"]`, JSONArray, []string{"f:1: expected a JSON object, not a string"}},
		{"an empty array", `[]`, JSONArray, []string{"f has no questions"}},
		{"null in a list", `[{"id":"a","question":"q","tags":[null]}]`, JSONArray, []string{`f:1: field "tags" must be`}},
		{"an object for text", `[{"id":"a","question":{}}]`, JSONArray, []string{`f:1: field "question" must be text, not an object`}},
		{"a key twice", `[{"id":"a","question":"q","id":"b"}]`, JSONArray, []string{`f:1: field "id" is given twice`}},
		{"bad YAML", "- id: a\n  question: [q\n", YAML, []string{"f:1: did not find"}},
		{"YAML of texts", "- a\n- b\n", YAML, []string{"f:1: expected a mapping of fields"}},
		{"a merge", "- &a {id: a, question: q}\n- {<<: *a, id: b}\n", YAML, []string{"f:2: merge keys (<<) are not read"}},
		{"a key of a mapping", "- id: a\n  question: q\n  x: {1: 2, [3]: 4}\n", YAML, []string{`f:1: field "x": `}},
		{"the same document", "path,text,brain\na,x,b\na,x,c\na,y,b\n", CSV,
			[]string{`f:4: in brain b path "a" is already used on line 2`}},
		{"a bad path", "path,text\n../a,x\n", CSV, []string{`f:2: path "../a" must be relative`}},
		{"JSONL", "{}", JSONL, []string{"f: jsonl cannot be converted"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := Convert("f", []byte(c.text), c.format)
			if err == nil || got.Lines != nil {
				t.Fatalf("accepted: %s", got.Lines)
			}
			lines := strings.Split(err.Error(), "\n")
			if len(lines) != len(c.want) {
				t.Fatalf("got %v", err)
			}
			for i, w := range c.want {
				if !strings.HasPrefix(lines[i], w) {
					t.Errorf("got %s, want %s", lines[i], w)
				}
			}
		})
	}
}

// TestConvertRoundTrip writes questions in every format and reads them back.
func TestConvertRoundTrip(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		text := rapid.StringMatching(`[a-zA-Z0-9 ,;:"'\[\]{}#<>é\n-]{1,20}`).Filter(func(s string) bool {
			return strings.TrimSpace(s) == s
		})
		var want []Question
		for i := range rapid.IntRange(1, 5).Draw(rt, "questions") {
			want = append(want, Question{
				ID: fmt.Sprintf("q%d", i), Question: text.Draw(rt, "question"),
				ReferenceAnswer:    rapid.OneOf(rapid.Just(""), text).Draw(rt, "answer"),
				ExpectedSubstrings: rapid.SliceOfN(text, 0, 3).Draw(rt, "expected"),
				QuestionDate:       rapid.SampledFrom([]string{"", "2025-03-14"}).Draw(rt, "date"),
				Tags:               rapid.SliceOfNDistinct(text, 0, 2, rapid.ID).Draw(rt, "tags"),
			})
		}
		for format, data := range encodeAll(rt, want) {
			out, err := Convert("f", data, format)
			if err != nil {
				rt.Fatalf("%s: %v\n%s", format, err, data)
			}
			got := slices.Collect(func(yield func(Question) bool) {
				for q, err := range readQuestions(bytes.NewReader(out.Lines), "f") {
					if err != nil {
						rt.Fatal(err)
					}
					q.Line = 0
					yield(q)
				}
			})
			if diff := cmp.Diff(want, got, cmpopts.EquateEmpty(), cmpopts.IgnoreUnexported(Question{})); diff != "" {
				rt.Fatalf("%s:\n%s\n%s", format, diff, data)
			}
		}
	})
}

// encodeAll returns the questions in all formats.
func encodeAll(rt *rapid.T, questions []Question) map[Format][]byte {
	var table bytes.Buffer
	w := csv.NewWriter(&table)
	rows := [][]string{{"id", "question", "reference_answer", "expected_substrings", "question_date", "tags"}}
	var objects []map[string]any
	for _, q := range questions {
		rows = append(rows, []string{q.ID, q.Question, q.ReferenceAnswer,
			string(encodeJSON(q.ExpectedSubstrings)), q.QuestionDate, string(encodeJSON(q.Tags))})
		objects = append(objects, map[string]any{
			"id": q.ID, "question": q.Question, "reference_answer": q.ReferenceAnswer,
			"expected_substrings": q.ExpectedSubstrings, "question_date": q.QuestionDate, "tags": q.Tags,
		})
	}
	if err := w.WriteAll(rows); err != nil {
		rt.Fatal(err)
	}
	array, err := json.MarshalIndent(objects, "", " ")
	if err != nil {
		rt.Fatal(err)
	}
	document, err := yaml.Marshal(objects)
	if err != nil {
		rt.Fatal(err)
	}
	var tsv bytes.Buffer
	t := csv.NewWriter(&tsv)
	t.Comma = '\t'
	if err := t.WriteAll(rows); err != nil {
		rt.Fatal(err)
	}
	return map[Format][]byte{CSV: table.Bytes(), TSV: tsv.Bytes(), JSONArray: array, YAML: document}
}

// FuzzConvert checks that what is converted can be opened, and that errors are about the file.
func FuzzConvert(f *testing.F) {
	formats := []Format{CSV, TSV, YAML, JSONArray}
	for i, s := range []string{
		"id,question\na,q\n", "id\tquestion\na\tq\n", "- id: a\n  question: q\n", `[{"id":"a","question":"q"}]`,
	} {
		f.Add([]byte(s), i)
	}
	f.Add([]byte("- &a [x]\n- *a\n"), 2)
	f.Add([]byte("path;text\na;b\n"), 0)
	path := filepath.Join(f.TempDir(), "fuzz.jsonl")
	f.Fuzz(func(t *testing.T, data []byte, format int) {
		got, err := Convert("f", data, formats[uint(format)%uint(len(formats))])
		if err != nil {
			if !strings.HasPrefix(err.Error(), "f") {
				t.Fatal(err)
			}
			return
		}
		filetest.Write(t, path, string(got.Lines))
		if got.Documents {
			_, err = LoadCorpus(path)
		} else {
			_, err = Open(path, Options{Check: accept})
		}
		if _, ok := errors.AsType[*FormatError](err); err != nil || ok {
			t.Fatalf("%v\n%s", err, got.Lines)
		}
	})
}
