//go:build unix

package scripts_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"evalctl/internal/llm"
	"evalctl/internal/llm/llmtest"
)

// The keys of the user, which no daemon may have.
const (
	openAIKey    = "sk-openai-of-the-user"
	anthropicKey = "sk-anthropic-of-the-user"
)

// moneyRig is a rig with three daemons that use models as the real ones do, and with the providers
// that they can reach.
type moneyRig struct {
	*rig
	// openAI is the provider of evalctl, anthropic and dialled those that a daemon knows by itself.
	openAI, anthropic, dialled *llmtest.Server
}

var lamp = regexp.MustCompile(`The lamp of \w+ is (\w+)`)

func newMoneyRig(t *testing.T, env ...string) *moneyRig {
	t.Helper()
	answer := func(c llmtest.Call) llmtest.Reply {
		if strings.HasSuffix(c.Path, "/embeddings") {
			return llmtest.Reply{Status: http.StatusNotFound, Body: `{"error":{"message":"no embeddings here"}}`}
		}
		text := "I do not know."
		if m := lamp.FindStringSubmatch(c.Messages[len(c.Messages)-1].Content); m != nil {
			text = m[1]
		}
		return llmtest.Reply{Text: text, Input: 100, Output: 10}
	}
	r := &moneyRig{
		rig: newRig(t), openAI: llmtest.NewServer(t, answer),
		anthropic: llmtest.NewServer(t, func(llmtest.Call) llmtest.Reply {
			return llmtest.Reply{Body: `{"content":[{"type":"text","text":"green"}]}`}
		}),
		dialled: llmtest.NewServer(t, func(llmtest.Call) llmtest.Reply { return llmtest.Reply{Status: http.StatusUnauthorized} }),
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, sdk := range []string{"ts", "go", "py"} {
		upper := strings.ToUpper(sdk)
		r.env = append(r.env, fmt.Sprintf("SVC_SDK_%s_CMD='%s' %s %s --addr {addr} --provider %s --anthropic %s", upper, self, stubCommand, sdk,
			r.dialled.URL, strings.TrimSuffix(r.anthropic.URL, "/v1")), "SVC_SDK_"+upper+"_DIR=")
	}
	r.env = append(r.env, "OPENAI_BASE_URL="+r.openAI.URL, "OPENAI_API_KEY="+openAIKey)
	r.env = append(r.env, env...)
	return r
}

// moneyResult is what the tests of money look at in a result file.
type moneyResult struct {
	result
	Settings struct {
		DaemonEnv struct{ Withheld, Passed []string } `json:"daemon_env"`
	}
	Accounting struct {
		ActorUSD  llm.USD `json:"actor_usd"`
		Unmetered bool    `json:"unmetered_daemon"`
	} `json:"cost_accounting"`
	EffectiveModes map[string]int `json:"effective_modes"`
	Replay         struct {
		Requests struct {
			Answers, Embeddings struct{ Made, Failed int }
			WithoutModel        int `json:"without_model"`
			Silent              []string
		} `json:"model_requests"`
	}
}

func (r *moneyRig) result(t *testing.T, sdk string) (res moneyResult) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(r.dir, "out", sdk+".json"))
	if err == nil {
		err = json.Unmarshal(data, &res)
	}
	if err != nil {
		t.Fatal(err)
	}
	return res
}

// full has the three daemons answer with their own models under a cap.
func (r *moneyRig) full(t *testing.T, flags ...string) string {
	t.Helper()
	evalctl, err := build()
	if err != nil {
		t.Fatal(err)
	}
	args := append([]string{"replay", "--sdk=ts", "--sdk=go", "--sdk=py", "--actor-style=full", "--model=gpt-4o-mini",
		"--dataset=q.jsonl", "--scorer=exact", "--max-cost-usd=1", "--concurrency=2", "--cache=off", "--cache-dir=cache", "--output=out",
		"--report=out/README.md", "--markdown=out/summary.md"}, flags...)
	cmd := exec.CommandContext(t.Context(), evalctl, args...)
	var out bytes.Buffer
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = r.dir, r.env, &out, &out
	if code := code(t, cmd.Run(), &out); code != 0 {
		t.Fatalf("exit code %d:\n%s", code, &out)
	}
	for _, key := range []string{openAIKey, anthropicKey} {
		if strings.Contains(out.String(), key) {
			t.Errorf("the output has %s", key)
		}
	}
	verify := exec.CommandContext(t.Context(), evalctl, "verify", "out/ts.json", "out/go.json", "out/py.json")
	verify.Dir = r.dir
	if out, err := verify.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	return out.String()
}

// page writes the HTML page of a result, and returns it.
func (r *moneyRig) page(t *testing.T, sdk string) string {
	t.Helper()
	evalctl, err := build()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), evalctl, "show", "out/"+sdk+".json", "--html=page.html")
	cmd.Dir, cmd.Env = r.dir, r.env
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	data, err := os.ReadFile(filepath.Join(r.dir, "page.html"))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// usd is what n completions cost that the stub counts with 100 and 10 tokens.
func usd(n int) llm.USD {
	price, _ := llm.DefaultPrices().Of(llm.ProviderOpenAI, "gpt-4o-mini")
	return price.Cost(llm.Usage{InputTokens: 100, OutputTokens: 10}).Times(n)
}

// TestNoMoneyOutsideTheCap: three daemons answer with their own models. Each uses only the gateway,
// although one would prefer another provider, and every request is in the accounts.
func TestNoMoneyOutsideTheCap(t *testing.T) {
	t.Parallel()
	r := newMoneyRig(t, "ANTHROPIC_API_KEY="+anthropicKey)
	r.env = append(r.env, "ANTHROPIC_BASE_URL="+strings.TrimSuffix(r.anthropic.URL, "/v1"), "UNHEARD_OF_TOKEN=t-1")
	out := r.full(t)
	if n := len(r.anthropic.Calls()); n != 0 {
		t.Errorf("%d requests outside the cap", n)
	}
	for _, c := range append(r.openAI.Calls(), r.dialled.Calls()...) {
		key := c.Header.Get("Authorization")
		if own := strings.HasPrefix(key, "Bearer evalctl-"); !own && key != "Bearer "+openAIKey {
			t.Errorf("%s is sent with %q", c.Path, key)
		}
	}
	for _, c := range r.dialled.Calls() {
		if strings.Contains(c.Header.Get("Authorization"), openAIKey) {
			t.Error("a daemon has the real key")
		}
	}
	for sdk, without := range map[string]int{"ts": 0, "go": questions, "py": questions} {
		res := r.result(t, sdk)
		asked := res.Replay.Requests
		if res.Total != questions || res.Passed < questions-4 || res.Accounting.ActorUSD != usd(questions) || res.Accounting.Unmetered ||
			asked.Answers.Made != questions || asked.Answers.Failed != 0 || asked.WithoutModel != without || len(asked.Silent) > 0 {
			t.Errorf("%s: %+v", sdk, res)
		}
		withheld := strings.Join(res.Settings.DaemonEnv.Withheld, " ")
		if withheld != "ANTHROPIC_API_KEY ANTHROPIC_BASE_URL OPENAI_API_KEY OPENAI_BASE_URL UNHEARD_OF_TOKEN" || len(res.Settings.DaemonEnv.Passed) > 0 {
			t.Errorf("%s: %+v", sdk, res.Settings.DaemonEnv)
		}
	}
	if ts := r.result(t, "ts").Replay.Requests.Embeddings; ts.Made < 2*questions || ts.Failed != ts.Made {
		t.Errorf("embeddings of ts: %+v", ts)
	}
	summary, err := os.ReadFile(filepath.Join(r.dir, "out", "summary.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{strings.Join(strings.Fields(out), " "), r.readme(t), string(summary), r.page(t, "ts")} {
		has(t, strings.ReplaceAll(text, "`", ""), "withheld ANTHROPIC_API_KEY, ANTHROPIC_BASE_URL, OPENAI_API_KEY, OPENAI_BASE_URL, UNHEARD_OF_TOKEN",
			"embedding requests refused: 404")
	}
	r.stopped(t)
}

// TestMoneyThatIsPassedOn: --daemon-env lets a daemon use the provider that it prefers, and the
// result says that this is not counted.
func TestMoneyThatIsPassedOn(t *testing.T) {
	t.Parallel()
	r := newMoneyRig(t, "ANTHROPIC_API_KEY="+anthropicKey)
	out := r.full(t, "--daemon-env=ANTHROPIC_API_KEY")
	if n := len(r.anthropic.Calls()); n != questions {
		t.Errorf("%d requests, want %d", n, questions)
	}
	ts, py := r.result(t, "ts"), r.result(t, "py")
	if strings.Join(ts.Settings.DaemonEnv.Passed, " ") != "ANTHROPIC_API_KEY" || !ts.Accounting.Unmetered ||
		strings.Join(ts.Replay.Requests.Silent, " ") != "answers" || ts.Accounting.ActorUSD != 0 {
		t.Errorf("%+v", ts)
	}
	if py.Accounting.ActorUSD != usd(questions) || len(py.Replay.Requests.Silent) > 0 {
		t.Errorf("%+v", py)
	}
	for _, text := range []string{strings.Join(strings.Fields(out), " "), r.readme(t), r.page(t, "ts")} {
		has(t, strings.ReplaceAll(text, "`", ""), "passed on ANTHROPIC_API_KEY", "model request came: ")
	}
}

// TestTriSDKMoney: the comparison of what the daemons retrieve is under the same rules, and finds
// the daemons that ask nobody for the vectors that they are configured to use.
func TestTriSDKMoney(t *testing.T) {
	t.Parallel()
	r := newMoneyRig(t, "ANTHROPIC_API_KEY="+anthropicKey, "SVC_EMBED_PROVIDER=openai", "SVC_EMBED_MODEL=text-embedding-3-small")
	if code, out := r.run(t); code != 0 {
		t.Fatalf("exit code %d:\n%s", code, out)
	}
	if n := len(r.anthropic.Calls()); n != 0 {
		t.Errorf("%d requests outside the cap", n)
	}
	for sdk, silent := range map[string]string{"ts": "", "go": "vectors", "py": "vectors"} {
		res := r.result(t, sdk)
		if strings.Join(res.Replay.Requests.Silent, " ") != silent || res.Accounting.Unmetered != (silent != "") {
			t.Errorf("%s: %+v", sdk, res)
		}
	}
	for sdk, mode := range map[string]string{"ts": "bm25", "go": "bm25", "py": "hybrid"} {
		if got := r.result(t, sdk).EffectiveModes; got[mode] != questions {
			t.Errorf("%s ran %v", sdk, got)
		}
	}
	has(t, strings.ReplaceAll(r.readme(t), "`", ""), "withheld ANTHROPIC_API_KEY", "embedding requests refused: 404", "no model request came")
	r.stopped(t)
}
