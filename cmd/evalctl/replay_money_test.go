package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"evalctl/harness/result"
	"evalctl/harness/resultfile"
	"evalctl/internal/filetest"
	"evalctl/internal/llm"
	"evalctl/internal/llm/llmtest"
)

// The secrets in the environment of evalctl. None of them is the daemon's.
const (
	llmSecret, embedSecret   = "sk-llm-real", "sk-embed-real"
	judgeSecret, otherSecret = "sk-judge-real", "token-other-real"
)

// paidReplay runs a replay with paid models in dir, and returns its exit code and its output.
func paidReplay(t *testing.T, dir string, env []string, args ...string) (code int, output string) {
	t.Helper()
	cmd := replayCommand(t, dir, args...)
	cmd.Env = append(cmd.Env, "SVC_LLM_PROVIDER=openai", "OPENAI_API_KEY="+llmSecret,
		"SVC_EVAL_JUDGE_API_KEY="+judgeSecret, "SVC_TOKEN_OTHER_TENANT="+otherSecret)
	cmd.Env = append(cmd.Env, env...)
	out, err := cmd.CombinedOutput()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return exit.ExitCode(), string(out)
	}
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return 0, string(out)
}

// spyDaemon returns a --daemon-cmd that writes its environment to a file.
func spyDaemon(file string) string {
	return fmt.Sprintf(`--daemon-cmd=sh -c 'env >%s; exec evalctl serve --addr "$0" --home "$1"' {addr} {home}`, file)
}

func embeddingReply(c llmtest.Call) llmtest.Reply {
	return llmtest.Reply{Usage: fmt.Sprintf(`{"prompt_tokens":%d,"total_tokens":%[1]d}`, len(strings.Join(c.Input, ""))/4+1)}
}

// bill returns what a provider's calls cost.
func bill(calls []llmtest.Call, reply func(llmtest.Call) llmtest.Reply) (sum llm.USD) {
	for _, c := range calls {
		price, _ := llm.DefaultPrices().Of(llm.ProviderOpenAI, c.Model)
		r := reply(c)
		u := llm.Usage{InputTokens: r.Input, OutputTokens: r.Output}
		if r.Usage != "" {
			var counted struct {
				Prompt int `json:"prompt_tokens"`
			}
			_ = json.Unmarshal([]byte(r.Usage), &counted)
			u.InputTokens = counted.Prompt
		}
		sum += price.Cost(u)
	}
	return sum
}

func readResult(t *testing.T, path string) (res result.Result) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(data, &res)
	}
	if err != nil {
		t.Fatal(err)
	}
	return res
}

// TestReplayCountsEveryProvider: embeddings at a provider of their own are counted under the same
// cap, and a started daemon gets no key of anyone.
func TestReplayCountsEveryProvider(t *testing.T) {
	t.Parallel()
	dir, file := t.TempDir(), lanterns(t, 3)
	main := llmtest.NewServer(t, lanternModel)
	embed := llmtest.NewServer(t, embeddingReply)
	env := []string{
		"OPENAI_BASE_URL=" + main.URL, "SVC_EMBED_PROVIDER=openai", "SVC_EMBED_MODEL=text-embedding-3-small",
		"SVC_EMBED_BASE_URL=" + embed.URL, "SVC_EMBED_API_KEY=" + embedSecret,
	}
	code, out := paidReplay(t, dir, env, "--sdk=go", "--dataset="+file, "--model=gpt-4o-mini", "--actor-style=full",
		"--scorer=exact", "--cache=off", "--output=a.json", spyDaemon("spy"))
	if code != 0 {
		t.Fatalf("exit code %d\n%s", code, out)
	}
	res := readResult(t, filepath.Join(dir, "a.json"))
	seen, asked := res.Replay.Daemon, res.Replay.ModelRequests
	if want := (result.RequestCount{Made: len(embed.Calls())}); asked.Embeddings != want || want.Made == 0 {
		t.Errorf("requests for embeddings: %+v, the provider got %+v", asked.Embeddings, want)
	}
	if !slices.Equal(seen.Dialects, []result.Dialect{result.Snake}) || runtime.GOOS == "linux" && seen.PeakRSSBytes < 1<<20 {
		t.Errorf("seen of the daemon: %+v", seen)
	}
	cost := res.CostAccounting
	if want := bill(embed.Calls(), embeddingReply); cost.EmbedUSD != want || want == 0 || cost.Unmetered {
		t.Errorf("embeddings: %s, billed %s, unmetered %v", cost.EmbedUSD, want, cost.Unmetered)
	}
	if want := bill(main.Calls(), lanternModel); cost.ActorUSD != want || want == 0 {
		t.Errorf("answers: %s, billed %s", cost.ActorUSD, want)
	}
	for _, c := range embed.Calls() {
		if c.Header.Get("Authorization") != "Bearer "+embedSecret {
			t.Errorf("embeddings are sent with %q", c.Header.Get("Authorization"))
		}
	}
	spied, err := os.ReadFile(filepath.Join(dir, "spy"))
	if err != nil || !strings.Contains(string(spied), "OPENAI_API_KEY=evalctl-") {
		t.Fatalf("%v\n%s", err, spied)
	}
	for _, secret := range []string{llmSecret, embedSecret, judgeSecret, otherSecret} {
		if strings.Contains(string(spied), secret) {
			t.Errorf("the daemon gets %s", secret)
		}
	}
}

// TestReplayHidesUnusedKeys: a daemon that calls no paid model gets no key for one either.
func TestReplayHidesUnusedKeys(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	code, out := paidReplay(t, dir, []string{"SVC_LLM_PROVIDER=fake", "OPENAI_API_KEY=", "SVC_EMBED_API_KEY=" + embedSecret,
		"SVC_RERANK_API_KEY=sk-rerank-real"}, "--sdk=go", "--dataset="+lanterns(t, 1), "--output=a.json", spyDaemon("spy"))
	if code != 0 {
		t.Fatalf("exit code %d\n%s", code, out)
	}
	spied, err := os.ReadFile(filepath.Join(dir, "spy"))
	if err != nil || strings.Contains(string(spied), "-real") {
		t.Errorf("%v\n%s", err, spied)
	}
}

// TestReplayReranker: a /rerank endpoint is not counted, which a cap does not allow unless the user
// does.
func TestReplayReranker(t *testing.T) {
	t.Parallel()
	dir, file := t.TempDir(), lanterns(t, 2)
	rerank := llmtest.NewServer(t, func(llmtest.Call) llmtest.Reply { return llmtest.Reply{} })
	env := []string{"SVC_LLM_PROVIDER=fake", "SVC_RERANK_PROVIDER=http", "SVC_RERANK_BASE_URL=" + rerank.URL,
		"SVC_EMBED_PROVIDER=fake"}
	args := []string{"--sdk=go", "--dataset=" + file, "--mode=hybrid-rerank", "--output=a.json"}
	if code, out := paidReplay(t, dir, env, args...); code != exitUsage || !strings.Contains(out, "--unmetered-daemon") {
		t.Errorf("exit code %d\n%s", code, out)
	}
	if code, out := paidReplay(t, dir, env, append(args, "--unmetered-daemon")...); code != 0 {
		t.Fatalf("exit code %d\n%s", code, out)
	}
	if cost := readResult(t, filepath.Join(dir, "a.json")).CostAccounting; !cost.Unmetered {
		t.Error("the result does not say that the reranker is not counted")
	}
	if len(rerank.Calls()) == 0 {
		t.Error("nothing was reranked")
	}
}

// TestReplayChecksBeforeSpending: what can be known of a daemon before it is started is checked
// before the first paid call.
func TestReplayChecksBeforeSpending(t *testing.T) {
	t.Parallel()
	file := lanterns(t, 2)
	model := llmtest.NewServer(t, lanternModel)
	taken := strings.Split(strings.TrimPrefix(model.URL, "http://"), "/")[0]
	_, port, _ := strings.Cut(taken, ":")
	for name, tt := range map[string]struct {
		env, args []string
		want      string
	}{
		"no program":   {nil, []string{"--daemon-cmd=nosuchdaemon {port}"}, "nosuchdaemon"},
		"no port":      {nil, []string{"--daemon-cmd=sleep 100"}, "{addr} or {port}"},
		"used port":    {nil, []string{"--port=" + port}, "port " + port + " cannot be used"},
		"no directory": {[]string{"SVC_SDK_GO_CMD=sleep {port}", "SVC_SDK_GO_DIR=nosuchfolder"}, nil, "nosuchfolder"},
		"model of a reader": {nil, []string{"--model=house-model", "--actor-style=full", "--scorer=exact"},
			"no price is known for model \"house-model\""},
		"model of an extraction": {nil, []string{"--model=house-model", "--ingest-mode=replay", "--scorer=retrieval"},
			"no price is known for model \"house-model\""},
		"embedding model": {[]string{"SVC_EMBED_PROVIDER=openai", "SVC_EMBED_MODEL=my-embed"}, nil,
			"no price is known for model \"my-embed\""},
		"no embedding model": {[]string{"SVC_EMBED_PROVIDER=openai"}, nil, "SVC_EMBED_MODEL"},
		"reranker": {[]string{"SVC_RERANK_PROVIDER=llm", "SVC_RERANK_MODEL=my-rerank"}, []string{"--actor-style=full"},
			"no price is known for model \"my-rerank\""},
	} {
		t.Run(name, func(t *testing.T) {
			args := append([]string{"--sdk=go", "--dataset=" + file, "--model=gpt-4o-mini", "--judge=gpt-4o"}, tt.args...)
			code, out := paidReplay(t, t.TempDir(), append(tt.env, "OPENAI_BASE_URL="+model.URL), args...)
			if code != exitUsage || !strings.Contains(out, tt.want) {
				t.Errorf("exit code %d\n%s", code, out)
			}
			if n := len(model.Calls()); n != 0 {
				t.Errorf("%d paid calls", n)
			}
		})
	}
}

// essays writes a benchmark file with sessions of an ordinary length.
func essays(t *testing.T, questions int) string {
	t.Helper()
	var instances []map[string]any
	type turn = map[string]string
	for i := range questions {
		var sessions [][]turn
		var ids, dates []string
		for s := range 6 {
			var text strings.Builder
			for n := range 24 {
				fmt.Fprintf(&text, "On walk %d through quarter %d of town %d I met somebody who collects <maps> & \"globes\" of region %d.\n",
					n, s, i, 7*n+s+i)
			}
			if s == i%6 {
				fmt.Fprintf(&text, "My lantern q%02d is painted %s.", i, colour(i))
			}
			sessions = append(sessions, []turn{
				{"role": "user", "content": text.String()}, {"role": "assistant", "content": strings.Repeat("That sounds like a long walk. ", 40)},
			})
			ids = append(ids, fmt.Sprintf("%d_%d", i, s))
			dates = append(dates, fmt.Sprintf("2023/05/%02d (Mon) 10:00", 1+s))
		}
		instances = append(instances, map[string]any{
			"question_id": fmt.Sprintf("q%02d", i), "question_type": "multi-session", "answer": colour(i),
			"question":      fmt.Sprintf("Which colour is lantern q%02d painted?", i),
			"question_date": "2023/05/30 (Tue) 23:40", "haystack_session_ids": ids, "haystack_dates": dates,
			"haystack_sessions": sessions, "answer_session_ids": []string{ids[i%6]},
		})
	}
	data, err := json.Marshal(instances)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "essays.json")
	filetest.Write(t, path, data)
	return path
}

// proseModel counts four bytes a token, extracts facts as long as an eighth of a session, and
// answers in a few sentences.
func proseModel(c llmtest.Call) llmtest.Reply {
	if strings.HasSuffix(c.Path, "/embeddings") {
		return embeddingReply(c)
	}
	r := lanternModel(c)
	in := 0
	for _, m := range c.Messages {
		in += len(m.Content)
	}
	switch {
	case strings.Contains(r.Text, `"facts"`):
		var facts []string
		for n := range 4 {
			facts = append(facts, fmt.Sprintf(`{"text":"%s %d","date":"","message":0}`, strings.Repeat("Somebody walks. ", 8), n))
		}
		r.Text = `{"facts":[` + strings.Join(facts, ",") + `]}`
	case !strings.HasPrefix(r.Text, "{"):
		r.Text += strings.Repeat(" as the notes say", 10)
	}
	r.Input, r.Output = in/4+10, len(r.Text)/4+1
	return r
}

// TestReplayEstimate: what is forecast for the work of evalctl and of the daemon is near the bill,
// and what it is at most is not exceeded.
func TestReplayEstimate(t *testing.T) {
	if testing.Short() {
		t.Skip("it replays with seven set-ups")
	}
	file := essays(t, 4)
	embedding := []string{"SVC_EMBED_PROVIDER=openai", "SVC_EMBED_MODEL=text-embedding-3-small"}
	for name, tt := range map[string]struct{ env, args []string }{
		"retrieve-only":  {nil, []string{"--scorer=exact"}},
		"judge":          {nil, []string{"--judge=gpt-4o"}},
		"full":           {nil, []string{"--scorer=exact", "--actor-style=full"}},
		"replay":         {nil, []string{"--scorer=retrieval", "--ingest-mode=replay"}},
		"embed":          {embedding, []string{"--scorer=retrieval"}},
		"embed replayed": {embedding, []string{"--scorer=retrieval", "--ingest-mode=replay"}},
		"everything":     {embedding, []string{"--ingest-mode=replay", "--actor-style=full", "--judge=gpt-4o"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			model := llmtest.NewServer(t, proseModel)
			dir := t.TempDir()
			env := append([]string{"OPENAI_BASE_URL=" + model.URL}, tt.env...)
			args := append([]string{"--sdk=go", "--dataset=" + file, "--model=gpt-4o-mini", "--max-cost-usd=off"}, tt.args...)
			code, estimate := paidReplay(t, dir, env, append(args, "--estimate")...)
			if code != 0 || len(model.Calls()) != 0 {
				t.Fatalf("exit code %d, %d calls\n%s", code, len(model.Calls()), estimate)
			}
			var forecast struct {
				Likely llm.USD `json:"likely_usd"`
				Worst  llm.USD `json:"worst_usd"`
			}
			if err := json.Unmarshal([]byte(estimate[strings.LastIndex(estimate, "\n{")+1:]), &forecast); err != nil {
				t.Fatalf("%v\n%s", err, estimate)
			}
			if code, out := paidReplay(t, dir, env, append(args, "--output=a.json", "--max-unscored=100%")...); code != 0 {
				t.Fatalf("exit code %d\n%s", code, out)
			}
			billed := bill(model.Calls(), proseModel)
			t.Logf("likely %s, at most %s, billed %s in %d calls\n%s", forecast.Likely, forecast.Worst, billed, len(model.Calls()), estimate)
			if billed == 0 || forecast.Worst < billed || forecast.Likely < billed/3 || forecast.Likely > 3*billed {
				t.Errorf("likely %s, at most %s, billed %s", forecast.Likely, forecast.Worst, billed)
			}
		})
	}
}

// TestReplayUnpriced: without a cap, models of the daemon without a price are named.
func TestReplayUnpriced(t *testing.T) {
	model := llmtest.NewServer(t, lanternModel)
	code, out := paidReplay(t, t.TempDir(), []string{"OPENAI_BASE_URL=" + model.URL, "SVC_EMBED_PROVIDER=openai",
		"SVC_EMBED_MODEL=my-embed"}, "--sdk=go", "--dataset="+lanterns(t, 2), "--model=house-model", "--actor-style=full",
		"--scorer=exact", "--max-cost-usd=off", "--estimate")
	if code != 0 || !strings.Contains(out, "the price of my-embed is not known") ||
		strings.Count(out, "the price of house-model is not known") != 1 {
		t.Errorf("exit code %d\n%s", code, out)
	}
}

// TestReplayAfterBadExtraction: replies that the daemon could not use are not sent to it again when
// the replay is continued, nor in a new replay.
func TestReplayAfterBadExtraction(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("it replays six times")
	}
	for name, again := range map[string][]string{
		"resumed": {"--resume=a.ledger"},
		"new":     nil,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var healthy atomic.Bool
			model := llmtest.NewServer(t, func(c llmtest.Call) llmtest.Reply {
				r := lanternModel(c)
				if !healthy.Load() && strings.Contains(r.Text, `"facts"`) {
					r.Text = `{"facts": "none"}`
				}
				return r
			})
			dir, env := t.TempDir(), []string{"OPENAI_BASE_URL=" + model.URL}
			args := []string{"--sdk=go", "--dataset=" + lanterns(t, 2), "--model=gpt-4o-mini", "--ingest-mode=replay", "--scorer=retrieval"}
			if code, out := paidReplay(t, dir, env, append(args, "--output=a.json")...); code != exitDaemon {
				t.Fatalf("exit code %d\n%s", code, out)
			}
			healthy.Store(true)
			if again == nil {
				again = append(args, "--output=b.json")
			}
			if code, out := paidReplay(t, dir, env, again...); code != 0 {
				t.Fatalf("exit code %d\n%s", code, out)
			}
			output := "b.json"
			if name == "resumed" {
				output = "a.json"
			}
			// What the process before has counted is not known to the one that resumes.
			if m := readResult(t, filepath.Join(dir, output)).Replay.ModelRequests; m.SinceResumed != (name == "resumed") {
				t.Errorf("requests to models: %+v", m)
			}
			// What was repaired is cached.
			paid := len(model.Calls())
			if err := os.RemoveAll(filepath.Join(dir, "cache", "homes")); err != nil {
				t.Fatal(err)
			}
			if code, out := paidReplay(t, dir, env, append(args, "--output=c.json", "--cache=only")...); code != 0 {
				t.Fatalf("exit code %d\n%s", code, out)
			}
			if n := len(model.Calls()); n != paid {
				t.Errorf("%d calls, want %d", n, paid)
			}
		})
	}
}

// TestReplayBlamesTheDaemonAlone: what the cache, the cap or a local folder causes has its own exit
// code, also while brains are filled.
func TestReplayBlamesTheDaemonAlone(t *testing.T) {
	t.Parallel()
	model := llmtest.NewServer(t, lanternModel)
	env := []string{"OPENAI_BASE_URL=" + model.URL}
	args := []string{"--sdk=go", "--dataset=" + lanterns(t, 1), "--model=gpt-4o-mini", "--ingest-mode=replay",
		"--scorer=retrieval", "--output=a.json"}
	for name, tt := range map[string]struct {
		args []string
		code int
		want string
		dir  func(dir string) error
	}{
		"not cached": {[]string{"--cache=only"}, exitUsage, "no cached reply", nil},
		"cap":        {[]string{"--max-cost-usd=0.0001"}, exitBudget, "cap", nil},
		"homes": {nil, exitUsage, "homes", func(dir string) error {
			if err := os.Mkdir(filepath.Join(dir, "cache"), 0o700); err != nil {
				return err
			}
			return os.WriteFile(filepath.Join(dir, "cache", "homes"), nil, 0o600)
		}},
		"daemon": {[]string{"--daemon-cmd=false {port}"}, exitDaemon, "exit", nil},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			if tt.dir != nil {
				if err := tt.dir(dir); err != nil {
					t.Fatal(err)
				}
			}
			code, out := paidReplay(t, dir, env, append(args, tt.args...)...)
			if code != tt.code || !strings.Contains(out, tt.want) {
				t.Errorf("exit code %d, want %d\n%s", code, tt.code, out)
			}
		})
	}
}

// TestReplayRepeatedForNothing: a paid replay in which the daemon extracts and answers is repeated
// from the cache alone, also when its home is gone.
func TestReplayRepeatedForNothing(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("it fills brains several times")
	}
	model := llmtest.NewServer(t, proseModel)
	dir, env := t.TempDir(), []string{"OPENAI_BASE_URL=" + model.URL}
	args := []string{"--sdk=go", "--dataset=" + essays(t, 6), "--model=gpt-4o-mini", "--judge=gpt-4o",
		"--ingest-mode=replay", "--actor-style=full"}
	if code, out := paidReplay(t, dir, env, append(args, "--output=a.json")...); code != 0 {
		t.Fatalf("exit code %d\n%s", code, out)
	}
	paid := len(model.Calls())
	if err := os.RemoveAll(filepath.Join(dir, "cache", "homes")); err != nil {
		t.Fatal(err)
	}
	if code, out := paidReplay(t, dir, env, append(args, "--output=b.json", "--cache=only")...); code != 0 {
		t.Fatalf("exit code %d\n%s", code, out)
	}
	if n := len(model.Calls()); n != paid {
		t.Errorf("%d calls, want %d", n, paid)
	}
	// What the daemon got from the cache, too, costs as much as it did.
	var costs []*result.CostAccounting
	for _, name := range []string{"a.json", "b.json"} {
		r, err := resultfile.Open(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		costs = append(costs, r.Result().CostAccounting)
	}
	a, b := costs[0], costs[1]
	if a.TotalUSD == 0 || b.TotalUSD != 0 || *a.List.USD != a.TotalUSD || *b.List.USD != a.TotalUSD {
		t.Errorf("spent %s and %s, list cost %s and %s", a.TotalUSD, b.TotalUSD, a.List.USD, b.List.USD)
	}
}
