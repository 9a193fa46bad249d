package dataset

import (
	"fmt"
	"strings"
)

// lostParts maps keys of published benchmarks to parts that a table of questions cannot keep.
var lostParts = map[string]string{
	"options": "options", "all_options": "options", "choices": "options", "incorrect_answers": "options",
	"classification_task_options": "options",
	"gold_answers":                "gold answers in a list", "gold_ids": "gold documents",
	"chat_history_32k_link": "the history of chats", "shared_context_id": "the context of the question",
	"score_points": "a rubric", "rubric": "a rubric",
	"cue_dialogue": "a conversation", "haystack_sessions": "conversations",
	"explanation": "a preference to follow", "supporting_fact_indices": "facts",
}

// checkLost returns an error for a record from a benchmark that would lose parts needed to answer
// or judge its question.
func checkLost(name string, r record) error {
	has := func(key string) bool {
		for _, c := range r.cells {
			if c.key == key && c.raw() != nil {
				return true
			}
		}
		return false
	}
	for _, c := range r.cells {
		what := lostParts[c.key]
		if what == "" || c.raw() == nil || c.key == "explanation" && !has("preference") {
			continue
		}
		var known []string
		for _, b := range benchmarks {
			known = append(known, b.Title)
		}
		return &LineError{File: name, Line: r.line, Err: fmt.Errorf("the key %q has %s, which a table of questions cannot keep: it looks like a "+
			"benchmark in a layout that is not known; known are %s. If the questions are complete without it, remove the key",
			c.key, what, strings.Join(known, ", "))}
	}
	return nil
}
