package source

import (
	"bufio"
	"crypto/sha256"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// syntheticBytes is the size of LongMemEval-S.
const syntheticBytes = 270_000_000

// synthetic writes a file of at least size bytes with the shape of LongMemEval-S: instances of half
// a megabyte with 48 sessions of 10 turns.
func synthetic(tb testing.TB, size int64) (path string, instance int64) {
	tb.Helper()
	path = filepath.Join(tb.TempDir(), "synthetic.json")
	f, err := os.Create(path)
	if err != nil {
		tb.Fatal(err)
	}
	defer f.Close()
	w := bufio.NewWriterSize(f, 1<<20)
	in := syntheticInstance()
	text := encode(tb, in)
	before, after, _ := strings.Cut(text, in["question_id"].(string))
	instance = int64(len(text))
	for n := int64(0); n*instance < size; n++ {
		separator := ","
		if n == 0 {
			separator = "["
		}
		fmt.Fprintf(w, "%s%s%08x%s", separator, before, n, after)
	}
	fmt.Fprintln(w, "]")
	if err := w.Flush(); err != nil {
		tb.Fatal(err)
	}
	return path, instance
}

func syntheticInstance() object {
	in := lmeInstance("ID")
	const sentence = "I've been thinking about \"gardening\" lately — it’s a café in the middle of the city. "
	const list = "\n\n1. **Tomatoes**: they need sun and water, and a place that is not too cold at night.\n"
	var ids, dates []string
	var sessions [][]object
	for i := range 48 {
		ids = append(ids, fmt.Sprintf("sharegpt_%d", i))
		dates = append(dates, fmt.Sprintf("2023/05/%02d (Mon) 02:%02d", i/3+1, i))
		var turns []object
		for j := range 5 {
			turns = append(turns,
				object{"role": "user", "content": fmt.Sprint(i, j, ": ", strings.Repeat(sentence, 4))},
				object{"role": "assistant", "content": strings.Repeat(sentence+list+list, 6) + "Bye."})
		}
		sessions = append(sessions, turns)
	}
	ids[7] = "answer_1"
	sessions[7][2]["has_answer"] = true
	in["haystack_session_ids"], in["haystack_dates"], in["haystack_sessions"] = ids, dates, sessions
	return in
}

// BenchmarkLoad measures Open on a file of the size of LongMemEval-S, and the hashing of it alone,
// which is the least that can be done.
func BenchmarkLoad(b *testing.B) {
	path, _ := synthetic(b, syntheticBytes)
	info, err := os.Stat(path)
	if err != nil {
		b.Fatal(err)
	}
	b.Run("open", func(b *testing.B) {
		b.SetBytes(info.Size())
		b.ReportAllocs()
		for b.Loop() {
			f, err := Open(b.Context(), path, Options{})
			if err != nil {
				b.Fatal(err)
			}
			f.Close()
		}
	})
	b.Run("sha256", func(b *testing.B) {
		b.SetBytes(info.Size())
		for b.Loop() {
			f, err := os.Open(path)
			if err != nil {
				b.Fatal(err)
			}
			if _, err := io.Copy(sha256.New(), f); err != nil {
				b.Fatal(err)
			}
			f.Close()
		}
	})
}

// BenchmarkHaystack measures the reading of one haystack of half a megabyte.
func BenchmarkHaystack(b *testing.B) {
	path, instance := synthetic(b, 1)
	f := open(b, path, Options{})
	b.SetBytes(instance)
	b.ReportAllocs()
	for b.Loop() {
		haystack(b, f, "00000000")
	}
}
