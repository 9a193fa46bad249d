package main

import (
	"bytes"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"evalctl/harness/verify"
	"evalctl/internal/awaittest"
	"evalctl/internal/llm"
	"evalctl/internal/llm/llmtest"
	"evalctl/internal/longtest"
	"evalctl/internal/postgres/postgrestest"
)

// meterPrices make the judge expensive. Since output is free and a token has one byte, almost all
// that is reserved is spent, so that a cap has a bite.
var meterPrices = llm.Prices{"gpt-4o": {Input: 100 * llm.Dollar}, "gpt-4o-mini": {Input: llm.Dollar / 100}}

// meter is a paid provider that keeps its own bill: for each request that arrives, whether or not
// its reply is read. Once it is slow, faults find requests that it has not answered.
type meter struct {
	mu     sync.Mutex
	random *rand.Rand
	slow   bool
	calls  int
	bill   llm.USD
}

func (m *meter) reply(c llmtest.Call) llmtest.Reply {
	r := lanternModel(c)
	if strings.Contains(c.Messages[0].Content, vendorSystem) {
		r.Text = vendorVerdict(c.Messages[len(c.Messages)-1].Content)
	}
	r.Input = 0
	for _, message := range c.Messages {
		r.Input += len(message.Content)
	}
	price, _ := meterPrices.Of(llm.ProviderOpenAI, c.Model)
	m.mu.Lock()
	defer m.mu.Unlock()
	m.calls++
	m.bill += price.Cost(llm.Usage{InputTokens: r.Input, OutputTokens: r.Output})
	if m.slow {
		r.Latency = time.Duration(100+m.random.IntN(400)) * time.Millisecond
	}
	return r
}

func (m *meter) answerSlowly(slow bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.slow = slow
}

func (m *meter) total() llm.USD {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.bill
}

var runLine = regexp.MustCompile(`queue +run (\S+)`)

// paidQueue is a queue, and a replay of two arms whose models cost money.
type paidQueue struct {
	queueRig
	m     *meter
	args  []string
	whole string // the folder of the same replay by one process
	// single is what that cost, which is not the queue's.
	single llm.USD
}

func newPaidQueue(t *testing.T, questions int, seed uint64, database string, args ...string) *paidQueue {
	t.Helper()
	r := &paidQueue{m: &meter{random: rand.New(rand.NewPCG(seed, 6))}, whole: t.TempDir(), args: []string{
		"--sdk=go", "--without-memory=oracle", "--dataset=" + lanterns(t, questions), "--model=gpt-4o-mini", "--judge=gpt-4o",
		"--price=gpt-4o=100/0", "--price=gpt-4o-mini=0.01/0", "--cache=off", "--floor=0", "--output=out",
	}}
	r.args = append(r.args, args...)
	r.queueRig = queueRig{t: t, url: database, files: t.TempDir(), env: []string{
		"SVC_LLM_PROVIDER=openai", "OPENAI_API_KEY=" + llmSecret, "OPENAI_BASE_URL=" + llmtest.NewServer(t, r.m.reply).URL,
	}}
	if code, out := paidReplay(t, r.whole, r.env, append(r.args, "--max-cost-usd=900")...); code != 0 {
		t.Fatalf("exit code %d\n%s", code, out)
	}
	r.single = r.m.total()
	r.m.answerSlowly(true)
	return r
}

// replay runs a replay on the queue to its end.
func (r *paidQueue) replay(dir string, args ...string) (code int, out string) {
	r.t.Helper()
	return paidReplay(r.t, dir, append(r.env, "SVC_QUEUE="+r.url), args...)
}

// bill is what the provider has charged for the queue.
func (r *paidQueue) bill() llm.USD { return r.m.total() - r.single }

// check compares the results with those of one process, and with the bill.
func (r *paidQueue) check(dir string) {
	r.t.Helper()
	if diff := gocmp.Diff(unadmitted(queued(paidOutcome(r.t, r.whole))), unadmitted(paidOutcome(r.t, dir))); diff != "" {
		r.t.Error(diff)
	}
	bill := r.bill()
	var total, lost llm.USD
	for _, name := range []string{"go.json", "oracle.json"} {
		path := filepath.Join(dir, "out", name)
		if rep, err := verify.File(path); err != nil || !rep.OK {
			r.t.Errorf("%v, %+v", err, rep)
		}
		cost := readResult(r.t, path).CostAccounting
		total, lost = total+cost.TotalUSD, lost+cost.LostUSD
		if name == "oracle.json" { // of both
			total += cost.SharedUSD
		}
	}
	if bill > total || total-lost > bill {
		r.t.Errorf("the bill is %s, the results have %s, of which %s may have been charged", bill, total, lost)
	}
	r.t.Logf("bill %s, spent %s, lost %s", bill, total, lost)
}

// TestReplayQueueKilled: of three workers, one is killed every second, and the process that began
// the run once. It is resumed on another machine, first until its cap and then with a higher one.
// The result is that of one process, the bill is within what the result says, and never above the
// cap.
func TestReplayQueueKilled(t *testing.T) {
	longtest.Skip(t)
	if testing.Short() {
		t.Skip("with the race detector, workers are killed before they have done anything")
	}
	questions := 10
	if *full {
		questions = 100
	}
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	rig := newPaidQueue(t, questions, seed, postgrestest.Database(t))
	defer rig.killing(3, rand.New(rand.NewPCG(seed, 5)))()
	run := rig.beginAndKill(controlCalls + 8)

	// On another machine, with more money than was spent, which is not enough for the rest: the judge
	// is checked again.
	dir := t.TempDir()
	limit := rig.bill() + rig.single*2/3
	resume := []string{"--resume=" + run, "--output=out", "--max-cost-usd=" + limit.Exact()}
	code, out := 0, ""
	for range 40 { // until the lease of the killed process has ended
		if code, out = rig.replay(dir, resume...); code != exitUsage || !strings.Contains(out, "in progress") {
			break
		}
		time.Sleep(500 * time.Millisecond)
	}
	if bill := rig.bill(); bill > limit {
		t.Errorf("the bill is %s, the cap was %s\n%s", bill, limit, out)
	}
	t.Logf("cap %s: exit code %d", limit, code)
	if code == exitBudget {
		resume[2] = "--max-cost-usd=900"
		code, out = rig.replay(dir, resume...)
	}
	if code != 0 {
		t.Fatalf("exit code %d\n%s", code, out)
	}
	rig.check(dir)
}

// controlCalls is how often the judge is called to check it. What these calls cost if they are lost
// is in no result.
const controlCalls = 28

// beginAndKill begins the replay, kills the process that began it after some calls of models, and
// returns the run. What was asked is on the queue.
func (r *paidQueue) beginAndKill(calls int) (run string) {
	r.t.Helper()
	calls += r.m.count()
	cmd := replayCommand(r.t, r.t.TempDir(), append(r.args, "--max-cost-usd=900")...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	cmd.Env = append(cmd.Env, append(r.env, "SVC_QUEUE="+r.url)...)
	if err := cmd.Start(); err != nil {
		r.t.Fatal(err)
	}
	err := r.m.await(calls)
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	if err != nil {
		r.t.Fatalf("%v\n%s", err, &stderr)
	}
	found := runLine.FindStringSubmatch(stderr.String())
	if found == nil {
		r.t.Fatalf("it did not begin:\n%s", &stderr)
	}
	return found[1]
}

// TestReplayQueueFaults: while two workers work, the network of one to the database breaks for
// longer than its lease, the daemon of the other is killed, and the database crashes and starts
// again. The result is that of one process.
func TestReplayQueueFaults(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("River waits long before it connects again")
	}
	if runtime.GOOS != "linux" {
		t.Skip("the children of a process are in /proc on Linux only")
	}
	questions, broken := 12, 3*time.Second
	if *full {
		questions, broken = 100, 20*time.Second
	}
	cluster := postgrestest.NewWith(t, postgrestest.Options{Fast: true})
	rig := newPaidQueue(t, questions, 1, cluster.Database())
	proxy := postgrestest.NewProxy(t, cluster.Addr())
	rig.proxied = map[int]string{1: proxy.URL(rig.url)}
	var workers []*exec.Cmd
	for n := range 2 {
		cmd, stderr := rig.worker(n)
		defer rig.stop(cmd, stderr)
		workers = append(workers, cmd)
	}
	began := rig.m.count()
	faults := make(chan error, 1)
	go func() {
		faults <- func() error {
			if err := rig.m.await(began + controlCalls + 4); err != nil {
				return err
			}
			proxy.Stall(postgrestest.FromBoth)
			restored := time.After(broken)
			if err := killDaemon(workers[0].Process.Pid); err != nil {
				return err
			}
			<-restored
			proxy.Restore()
			if err := rig.m.await(rig.m.count() + 1); err != nil {
				return err
			}
			cluster.Stop("immediate")
			cluster.Start()
			rig.m.answerSlowly(false)
			return rig.m.await(rig.m.count() + 1)
		}()
	}()
	dir := t.TempDir()
	code, out := rig.replay(dir, append(rig.args, "--max-cost-usd=900")...)
	if err := awaittest.Receive(t, "faults", faults); err != nil || code != 0 {
		t.Fatalf("%v, exit code %d\n%s", err, code, out)
	}
	for _, noticed := range []string{"1 worker left", "the queue does not answer"} {
		if !strings.Contains(out, noticed) {
			t.Errorf("nobody noticed: %q\n%s", noticed, out)
		}
	}
	rig.check(dir)
}

// vendorSystem begins the prompt of a recipe file, of which vendorVerdict is the model: it passes
// about half of the answers, whatever they say, the same ones each time.
const vendorSystem = "You grade answers for a vendor."

func vendorVerdict(prompt string) string {
	h := fnv.New32a()
	_, _ = h.Write([]byte(prompt))
	return []string{"CORRECT", "WRONG"}[h.Sum32()%2]
}

// TestReplayQueuePanel: of two workers with a panel of judges, one is killed in the middle. The
// figures of the panel are those of one process.
func TestReplayQueuePanel(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("with the race detector, workers are killed before they have done anything")
	}
	recipe := filepath.Join(t.TempDir(), "vendor.yaml")
	if err := os.WriteFile(recipe, []byte("system: "+vendorSystem+`
user: "Gold: {{reference_answer}} Answer: {{candidate_answer}} {{question}}"
reply: {right: [CORRECT], wrong: [WRONG]}
`), 0o600); err != nil {
		t.Fatal(err)
	}
	rig := newPaidQueue(t, 12, 1, postgrestest.Database(t), "--judge-panel=benchmark,strict,"+recipe)
	doomed, _ := rig.worker(0)
	cmd, stderr := rig.worker(1)
	defer rig.stop(cmd, stderr)
	killed := make(chan error, 1)
	began := rig.m.count()
	go func() {
		err := rig.m.await(began + controlCalls + 12)
		_ = doomed.Process.Kill()
		_ = doomed.Wait()
		rig.m.answerSlowly(false)
		killed <- err
	}()
	dir := t.TempDir()
	code, out := rig.replay(dir, append(rig.args, "--max-cost-usd=900")...)
	if err := awaittest.Receive(t, "killed", killed); err != nil || code != 0 || !strings.Contains(out, "1 worker left") {
		t.Fatalf("%v, exit code %d\n%s", err, code, out)
	}
	rig.check(dir)
	panel := readResult(t, filepath.Join(dir, "out", "go.json")).Panel
	if panel == nil || len(panel.Recipes) != 3 || panel.Recipes[0].Counts.Passed == panel.Recipes[2].Counts.Passed {
		t.Errorf("the recipes do not differ: %+v", panel)
	}
}

func (m *meter) count() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.calls
}

// await waits until there were n calls.
func (m *meter) await(n int) error {
	for end := time.Now().Add(time.Minute); m.count() < n; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			return fmt.Errorf("%d calls instead of %d", m.count(), n)
		}
	}
	return nil
}

// killDaemon kills the processes that a worker has started, once there is one.
func killDaemon(worker int) error {
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		lists, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", worker))
		if err != nil {
			return err
		}
		killed := false
		for _, path := range lists {
			data, err := os.ReadFile(path)
			if err != nil {
				continue // of a thread that has ended
			}
			for _, child := range strings.Fields(string(data)) {
				id, err := strconv.Atoi(child)
				if err != nil {
					return err
				}
				daemon, err := os.FindProcess(id)
				if err == nil {
					err = daemon.Kill()
				}
				if err != nil {
					return err
				}
				killed = true
			}
		}
		if killed {
			return nil
		}
	}
	return fmt.Errorf("worker %d has started nothing", worker)
}

// queued removes from the results of one process what those of a queue do not have: which processes
// a daemon has left is known only to the worker that started it.
func queued(results map[string]any) map[string]any {
	for _, res := range results {
		delete(res.(map[string]any), "escaped_processes")
	}
	return results
}

// unadmitted removes what workers do not see of canaries: they look for one before the first question.
func unadmitted(results map[string]any) map[string]any {
	for _, res := range results {
		if seen, ok := res.(map[string]any)["admission"].(map[string]any); ok {
			delete(seen, "after")
		}
	}
	return results
}

// paidOutcome is outcome without what killed requests cost.
func paidOutcome(t *testing.T, dir string) map[string]any {
	t.Helper()
	out := outcome(t, dir)
	for _, res := range out {
		delete(res.(map[string]any), "cost_accounting")
	}
	return out
}
