package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"evalctl/internal/awaittest"
	"evalctl/internal/filetest"
	"evalctl/internal/longtest"
)

// lanterns writes a benchmark file like LongMemEval, with facts that are not in the real one.
func lanterns(t *testing.T, questions int) string {
	t.Helper()
	type turn map[string]any
	var instances []map[string]any
	for i := range questions {
		id := fmt.Sprintf("q%02d", i)
		gold := i % 4
		var sessions [][]turn
		var ids, dates []string
		for s := range 4 {
			text := fmt.Sprintf("Today I repaired fence number %d in garden %d.", 100*i+s, s)
			if s == gold {
				text = fmt.Sprintf("My lantern %s is painted %s.", id, colour(i))
			}
			sessions = append(sessions, []turn{
				{"role": "user", "content": text}, {"role": "assistant", "content": "Noted, thank you."},
			})
			ids = append(ids, fmt.Sprintf("%s_s%d", id, s))
			dates = append(dates, fmt.Sprintf("2023/05/%02d (%s) 10:00", 1+s, []string{"Mon", "Tue", "Wed", "Thu"}[s]))
		}
		instances = append(instances, map[string]any{
			"question_id": id, "question_type": []string{"single-session-user", "multi-session"}[i%2],
			"question": fmt.Sprintf("Which colour is lantern %s painted?", id), "answer": colour(i),
			"question_date": "2023/05/30 (Tue) 23:40", "haystack_session_ids": ids, "haystack_dates": dates,
			"haystack_sessions": sessions, "answer_session_ids": []string{ids[gold]},
		})
	}
	data, err := json.Marshal(instances)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "benchmark.json")
	filetest.Write(t, path, data)
	return path
}

func colour(i int) string {
	return []string{"crimson", "turquoise", "ochre", "violet", "ivory"}[i%5] + []string{" matt", " gloss", ""}[i%3]
}

// replayCommand returns the command of a replay with the offline models.
func replayCommand(t testing.TB, dir string, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "evalctl", append([]string{"replay"}, args...)...) // see TestMain
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "SVC_LLM_PROVIDER=fake", "SVC_CACHE_DIR="+filepath.Join(dir, "cache"))
	return cmd
}

// maxKills is how often one replay is killed.
const maxKills = 3

// TestReplayKilled: a replay that is killed at any instant, and continued as often as needed, has
// the same results as one that was not interrupted, times and what counts interruptions aside. The
// first kill of a round follows a request to the daemon, of another part of the replay in each
// round, the others follow a random time.
func TestReplayKilled(t *testing.T) {
	t.Parallel()
	kills := longtest.Rounds(6, 15)
	if testing.Short() {
		kills = 4
	}
	if *full {
		kills = 50
	}
	file := lanterns(t, 12)
	args := []string{
		"--sdk=go", "--without-memory=oracle", "--dataset=" + file, "--concurrency=3", "--output=out", "--cache=off",
	}
	whole := t.TempDir()
	began := time.Now()
	if out, err := replayCommand(t, whole, args...).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	took := time.Since(began)
	requests := loggedBy(whole)
	want := outcome(t, whole)
	seed := time.Now().UnixNano()
	t.Logf("seed %d, %v uninterrupted", seed, took)
	random := rand.New(rand.NewPCG(uint64(seed), 1))
	resumed := 0
	for i := range kills {
		dir := t.TempDir()
		attempt := 0
		for again, done := args, false; !done; attempt++ {
			var stderr bytes.Buffer
			cmd := replayCommand(t, dir, again...)
			cmd.Stderr = &stderr
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			began := time.Now()
			wait := func(ended <-chan struct{}) { pause(ended, time.Duration(random.Int64N(int64(took)))) }
			switch attempt {
			case 0:
				nth := (int64(i)*requests + random.Int64N(requests)) / int64(kills)
				wait = func(ended <-chan struct{}) {
					for loggedBy(dir) <= nth && pause(ended, time.Millisecond) {
					}
				}
			case maxKills:
				wait = func(ended <-chan struct{}) { pause(ended, commandTimeout) }
			}
			ended, killed := make(chan struct{}), make(chan struct{})
			go func() {
				defer close(killed)
				wait(ended)
				_ = cmd.Process.Kill()
			}()
			err := cmd.Wait()
			close(ended)
			awaittest.Receive(t, "killed", killed)
			exit, failed := errors.AsType[*exec.ExitError](err)
			if failed && exit.ExitCode() != -1 {
				t.Fatalf("kill %d: %v after %q\n%s", i, err, again, &stderr)
			}
			if done = err == nil; done {
				took = min(took, time.Since(began)) // of a machine that is less busy
			}
			begun, err := os.ReadFile(filepath.Join(dir, "out", "replay.ledger"))
			if bytes.ContainsRune(begun, '\n') {
				again = []string{"--resume=out/replay.ledger"}
				resumed++
			} else if err != nil && !errors.Is(err, fs.ErrNotExist) {
				t.Fatal(err)
			} else if _, err := os.Stat(filepath.Join(dir, "out", "oracle.json")); err == nil {
				done = true // killed after everything was written
			}
		}
		if diff := cmp.Diff(want, outcome(t, dir)); diff != "" {
			t.Fatalf("kill %d: %s", i, diff)
		}
	}
	t.Logf("%d kills, %d resumes", kills, resumed)
}

// pause waits for some time. It reports false if ended is closed before.
func pause(ended <-chan struct{}, d time.Duration) bool {
	select {
	case <-ended:
		return false
	case <-time.After(d):
		return true
	}
}

// loggedBy returns how many bytes the log of the daemon has, which logs each request.
func loggedBy(dir string) int64 {
	info, err := os.Stat(filepath.Join(dir, "out", "go.daemon.log"))
	if err != nil {
		return 0 // it has not been started
	}
	return info.Size()
}

// incidental are the keys of a result that depend on when it was made and how often it was
// interrupted.
var incidental = map[string]bool{
	"started_at": true, "finished_at": true, "resumed": true, "latency": true, "felt": true, "first_delta": true,
	"latency_ms": true, "asked_at": true, "judged_at": true, "judge_ms": true, "search_ms": true, "felt_ms": true, "first_delta_ms": true, "timeline": true, "reused": true, "seconds": true,
	"daemon_seen": true, "together": true,
	// What was asked again is counted again, and requests to an earlier process or to a worker's
	// gateway are not.
	"tokens_by_model": true, "cost": true, "model_requests": true,
}

// outcome returns the results of a replay without what is incidental.
func outcome(t *testing.T, dir string) map[string]any {
	t.Helper()
	out := map[string]any{}
	for _, name := range []string{"go", "oracle"} {
		data := filetest.Read(t, filepath.Join(dir, "out", name+".json"))
		var v any
		if err := json.Unmarshal(data, &v); err != nil {
			t.Fatal(err)
		}
		out[name] = essential(v)
	}
	return out
}

func essential(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for key, value := range v {
			if incidental[key] {
				delete(v, key)
			} else {
				v[key] = essential(value)
			}
		}
	case []any:
		for i := range v {
			v[i] = essential(v[i])
		}
	}
	return v
}
