package source

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"evalctl/harness/dataset"
	"evalctl/internal/filetest"
)

// FuzzOpen checks that no file is accepted that is not valid JSON or whose parts do not belong
// together, and that each accepted haystack can be read again.
func FuzzOpen(f *testing.F) {
	f.Add([]byte(encode(f, []object{lmeInstance("q1"), lmeInstance("q1_abs")})))
	f.Add([]byte(encode(f, []object{locomoConversation()})))
	f.Add([]byte(byteOrderMark + "[\n" + encode(f, lmeInstance("q1")) + "\n]\n"))
	f.Add([]byte(`{"id":"1","question":"Q","reference_answer":"A","brain":"b","tags":["type:x"]}`))
	f.Add([]byte(strings.Replace(encode(f, []object{lmeInstance("q1")}), "Hello", `\ud800\u00e9\\\"`, 1)))
	f.Add([]byte(`[{"question_id":"a","question_type":"b","question":"c"}]`))
	f.Add([]byte("id,question\n1,2\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		path := filetest.Write(t, filepath.Join(t.TempDir(), "a.json"), data)
		b, err := Open(t.Context(), path, Options{})
		if err != nil {
			return
		}
		defer b.Close()
		if b.Format != dataset.JSONL && !json.Valid(bytes.TrimPrefix(data, []byte(byteOrderMark))) {
			t.Fatalf("accepted %q", data)
		}
		checkBenchmark(t, b)
	})
}

// checkBenchmark checks that the parts of a benchmark belong together.
func checkBenchmark(t *testing.T, b *Benchmark) {
	t.Helper()
	docs := map[string]map[string]bool{} // by haystack
	seen := map[string]bool{}
	for _, info := range b.Infos() {
		h := haystack(t, b, info.ID)
		if h.ID != info.ID || h.Brain != info.Brain || seen[h.Brain] || len(h.Brain) > 64 ||
			strings.Trim(h.Brain, "abcdefghijklmnopqrstuvwxyz0123456789-") != "" || h.Brain[0] == '-' {
			t.Fatalf("haystack %q has brain %q, and %q in its info", h.ID, h.Brain, info.Brain)
		}
		seen[h.Brain] = true
		docs[h.ID] = map[string]bool{}
		for _, d := range h.Documents() {
			if docs[h.ID][d.Path] || !json.Valid(must(json.Marshal(string(d.Data)))) {
				t.Fatalf("document %q occurs twice", d.Path)
			}
			docs[h.ID][d.Path] = true
		}
		turns := 0
		for _, s := range h.Sessions {
			turns += len(s.Turns)
		}
		if b.Format != dataset.JSONL && (turns != info.Turns || len(h.Sessions) != info.Sessions ||
			textBytes(h) != info.TextBytes) {
			t.Fatalf("%+v describes %d turns of %d bytes", info, turns, textBytes(h))
		}
	}
	for _, q := range b.Questions {
		if docs[q.Haystack] == nil || q.ID == "" || q.Type == "" || q.Text == "" {
			t.Fatalf("question %+v", q)
		}
		for _, g := range q.Gold {
			if b.Format != dataset.JSONL && !docs[q.Haystack][g] {
				t.Fatalf("question %q has gold %q, which is no document", q.ID, g)
			}
		}
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// FuzzErrata checks that what is accepted as errata is valid JSON with known actions.
func FuzzErrata(f *testing.F) {
	f.Add([]byte(`{"id":"1","action":"exclude"}` + "\n# c\n" + `{"id":"2","action":"correct","gold":[]}`))
	f.Add([]byte(`[{"id":"1","action":"correct","answer":"x","reason":"y"}]`))
	f.Add([]byte(`[{"id":"1","action":"exclude"},]`))
	f.Add([]byte("[] x"))
	f.Fuzz(func(t *testing.T, data []byte) {
		path := filetest.Write(t, filepath.Join(t.TempDir(), "e.jsonl"), data)
		e, err := loadErrata(path)
		if err != nil {
			return
		}
		lines := bytes.Count(data, []byte("\n")) + 1
		for id, c := range e.byID {
			if id == "" || c.Line < 1 || c.Line > lines || c.Exclude == (c.answer != nil || c.gold != nil) {
				t.Fatalf("%q: %+v from %q", id, c, data)
			}
		}
		text := bytes.TrimSpace(bytes.TrimPrefix(data, []byte(byteOrderMark)))
		if text[0] == '[' && !json.Valid(text) {
			t.Fatalf("accepted %q", data)
		}
	})
}
