package replay_test

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"evalctl/harness"
	"evalctl/harness/launch"
	"evalctl/harness/plan"
	"evalctl/harness/result"
	"evalctl/internal/filetest"
	"evalctl/internal/llm"
	"evalctl/replay"
	"evalctl/replay/source"
)

// TestTrivial has four questions. The gold answer of the first stands in its haystack beside the
// question, that of the second alone and with more than four words, that of the third nowhere, and
// the fourth must be declined. The haystacks of the last two are all gold.
func TestTrivial(t *testing.T) {
	var instances []map[string]any
	for i, c := range []struct{ question, answer, text string }{
		{"Which colour is the lantern?", "teal", "Which colour is the lantern? Teal!"},
		{"Where did it rain?", "in the old orchard behind Ada's mill", "It rained in the old orchard, behind Ada's mill."},
		{"How many?", "four", "Two and two, and the fourteenth."},
		{"Who sang?", "nothing", "There is nothing."},
	} {
		id := fmt.Sprint("q", i)
		if i == 3 {
			id += "_abs"
		}
		gold := []string{"a" + id}
		if i >= 2 {
			gold = append(gold, "b"+id)
		}
		turn := func(text string) []map[string]string { return []map[string]string{{"role": "user", "content": text}} }
		instances = append(instances, map[string]any{
			"question_id": id, "question_type": "single-session-user", "question": c.question, "answer": c.answer,
			"question_date": "2023/05/30 (Tue) 23:40", "haystack_session_ids": []string{"a" + id, "b" + id},
			"haystack_dates": []string{"2023/05/01 (Mon) 10:00", "2023/05/02 (Tue) 10:00"}, "answer_session_ids": gold,
			"haystack_sessions": [][]map[string]string{turn(c.text), turn("A day without news.")},
		})
	}
	data, err := json.Marshal(instances)
	if err != nil {
		t.Fatal(err)
	}
	path := filetest.Write(t, filepath.Join(t.TempDir(), "b.json"), data)
	b, err := source.Open(t.Context(), path, source.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = b.Close() })
	c := newProvider(t).config(t, b, 20*llm.Dollar)
	c.Ingest = "bulk"
	profile := launch.Profile{Command: []string{"sleep", "{port}"}}
	c.Arms = append(c.Arms, replay.Arm{Name: "go", Calls: plan.Calls{DaemonEnv: &result.DaemonEnv{}}, Session: harness.SessionConfig{Profile: profile}})
	const keys = "key_in_memory 2 [q0 q1] 2 of 4 gold answers stand word for word in their haystack, " +
		"1 of them longer than four words, 1 beside their question"
	const gold = "all_gold 2 [q2 q3_abs] every document"
	for _, tt := range []struct {
		arm    int
		topK   int
		shared bool
		want   []string
	}{
		{0, 5, false, []string{gold, keys}}, // a baseline has no top-k
		{2, 2, false, []string{"top_k_covers_brain 4 [q0 q1 q2 q3_abs] top-k 2 ", gold, keys}},
		{2, 1, false, []string{gold, keys}},
		{2, 7, true, []string{keys}},
		{2, 8, true, []string{"top_k_covers_brain 4 ", keys}},
	} {
		c.TopK, c.Shared = tt.topK, tt.shared
		p, err := replay.New(c)
		if err != nil {
			t.Fatal(err)
		}
		got, err := p.Trivial(p.Arms[tt.arm])
		if err != nil || len(got) != len(tt.want) {
			t.Fatalf("%+v: %v, %+v", tt, err, got)
		}
		for i, w := range got {
			if text := fmt.Sprint(w.Kind, " ", w.Count, " ", w.IDs, " ", w.Message); !strings.HasPrefix(text, tt.want[i]) {
				t.Errorf("top-k %d, shared %v: %s\nwant %s", tt.topK, tt.shared, text, tt.want[i])
			}
		}
	}
}

// TestTrivialInResults: a result has what was said before the replay, and the baseline no-memory what
// it passed.
func TestTrivialInResults(t *testing.T) {
	out, _, err := run(t, newProvider(t).config(t, benchmark(t, 3), 20*llm.Dollar), t.TempDir())
	if err != nil || len(out) != 2 {
		t.Fatalf("%v, %+v", err, out)
	}
	for _, o := range out {
		got := o.Result.Replay.Trivial
		if len(got) != 1 || got[0].Kind != result.KeyInMemory || got[0].Count != 3 {
			t.Errorf("%s: %+v", o.Arm.Name, got)
		}
	}
	none := *out[1].Result
	if none.Passed = 2; none.Trivial()[1].Count != 2 {
		t.Errorf("%+v", none.Trivial())
	}
}
