package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"evalctl/harness/compare"
	"evalctl/harness/result"
	"evalctl/internal/filetest"
)

// conversations writes a benchmark like LoCoMo, of conversations with three questions each.
func conversations(t *testing.T, n int) string {
	t.Helper()
	type object = map[string]any
	var all []object
	for c := range n {
		talk := object{"speaker_a": "Ann", "speaker_b": "Bob"}
		var qa []object
		for s := range 4 {
			text := fmt.Sprintf("I mended fence %d.", 10*c+s)
			if s < 3 {
				text = fmt.Sprintf("My lantern c%dn%d is painted %s.", c, s, colour(c+s))
				qa = append(qa, object{
					"question": fmt.Sprintf("Which colour is lantern c%dn%d painted?", c, s), "answer": colour(c + s),
					"evidence": []string{fmt.Sprintf("D%d:1", s+1)}, "category": 4,
				})
			}
			talk[fmt.Sprintf("session_%d_date_time", s+1)] = fmt.Sprintf("1:56 pm on %d May, 2023", s+1)
			talk[fmt.Sprintf("session_%d", s+1)] = []object{{"speaker": "Ann", "dia_id": fmt.Sprintf("D%d:1", s+1), "text": text}}
		}
		all = append(all, object{"sample_id": fmt.Sprint("conv-", c), "conversation": talk, "qa": qa})
	}
	data, err := json.Marshal(all)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "conversations.json")
	filetest.Write(t, path, data)
	return path
}

// TestReplayMemory: what memory adds over each baseline is tested by conversation if that is wanted,
// and not wanted of too few of them.
func TestReplayMemory(t *testing.T) {
	t.Parallel()
	args := []string{"--sdk=go", "--model=fake", "--scorer=exact", "--cluster=brain", "--json", "--quiet", "--output=out"}
	for _, b := range result.Baselines {
		args = append(args, "--baseline="+string(b))
	}
	cmd := replayCommand(t, t.TempDir(), append(args, "--dataset="+conversations(t, 7))...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, &stderr)
	}
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	var arms struct {
		Sentences  []string
		Comparison compare.Comparison
	}
	if err := json.Unmarshal([]byte(lines[len(lines)-1]), &arms); err != nil {
		t.Fatal(err)
	}
	memory := arms.Comparison.Memory
	if len(memory) != 4 || len(arms.Sentences) < 4 {
		t.Fatalf("%+v\n%q", memory, arms.Sentences)
	}
	for i, e := range memory {
		if e.Baseline != result.Baselines[i] || e.N != 21 || e.Clusters != 7 || e.Difference == nil || e.Adjusted == nil {
			t.Errorf("%+v", e)
		}
	}
	// The offline reader declines without notes, and finds every lantern in the gold session.
	if d := *memory[0].Difference; d < 0.9 || memory[0].Verdict != compare.NotSeen && memory[0].Verdict != compare.Better {
		t.Errorf("over no memory %+v", memory[0])
	}
	if oracle := memory[3]; *oracle.Difference != 0 || oracle.Verdict != compare.NotSeen {
		t.Errorf("left to the oracle %+v", oracle)
	}
	if random := *memory[1].Difference; random <= 0 || random >= *memory[0].Difference {
		t.Errorf("over sessions drawn at random %v", random)
	}
	cmd = replayCommand(t, t.TempDir(), append(args, "--dataset="+conversations(t, 5))...)
	if out, err := cmd.CombinedOutput(); cmd.ProcessState.ExitCode() != exitUsage ||
		!strings.Contains(string(out), "--cluster brain: the questions are in 5 clusters, and with fewer than 6") {
		t.Errorf("%v\n%s", err, out)
	}
}
