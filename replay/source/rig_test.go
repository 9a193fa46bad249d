package source

import (
	"encoding/json"
	"path/filepath"
	"testing"

	"evalctl/internal/filetest"
)

// open opens a benchmark that closes with the test.
func open(tb testing.TB, path string, o Options) *Benchmark {
	tb.Helper()
	b, err := Open(tb.Context(), path, o)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { b.Close() })
	return b
}

// writeFile writes a file into a folder of the test and returns its path.
func writeFile(tb testing.TB, name, text string) string {
	tb.Helper()
	return filetest.Write(tb, filepath.Join(tb.TempDir(), name), text)
}

// encode returns v as JSON.
func encode(tb testing.TB, v any) string {
	tb.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		tb.Fatal(err)
	}
	return string(text)
}

// object is a JSON object.
type object = map[string]any

// haystack reads a haystack.
func haystack(tb testing.TB, b *Benchmark, id string) Haystack {
	tb.Helper()
	h, err := b.Haystack(id)
	if err != nil {
		tb.Fatal(err)
	}
	return h
}

// lmeInstance returns a usable instance of LongMemEval with two sessions.
func lmeInstance(id string) object {
	return object{
		"question_id": id, "question_type": "multi-session", "question": "What do I like?",
		"question_date": "2023/05/30 (Tue) 23:40", "answer": "tea",
		"answer_session_ids":   []string{"answer_1"},
		"haystack_session_ids": []string{"s1", "answer_1"},
		"haystack_dates":       []string{"2023/05/20 (Sat) 02:21", "2023/05/21 (Sun) 02:57"},
		"haystack_sessions": [][]object{
			{{"role": "user", "content": "Hello."}, {"role": "assistant", "content": "Hello, you."}},
			{{"role": "user", "content": "I like tea.", "has_answer": true}},
		},
	}
}
