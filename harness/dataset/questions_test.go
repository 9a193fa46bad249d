package dataset

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"evalctl/internal/filetest"
	"evalctl/scorer"
)

func readAll(text string) (qs []Question, errs []string) {
	for q, err := range readQuestions(strings.NewReader(text), "d.jsonl") {
		if err != nil {
			errs = append(errs, err.Error())
		} else {
			qs = append(qs, q)
		}
	}
	return qs, errs
}

func TestReadQuestions(t *testing.T) {
	qs, errs := readAll("\xef\xbb\xbf# a comment\r\n\r\n  \t\r\n" +
		`{"id":"a","question":"who?","expected_substrings":["x","y"],"reference_answer":"X",` +
		`"question_date":"2025-03-14","expected_paths":["p/q.md"],"tags":["t"],"more":{"x":[1]}}` + "\r\n" +
		`  {"id":"b","question":"wo?","question_date":"2025-03-14T09:00:00+01:00","tags":null}`)
	if errs != nil {
		t.Fatal(errs)
	}
	want := []Question{
		{ID: "a", Question: "who?", ExpectedSubstrings: []string{"x", "y"}, ReferenceAnswer: "X",
			QuestionDate: "2025-03-14", ExpectedPaths: []string{"p/q.md"}, Tags: []string{"t"},
			Line: 4},
		{ID: "b", Question: "wo?", QuestionDate: "2025-03-14T09:00:00+01:00", Line: 5},
	}
	if diff := cmp.Diff(want, qs, cmpopts.IgnoreUnexported(Question{})); diff != "" {
		t.Error(diff)
	}
}

func TestReadQuestionsRejects(t *testing.T) {
	for _, c := range []struct{ name, line, want string }{
		{"no JSON", `nope`, `bad JSON`},
		{"cut", `{"id":"a","question":"q"`,
			`the line ends inside the object; each object must be on one line`},
		{"cut value", `{"id":"a`, `the line ends inside the object`},
		{"two objects", `{"id":"a","question":"q"}{"id":"b"}`,
			`unexpected text after the JSON object`},
		{"trailing text", `{"id":"a","question":"q"} x`, `unexpected text after the JSON object`},
		{"array", `["a"]`, `expected one JSON object`},
		{"string", `"a"`, `expected one JSON object`},
		{"null", `null`, `expected one JSON object`},
		{"no id", `{"question":"q"}`, `"id" is missing; give the question a unique id`},
		{"null id", `{"id":null,"question":"q"}`, `"id" is missing`},
		{"key in another case", `{"ID":"a","question":"q"}`, `unknown field "ID": did you mean "id"?`},
		{"number id", `{"id":7,"question":"q"}`, `field "id" must be a string, not a number`},
		{"no question", `{"id":"a"}`, `question "a": "question" is missing or empty`},
		{"empty question", `{"id":"a","question":""}`, `"question" is missing or empty`},
		{"bool question", `{"id":"a","question":true}`,
			`field "question" must be a string, not a boolean`},
		{"string for list", `{"id":"a","question":"q","expected_substrings":"x"}`,
			`field "expected_substrings" must be an array of strings, not a string`},
		{"list of numbers", `{"id":"a","question":"q","tags":[1]}`,
			`field "tags" must be an array of strings, not this array`},
		{"object for list", `{"id":"a","question":"q","expected_paths":{}}`,
			`field "expected_paths" must be an array of strings, not an object`},
		{"grade as text", `{"id":"a","question":"q","expected_grades":{"a.md":"2"}}`,
			`field "expected_grades" must be an object of numbers, not this object`},
		{"text for grades", `{"id":"a","question":"q","expected_grades":"a.md"}`,
			`field "expected_grades" must be an object of numbers, not a string`},
		{"a grade whose sums are infinite", `{"id":"a","question":"q","expected_paths":["a.md"],"expected_grades":{"a.md":1e308}}`,
			`expected_grades has 1e+308 for "a.md": a grade must be at most 1e+15`},
		{"tag twice", `{"id":"a","question":"q","tags":["x","y","x"]}`, `tag "x" is given twice`},
		{"field twice", `{"id":"a","question":"q","id":"b"}`, `field "id" is given twice`},
		{"bad date", `{"id":"a","question":"q","question_date":"14.3.2025"}`,
			`"14.3.2025" is neither an RFC 3339 time (2025-03-14T09:00:00Z) nor a date (2025-03-14)`},
		{"impossible date", `{"id":"a","question":"q","question_date":"2025-02-30"}`,
			`"2025-02-30" is neither`},
		{"half of a character", `{"id":"a","question":"\ud800 x"}`, `half of a character`},
		{"Latin-1", "{\"id\":\"a\",\"question\":\"caf\xe9\"}", `not valid UTF-8`},
	} {
		t.Run(c.name, func(t *testing.T) {
			qs, errs := readAll("#\n" + c.line + "\n" + `{"id":"good","question":"q"}`)
			if len(errs) != 1 || !strings.HasPrefix(errs[0], "d.jsonl:2: ") ||
				!strings.Contains(errs[0], c.want) {
				t.Errorf("got errors %q, want one that starts with d.jsonl:2: and has %q",
					errs, c.want)
			}
			if len(qs) != 1 || qs[0].ID != "good" {
				t.Errorf("reading stopped at the bad line: %v", qs)
			}
		})
	}
}

// lineOf returns a question line of exactly n bytes.
func lineOf(n int) string {
	const frame = `{"id":"a","question":""}`
	return strings.Replace(frame, `""`, `"`+strings.Repeat("x", n-len(frame))+`"`, 1)
}

func TestReadQuestionsLongestLine(t *testing.T) {
	comment := "#" + strings.Repeat("x", 2*maxLine)
	for _, c := range []struct{ name, before, after string }{
		{"end of file", "", ""}, {"LF", "", "\n"}, {"CRLF", "", "\r\n"},
		{"BOM and CRLF", "\xef\xbb\xbf", "\r\n"}, {"second line", "#\n", "\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			want := fmt.Sprintf("d.jsonl:%d: line is longer than 8 MiB; split it",
				1+strings.Count(c.before, "\n"))
			if _, errs := readAll(c.before + comment[:maxLine] + c.after); len(errs) > 0 {
				t.Errorf("a line of exactly 8 MiB: %v", errs)
			}
			for _, n := range []int{maxLine + 1, 2 * maxLine} {
				_, errs := readAll(c.before + comment[:n] + c.after)
				if len(errs) != 1 || errs[0] != want {
					t.Errorf("a line of %d bytes: errors %v, want %s", n, errs, want)
				}
			}
		})
	}
}

// brokenReader reads text and then fails.
type brokenReader struct{ text io.Reader }

func (b brokenReader) Read(p []byte) (int, error) {
	if n, err := b.text.Read(p); err == nil {
		return n, nil
	}
	return 0, errors.New("disk on fire")
}

func TestReadQuestionsReadError(t *testing.T) {
	n := 0
	var last error
	broken := brokenReader{strings.NewReader(lineOf(50) + "\n")}
	for _, err := range readQuestions(broken, "d.jsonl") {
		n, last = n+1, err
	}
	if n != 2 || last == nil || last.Error() != "read d.jsonl: disk on fire" {
		t.Errorf("got %d items, last error %v", n, last)
	}
}

func openText(t *testing.T, text string, limit int, check func(Question) error) (Dataset, error) {
	t.Helper()
	path := filetest.Write(t, filepath.Join(t.TempDir(), "d.jsonl"), text)
	return Open(path, Options{Selection: Selection{Limit: limit}, Check: check})
}

func accept(Question) error { return nil }

func TestOpenCounts(t *testing.T) {
	text := `{"id":"a","question":"1","tags":["x"]}` + "\n\n" +
		`{"id":"b","question":"2","tags":["x","y"]}` + "\n" + `{"id":"c","question":"3"}`
	for _, c := range []struct {
		limit    int
		selected int
		tags     map[string]int
	}{
		{0, 3, map[string]int{"x": 2, "y": 1}},
		{1, 1, map[string]int{"x": 1}},
		{3, 3, map[string]int{"x": 2, "y": 1}},
		{99, 3, map[string]int{"x": 2, "y": 1}},
	} {
		d, err := openText(t, text, c.limit, accept)
		if err != nil {
			t.Fatal(err)
		}
		if d.Total != 3 || d.Selected != c.selected || !cmp.Equal(d.Tags, c.tags) ||
			len(d.SHA256) != 64 {
			t.Errorf("limit %d: got %+v", c.limit, d)
		}
		n := 0
		for q, err := range d.Questions() {
			if n++; err != nil || q.ID != string(rune('a'+n-1)) {
				t.Errorf("question %d is %v, %v", n, q, err)
			}
		}
		if n != c.selected {
			t.Errorf("limit %d: %d questions were streamed, want %d", c.limit, n, c.selected)
		}
	}
}

func TestOpenRejects(t *testing.T) {
	good := `{"id":"a","question":"1"}` + "\n"
	needsReference := func(q Question) error { return (&scorer.Judge{}).Check(q.Item()) }
	for _, c := range []struct {
		name, text string
		limit      int
		check      func(Question) error
		want       string
	}{
		{"limit below 0", good, -3, accept, "limit -3,"},
		{"no questions", "# nothing\n\n", 0, accept,
			"d.jsonl: no questions; a dataset has one JSON object per line"},
		{"duplicate id", good + "\n" + good, 0, accept,
			`d.jsonl:3: id "a" is already used on line 1; ids must be unique`},
		{"duplicate id after the limit", good + good, 1, accept,
			`d.jsonl:2: id "a" is already used on line 1`},
		{"bad line after the limit", good + "x", 1, accept, `d.jsonl:2: bad JSON`},
		{"exact scorer without substrings", good, 0,
			func(q Question) error { return scorer.Exact{}.Check(q.Item()) },
			`d.jsonl:1: question "a" has no expected_substrings: add at least one, or use the judge scorer`},
		{"judge without reference", good, 0, needsReference,
			`d.jsonl:1: question "a" has no reference_answer: add one, or use the exact scorer`},
		{"line too long", good + lineOf(maxLine+1), 0, accept,
			"d.jsonl:2: line is longer than 8 MiB; split it"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := openText(t, c.text, c.limit, c.check)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v\nwant %s", err, c.want)
			}
		})
	}
}

func TestOpenListsTenBadLines(t *testing.T) {
	_, err := openText(t, strings.Repeat("x\n", 12), 0, accept)
	if err == nil || strings.Count(err.Error(), "bad JSON") != 10 ||
		!strings.HasSuffix(err.Error(), "and 2 more bad lines") {
		t.Errorf("got %v", err)
	}
	if _, ok := errors.AsType[*LineError](err); !ok {
		t.Error("the error contains no *LineError")
	}
}

func TestTruncatedFile(t *testing.T) {
	path := writeDataset(t, 3)
	d := openAll(t, path)
	if err := os.Truncate(path, 100); err != nil {
		t.Fatal(err)
	}
	var last error
	for _, err := range d.Questions() {
		last = err
	}
	if last == nil {
		t.Error("a dataset that has lost questions since Open was accepted")
	}
}

func TestQuestionsRoundTrip(t *testing.T) {
	whole := func(s string) bool { return !strings.ContainsRune(s, '\ufffd') }
	text := rapid.StringN(1, 20, -1).Filter(whole)
	rapid.Check(t, func(t *rapid.T) {
		want := Question{
			ID: text.Draw(t, "id"), Question: text.Draw(t, "question"), Line: 1,
			ReferenceAnswer: rapid.String().Draw(t, "reference"),
			Tags:            rapid.SliceOfNDistinct(text, 1, 3, rapid.ID).Draw(t, "tags"),
		}
		line := fmt.Sprintf(`{"tags":%s,"id":%s,"reference_answer":%s,"question":%s}`,
			encodeJSON(want.Tags), encodeJSON(want.ID), encodeJSON(want.ReferenceAnswer),
			encodeJSON(want.Question))
		qs, errs := readAll(line + rapid.SampledFrom([]string{"", "\n", "\r\n"}).Draw(t, "end"))
		if len(errs) > 0 || len(qs) != 1 {
			t.Fatalf("%s: %v", line, errs)
		}
		if diff := cmp.Diff(want, qs[0], cmpopts.IgnoreUnexported(Question{})); diff != "" {
			t.Error(diff)
		}
	})
}
