package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"evalctl/harness/result"
	"evalctl/internal/filetest"
	"evalctl/internal/llm/llmtest"
	"evalctl/internal/postgres/postgrestest"
)

// queueRig is a queue with workers that are real processes.
type queueRig struct {
	t     *testing.T
	url   string
	env   []string
	files string
	flags []string
	// proxied are the URLs of the queue for workers that have one of their own.
	proxied map[int]string
}

// worker starts a worker with a cache folder of its own.
func (r *queueRig) worker(n int) (*exec.Cmd, *bytes.Buffer) {
	r.t.Helper()
	var stderr bytes.Buffer
	cmd := exec.CommandContext(context.Background(), "evalctl", append([]string{"serve", "worker", "--lease=2s", "--concurrency=3",
		"--cache-dir=" + filepath.Join(r.files, fmt.Sprintf("cache%d", n))}, r.flags...)...)
	cmd.Env = append(os.Environ(), "SVC_QUEUE="+cmp.Or(r.proxied[n], r.url))
	cmd.Env = append(cmd.Env, r.env...)
	cmd.Dir, cmd.Stderr, cmd.Stdout = r.files, &stderr, &stderr
	if err := cmd.Start(); err != nil {
		r.t.Fatal(err)
	}
	return cmd, &stderr
}

// stop ends a worker as a service manager does, and returns what it printed.
func (r *queueRig) stop(cmd *exec.Cmd, stderr *bytes.Buffer) {
	r.t.Helper()
	_ = cmd.Process.Signal(syscall.SIGTERM) // in a shell's background job, an interrupt is ignored
	if err := cmd.Wait(); err != nil {
		r.t.Errorf("worker: %v\n%s", err, stderr)
	}
}

// killing runs n workers, and kills and replaces one every second until stop is called.
func (r *queueRig) killing(n int, random *rand.Rand) (stop func()) {
	type running struct {
		cmd    *exec.Cmd
		stderr *bytes.Buffer
	}
	var workers []running
	for i := range n {
		cmd, stderr := r.worker(i)
		workers = append(workers, running{cmd, stderr})
	}
	quit, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		kills := 0
		for {
			select {
			case <-time.After(time.Second):
			case <-quit:
				r.t.Logf("%d kills", kills)
				return
			}
			i := random.IntN(n)
			_ = workers[i].cmd.Process.Kill()
			_ = workers[i].cmd.Wait()
			kills++
			cmd, stderr := r.worker(i)
			workers[i] = running{cmd, stderr}
		}
	}()
	return func() {
		close(quit)
		<-done
		for _, w := range workers {
			_ = w.cmd.Process.Kill()
			_ = w.cmd.Wait()
		}
		if r.t.Failed() {
			r.t.Logf("the last worker:\n%s", workers[n-1].stderr)
		}
	}
}

// TestReplayQueue: two workers make the result that one process makes, times aside: each with a
// daemon of its own, whose calls to its models are counted, or with one daemon for all.
func TestReplayQueue(t *testing.T) {
	t.Parallel()
	rig := &queueRig{t: t, url: postgrestest.Database(t), files: t.TempDir()}
	model := llmtest.NewServer(t, lanternModel)
	endpoint, _ := serveProcess(t, nil)
	rig.env = []string{"SVC_LLM_PROVIDER=openai", "OPENAI_API_KEY=" + llmSecret, "OPENAI_BASE_URL=" + model.URL}
	for n := range 2 {
		cmd, stderr := rig.worker(n)
		defer rig.stop(cmd, stderr)
	}
	for name, args := range map[string][]string{
		"a daemon for each": {
			"--without-memory=oracle", "--without-memory=no-memory", "--without-memory=full-context", "--without-memory=random-session", "--model=fake",
		},
		"a scorer of one's own": {"--without-memory=oracle", "--model=fake", "--scorer=cmd:sh " + shortScorer(t)},
		"a daemon for all":      {"--without-memory=oracle", "--model=fake", "--endpoint=" + endpoint},
		"the daemon answers": {
			"--without-memory=oracle", "--model=gpt-4o-mini", "--scorer=exact", "--actor-style=full", "--ingest-mode=replay",
		},
	} {
		t.Run(name, func(t *testing.T) {
			args = append(args, "--sdk=go", "--dataset="+lanterns(t, 8), "--output=out", "--cache=off")
			whole, dir := t.TempDir(), t.TempDir()
			if code, out := paidReplay(t, whole, rig.env[2:], args...); code != 0 {
				t.Fatalf("exit code %d\n%s", code, out)
			}
			code, out := paidReplay(t, dir, append(rig.env[2:], "SVC_QUEUE="+rig.url), args...)
			if code != 0 || strings.Contains(out, "no worker") {
				t.Fatalf("exit code %d\n%s", code, out)
			}
			if diff := gocmp.Diff(unadmitted(queued(outcome(t, whole))), unadmitted(outcome(t, dir))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// shortScorer writes a program that passes answers of up to 24 characters, and returns its path.
func shortScorer(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "score.sh")
	if err := os.WriteFile(path, []byte(`read -r handshake
echo '{"protocol": 1, "name": "short", "version": "1", "needs": []}'
while read -r line; do
  id=$(printf '%s' "$line" | sed 's/^{"id":\([0-9]*\),.*/\1/')
  have=$(printf '%s' "$line" | sed 's/.*"answer":"\([^"]*\)".*/\1/')
  score=0
  if [ ${#have} -le 24 ]; then score=1; fi
  echo "{\"id\": $id, \"score\": $score, \"reason\": \"${#have} characters\"}"
done
`), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestReplayQueueResumed: a run that its only worker refuses ends and says why. Resumed in another
// folder with a worker that can take it, it stops because its model fails, and once that answers,
// the questions that failed are asked again: the result is that of one process.
func TestReplayQueueResumed(t *testing.T) {
	t.Parallel()
	const n = 16
	broken := &atomic.Bool{}
	broken.Store(true)
	model := llmtest.NewServer(t, func(c llmtest.Call) llmtest.Reply {
		if broken.Load() {
			return llmtest.Reply{Status: http.StatusBadRequest, Body: `{"error": {"message": "no such model"}}`, Latency: 200 * time.Millisecond}
		}
		return lanternModel(c)
	})
	rig := &queueRig{t: t, url: postgrestest.Database(t), files: t.TempDir(), flags: []string{"--concurrency=1"}}
	env := []string{"OPENAI_BASE_URL=" + model.URL}
	queued := append(env, "SVC_QUEUE="+rig.url)
	args := []string{
		"--without-memory=oracle", "--dataset=" + lanterns(t, n), "--model=gpt-4o-mini", "--scorer=exact", "--cache=off",
		"--max-cost-usd=5", "--concurrency=1", "--output=out/oracle.json",
	}
	expect := func(dir string, env []string, code int, want string, args ...string) (out string) {
		t.Helper()
		got, out := paidReplay(t, dir, env, args...)
		if got != code || !strings.Contains(out, want) {
			t.Fatalf("exit code %d instead of %d, want %q\n%s", got, code, want, out)
		}
		return out
	}

	refusing, stderr := rig.worker(0) // without the key of the model
	first := t.TempDir()
	out := expect(first, queued, exitDaemon, "refuses the run: --model: provider openai needs a key", append(args, "--queue-wait=2s")...)
	rig.stop(refusing, stderr)
	run := runLine.FindStringSubmatch(out)
	if run == nil || !strings.Contains(out, "with the same queue: evalctl serve worker") || !strings.Contains(out, "once a worker can take the questions, continue with") {
		t.Fatalf("no run to resume:\n%s", out)
	}
	if res := readResult(t, filepath.Join(first, "out", "oracle.json")); res.Stopped != result.StopNoWorkers {
		t.Errorf("stopped by %q", res.Stopped)
	}

	rig.env = append(env, "SVC_LLM_PROVIDER=openai", "OPENAI_API_KEY="+llmSecret)
	willing, stderr := rig.worker(1)
	defer rig.stop(willing, stderr)
	resume := []string{"--resume=" + run[1], "--output=out/oracle.json"}
	expect(t.TempDir(), queued, exitDaemon, "--retry-errors", resume...)
	whole := t.TempDir()
	expect(whole, env, exitDaemon, "--retry-errors", args...)
	broken.Store(false)
	dir := t.TempDir()
	expect(dir, queued, 0, "", append(resume, "--retry-errors")...)
	expect(whole, env, 0, "", "--resume=out/oracle.ledger", "--retry-errors")
	one, many := recordsOf(t, whole), recordsOf(t, dir)
	if len(many) != n || len(one) != n {
		t.Fatalf("%d records, without a queue %d", len(many), len(one))
	}
	for i, q := range many {
		if !q.Passed || q.Passed != one[i].Passed || q.Answer != one[i].Answer || i < 8 && (q.Tries != 2 || q.FirstTry == nil) {
			t.Errorf("%+v\nwithout a queue %+v", q, one[i])
		}
	}
}

// recordsOf returns the questions of a result of oracle.
func recordsOf(t *testing.T, dir string) []result.Record {
	t.Helper()
	data := filetest.Read(t, filepath.Join(dir, "out", "oracle.json"))
	var res struct{ Questions []result.Record }
	if err := json.Unmarshal(data, &res); err != nil {
		t.Fatal(err)
	}
	return res.Questions
}
