package source

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"evalctl/harness/dataset"
)

// halu is a user of HaluMem, whose second session has a question about the first, and whose third is
// about something else. The fourth changes what the first told.
const halu = `{"uuid": "u-1", "persona_info": "Name: Ada Lark; Gender: F", "sessions": [` +
	`{"start_time": "Dec 1, 2025, 06:11:23", "end_time": "Dec 1, 2025, 06:30:00", "dialogue": [{"role": "user", "content": "I moved to Ghent."}, {"role": "assistant", "content": "Noted."}], "memory_points": [{"index": 1, "memory_content": "Ada moved to Ghent.", "is_update": "False"}]},` +
	`{"start_time": "Dec 2, 2025, 06:00:00", "end_time": "Dec 2, 2025, 06:30:00", "dialogue": [{"role": "user", "content": "It rains."}], "memory_points": [], "questions": [{"question": "Where does Ada live?", "answer": "In Ghent", "evidence": [{"memory_content": "Ada moved to Ghent.", "memory_type": "Event Memory"}], "question_type": "Basic Fact Recall"}]},` +
	`{"start_time": "Dec 3, 2025, 06:00:00", "end_time": "Dec 3, 2025, 06:30:00", "is_generated_qa_session": true, "dialogue": [{"role": "user", "content": ""}]},` +
	`{"start_time": "Dec 4, 2025, 06:00:00", "end_time": "Dec 4, 2025, 06:30:00", "dialogue": [{"role": "user", "content": "I moved to Bruges."}], "memory_points": [{"index": 1, "memory_content": "Ada moved to Bruges."}], "questions": [{"question": "And now?", "answer": "In Bruges", "evidence": [{"memory_content": "Ada moved to Bruges."}, {"memory_content": "Nobody said this."}], "question_type": ""}]}]}` + "\n"

// TestHaluMem: a question is about the sessions before it alone.
func TestHaluMem(t *testing.T) {
	b := open(t, writeFile(t, "halu.jsonl", halu), Options{})
	if b.Format != dataset.HaluMem || len(b.Questions) != 2 {
		t.Fatalf("%s: %+v", b.Format, b.Questions)
	}
	for i, want := range []struct {
		sessions    int
		gold        int
		kind, asked string
	}{
		{2, 0, "Basic Fact Recall", "2025-12-02T06:30:00Z"},
		{3, 2, noType, "2025-12-04T06:30:00Z"},
	} {
		q := b.Questions[i]
		h := haystack(t, b, q.Haystack)
		if len(h.Sessions) != want.sessions || !slices.Equal(q.Gold, []string{h.Sessions[want.gold].Path}) || q.Type != want.kind || q.Date != want.asked {
			t.Errorf("%+v about %+v", q, h.Sessions)
		}
	}
	if text := haystack(t, b, "u-1-002").Sessions[0].Text(); !strings.Contains(text, "user: I moved to Ghent.\n\nassistant: Noted.") {
		t.Errorf("%s", text)
	}
	var kinds []string
	for _, trap := range b.Report.Traps {
		kinds = append(kinds, trap.Kind)
	}
	if !slices.Equal(kinds, []string{"empty-session", "empty-turn", "gold-not-in-haystack"}) {
		t.Errorf("%v", kinds)
	}
	for _, c := range []struct{ from, to, want string }{
		{`"uuid": "u-1"`, `"uuid": ""`, "line 1: it has no uuid"},
		{"Dec 2, 2025, 06:00:00", "2025-12-02", `session 2: the start_time "2025-12-02" is not like Dec 15, 2025, 06:11:23`},
		{"Dec 2, 2025, 06:30:00", "noon", `the end_time "noon" is not like`},
	} {
		path := writeFile(t, "halu.jsonl", strings.Replace(halu, c.from, c.to, 1))
		if _, err := Open(t.Context(), path, Options{}); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("want %s, got %v", c.want, err)
		}
	}
}

// TestHaluMemBoundary: nobody said what a question of the memory's boundary asks.
func TestHaluMemBoundary(t *testing.T) {
	text := strings.Replace(halu, `"question_type": ""`, `"question_type": "Memory Boundary"`, 1)
	b := open(t, writeFile(t, "halu.jsonl", text), Options{})
	if q := b.Questions[1]; !q.Abstention || len(q.Dataset().ExpectedPaths) != 0 || b.Questions[0].Abstention {
		t.Errorf("%+v", b.Questions)
	}
	if got := fmt.Sprint(b.Report.Traps); !strings.Contains(got, "abstention-question") {
		t.Errorf("the traps are %s", got)
	}
}

// TestKeypoints: the keypoints of a summary in MemoryAgentBench are checks.
func TestKeypoints(t *testing.T) {
	b := open(t, writeFile(t, "rows.jsonl", `{"context": "A tale.", "questions": ["Summarize it."], "answers": [["It is a tale."]], "metadata": {"source": "sum", "keypoints": ["it is a tale", " ", "it is short"]}}
{"context": "Another.", "questions": ["a?", "b?"], "answers": [["a"], ["b"]], "metadata": {"source": "x", "keypoints": null}}
`), Options{})
	if q := b.Questions[0]; len(q.Checks) != 2 || q.Checks[1].Judge != "it is short" || q.Checks[1].Name != "keypoint" || q.Checks[1].Weight != 1 {
		t.Errorf("%+v", q.Checks)
	}
	if q := b.Questions[1]; q.Checks != nil {
		t.Errorf("%+v", q.Checks)
	}
}
