package actor

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"evalctl/harness/dataset"
	"evalctl/internal/llm"
	"evalctl/replay/source"
)

// sessionsOf is how many sessions the haystacks of benchmarks have.
const sessionsOf = 6

// benchmarks have for each format the files of a benchmark of questions about one haystack, of whose
// sessions the second and the fifth are gold, if the format has gold, or the fifth alone. The first file is the one to
// open.
var benchmarks = map[dataset.Format]func(questions int) [][2]string{
	dataset.LongMemEval: func(questions int) [][2]string {
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
		return [][2]string{{"b.json", encoded(all)}}
	},
	dataset.LoCoMo: func(questions int) [][2]string {
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
		return [][2]string{{"b.json", encoded([]object{{"sample_id": "conv-7", "conversation": talk, "qa": qa}})}}
	},
	dataset.BEAM: func(questions int) [][2]string {
		type object = map[string]any
		var turns [][]object
		for i := range sessionsOf {
			turns = append(turns, []object{{"role": "user", "id": i, "content": text(i), "time_anchor": "March-15-2024"}})
		}
		var probes []object
		for range questions {
			probes = append(probes, object{"question": "What do I like?", "answer": "tea", "rubric": []string{"says tea"}, "source_chat_ids": []int{1, 4}})
		}
		return [][2]string{
			{"7/chat.json", encoded([]object{{"batch_number": 1, "turns": turns}})},
			{"7/probing_questions/probing_questions.json", encoded(map[string][]object{"summarization": probes})},
		}
	},
	dataset.ConvoMem: func(questions int) [][2]string {
		type object = map[string]any
		says := func(i int) []object { return []object{{"speaker": "User", "text": text(i)}} }
		var conversations, items []object
		for i := range sessionsOf {
			conversations = append(conversations, object{"id": fmt.Sprint(i), "messages": says(i)})
		}
		for range questions {
			items = append(items, object{
				"question": "What do I like?", "answer": "tea", "category": "facts",
				"message_evidences": append(says(1), says(4)...), "conversations": conversations[1:2],
			})
		}
		return [][2]string{{"facts.json", encoded(object{"evidenceItems": items, "conversations": conversations, "contextSize": 6})}}
	},
	dataset.PersonaMem: func(questions int) [][2]string {
		var messages []map[string]string
		for i := range sessionsOf {
			messages = append(messages, map[string]string{"role": "system", "content": text(i)})
		}
		rows := []string{"question_id,question_type,question,correct_answer,all_options,shared_context_id,end_index_in_shared_context"}
		for q := range questions {
			rows = append(rows, fmt.Sprintf(`q%d,facts,What do I like?,(b),"['(a) Milk.', '(b) Tea.']",c0ffee,%d`, q, sessionsOf))
		}
		return [][2]string{
			{"questions_32k.csv", strings.Join(rows, "\n") + "\n"},
			{"shared_contexts_32k.jsonl", encoded(map[string]any{"c0ffee": messages}) + "\n"},
		}
	},
	dataset.MemoryAgentBench: func(questions int) [][2]string {
		var context strings.Builder
		for i := range sessionsOf { // each is more than half of a part
			context.WriteString(text(i) + strings.Repeat(" x", 5<<10) + "\n")
		}
		row := map[string]any{"context": context.String(), "metadata": map[string]any{"source": "eventqa"}}
		var asked []string
		var answers [][]string
		for range questions {
			asked, answers = append(asked, "What do I like?"), append(answers, []string{"tea"})
		}
		row["questions"], row["answers"] = asked, answers
		return [][2]string{{"rows.jsonl", encoded(row) + "\n"}}
	},
	dataset.AgentMemory: func(questions int) [][2]string {
		type object = map[string]any
		var queries, documents []object
		for q := range questions {
			queries = append(queries, object{"id": fmt.Sprint("q", q), "query": "What do I like?", "gold_answers": []string{"tea"}, "gold_ids": []string{"d1", "d4"}, "user_id": "u"})
		}
		for i := range sessionsOf {
			documents = append(documents, object{"id": fmt.Sprint("d", i), "content": text(i), "user_id": "u", "timestamp": fmt.Sprintf("2023-05-%02dT10:00:00Z", i+1)})
		}
		return [][2]string{{"queries.json", encoded(queries)}, {"documents.json", encoded(documents)}}
	},
	dataset.LettaFacts: func(questions int) [][2]string {
		var facts, asked, answers []string
		var gold [][]int
		for i := range sessionsOf {
			facts = append(facts, text(i))
		}
		for range questions {
			asked, answers, gold = append(asked, "What do I like?"), append(answers, "tea"), append(gold, []int{1, 4})
		}
		return [][2]string{{"rows.jsonl", encoded(map[string]any{
			"question": asked, "answer": answers, "facts": facts, "supporting_fact_indices": gold,
		}) + "\n"}}
	},
	dataset.HaluMem: func(questions int) [][2]string {
		type object = map[string]any
		var sessions, asked []object
		for range questions {
			asked = append(asked, object{"question": "What do I like?", "answer": "tea", "question_type": "facts",
				"evidence": []object{{"memory_content": "fact 1"}, {"memory_content": "fact 4"}}})
		}
		for i := range sessionsOf {
			s := object{
				"start_time": fmt.Sprintf("Dec %d, 2025, 06:00:00", i+1), "end_time": fmt.Sprintf("Dec %d, 2025, 07:00:00", i+1),
				"dialogue": []object{{"role": "user", "content": text(i)}}, "memory_points": []object{{"memory_content": fmt.Sprint("fact ", i)}},
			}
			if i == sessionsOf-1 {
				s["questions"] = asked
			}
			sessions = append(sessions, s)
		}
		return [][2]string{{"halu.jsonl", encoded(object{"uuid": "u", "persona_info": "Ada", "sessions": sessions}) + "\n"}}
	},
	dataset.LoCoMoPlus: func(questions int) [][2]string {
		type object = map[string]any
		talk := object{"speaker_a": "Ann", "speaker_b": "Bob"}
		for i := range sessionsOf - 1 {
			n := i
			if i == sessionsOf-2 {
				n++ // after the one that is added, a week before it
			}
			talk[fmt.Sprintf("session_%d_date_time", i+1)] = fmt.Sprintf("1:56 pm on %d May, 2023", 10+10*(n/5)+n)
			talk[fmt.Sprintf("session_%d", i+1)] = []object{{"speaker": "Ann", "dia_id": fmt.Sprintf("D%d:1", i+1), "text": text(n)}}
		}
		var entries []object
		for range questions {
			entries = append(entries, object{"cue_dialogue": "A: " + text(4), "trigger_query": "A: What do I like?", "time_gap": "two weeks later"})
		}
		return [][2]string{
			{"plus.json", encoded(entries)},
			{"locomo10.json", encoded([]object{{"sample_id": "conv-7", "conversation": talk, "qa": []object{}}})},
		}
	},
	dataset.LongMemEval2: func(questions int) [][2]string {
		type object = map[string]any
		var states []object
		for i := range sessionsOf {
			states = append(states, object{"url": "http://shop.test", "accessibility_tree": text(i), "action": "click", "thought": "Go on."})
		}
		var lines []string
		ids := map[string][]string{}
		for q := range questions {
			id := fmt.Sprint("q", q)
			ids[id] = []string{"t1"}
			lines = append(lines, encoded(object{"id": id, "domain": "web", "question_type": "procedure", "question": "What do I like?", "answer": "tea", "eval_function": "x"}))
		}
		return [][2]string{
			{"questions.jsonl", strings.Join(lines, "\n") + "\n"},
			{"haystacks/lme_v2_small.json", encoded(ids)},
			{"trajectories.jsonl", encoded(object{"id": "t1", "goal": "Buy tea", "states": states}) + "\n"},
		}
	},
	dataset.LifeBench: func(questions int) [][2]string {
		type object = map[string]any
		var records, asked []object
		for i := range sessionsOf {
			records = append(records, object{"phone_id": i, "type": "sms", "message_content": text(i), "datetime": fmt.Sprintf("2025-01-%02d 10:00:00", i+1)})
		}
		for range questions {
			asked = append(asked, object{"question": "What do I like?", "answer": "tea", "ask_time": "2025-02", "question_type": "Single_hop",
				"evidence": []object{{"type": "sms", "id": 1}, {"type": "sms", "id": "4"}}})
		}
		return [][2]string{{"ada/QA/QA.json", encoded(asked)}, {"ada/phone_data/sms.json", encoded(records)}}
	},
	dataset.BEIR: func(questions int) [][2]string {
		type object = map[string]any
		var queries, documents []string
		qrels := []string{"query-id\tcorpus-id\tscore"}
		for q := range questions {
			queries = append(queries, encoded(object{"_id": fmt.Sprint("q", q), "text": "What do I like?"}))
			qrels = append(qrels, fmt.Sprintf("q%d\td1\t2", q), fmt.Sprintf("q%d\td4\t1", q))
		}
		for i := range sessionsOf {
			documents = append(documents, encoded(object{"_id": fmt.Sprint("d", i), "title": "T", "text": text(i)}))
		}
		lines := func(list []string) string { return strings.Join(list, "\n") + "\n" }
		return [][2]string{{"queries.jsonl", lines(queries)}, {"corpus.jsonl", lines(documents)}, {"qrels/test.tsv", lines(qrels)}}
	},
	dataset.JSONL: func(questions int) [][2]string {
		var lines, docs []string
		for q := range questions {
			lines = append(lines, fmt.Sprintf(`{"id":"q%d","question":"What?","reference_answer":"tea","expected_paths":["raw/documents/1.md","4.md"]}`, q))
		}
		for i := range sessionsOf {
			docs = append(docs, fmt.Sprintf(`{"path":"%d.md","title":"T","text":"%s"}`, i, text(i)))
		}
		return [][2]string{{"b.jsonl", strings.Join(lines, "\n") + "\n"}, {"b.corpus.jsonl", strings.Join(docs, "\n") + "\n"}}
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

// writeFormat writes a benchmark of a format and returns the path of the file to open.
func writeFormat(t *testing.T, format dataset.Format, questions int) (path string) {
	t.Helper()
	write := benchmarks[format]
	if write == nil {
		t.Fatal("the format is new: add a benchmark of it to benchmarks")
	}
	dir := t.TempDir()
	for _, f := range write(questions) {
		to := filepath.Join(dir, filepath.FromSlash(f[0]))
		err := os.MkdirAll(filepath.Dir(to), 0o755)
		if err == nil {
			err = os.WriteFile(to, []byte(f[1]), 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
		path = cmp.Or(path, to)
	}
	return path
}

// TestBaselinesOfEveryBenchmark: each baseline gives the reader what it says of each format.
// Sessions are drawn the same again, differently for questions that differ, and none is preferred. A
// format without gold has no oracle.
func TestBaselinesOfEveryBenchmark(t *testing.T) {
	const questions = 240
	for _, format := range source.Formats() {
		if format == dataset.PrefEval {
			continue // whose haystacks have one session each, so that nothing can be drawn
		}
		t.Run(string(format), func(t *testing.T) {
			path := writeFormat(t, format, questions)
			b := open(t, path)
			if b.Format != format || len(b.Questions) != questions {
				t.Fatalf("%s with %d questions", b.Format, len(b.Questions))
			}
			want := map[Style]string{NoMemory: "", FullContext: "0 1 2 3 4 5", Oracle: "1 4"}
			if format == dataset.LoCoMoPlus {
				want[Oracle] = "4" // the only session that is added
			}
			gold := len(b.Questions[0].Gold)
			draws := max(1, gold)
			withoutGold := format == dataset.PersonaMem || format == dataset.MemoryAgentBench || format == dataset.LongMemEval2
			if gold == 0 != withoutGold || gold != 0 && gold != len(strings.Fields(want[Oracle])) {
				t.Fatalf("%d gold", gold)
			}
			drawn, how := map[string]int{}, map[string]bool{}
			for _, style := range Baselines {
				config := Config{Style: style, Reader: llm.NewFake(), Model: "fake", Benchmark: b}
				if style == Oracle && gold == 0 {
					if _, err := New(config); err == nil || !strings.Contains(err.Error(), "no question") {
						t.Errorf("an oracle without gold: %v", err)
					}
					continue
				}
				a := newActor(t, config)
				config.Benchmark = open(t, path)
				again := newActor(t, config)
				for _, q := range b.Questions {
					got := sessionsShown(t, a, q)
					if style != RandomSession {
						if got != want[style] {
							t.Fatalf("%s: got %q, want %q", style, got, want[style])
						}
						continue
					}
					if one := strings.Fields(got); len(slices.Compact(one)) != draws || sessionsShown(t, again, q) != got {
						t.Fatalf("drew %q, and again %q", got, sessionsShown(t, again, q))
					}
					how[got] = true
					for _, s := range strings.Fields(got) {
						drawn[s]++
					}
				}
			}
			// The standard deviation of how often each of 6 sessions is drawn is at most 7.3.
			for s := range sessionsOf {
				if n, mean := drawn[fmt.Sprint(s)], draws*questions/sessionsOf; n < mean-4*8 || n > mean+4*8 {
					t.Errorf("session %d was drawn %d times of %d", s, n, questions)
				}
			}
			if ways := map[int]int{1: 6, 2: 15}[draws]; len(how) != ways {
				t.Errorf("%d of %d sets were drawn: %v", len(how), ways, slices.Sorted(maps.Keys(how)))
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
