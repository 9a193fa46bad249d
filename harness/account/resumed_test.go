package account

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"evalctl/harness"
	"evalctl/harness/dataset"
	"evalctl/harness/gateway"
	"evalctl/harness/journal"
	"evalctl/harness/ledger"
	"evalctl/harness/pipeline"
	"evalctl/harness/result"
	"evalctl/harness/resultfile"
	"evalctl/harness/target"
	"evalctl/harness/verify"
	"evalctl/internal/filetest"
	"evalctl/internal/llm"
	"evalctl/internal/llm/llmtest"
	"evalctl/scorer"
)

// process is one process of a run.
type process struct {
	account *Account
	stopAt  int // the question at which the run is stopped, 0 for none
	asks    int // the last question for which the daemon calls its model
	judge   func(llm.Account) scorer.Scorer
	killed  bool // before it could write anything of its end
	retry   bool
}

func (p process) Health(context.Context) error { return nil }

// Ask answers like a daemon that calls its model, and a path that the gateway does not serve.
func (p process) Ask(ctx context.Context, q dataset.Question, _ time.Duration) (target.Answer, error) {
	var n int
	_, _ = fmt.Sscanf(q.ID, "q%d", &n)
	if n == p.stopAt {
		return target.Answer{}, context.Canceled
	}
	if n <= p.asks {
		defer p.account.Enter("go", ledger.Actor)()
		if err := errors.Join(p.post(ctx, "/chat/completions"), p.post(ctx, "/messages")); err != nil {
			return target.Answer{}, err
		}
	}
	return target.Answer{Reply: result.Reply{
		Answer: fmt.Sprintf("answer %d", n), EffectiveMode: "bm25", Attempts: 1,
		Citations: []json.RawMessage{}, Retrieved: []result.Chunk{},
	}, Latency: time.Millisecond}, nil
}

// post sends a request to the gateway.
func (p process) post(ctx context.Context, path string) error {
	env := map[string]string{}
	for _, v := range p.account.Environment("go") {
		name, value, _ := strings.Cut(v, "=")
		env[name] = value
	}
	const body = `{"model":"m","max_tokens":10,"messages":[{"role":"user","content":"hello"}]}`
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, env["OPENAI_BASE_URL"]+path, strings.NewReader(body))
	if err != nil {
		return err
	}
	r.Header.Set("Authorization", "Bearer "+env["OPENAI_API_KEY"])
	res, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, res.Body)
	return errors.Join(err, res.Body.Close())
}

// paidRun is a run with an account, which several processes continue.
type paidRun struct {
	dir     string
	config  Config
	data    dataset.Dataset
	id      result.Identity
	journal string // its path, empty before the first process
}

// newRun returns a run over n questions.
func newRun(t *testing.T, n int) *paidRun {
	t.Helper()
	vendor := llmtest.NewServer(t, func(llmtest.Call) llmtest.Reply { return llmtest.Reply{Text: "yes", Input: 3, Output: 1} })
	t.Cleanup(http.DefaultTransport.(*http.Transport).CloseIdleConnections)
	upstream := llm.Config{Provider: llm.ProviderOpenAI, Model: "m", BaseURL: vendor.URL, APIKey: "k"}
	var lines strings.Builder
	for i := 1; i <= n; i++ {
		fmt.Fprintf(&lines, `{"id":"q%d","question":"question %d","expected_substrings":["answer %d"]}`+"\n", i, i, i)
	}
	d, err := dataset.Open(filetest.Write(t, filepath.Join(t.TempDir(), "q.jsonl"), lines.String()), dataset.Options{})
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	return &paidRun{
		dir: dir, data: d,
		config: Config{
			Dir: dir, Name: "go", Started: time.Date(2026, 3, 21, 10, 0, 0, 0, time.UTC), Paid: true,
			Prices:  llm.Prices{"m": {Input: llm.Dollar, Output: llm.Dollar}},
			Daemons: map[string]gateway.Models{"go": {Upstream: &upstream, Completion: "m"}},
		},
		id: result.Identity{
			SchemaVersion: result.SchemaVersion, SDK: "go", Scorer: "exact", Brain: "eval",
			Scenario: result.AskBasic, Mode: "auto", TopK: 2, Dialect: result.Auto,
			Dataset: result.DatasetID{Path: "q.jsonl", SHA256: d.SHA256, Selected: d.Selected, Tags: d.Tags},
			Daemon:  result.DaemonID{Program: "evalctl", Version: "1"},
			Tool:    result.ToolID{Version: "0", Commit: "a", Go: "go", OS: "linux", Arch: "amd64", CPUs: 2},
		},
	}
}

// open creates the run's journal, or opens the one of the process before.
func (r *paidRun) open() (j *journal.Journal, err error) {
	if r.journal != "" {
		return journal.Open(r.journal)
	}
	if j, err = journal.Create(r.dir, r.id, r.config.Started, nil); err == nil {
		r.journal = j.Path()
	}
	return j, err
}

// run runs a process, and returns the path of the result, empty if it was killed.
func (r *paidRun) run(t *testing.T, p process) string {
	t.Helper()
	resumed := r.journal != ""
	j, err := r.open()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = j.Close() }()
	if p.account, err = Open(r.config, resumed, j.Spent()); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := p.account.Close(); err != nil {
			t.Error(err)
		}
	}()
	judge := scorer.Scorer(scorer.Exact{})
	if p.judge != nil {
		judge = p.judge(p.account.Judge())
	}
	ended, err := harness.Measure(t.Context(), harness.Config{
		Subject: harness.Subject{Answerer: p, Timeout: time.Minute},
		TopK:    2, Dataset: r.data, Scorer: pipeline.Grader{Scorer: judge}, Concurrency: 1,
		Paid: true, KeepForRetry: true, RetryErrors: p.retry,
		Notes: harness.Notes{
			Brains:   []result.BrainInfo{{ID: "eval", Questions: r.data.Selected}},
			Settings: result.Settings{Concurrency: 1, TimeoutSeconds: 60, Floor: 0.5},
		},
	}, j)
	if err != nil {
		t.Fatal(err)
	}
	if p.killed {
		return ""
	}
	path, err := p.account.Write(t.Context(), ended, true)
	if path == "" || p.stopAt == 0 && err != nil {
		t.Fatal(err)
	}
	return path
}

// read returns a result that verify finds correct.
func read(t *testing.T, path string) (result.Result, []result.Record) {
	t.Helper()
	res, questions, err := resultfile.ReadAll(path)
	if err != nil {
		t.Fatal(err)
	}
	if rep, err := verify.File(path); err != nil || !rep.OK {
		t.Errorf("verify: %v, %+v", err, rep.Differences)
	}
	return res, questions
}

// TestResumedRequests: a result counts the daemon's requests to its model in all processes of the
// run. If one was killed, the result says that requests are missing, and does not call the daemon
// silent.
func TestResumedRequests(t *testing.T) {
	for name, tt := range map[string]struct {
		processes []process
		made      int
		missing   bool
		silent    bool
	}{
		"one":                   {processes: []process{{asks: 3}}, made: 3},
		"silent":                {processes: []process{{}}, silent: true},
		"stopped":               {processes: []process{{asks: 3, stopAt: 3}, {}}, made: 2},
		"stopped twice":         {processes: []process{{asks: 3, stopAt: 2}, {asks: 3, stopAt: 3}, {asks: 3}}, made: 3},
		"stopped, silent":       {processes: []process{{stopAt: 2}, {}}, silent: true},
		"killed":                {processes: []process{{asks: 3, stopAt: 3, killed: true}, {asks: 3}}, made: 1, missing: true},
		"killed, none later":    {processes: []process{{asks: 3, stopAt: 3, killed: true}, {}}, missing: true},
		"killed second":         {processes: []process{{asks: 3, stopAt: 2}, {asks: 3, stopAt: 3, killed: true}, {asks: 3}}, made: 2, missing: true},
		"killed, then stopped":  {processes: []process{{stopAt: 2, killed: true}, {asks: 3, stopAt: 3}, {asks: 3}}, made: 2, missing: true},
		"killed second, silent": {processes: []process{{stopAt: 2}, {asks: 3, stopAt: 3, killed: true}, {}}, missing: true},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRun(t, 3)
			path := ""
			for _, p := range tt.processes {
				path = r.run(t, p)
			}
			res, _ := read(t, path)
			m := res.Cost.ModelRequests
			if m == nil || m.Answers.Made != tt.made || m.SinceResumed != tt.missing || (len(m.Silent) > 0) != tt.silent {
				t.Fatalf("got %+v, want %d requests, missing %v, silent %v", m, tt.made, tt.missing, tt.silent)
			}
			refused := 0
			for _, kind := range m.Refused {
				refused += kind.Requests
			}
			if refused != tt.made || tt.made > 0 && len(m.Refused) != 1 {
				t.Errorf("refused %+v, want %d requests to one path", m.Refused, tt.made)
			}
		})
	}
}

// TestResumedWithoutPrice: a run whose model has no known price spends nothing that is known.
// Once it is stopped and resumed, its bill has all requests, and its total stays unknown.
func TestResumedWithoutPrice(t *testing.T) {
	r := newRun(t, 3)
	r.config.Prices = llm.Prices{}
	r.run(t, process{asks: 2, stopAt: 3})
	res, _ := read(t, r.run(t, process{}))
	if c := res.Cost; c.Bill == nil || c.Bill.Requests != 2 || !slices.Equal(c.Unpriced, []string{"m"}) {
		t.Errorf("bill %+v, %+v", c.Bill, c.Spending)
	}
}

// TestStoppedIsFollowed: who follows the journal of a run that was stopped sees that it was, until
// it is resumed.
func TestStoppedIsFollowed(t *testing.T) {
	r := newRun(t, 3)
	r.run(t, process{asks: 3, stopAt: 3})
	f := journal.NewFollower(r.journal)
	progress, err := f.Read()
	if err != nil || !progress.Stopped || progress.Answered != 2 {
		t.Errorf("got %+v, %v", progress, err)
	}
	j, err := journal.Open(r.journal)
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	if err := errors.Join(j.Resume(), j.MarkObserved(j.Observed())); err != nil {
		t.Fatal(err)
	}
	if progress, err = f.Read(); err != nil || progress.Stopped || progress.Answered != 2 {
		t.Errorf("resumed: got %+v, %v", progress, err)
	}
}

// vainJudge passes every answer by two recipes. The second one asks a model about question 2, which
// counts some tokens and gives no verdict.
type vainJudge struct {
	models *llm.Meter
	tokens int
}

func (vainJudge) Name() string            { return "exact" }
func (vainJudge) Check(scorer.Item) error { return nil }

func (j vainJudge) Score(ctx context.Context, item scorer.Item) (v scorer.Verdict, err error) {
	good := scorer.Verdict{Scored: true, Score: 1, Reason: "right"}
	v, second := good, good
	if item.ID == "q2" {
		resp, err := j.models.Complete(ctx, llm.Request{
			Model: "m", MaxTokens: j.tokens, Messages: []llm.Message{{Role: llm.RoleUser, Content: "right?"}},
		})
		if err != nil {
			return v, err
		}
		second = scorer.Verdict{Unanswered: true, Reason: "the judge did not answer"}
		v.Attempts, v.Cost, v.Usage, v.Unanswered = 1, resp.Cost, resp.Usage, true
	}
	v.Recipes = []scorer.RecipeVerdict{{Recipe: "strict", Verdict: good}, {Recipe: "generous", Verdict: second}}
	return v, nil
}

// counter is a provider that counts as many tokens out as it may, and 2 in.
type counter struct{}

func (counter) Name() string { return llm.ProviderOpenAI }

func (counter) Complete(_ context.Context, r llm.Request) (llm.Response, error) {
	return llm.Response{Text: "?", Usage: llm.Usage{InputTokens: 2, OutputTokens: r.MaxTokens}}, nil
}

// vain returns a vainJudge for each process.
func vain(t *testing.T, tokens int) func(llm.Account) scorer.Scorer {
	return func(a llm.Account) scorer.Scorer {
		m, err := llm.NewAccountMeter(counter{}, llm.Prices{"m": {Input: llm.Dollar, Output: llm.Dollar}}, a)
		if err != nil {
			t.Fatal(err)
		}
		return vainJudge{m, tokens}
	}
}

// TestJudgedAgainInVain: an answer that is judged again in vain keeps its verdict. Both judgings
// are in the cost, each once, as in the bill.
func TestJudgedAgainInVain(t *testing.T) {
	r := newRun(t, 3)
	for _, name := range []string{"strict", "generous"} {
		r.id.Panel = append(r.id.Panel, result.Recipe{Name: name, SHA256: strings.Repeat("ab", 32), Judge: result.JudgeModel{
			Provider: "openai", Model: "m", PromptVersion: "1", PromptSHA256: strings.Repeat("cd", 32),
		}})
	}
	first, _ := read(t, r.run(t, process{judge: vain(t, 40)}))
	res, questions := read(t, r.run(t, process{judge: vain(t, 5), retry: true}))
	if want := 42 * llm.Dollar / 1_000_000; first.Cost.SpentUSD != want {
		t.Errorf("the first process spent %s, want %s", first.Cost.SpentUSD, want)
	}
	c, want := res.Cost, (42+7)*llm.Dollar/1_000_000
	if c.SpentUSD != want || c.Parts.JudgeUSD != want || c.JudgeRequests != 2 || c.OutputTokens != 45 {
		t.Errorf("spent %s of %+v, %d requests, %d tokens out, want %s", c.SpentUSD, c.Parts, c.JudgeRequests, c.OutputTokens, want)
	}
	if q := questions[1]; !q.Passed || !q.JudgeUnanswered || q.Tries != 2 || res.Passed != 3 {
		t.Errorf("got %+v", q)
	}
}
