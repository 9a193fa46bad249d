package source_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"evalctl/replay/source"
)

func Example() {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "benchmark.json")
	err = os.WriteFile(path, []byte(`[{
		"question_id": "e47becba", "question_type": "single-session-user", "answer": 7,
		"question": "How many cups?", "question_date": "2023/05/30 (Tue) 23:40",
		"answer_session_ids": ["answer_1"], "haystack_session_ids": ["chat_9", "answer_1"],
		"haystack_dates": ["2023/05/21 (Sun) 08:00", "2023/05/20 (Sat) 02:21"],
		"haystack_sessions": [
			[{"role": "user", "content": "Hello."}],
			[{"role": "user", "content": "I have seven cups.", "has_answer": true}]
		]
	}]`), 0o600)
	if err != nil {
		fmt.Println(err)
		return
	}
	b, err := source.Open(context.Background(), path, source.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer b.Close()
	for _, q := range b.Questions {
		fmt.Println(q.ID, q.Type, q.Text, q.Answer, q.Gold)
		h, err := b.Haystack(q.Haystack)
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Printf("%s\n%s", h.Documents()[0].Path, h.Documents()[0].Data)
	}
	for _, t := range b.Report.Traps {
		fmt.Printf("%d %s: %s\n", t.Count, t.Kind, t.Handling)
	}
	// Output:
	// e47becba single-session-user How many cups? 7 [lme/e47becba-878689/session-001.md]
	// lme/e47becba-878689/session-001.md
	// ---
	// date: 2023-05-20T02:21:00Z
	// ---
	//
	// # Session 1, 2023/05/20 (Sat) 02:21
	//
	// Date: 2023/05/20 (Sat) 02:21
	//
	// user: I have seven cups.
	// 1 answer-not-text: the number is the answer, as the file writes it
	// 1 session-id-names-gold: not sent: sessions are numbered by date
	// 1 sessions-not-in-date-order: sorted by date
	// 1 turn-marked-as-gold: the mark is not sent
}
