package harness

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"evalctl/harness/daemontest"
	"evalctl/internal/sse"
)

func FuzzReadQuestions(f *testing.F) {
	for _, s := range []string{
		"", "\xef\xbb\xbf# x\r\n\r\n", `{"id":"a","question":"q"}`, `{"id":"a","question":"q","tags":["x"],"question_date":"2025-01-01"}` + "\n{", "{\"id\":\"\xff\"}",
		`{"id":1}` + "\n" + `{"id":"a","id":"b"}` + "\n" + `[]` + "\r\n" + `{"question":null,"expected_substrings":[null]}`, `{"id":"\ud800","question":"\u0000"}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		read := func(r io.Reader) (qs []Question, errs []string) {
			line := 0
			for q, err := range ReadQuestions(r, "d") {
				if err == nil {
					if q.ID == "" || q.Question == "" || q.Line <= line || !utf8.ValidString(q.ID+q.Question+q.ReferenceAnswer) {
						t.Fatalf("accepted %+v after line %d", q, line)
					}
					line = q.Line
					qs = append(qs, q)
					continue
				}
				at, ok := errors.AsType[*LineError](err)
				if !ok || at.Line <= line || at.File != "d" {
					t.Fatalf("after line %d: %v", line, err)
				}
				line = at.Line
				errs = append(errs, err.Error())
			}
			return qs, errs
		}
		qs, errs := read(bytes.NewReader(data))
		if n := bytes.Count(data, []byte("\n")) + 1; len(qs)+len(errs) > n {
			t.Fatalf("%d lines gave %d results", n, len(qs)+len(errs))
		}
		slowQs, slowErrs := read(iotest.OneByteReader(bytes.NewReader(data)))
		if diff := cmp.Diff([]any{qs, errs}, []any{slowQs, slowErrs}, cmp.AllowUnexported(Question{})); diff != "" {
			t.Fatal("it depends on how the bytes arrive:\n" + diff)
		}
	})
}

func FuzzReadAnswer(f *testing.F) {
	for _, s := range []string{
		daemontest.AnswerTo("question 1"), "", ": x\n\n", daemontest.Event("error", "{}"), daemontest.Event("error", "null"), daemontest.Event("done", `{"ok":false,"error":"x"}`), daemontest.Event("done", `{"answer":7,"usage":[]}`),
		daemontest.Event("retrieve", `{"chunks":[{"chunkId":"a","score":1e400},null]}`) + daemontest.Event("token", `{"text":"\ud800"}`) + daemontest.Event("done", `{"usage":{"input_tokens":-1e308}}`),
		daemontest.Event("retrieve", `{"chunks":[{"duplicates":["a#0", {"path":"b"},7,null,[]]},{"duplicates":{}}]}`) + daemontest.Event("done", `{}`),
		daemontest.Event("citation", "{\"a\":\"\xff\"}") + daemontest.Event("citation", `[]`), "data: {\"ok\":true}\n\n", "event: done\r\rdata:{}\r\r",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var a Answer
		err := readAnswer(t.Context(), sse.NewReader(iotest.HalfReader(bytes.NewReader(data)), sse.MaxEvent), &a, time.Now())
		failure, ok := asFailure(err)
		if err != nil && (!ok || failure.Kind == "" || failure.Message == "") {
			t.Fatalf("got %v", err)
		}
		if err != nil && len(a.Text) > 3*len(data) { // a bad byte becomes three
			t.Fatalf("%d bytes gave a text of %d", len(data), len(a.Text))
		}
		a.Attempts = 1
		a.Latency = time.Millisecond
		rec := newRecord(Question{ID: "a", Question: "q", Line: 1}, a, failure)
		line, err := json.Marshal(rec)
		if err != nil || !utf8.Valid(line) || bytes.ContainsAny(line, "\n") {
			t.Fatalf("it cannot be kept: %v: %s", err, line)
		}
		var back Record
		if err := json.Unmarshal(line, &back); err != nil {
			t.Fatal(err)
		}
		if back.Answer != rec.Answer || len(back.Citations) != len(rec.Citations) || back.Grounded() != rec.Grounded() {
			t.Fatalf("it came back as %+v", back)
		}
		whole := strings.Replace(oneQuestion, "QUESTION", string(line), 1)
		if err := validate([]byte(whole)); err != nil {
			t.Fatalf("not valid by the schema: %v\n%s", err, line)
		}
	})
}

// noAnswers is a result without a question.
func noAnswers() Result {
	id := Identity{SchemaVersion: 1, SDK: "go", Scorer: "exact", Scenario: AskBasic, Mode: "auto", TopK: 1, Dialect: Auto}
	id.Dataset = DatasetID{SHA256: strings.Repeat("a", 64), Selected: 1, Tags: map[string]int{}}
	id.Tool.CPUs = 1
	r := Result{SDK: "go", ScorerName: "exact", Planned: 1, Identity: id, Settings: Settings{Concurrency: 1, TimeoutSeconds: 1}, StartedAt: started, FinishedAt: started}
	r.SetAggregate(NewTally(5))
	return r
}

// oneQuestion is a result file around one question.
var oneQuestion = func() string {
	head := encodeJSON(noAnswers())
	return string(head[:len(head)-1]) + `,"questions":[QUESTION]}`
}()

func FuzzOpenJournal(f *testing.F) {
	j := sampleJournal(f, f.TempDir())
	_ = j.Close()
	sample, err := os.ReadFile(j.Path())
	if err != nil {
		f.Fatal(err)
	}
	f.Add(sample)
	f.Add(sample[:len(sample)-20])
	f.Add(bytes.Replace(sample, []byte(`"selected":3`), []byte(`"selected":99999999999`), 1))
	f.Add(bytes.Replace(sample, []byte(`"index":1`), []byte(`"index":0`), 1))
	f.Add([]byte("{}\n"))
	path := filepath.Join(f.TempDir(), "fuzz.journal")
	f.Fuzz(func(t *testing.T, data []byte) {
		if err := os.WriteFile(path, data, 0o644); err != nil {
			t.Fatal(err)
		}
		j, err := OpenJournal(path)
		if err != nil {
			if kept, _ := os.ReadFile(path); !bytes.Equal(kept, data) {
				t.Fatal("a journal that was refused has been changed")
			}
			return
		}
		defer j.Close()
		if len(j.slots) > 1000 {
			return
		}
		r := newRunner(Config{Target: &Target{TopK: 5}, Dataset: Dataset{Selected: len(j.slots)}}, j)
		if _, err := r.resume(); err != nil {
			t.Fatalf("accepted, but: %v", err)
		}
		if err := r.addUnjudged(); err != nil {
			t.Fatalf("accepted, but: %v", err)
		}
		var res Result
		res.SetAggregate(r.aggregate)
		var out bytes.Buffer
		if err := j.encode(&out, &res); err != nil || !json.Valid(out.Bytes()) {
			t.Fatalf("accepted, but the result is %v: %s", err, out.Bytes())
		}
		if kept, _ := os.ReadFile(path); !bytes.HasPrefix(data, kept) || int64(len(kept)) != j.end {
			t.Fatal("opening changed more than the cut last line")
		}
	})
}

func FuzzLoadLines(f *testing.F) {
	for _, s := range []string{
		"", `{"path":"a.md","text":"x"}`, `{"path":"a/../b","text":"x"}`, `{"path":"a","title":"x\n# y","date":"2025-01-01"}` + "\n" + `{"path":"a","text":"z"}`, `{"path":"\u0000","text":"x"}`, "#\n{}\n",
	} {
		f.Add([]byte(s))
	}
	path := filepath.Join(f.TempDir(), "fuzz.jsonl")
	f.Fuzz(func(t *testing.T, data []byte) {
		if err := os.WriteFile(path, data, 0o644); err != nil {
			t.Fatal(err)
		}
		docs, err := loadLines(path)
		if err != nil {
			if _, ok := errors.AsType[*LineError](err); !ok || docs != nil {
				t.Fatalf("got %v", err)
			}
			return
		}
		seen := map[string]bool{}
		for _, d := range docs {
			if seen[d.Path] || !fs.ValidPath(d.Path) || !utf8.Valid(d.Data) || len(d.Data) == 0 {
				t.Fatalf("accepted %q: %q", d.Path, d.Data)
			}
			seen[d.Path] = true
		}
	})
}
