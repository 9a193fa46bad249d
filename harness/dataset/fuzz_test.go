package dataset

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"path/filepath"
	"testing"
	"testing/iotest"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"evalctl/internal/filetest"
)

func FuzzReadQuestions(f *testing.F) {
	for _, s := range []string{
		"", "\xef\xbb\xbf# x\r\n\r\n", `{"id":"a","question":"q"}`,
		`{"id":"a","question":"q","tags":["x"],"question_date":"2025-01-01"}` + "\n{",
		"{\"id\":\"\xff\"}",
		`{"id":1}` + "\n" + `{"id":"a","id":"b"}` + "\n" + `[]` + "\r\n" +
			`{"question":null,"expected_substrings":[null]}`, `{"id":"\ud800","question":"\u0000"}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		read := func(r io.Reader) (qs []Question, errs []string) {
			line := 0
			for q, err := range readQuestions(r, "d") {
				if err == nil {
					if q.ID == "" || q.Question == "" || q.Line <= line ||
						!utf8.ValidString(q.ID+q.Question+q.ReferenceAnswer) {
						t.Fatalf("accepted %+v after line %d", q, line)
					}
					line = q.Line
					again, err := parseQuestion(data[q.place.at:q.place.at+int64(q.place.size)], questionKeys())
					if err != nil || again.ID != q.ID || again.Question != q.Question {
						t.Fatalf("%+v is at %+v, which has %+v, %v", q, q.place, again, err)
					}
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
			t.Fatalf("%d lines yielded %d results", n, len(qs)+len(errs))
		}
		slowQs, slowErrs := read(iotest.OneByteReader(bytes.NewReader(data)))
		if diff := cmp.Diff([]any{qs, errs}, []any{slowQs, slowErrs},
			cmp.AllowUnexported(Question{}, place{})); diff != "" {
			t.Fatal("the result depends on how the bytes arrive:\n" + diff)
		}
	})
}

func FuzzLoadLines(f *testing.F) {
	for _, s := range []string{
		"", `{"path":"a.md","text":"x"}`, `{"path":"a/../b","text":"x"}`,
		`{"path":"a","title":"x\n# y","date":"2025-01-01"}` + "\n" + `{"path":"a","text":"z"}`,
		`{"path":"\u0000","text":"x"}`, "#\n{}\n",
	} {
		f.Add([]byte(s))
	}
	path := filepath.Join(f.TempDir(), "fuzz.jsonl")
	f.Fuzz(func(t *testing.T, data []byte) {
		filetest.Write(t, path, data)
		docs, _, err := loadLines(path)
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
