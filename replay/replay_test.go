package replay_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"evalctl/harness"
	"evalctl/harness/result"
	"evalctl/harness/resultfile"
	"evalctl/harness/verify"
	"evalctl/internal/filetest"
	"evalctl/internal/llm"
	"evalctl/internal/llm/llmtest"
	"evalctl/internal/longtest"
	"evalctl/internal/postgres/postgrestest"
	"evalctl/replay"
	"evalctl/replay/actor"
	"evalctl/replay/source"
	"evalctl/scorer"
)

func TestMain(m *testing.M) {
	longtest.Parallel(12) // most tests wait before they ask a failing provider again
	goleak.VerifyTestMain(withDatabase{m})
}

// withDatabase runs the tests, then stops their database.
type withDatabase struct{ *testing.M }

func (m withDatabase) Run() int { return postgrestest.Main(m.M) }

// benchmark opens a benchmark of questions about the colours of lanterns.
func benchmark(t testing.TB, questions int) *source.Benchmark {
	t.Helper()
	type turn = map[string]string
	var instances []map[string]any
	for i := range questions {
		id := fmt.Sprintf("q%d", i)
		instances = append(instances, map[string]any{
			"question_id": id, "question_type": []string{"single-session-user", "multi-session"}[i%2],
			"question": "Which colour is lantern " + id + " painted?", "answer": colours[i%len(colours)],
			"question_date": "2023/05/30 (Tue) 23:40", "haystack_session_ids": []string{"a" + id, "b" + id},
			"haystack_dates": []string{"2023/05/01 (Mon) 10:00", "2023/05/02 (Tue) 10:00"}, "answer_session_ids": []string{"a" + id},
			"haystack_sessions": [][]turn{
				{{"role": "user", "content": "My lantern " + id + " is painted " + colours[i%len(colours)] + "."}},
				{{"role": "user", "content": "Today it rained on the orchard."}},
			},
		})
	}
	data, err := json.Marshal(instances)
	if err != nil {
		t.Fatal(err)
	}
	path := filetest.Write(t, filepath.Join(t.TempDir(), "lanterns.json"), data)
	b, err := source.Open(t.Context(), path, source.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = b.Close() })
	return b
}

// restart sets what goes wrong from now on, and begins a new bill.
func (p *provider) restart(fault func(call int) string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.calls, p.billed, p.fault = 0, 0, fault
}

func (p *provider) bill() llm.USD {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.billed
}

var colours = []string{"crimson", "turquoise", "ochre", "violet", "ivory", "magenta"}

// provider is a language model that bills what it sends, and counts it.
type provider struct {
	url string

	mu     sync.Mutex
	calls  int
	billed llm.USD
	// fault returns what goes wrong with a call, by its number.
	fault func(call int) string
	// faults are those of a request's first tries, by their number, after which it succeeds.
	faults []string
	tries  map[string]int
}

const (
	inputTokens, outputTokens = 300, 20
	modelName                 = "gpt-4o"
)

func newProvider(t testing.TB) *provider {
	p := &provider{fault: func(int) string { return "" }, tries: map[string]int{}}
	p.url = llmtest.NewServer(t, p.reply).URL
	return p
}

func (p *provider) reply(c llmtest.Call) llmtest.Reply {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.calls++
	r := llmtest.Reply{Text: answer(c), Input: inputTokens, Output: outputTokens}
	fault := p.fault(p.calls)
	if try := p.tries[string(c.Body)]; try < len(p.faults) {
		p.tries[string(c.Body)]++
		fault = p.faults[try]
	}
	switch fault {
	case "refused":
		return llmtest.Reply{Status: http.StatusTooManyRequests, RetryAfter: "0", Body: `{"error":{"message":"slow down"}}`}
	case "rejected":
		return llmtest.Reply{Status: http.StatusBadRequest, Body: `{"error":{"message":"too long"}}`}
	case "cut":
		r.CutAfter = 1
	case "malformed":
		r.Body = `{"choices": [{"mess`
	case "no usage":
		r.Input, r.Output = 0, 0
	case "wrong usage":
		r.Usage = `{"prompt_tokens": -4, "completion_tokens": "many"}`
	case "slow":
		r.Latency = 3 * time.Millisecond
	case "distant":
		r.Latency = distance
	case "broken":
		r.Break = true
	}
	price, _ := llm.DefaultPrices().Of(llm.ProviderOpenAI, modelName)
	p.billed += price.Cost(llm.Usage{InputTokens: inputTokens, OutputTokens: outputTokens})
	return r
}

// distance is the latency of a model in BenchmarkUtilisation.
const distance = 50 * time.Millisecond

var faults = []string{"", "", "", "refused", "rejected", "cut", "malformed", "no usage", "wrong usage", "slow", "broken"}

// answer is that of a reader, or a verdict.
func answer(c llmtest.Call) string {
	last := c.Messages[len(c.Messages)-1].Content
	var judged struct {
		Reference string  `json:"reference_answer"`
		Candidate *string `json:"candidate_answer"`
	}
	if json.Unmarshal([]byte(last), &judged) == nil && judged.Candidate != nil {
		right := 0
		if strings.Contains(*judged.Candidate, judged.Reference) {
			right = 1
		}
		return fmt.Sprintf(`{"score": %d, "reason": "compared"}`, right)
	}
	for _, colour := range colours {
		if strings.Contains(last, "painted "+colour) {
			return "It is " + colour
		}
	}
	return "I don't know"
}

// config returns that of a replay of two baselines, which need no daemon.
func (p *provider) config(t testing.TB, b *source.Benchmark, limit llm.USD) replay.Config {
	t.Helper()
	judge, err := scorer.Find("judge")
	if err != nil {
		t.Fatal(err)
	}
	model := &llm.Config{Provider: llm.ProviderOpenAI, Model: modelName, BaseURL: p.url, APIKey: "k"}
	return replay.Config{
		Benchmark: b, Arms: []replay.Arm{{Name: "oracle", Baseline: actor.Oracle}, {Name: "no-memory", Baseline: actor.NoMemory}},
		Style: actor.RetrieveOnly, TopK: 5, Mode: "auto", Dialect: result.Auto, QuestionDate: true,
		Scorer: judge, Reader: model, Judge: model, Prompts: scorer.ReplayPrompts(),
		Cap: &limit, Prices: llm.DefaultPrices(), Cache: replay.Cache{Mode: llm.CacheOff},
		Concurrency: 4, Timeout: time.Minute,
	}
}

// unobserved is an Observer that ignores what it sees.
type unobserved struct{}

func (unobserved) Controls(result.Controls)        {}
func (unobserved) Opened(string, *harness.Session) {}
func (unobserved) Ingested(string, int)            {}
func (unobserved) Cached(llm.CacheStats)           {}
func (unobserved) Queued(string)                   {}
func (unobserved) Asking(string, string, bool)     {}
func (unobserved) Recorded(string, result.Record)  {}

// run replays in dir, resuming what was begun there.
func run(t testing.TB, c replay.Config, dir string) ([]replay.Outcome, llm.USD, error) {
	t.Helper()
	return runUntil(t.Context(), t, c, dir, unobserved{})
}

// runUntil is run until ctx ends.
func runUntil(ctx context.Context, t testing.TB, c replay.Config, dir string, o replay.Observer) ([]replay.Outcome, llm.USD, error) {
	t.Helper()
	plan, err := replay.New(c)
	if err != nil {
		t.Fatal(err)
	}
	files := replay.Files{Dir: dir}
	release, err := files.Lock(c.Arms, true)
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	var running *replay.Session
	if path := filepath.Join(dir, "replay.ledger"); exists(path) {
		running, err = plan.Resume(ctx, replay.Ledgers{}, files, path)
	} else {
		running, err = plan.Begin(ctx, replay.Ledgers{}, files, nil)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer running.Close()
	out, err := running.Run(ctx, o)
	for _, o := range out {
		if o.Result != nil {
			addsUp(t, o.Result.CostAccounting)
		}
	}
	return out, running.Spent(), err
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

func addsUp(t testing.TB, c *result.CostAccounting) {
	t.Helper()
	if c.IngestUSD+c.ActorUSD+c.JudgeUSD+c.EmbedUSD != c.TotalUSD || c.LostUSD > c.TotalUSD {
		t.Errorf("the parts do not add up: %+v", c)
	}
}

// TestCapHolds: whatever goes wrong with the provider, it bills no more than the cap, and no more
// than what was accounted for. A replay that the cap has stopped can be finished with more money.
func TestCapHolds(t *testing.T) {
	t.Parallel()
	schedules := longtest.Rounds(5, 12)
	if testing.Short() {
		schedules = 3
	}
	b := benchmark(t, 4)
	p := newProvider(t)
	stopped := 0
	for seed := range schedules {
		random := rand.New(rand.NewPCG(uint64(seed), 0))
		list := make([]string, 1+random.IntN(24))
		for i := range list {
			list[i] = faults[random.IntN(len(faults))]
		}
		p.restart(func(call int) string { return list[call%len(list)] })
		dir, limit := t.TempDir(), llm.USD(50+random.IntN(350))*llm.Dollar/1000
		c := p.config(t, b, limit)
		c.Concurrency = 1 + random.IntN(8)
		out, spent, err := run(t, c, dir)
		if billed := p.bill(); spent > limit || billed > spent {
			t.Fatalf("seed %d: billed %s, accounted for %s, cap %s", seed, billed, spent, limit)
		}
		if err == nil && replay.Finished(out) {
			continue
		}
		stopped++
		p.restart(func(int) string { return "" })
		out, _, err = run(t, p.config(t, b, 100*llm.Dollar), dir)
		if err != nil || !replay.Finished(out) || out[0].Result.Planned != 4 {
			t.Fatalf("seed %d, resumed: %v, %+v", seed, err, out)
		}
	}
	if stopped == 0 || stopped == schedules {
		t.Errorf("%d of %d schedules were stopped", stopped, schedules)
	}
}

// TestFaults: a provider that fails twice on every request, and then recovers, loses no
// question.
func TestFaults(t *testing.T) {
	t.Parallel()
	b := benchmark(t, 6)
	p := newProvider(t)
	p.faults = []string{"refused", "broken"}
	out, _, err := run(t, p.config(t, b, 20*llm.Dollar), t.TempDir())
	if err != nil || !replay.Finished(out) {
		t.Fatalf("%v, %+v", err, out)
	}
	oracle, none := out[0].Result, out[1].Result
	if oracle.Passed != 6 || none.Passed != 0 || oracle.Replay.Losses[result.CauseReader] != 0 ||
		none.Replay.Losses[result.CauseAbstain] != 6 || !oracle.Replay.Controls.Valid() {
		t.Errorf("%d and %d passed, losses %v", oracle.Passed, none.Passed, none.Replay.Losses)
	}
	if oracle.CostAccounting.SharedUSD == 0 || oracle.CostAccounting.SharedUSD != none.CostAccounting.SharedUSD {
		t.Errorf("shared %s and %s", oracle.CostAccounting.SharedUSD, none.CostAccounting.SharedUSD)
	}
}

// TestCostsOfFinishedArm: an arm that finished before the replay was resumed has what all arms have
// shared since, so that the results of a finished replay add up to what was spent.
func TestCostsOfFinishedArm(t *testing.T) {
	b := benchmark(t, 6)
	p := newProvider(t)
	dir := t.TempDir()
	c := p.config(t, b, 20*llm.Dollar)
	c.PricesDate, c.Tool.CPUs = "2026-01-31", 1
	out, _, err := run(t, c, dir)
	if err != nil || !replay.Finished(out) {
		t.Fatalf("%v, %+v", err, out)
	}
	// As if the second arm had not finished.
	if err := os.Remove(out[1].Path); err != nil {
		t.Fatal(err)
	}
	p.restart(func(int) string { return "" })
	out, spent, err := run(t, c, dir)
	if err != nil || !replay.Finished(out) || p.bill() == 0 {
		t.Fatalf("%v, %+v", err, out)
	}
	total := out[0].Result.CostAccounting.SharedUSD
	for _, o := range out {
		file, err := resultfile.Open(o.Path)
		if err != nil {
			t.Fatal(err)
		}
		defer file.Close()
		if diff := cmp.Diff(o.Result.CostAccounting, file.Result().CostAccounting); diff != "" {
			t.Errorf("%s: %s", o.Path, diff)
		}
		if rep, err := verify.File(o.Path); err != nil || !rep.OK {
			t.Errorf("%v, %+v", err, rep)
		}
		total += file.Result().CostAccounting.TotalUSD
	}
	if shared := out[1].Result.CostAccounting.SharedUSD; shared != out[0].Result.CostAccounting.SharedUSD || total != spent {
		t.Errorf("the results have %s, of which %s are shared; %s was spent", total, shared, spent)
	}
}

// BenchmarkUtilisation reports the share of their time that 16 workers wait for a model that takes
// 50 ms.
func BenchmarkUtilisation(b *testing.B) {
	const questions, workers = 1920, 16
	bench := benchmark(b, questions)
	p := newProvider(b)
	p.fault = func(int) string { return "distant" }
	c := p.config(b, bench, 1000*llm.Dollar)
	exact, err := scorer.Find("exact")
	if err != nil {
		b.Fatal(err)
	}
	c.Scorer, c.Arms, c.Concurrency = exact, c.Arms[:1], workers
	for b.Loop() {
		start := time.Now()
		out, _, err := run(b, c, b.TempDir())
		if err != nil || !replay.Finished(out) || out[0].Result.Passed != questions {
			b.Fatalf("%v, %+v", err, out)
		}
		b.ReportMetric(100*float64(questions)*float64(distance)/float64(workers)/float64(time.Since(start)), "%busy")
	}
}
