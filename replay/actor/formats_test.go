package actor

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"evalctl/internal/llm"
	"evalctl/replay/source"
)

// sessionsOf is how many sessions the haystacks of benchmarks have.
const sessionsOf = 6

// benchmarks write for each format a benchmark of questions about one haystack, of whose sessions
// the second and the fifth are gold.
var benchmarks = map[source.Format]func(questions int) (files map[string]string){
	source.LongMemEval: func(questions int) map[string]string {
		type object = map[string]any
		var ids, dates []string
		var sessions [][]object
		for i := range sessionsOf {
			ids = append(ids, fmt.Sprint("s", i))
			dates = append(dates, fmt.Sprintf("2023/05/%02d (Mon) 10:00", i+1))
			sessions = append(sessions, []object{{"role": "user", "content": text(i)}})
		}
		var all []object
		for q := range questions {
			all = append(all, object{
				"question_id": fmt.Sprint("q", q), "question_type": "multi-session", "question": "What do I like?",
				"question_date": "2023/05/30 (Tue) 23:40", "answer": "tea", "answer_session_ids": []string{"s1", "s4"},
				"haystack_session_ids": ids, "haystack_dates": dates, "haystack_sessions": sessions,
			})
		}
		return map[string]string{"b.json": encoded(all)}
	},
	source.LoCoMo: func(questions int) map[string]string {
		type object = map[string]any
		talk := object{"speaker_a": "Ann", "speaker_b": "Bob"}
		for i := range sessionsOf {
			talk[fmt.Sprintf("session_%d_date_time", i+1)] = fmt.Sprintf("1:56 pm on %d May, 2023", i+1)
			talk[fmt.Sprintf("session_%d", i+1)] = []object{{"speaker": "Ann", "dia_id": fmt.Sprintf("D%d:1", i+1), "text": text(i)}}
		}
		var qa []object
		for range questions {
			qa = append(qa, object{"question": "What does Ann like?", "answer": "tea", "evidence": []string{"D2:1", "D5:1"}, "category": 1})
		}
		return map[string]string{"b.json": encoded([]object{{"sample_id": "conv-7", "conversation": talk, "qa": qa}})}
	},
	source.JSONL: func(questions int) map[string]string {
		var lines, docs []string
		for q := range questions {
			lines = append(lines, fmt.Sprintf(`{"id":"q%d","question":"What?","reference_answer":"tea","expected_paths":["raw/documents/1.md","4.md"]}`, q))
		}
		for i := range sessionsOf {
			docs = append(docs, fmt.Sprintf(`{"path":"%d.md","title":"T","text":"%s"}`, i, text(i)))
		}
		return map[string]string{"b.jsonl": strings.Join(lines, "\n") + "\n", "b.corpus.jsonl": strings.Join(docs, "\n") + "\n"}
	},
}

// text returns the text of a session.
func text(i int) string { return fmt.Sprintf("I like session-%d.", i) }

func encoded(v any) string {
	data, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(data)
}

// TestBaselinesOfEveryBenchmark: each baseline gives the reader what it says of each format.
// Sessions are drawn the same again, differently for questions that differ, and none is preferred.
func TestBaselinesOfEveryBenchmark(t *testing.T) {
	const questions = 240
	for _, format := range source.Formats() {
		t.Run(string(format), func(t *testing.T) {
			write := benchmarks[format]
			if write == nil {
				t.Fatal("the format is new: add a benchmark of it to benchmarks")
			}
			dir := t.TempDir()
			for name, content := range write(questions) {
				if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			names, err := filepath.Glob(filepath.Join(dir, "b.json*"))
			if err != nil || len(names) == 0 {
				t.Fatal(names, err)
			}
			b := open(t, names[0])
			if b.Format != format || len(b.Questions) != questions {
				t.Fatalf("%s with %d questions", b.Format, len(b.Questions))
			}
			want := map[Style]string{NoMemory: "", FullContext: "0 1 2 3 4 5", Oracle: "1 4"}
			drawn, how := map[string]int{}, map[string]bool{}
			for _, style := range Baselines {
				a := newActor(t, Config{Style: style, Reader: llm.NewFake(), Model: "fake", Benchmark: b})
				again := newActor(t, Config{Style: style, Reader: llm.NewFake(), Model: "fake", Benchmark: open(t, names[0])})
				for _, q := range b.Questions {
					got := sessionsShown(t, a, q)
					if style != RandomSession {
						if got != want[style] {
							t.Fatalf("%s: got %q, want %q", style, got, want[style])
						}
						continue
					}
					one := strings.Fields(got)
					if len(one) != 2 || one[0] == one[1] || sessionsShown(t, again, q) != got {
						t.Fatalf("drew %q, and again %q", got, sessionsShown(t, again, q))
					}
					how[got] = true
					for _, s := range one {
						drawn[s]++
					}
				}
			}
			// Each of 6 sessions is drawn for a third of the questions, with a standard deviation of 7.3.
			for s := range sessionsOf {
				if n := drawn[fmt.Sprint(s)]; n < 80-4*8 || n > 80+4*8 {
					t.Errorf("session %d was drawn %d times of %d", s, n, questions)
				}
			}
			if len(how) != 15 {
				t.Errorf("%d of 15 pairs were drawn: %v", len(how), slices.Sorted(maps.Keys(how)))
			}
		})
	}
}

// sessionsShown returns the numbers of the sessions that the reader is given.
func sessionsShown(t *testing.T, a *Actor, q source.Question) string {
	t.Helper()
	notes, err := a.sessionNotes(q.Dataset())
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, n := range notes {
		_, number, ok := strings.Cut(n.Text, "session-")
		if !ok {
			t.Fatalf("the note %q", n.Text)
		}
		got = append(got, number[:1])
	}
	return strings.Join(got, " ")
}

// TestDrawnWithoutGold: one session is drawn for a question without gold, and at most those that
// there are.
func TestDrawnWithoutGold(t *testing.T) {
	h := source.Haystack{Sessions: []source.Session{{Path: "a"}, {Path: "b"}, {Path: "c"}}}
	for gold, want := range map[int]int{0: 1, 1: 1, 2: 2, 3: 3, 9: 3} {
		q := source.Question{ID: "q", Gold: make([]string, gold)}
		if got := drawn(q, h); len(got) != want {
			t.Errorf("%d gold: drew %v", gold, got)
		}
	}
}
