package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"evalctl/harness/daemontest"
	"evalctl/harness/journal"
	"evalctl/harness/result"
	"evalctl/harness/resultfile"
	"evalctl/harness/verify"
	"evalctl/harness/wording"
	"evalctl/internal/filetest"
	"evalctl/internal/llm"
	"evalctl/internal/llm/llmtest"
	"evalctl/internal/longtest"
)

// till is the provider of a judge, which keeps its own bill: for each request that arrives, whether
// or not its reply does.
type till struct {
	mu     sync.Mutex
	random *rand.Rand
	calls  int
	bill   llm.USD
	last   int    // the number of the request at which hangUp is called
	hangUp func() // may be nil
}

// reply answers slowly, with reasoning that only the total shows. It loses some replies that it
// charges for, and rejects some requests for nothing.
func (v *till) reply(c llmtest.Call) llmtest.Reply {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.calls++
	if v.hangUp != nil && v.calls == v.last {
		v.hangUp()
	}
	price, _ := llm.DefaultPrices().Of(llm.ProviderOpenAI, c.Model)
	in, reasoning := len(c.Body)/4, v.random.IntN(100)
	late := time.Duration(v.random.IntN(30)) * time.Millisecond
	switch v.random.IntN(20) {
	case 0:
		v.bill += price.Cost(llm.Usage{InputTokens: in})
		return llmtest.Reply{Status: 504, RetryAfter: "0", Latency: late}
	case 1:
		return llmtest.Reply{Status: 429, RetryAfter: "0"}
	}
	v.bill += price.Cost(llm.Usage{InputTokens: in, OutputTokens: 10 + reasoning})
	return llmtest.Reply{
		Text: lanternModel(c).Text, Latency: late,
		Usage: fmt.Sprintf(`{"prompt_tokens":%d,"completion_tokens":10,"total_tokens":%d}`, in, in+10+reasoning),
	}
}

// hangUpAfter has a function called when a number of further requests have arrived.
func (v *till) hangUpAfter(requests int, hangUp func()) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.last, v.hangUp = v.calls+requests, hangUp
}

func (v *till) total() (llm.USD, int) {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.bill, v.calls
}

// killedRun is a run that is killed and resumed.
type killedRun struct {
	t       *testing.T
	dir     string
	till    *till
	env     []string
	started []string // the arguments that begin it
}

const killedConcurrency = 4

// TestRunKilled: whenever a run is killed, the true bill is within what it says that it spent, at
// least what it says without the requests that were in flight, of which there is at most one for
// each worker.
func TestRunKilled(t *testing.T) {
	t.Parallel()
	kills := longtest.Rounds(6, 12)
	if testing.Short() {
		kills = 4
	}
	if *full {
		kills = 30
	}
	seed := time.Now().UnixNano()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(uint64(seed), 2))
	for n := 0; n < kills; {
		n += startKilledRun(t, random).play(min(kills-n, 6), random)
	}
}

func startKilledRun(t *testing.T, random *rand.Rand) *killedRun {
	v := &till{random: rand.New(rand.NewPCG(random.Uint64(), 3))}
	provider := llmtest.NewServer(t, v.reply)
	daemon := daemontest.New(t, func(w http.ResponseWriter, _ *http.Request, c daemontest.Call) {
		if question, ok := c.Body["question"].(string); ok {
			daemontest.Stream(w, daemontest.AnswerTo(question))
			return
		}
		_, _ = io.WriteString(w, `{"ok":true,"version":"1","items":[{"id":"eval","path":"a.md"}],"chunks":[{"chunk_id":"c","path":"a.md","text":"a","score":1}]}`)
	})
	dir := t.TempDir()
	var questions strings.Builder
	for i := range 60 {
		fmt.Fprintf(&questions, `{"id":"q%d","question":"question %d","reference_answer":"answer %d"}`+"\n", i, i, i)
	}
	filetest.Write(t, filepath.Join(dir, "q.jsonl"), questions.String())
	return &killedRun{
		t: t, dir: dir, till: v,
		env: append(os.Environ(), "OPENAI_BASE_URL="+provider.URL, "OPENAI_API_KEY=k", "SVC_LLM_PROVIDER=openai"),
		started: []string{
			"run", "--sdk=go", "--endpoint=" + daemon.URL, "--dataset=q.jsonl", "--scorer=judge", "--judge=gpt-4o-mini",
			"--judge-rps=0", fmt.Sprintf("--concurrency=%d", killedConcurrency), "--max-cost-usd=1", "--floor=0", "--output=out",
		},
	}
}

// play kills the run up to a number of times, lets it finish, and returns how often it was killed.
func (r *killedRun) play(kills int, random *rand.Rand) int {
	args, killed, before := r.started, 0, 0
	var start time.Duration // what it needs to begin on a machine that is busy
	for {
		after := start + time.Duration(50+random.IntN(400))*time.Millisecond
		if killed == kills {
			after = commandTimeout
		}
		ctx, cancel := context.WithTimeout(r.t.Context(), after)
		ended := r.command(ctx, args)
		cancel()
		if ended {
			break
		}
		journals, err := filepath.Glob(filepath.Join(r.dir, "out", "*", "*.journal"))
		if err != nil {
			r.t.Fatal(err)
		}
		if written, _ := filepath.Glob(r.results()); len(journals) == 0 && len(written) > 0 {
			break // it was killed after it had ended
		}
		if len(journals) == 0 || isEmpty(journals[0]) { // it was killed before it began
			start = 2*start + 50*time.Millisecond
			continue
		}
		killed++
		before = r.checkJournal(journals[0], before)
		args = []string{"run", "--resume=" + journals[0]}
	}
	r.checkResult()
	return max(killed, 1)
}

// isEmpty reports whether a journal has no line yet.
func isEmpty(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Size() == 0
}

// command runs evalctl, kills it when ctx ends, and reports whether it ended before.
func (r *killedRun) command(ctx context.Context, args []string) bool {
	var stderr bytes.Buffer
	cmd := exec.CommandContext(ctx, "evalctl", args...) // see TestMain
	cmd.Dir, cmd.Env, cmd.Stderr = r.dir, r.env, &stderr
	err := cmd.Run()
	if exit, failed := errors.AsType[*exec.ExitError](err); failed && exit.ExitCode() == -1 {
		return false
	}
	// The error is that of ctx if it ended in the moment in which the process did.
	if err != nil && (cmd.ProcessState == nil || !cmd.ProcessState.Success()) {
		r.t.Fatalf("%v after %q\n%s", err, args, &stderr)
	}
	return true
}

// checkJournal compares the journal of a killed run with the bill. before is the number of requests
// that were in flight at earlier kills.
func (r *killedRun) checkJournal(path string, before int) (inFlight int) {
	j, err := journal.Open(path)
	if err != nil {
		r.t.Fatal(err)
	}
	defer j.Close()
	bill, _ := r.till.total()
	if bill > j.Spent() {
		r.t.Errorf("the bill is %s, the journal has %s", bill, j.Spent())
	}
	for _, c := range j.Unassigned() {
		if c.Outcome == result.InFlight {
			inFlight++
		}
	}
	if inFlight-before > killedConcurrency {
		r.t.Errorf("%d requests were in flight at one kill", inFlight-before)
	}
	return inFlight
}

// results is the pattern of the path of the result file.
func (r *killedRun) results() string { return filepath.Join(r.dir, "out", "*", "go.json") }

// checkResult compares the result of the whole run with the bill.
func (r *killedRun) checkResult() {
	paths, err := filepath.Glob(r.results())
	if err != nil || len(paths) != 1 {
		r.t.Fatalf("%v, %v", paths, err)
	}
	rep, err := verify.File(paths[0])
	if err != nil || !rep.OK {
		r.t.Errorf("%v, %+v", err, rep)
	}
	file, err := resultfile.Open(paths[0])
	if err != nil {
		r.t.Fatal(err)
	}
	defer file.Close()
	cost := file.Result().Cost
	bill, calls := r.till.total()
	if bill > cost.SpentUSD || cost.SpentUSD-cost.MayHaveBeenChargedUSD > bill {
		r.t.Errorf("the bill is %s, the result has %s, of which %s may have been charged",
			bill, cost.SpentUSD, cost.MayHaveBeenChargedUSD)
	}
	inFlight := 0
	for _, c := range cost.Unassigned {
		if c.Outcome == result.InFlight {
			inFlight++
		}
	}
	if cost.JudgeRequests < calls || cost.JudgeRequests-inFlight > calls {
		r.t.Errorf("%d requests arrived, the result has %d, of which %d were in flight", calls, cost.JudgeRequests, inFlight)
	}
	r.t.Logf("bill %s, %s (%d requests in flight of %d)", bill, wording.CostAmount(&cost), inFlight, cost.JudgeRequests)
}

// TestReplayBill: the same for a replay that is killed, whose reader is paid too.
func TestReplayBill(t *testing.T) {
	t.Parallel()
	sequences := longtest.Rounds(2, 4)
	if testing.Short() {
		sequences = 1
	}
	seed := time.Now().UnixNano()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(uint64(seed), 4))
	for range sequences {
		r := startKilledRun(t, random)
		args := []string{
			"replay", "--without-memory=oracle", "--dataset=" + lanterns(t, 12), "--model=gpt-4o-mini", "--judge=gpt-4o-mini",
			"--max-cost-usd=1", "--cache=off", "--concurrency=3", "--floor=0", "--output=out/oracle.json",
		}
		r.env = append(r.env, "SVC_CACHE_DIR="+filepath.Join(r.dir, "cache"))
		out := filepath.Join(r.dir, "out")
		for kills := 0; ; kills++ {
			ctx, kill := context.WithTimeout(t.Context(), commandTimeout)
			if kills < maxKills {
				r.till.hangUpAfter(1+random.IntN(10), kill)
			}
			ended := r.command(ctx, args)
			kill()
			if ended {
				break
			}
			if begun, _ := os.ReadFile(filepath.Join(out, "oracle.ledger")); bytes.ContainsRune(begun, '\n') {
				args = []string{"replay", "--resume=" + filepath.Join(out, "oracle.ledger")}
			} else if _, err := os.Stat(filepath.Join(out, "oracle.json")); err == nil {
				break // it was killed after it had ended
			}
		}
		path := filepath.Join(out, "oracle.json")
		if rep, err := verify.File(path); err != nil || !rep.OK {
			t.Errorf("%v, %+v", err, rep)
		}
		file, err := resultfile.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		cost := file.Result().CostAccounting
		_ = file.Close()
		bill, _ := r.till.total()
		if bill > cost.TotalUSD || cost.TotalUSD-cost.LostUSD > bill {
			t.Errorf("the bill is %s, the result has %s, of which %s may have been charged", bill, cost.TotalUSD, cost.LostUSD)
		}
		t.Logf("bill %s, %s", bill, wording.ReplayAmount(cost))
	}
}
