package source

import (
	"bufio"
	"crypto/sha256"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
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
			hashFile(b, path)
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

// locomoBytes is the least size of a synthetic file of LoCoMo.
const locomoBytes = 60_000_000

// syntheticLoCoMo writes a file of at least size bytes with the shape of LoCoMo: conversations of 25
// sessions with 24 turns, 190 questions, and what a model wrote of them.
func syntheticLoCoMo(tb testing.TB, size int64) (path string, questions int) {
	tb.Helper()
	talk, qa := object{"speaker_a": "Ann", "speaker_b": "Ben"}, []object{}
	summaries := object{}
	for s := range 25 {
		var turns []object
		for n := range 24 {
			turn := object{
				"speaker": []string{"Ann", "Ben"}[n%2], "dia_id": fmt.Sprintf("D%d:%d", s+1, n+1),
				"text": fmt.Sprint("I've been thinking about \"gardening\" lately — it’s ", s, n, " weeks since we saw the café!"),
			}
			if n%6 == 0 {
				turn["img_url"] = []string{"https://images.example/" + strings.Repeat("a", 80) + ".jpg"}
				turn["blip_caption"], turn["query"] = "a photo of a garden with tomatoes", "garden tomatoes"
			}
			turns = append(turns, turn)
		}
		key := fmt.Sprintf("session_%d", s+1)
		talk[key], talk[key+"_date_time"] = turns, fmt.Sprintf("1:56 pm on %d May, 2023", s+1)
		summaries[key+"_summary"] = strings.Repeat("Ann and Ben talked about gardening. ", 20)
	}
	for n := range 190 {
		qa = append(qa, object{
			"question": fmt.Sprintf("What did Ann say about the garden in week %d?", n), "answer": "It was warm.",
			"evidence": []string{fmt.Sprintf("D%d:%d", n%25+1, n%24+1)}, "category": n%4 + 1,
		})
	}
	text := encode(tb, object{"sample_id": "ID", "conversation": talk, "qa": qa, "session_summary": summaries})
	before, after, _ := strings.Cut(text, `"ID"`)
	path = filepath.Join(tb.TempDir(), "locomo.json")
	f, err := os.Create(path)
	if err != nil {
		tb.Fatal(err)
	}
	defer f.Close()
	w := bufio.NewWriterSize(f, 1<<20)
	separator := "["
	for n := 0; int64(n*len(text)) < size; n++ {
		fmt.Fprintf(w, "%s%s\"conv-%d\"%s", separator, before, n, after)
		separator, questions = ",", questions+len(qa)
	}
	fmt.Fprintln(w, "]")
	if err := w.Flush(); err != nil {
		tb.Fatal(err)
	}
	return path, questions
}

// BenchmarkLoCoMo measures Open on a file of LoCoMo, the hashing of it alone, and the bytes that stay
// in memory for each question.
func BenchmarkLoCoMo(b *testing.B) {
	path, questions := syntheticLoCoMo(b, locomoBytes)
	info, err := os.Stat(path)
	if err != nil {
		b.Fatal(err)
	}
	b.Run("open", func(b *testing.B) {
		b.SetBytes(info.Size())
		b.ReportAllocs()
		var f *Benchmark
		before := heap()
		for b.Loop() {
			if f, err = Open(b.Context(), path, Options{}); err != nil {
				b.Fatal(err)
			}
			f.Close()
		}
		b.ReportMetric(float64(heap()-before)/float64(questions), "retained-B/question")
		if len(f.Questions) != questions {
			b.Fatalf("%d questions, want %d", len(f.Questions), questions)
		}
	})
	b.Run("sha256", func(b *testing.B) {
		b.SetBytes(info.Size())
		for b.Loop() {
			hashFile(b, path)
		}
	})
}

func hashFile(tb testing.TB, path string) {
	f, err := os.Open(path)
	if err != nil {
		tb.Fatal(err)
	}
	defer f.Close()
	if _, err := io.Copy(sha256.New(), f); err != nil {
		tb.Fatal(err)
	}
}

// heap returns the memory in use.
func heap() int64 {
	runtime.GC()
	runtime.GC() // memory held by finalizers
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// TestRetainedLoCoMo checks that an open benchmark keeps its questions, and not its conversations.
func TestRetainedLoCoMo(t *testing.T) {
	path, questions := syntheticLoCoMo(t, 6_000_000)
	before := heap()
	b := open(t, path, Options{})
	retained := heap() - before
	if len(b.Questions) != questions {
		t.Fatalf("%d questions, want %d", len(b.Questions), questions)
	}
	if each := retained / int64(questions); each > 1024 {
		t.Errorf("%d bytes stay in memory for each question, want at most 1024", each)
	}
}
