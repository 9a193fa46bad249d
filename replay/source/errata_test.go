package source

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"evalctl/harness/dataset"
	"evalctl/internal/sharedtest"
)

// TestErrata checks excluded and corrected questions, in lines and in an array.
func TestErrata(t *testing.T) {
	in := lmeInstance("q3")
	delete(in, "answer")
	file := writeFile(t, "a.json", encode(t, []object{lmeInstance("q1"), lmeInstance("q2"), in}))
	lines := []string{
		`{"id": "q2", "action": "correct", "answer": "coffee", "gold": ["s1"], "reason": "she says so"}`,
		`{"id": "q1", "action": "exclude", "reason": "two answers"}`,
		`{"action": "exclude", "id": "q3"}`,
	}
	for _, text := range []string{
		byteOrderMark + "# known errors\n\n" + strings.Join(lines, "\r\n"),
		"[\n\n" + strings.Join(lines, ",\n") + "\n]\n",
	} {
		b := open(t, file, Options{Errata: writeFile(t, "errata.jsonl", text)})
		e := b.Errata
		if e.Excluded != 2 || e.Corrected != 1 || !cmp.Equal(e.IDs, []string{"q1", "q2", "q3"}) ||
			len(e.SHA256) != 64 {
			t.Errorf("got %+v", e)
		}
		q := b.Questions[1]
		if q.Answer != "coffee" || len(q.Gold) != 1 || !strings.HasSuffix(q.Gold[0], "session-001.md") {
			t.Errorf("got %+v", q)
		}
		want := &Erratum{
			Reason: "she says so", Line: 3, OriginalAnswer: "tea",
			OriginalEvidence: []string{"I like tea."}, OriginalGold: []string{strings.Replace(q.Gold[0], "001", "002", 1)},
		}
		if diff := cmp.Diff(want, q.Erratum); diff != "" {
			t.Error(diff)
		}
		if q := b.Questions[0]; !q.Erratum.Exclude || q.Answer != "tea" || len(q.Gold) != 1 {
			t.Errorf("got %+v", q)
		}
	}
}

// TestErrataOfOtherFormats checks that gold is named by what the file calls it.
func TestErrataOfOtherFormats(t *testing.T) {
	file := writeFile(t, "a.json", encode(t, []object{locomoConversation()}))
	for gold, want := range map[string][]string{
		`["D2:1", "session_1"]`: {"locomo/conv-7/session-02.md", "locomo/conv-7/session-01.md"}, `[]`: nil,
	} {
		errata := writeFile(t, "e.jsonl", `{"id":"conv-7-q000","action":"correct","gold":`+gold+`}`)
		b := open(t, file, Options{Errata: errata})
		if q := b.Questions[0]; !cmp.Equal(q.Gold, want) || q.Answer != "tea" {
			t.Errorf("got %+v", q)
		}
	}
	lines := writeFile(t, "a.jsonl", `{"id":"1","question":"Q","expected_paths":["x.md"]}`)
	corpus := writeFile(t, "c.jsonl", `{"path":"x.md","text":"X"}`+"\n"+`{"path":"y.md","text":"Y"}`)
	errata := writeFile(t, "e.jsonl", `{"id":"1","action":"correct","gold":["y.md"]}`)
	b := open(t, lines, Options{Corpus: corpus, Errata: errata})
	if q := b.Questions[0]; !cmp.Equal(q.Gold, []string{"y.md"}) {
		t.Errorf("got %+v", q)
	}
}

// TestErrataOfSubstrings checks that a corrected answer replaces the substrings that the exact
// scorer would look for.
func TestErrataOfSubstrings(t *testing.T) {
	lines := writeFile(t, "a.jsonl", `{"id":"1","question":"Q","expected_substrings":["red"]}`+"\n"+
		`{"id":"2","question":"Q","expected_substrings":["red"],"expected_paths":["x.md"]}`)
	corpus := writeFile(t, "c.jsonl", `{"path":"x.md","text":"X"}`)
	errata := writeFile(t, "e.jsonl", `{"id":"1","action":"correct","answer":"green"}`+"\n"+
		`{"id":"2","action":"correct","gold":[]}`)
	b := open(t, lines, Options{Corpus: corpus, Errata: errata})
	for i, want := range []string{"green", "red"} {
		q := b.Questions[i]
		if got := q.Dataset().ExpectedSubstrings; !cmp.Equal(got, []string{want}) {
			t.Errorf("question %s expects %q, want %s", q.ID, got, want)
		}
		if got := q.Erratum.OriginalExpected; !cmp.Equal(got, []string{"red"}) {
			t.Errorf("question %s expected %q", q.ID, got)
		}
	}
}

func TestErrataErrors(t *testing.T) {
	file := writeFile(t, "a.json", encode(t, []object{lmeInstance("q1"), lmeInstance("q2_abs")}))
	for text, want := range map[string]string{
		"":   "no errata; each is a JSON object",
		"[]": "no errata",
		"x":  "e.jsonl:1: it must be a JSON object with id and action",
		"[\n{\"id\":\"q1\",\"action\":\"exclude\"}\n": "the file ends before its JSON does",
		`[] []`:                                           "after the end of the array",
		`{"id":"q1"}`:                                     `:1: question "q1": the action is "" and must be exclude or correct`,
		`{"id":"q1","action":"drop"}`:                     `the action is "drop"`,
		`{"action":"exclude"}`:                            "the erratum has no id",
		`{"id":1}`:                                        "id must be a string, not a number",
		`{"id":"q1","ID":"q1"}`:                           `the key "ID" is not known; known are id, action`,
		`{"id":"q1","id":"q2"}`:                           `the key "id" is given twice`,
		`{"id":"q1","action":"correct"}`:                  "is corrected and has neither answer nor gold",
		"{\"id\":\"q1\",\"action\":\"\xff\"}":             "not valid UTF-8",
		`{"id":"q1","action":"exclude","answer":"x"}`:     "is excluded and has an answer or gold",
		`{"id":"q1","action":"correct","answer":" "}`:     "is corrected with an empty answer",
		`{"id":"q1","action":"correct","answer":3}`:       "answer must be a string, not a number",
		`{"id":"q1","action":"correct","gold":"s1"}`:      "gold must be an array of strings, not a string",
		`{"id":"q1","action":"correct","gold":[1]}`:       "an element of gold must be a string",
		`{"id":"q1","action":"correct","gold":["s9"]}`:    `e.jsonl:1: question "q1": the gold "s9" is not in`,
		`{"id":"q2_abs","action":"correct","answer":"x"}`: "so the answer cannot be corrected",
		"\n{\"id\":\"q9\",\"action\":\"exclude\"}":        `e.jsonl:2: `,
		"[\n{\"id\":\"q1\",\"action\":\"exclude\"},\n{\"id\":\"q1\",\"action\":\"exclude\"}]": `e.jsonl:3: ` +
			`question "q1" already has an erratum on line 2`,
	} {
		_, err := Open(t.Context(), file, Options{Errata: writeFile(t, "e.jsonl", text)})
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "e.jsonl") {
			t.Errorf("%s: got %v, want %s", text, err, want)
		}
	}
}

// TestExpectedSHA256 checks that another file is refused, also if it cannot be read.
func TestExpectedSHA256(t *testing.T) {
	text := encode(t, []object{lmeInstance("q1")})
	file := writeFile(t, "a.json", text)
	sum := open(t, file, Options{}).SHA256
	open(t, file, Options{ExpectedSHA256: strings.ToUpper(sum)})
	other := strings.Repeat("0", 64)
	for path, want := range map[string]string{
		file:                                   "its SHA-256 is " + sum + " and must be " + other,
		writeFile(t, "cut.json", text[:20]):    "is not the expected file",
		writeFile(t, "a.csv", "id,question\n"): "is not the expected file",
		writeFile(t, "a.jsonl", `{"id":"1"}`):  "is not the expected file",
	} {
		if _, err := Open(t.Context(), path, Options{ExpectedSHA256: other}); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	for _, bad := range []string{"0", sum + "0", strings.Repeat("g", 64)} {
		if _, err := Open(t.Context(), file, Options{ExpectedSHA256: bad}); err == nil ||
			!strings.Contains(err.Error(), "must have 64 hexadecimal digits") {
			t.Errorf("got %v", err)
		}
	}
}

const auditErrors = `[
 {"question_id": "locomo_0_qa0", "question": "How long?", "golden_answer": 18, "error_type": "TEMPORAL_ERROR",
  "cited_evidence": ["D1:2"], "correct_evidence": ["D1:2"], "reasoning": "It was 17.", "correct_answer": "17"},
 {"question_id": "locomo_0_qa1", "question": "Who?", "golden_answer": "Ann", "error_type": "AMBIGUOUS",
  "cited_evidence": null, "correct_evidence": null, "reasoning": "Both are.", "correct_answer": "Bob"}]`

// The layout of the audit of LoCoMo corrects by the place of a question, whose text must be the same.
func TestAuditErrata(t *testing.T) {
	e, err := loadErrata(writeFile(t, "errors.json", auditErrors))
	if err != nil {
		t.Fatal(err)
	}
	first := Question{ID: "conv-26-q000", Text: "How long?", Answer: "18"}
	second := Question{ID: "conv-26-q001", Text: "Who?", Answer: "Ann"}
	other := Question{ID: "conv-26-q001", Text: "Where?", Answer: "Ann"}
	nowhere := func(string) []string { return nil }
	if err := errors.Join(e.apply(&first, nowhere, nil), e.apply(&second, nowhere, nil)); err != nil {
		t.Fatal(err)
	}
	if first.Answer != "17" || first.Erratum.OriginalAnswer != "18" || !second.Erratum.Exclude || e.Corrected != 1 || e.Excluded != 1 {
		t.Errorf("%+v, %+v, %+v", first, second, e)
	}
	if err := e.apply(&other, nowhere, nil); err == nil || !strings.Contains(err.Error(), "the errata belong to another file") {
		t.Errorf("got %v", err)
	}
}

// TestSharedAuditErrata corrects a published conversation.
func TestSharedAuditErrata(t *testing.T) {
	errata := sharedtest.Path(t, "imports/audit_errors_conv_0.json")
	b := open(t, sharedtest.Path(t, "locomo/locomo5.json"), Options{Errata: errata})
	if b.Errata.Corrected+b.Errata.Excluded != 27 || b.Errata.Excluded < 3 {
		t.Errorf("%d corrected, %d excluded, want 27, at least the 3 ambiguous ones excluded", b.Errata.Corrected, b.Errata.Excluded)
	}
}

// TestConvertExcluded checks that a run accepts the corpus without the haystack of an excluded
// question.
func TestConvertExcluded(t *testing.T) {
	file := writeFile(t, "a.json", encode(t, []object{lmeInstance("q1"), lmeInstance("q2")}))
	errata := `{"id":"q2","action":"exclude"}`
	out := filepath.Join(t.TempDir(), "out.jsonl")
	c, err := Convert(t.Context(), file, out, Options{Errata: writeFile(t, "e.jsonl", errata)})
	if err != nil {
		t.Fatal(err)
	}
	d, err := dataset.Open(out, dataset.Options{})
	if err != nil {
		t.Fatal(err)
	}
	corpus, err := dataset.LoadCorpus(dataset.CorpusFor(out))
	if err != nil {
		t.Fatal(err)
	}
	brains, err := d.Brains(&corpus)
	if err != nil || len(brains) != 1 || len(brains[0].Docs) != 2 {
		t.Errorf("%d brains, %v; want one with two documents", len(brains), err)
	}
	if got := c.Written[1].Content; got != "2 documents in 1 brain" {
		t.Errorf("the corpus is said to have %s", got)
	}
	none := filepath.Join(t.TempDir(), "none.jsonl")
	all := writeFile(t, "all.jsonl", errata+"\n"+`{"id":"q1","action":"exclude"}`)
	if _, err := Convert(t.Context(), file, none, Options{Errata: all}); err == nil ||
		!strings.Contains(err.Error(), "all.jsonl excludes every question of ") {
		t.Errorf("without a question: %v", err)
	}
	if _, err := os.Stat(dataset.CorpusFor(none)); err == nil {
		t.Error("a corpus without questions is written")
	}
}
