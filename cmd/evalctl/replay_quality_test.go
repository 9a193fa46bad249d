package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"evalctl/harness/result"
	"evalctl/internal/longtest"
	"evalctl/internal/sharedtest"
)

// TestReplayEqualsRun: the metrics of retrieval of a replay of LoCoMo are those of evalctl run on
// the same conversations as a dataset with a corpus, in the same mode of the same daemon.
func TestReplayEqualsRun(t *testing.T) {
	longtest.Skip(t)
	file := sharedtest.Path(t, "locomo/locomo5.json")
	if raceDetector || testing.Short() {
		t.Skip("it asks 933 questions twice")
	}
	t.Parallel()
	var ran struct{ Retrieval result.Retrieval }
	task := sharedtest.Path(t, "neutral/locomo-session")
	runRetrieval(t, &ran, "bm25", filepath.Join(task, "questions.jsonl"), filepath.Join(task, "corpus.jsonl"),
		"--brain-tag", "conv", "--top-k", "50")
	dir := t.TempDir()
	cmd := replayCommand(t, dir, "--sdk=go", "--dataset="+file, "--scorer=retrieval", "--mode=bm25", "--top-k=50",
		"--output=replay.json", "--quiet")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	var replayed struct {
		Retrieval result.Retrieval
		Replay    result.Replay
	}
	data, err := os.ReadFile(filepath.Join(dir, "replay.json"))
	if err == nil {
		err = json.Unmarshal(data, &replayed)
	}
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(ran.Retrieval.Macro, replayed.Retrieval.Macro); diff != "" || replayed.Retrieval.Questions != 933 {
		t.Errorf("%d questions, run and replay differ:\n%s", replayed.Retrieval.Questions, diff)
	}
	for _, s := range replayed.Replay.Strata {
		tag := ran.Retrieval.ByTag["category:"+s.Name]
		if tag == nil || tag.N != s.WithGold {
			t.Errorf("stratum %s has %d questions with gold, the tag %+v", s.Name, s.WithGold, tag)
			continue
		}
		if diff := cmp.Diff(tag.Macro, s.Retrieval); diff != "" {
			t.Errorf("stratum %s: run and replay differ:\n%s", s.Name, diff)
		}
	}
}

// BenchmarkReplay replays three whole haystacks of LongMemEval: it fills their brains and scores
// the retrieval.
func BenchmarkReplay(b *testing.B) {
	file := sharedtest.Path(b, "longmemeval/longmemeval_s_3.json")
	for b.Loop() {
		cmd := replayCommand(b, b.TempDir(), "--sdk=go", "--dataset="+file, "--scorer=retrieval", "--output=replay.json", "--quiet")
		if out, err := cmd.CombinedOutput(); err != nil {
			b.Fatalf("%v\n%s", err, out)
		}
	}
}
