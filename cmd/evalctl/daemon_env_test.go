package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"evalctl/internal/filetest"
	"evalctl/internal/llm/llmtest"
)

// foreignSecret is a credential that evalctl does not know.
const foreignSecret = "sk-foreign-real"

// ofTest returns the names that tests set: the machine may have others.
func ofTest(names []string) string {
	ours := []string{"anthropic_base_url", "ANTHROPIC_API_KEY", "UNHEARD_OF_API_KEY", "OPENAI_API_KEY", "OPENAI_BASE_URL",
		"SVC_EVAL_JUDGE_API_KEY", "SVC_TOKEN_OTHER_TENANT", "PLAIN_SETTING", "EVALCTL"}
	return strings.Join(slices.DeleteFunc(slices.Clone(names), func(name string) bool { return !slices.Contains(ours, name) }), " ")
}

// TestReplayWithholdsCredentials: a daemon gets nothing of evalctl's environment but what every
// program gets, and what --daemon-env names.
func TestReplayWithholdsCredentials(t *testing.T) {
	t.Parallel()
	file := lanterns(t, 1)
	env := []string{
		"SVC_LLM_PROVIDER=fake", "ANTHROPIC_API_KEY=" + foreignSecret, "anthropic_base_url=http://" + foreignSecret,
		"UNHEARD_OF_API_KEY=" + foreignSecret, "PLAIN_SETTING=kept", "PLAIN_OTHER=not-real",
	}
	for name, tt := range map[string]struct {
		args             []string
		gets, unmetered  bool
		withheld, passed string
	}{
		"withheld": {nil, false, false, "ANTHROPIC_API_KEY OPENAI_API_KEY SVC_EVAL_JUDGE_API_KEY SVC_TOKEN_OTHER_TENANT UNHEARD_OF_API_KEY anthropic_base_url", ""},
		"no cap":   {[]string{"--max-cost-usd=off"}, false, false, "ANTHROPIC_API_KEY OPENAI_API_KEY SVC_EVAL_JUDGE_API_KEY SVC_TOKEN_OTHER_TENANT UNHEARD_OF_API_KEY anthropic_base_url", ""},
		"passed": {[]string{"--daemon-env=ANTHROPIC_API_KEY,PLAIN_SETTING"}, true, true,
			"OPENAI_API_KEY SVC_EVAL_JUDGE_API_KEY SVC_TOKEN_OTHER_TENANT UNHEARD_OF_API_KEY anthropic_base_url", "ANTHROPIC_API_KEY PLAIN_SETTING"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			args := append([]string{"--sdk=go", "--dataset=" + file, "--output=a.json", spyDaemon("spy")}, tt.args...)
			code, out := paidReplay(t, dir, env, args...)
			if code != 0 {
				t.Fatalf("exit code %d\n%s", code, out)
			}
			spied, err := os.ReadFile(filepath.Join(dir, "spy"))
			if err != nil || strings.Contains(string(spied), "-real") != tt.gets || strings.Contains(string(spied), "PLAIN_SETTING=kept") != tt.gets {
				t.Errorf("%v\n%s", err, spied)
			}
			res := readResult(t, filepath.Join(dir, "a.json"))
			had := res.Settings.DaemonEnv
			if had == nil || ofTest(had.Withheld) != tt.withheld || ofTest(had.Passed) != tt.passed {
				t.Errorf("recorded %+v", had)
			}
			if res.CostAccounting.Unmetered != tt.unmetered {
				t.Errorf("unmetered %v", res.CostAccounting.Unmetered)
			}
			if !strings.Contains(out, "ANTHROPIC_API_KEY") || strings.Contains(out, foreignSecret) {
				t.Error(out)
			}
		})
	}
}

// TestDaemonEnvIsChecked: a value is never accepted on the command line, nor a variable that would
// have no effect.
func TestDaemonEnvIsChecked(t *testing.T) {
	file := lanterns(t, 1)
	model := llmtest.NewServer(t, lanternModel)
	for name, tt := range map[string]struct{ flag, more, want string }{
		"value":    {"ANTHROPIC_API_KEY=" + foreignSecret, "", "--daemon-env takes only the name of a variable"},
		"empty":    {"", "", "--daemon-env"},
		"unset":    {"NO_SUCH_API_KEY", "", "--daemon-env NO_SUCH_API_KEY: the variable is not set"},
		"endpoint": {"ANTHROPIC_API_KEY", "--endpoint=http://127.0.0.1:1", "--daemon-env is for a daemon that is started"},
	} {
		t.Run(name, func(t *testing.T) {
			args := []string{"--sdk=go", "--dataset=" + file, "--scorer=retrieval", "--daemon-env=" + tt.flag}
			if tt.more != "" {
				args = append(args, tt.more)
			}
			code, out := paidReplay(t, t.TempDir(), []string{"OPENAI_BASE_URL=" + model.URL, "ANTHROPIC_API_KEY=x"}, args...)
			if code != exitUsage || !strings.Contains(out, tt.want) || strings.Contains(out, foreignSecret) {
				t.Errorf("exit code %d\n%s", code, out)
			}
		})
	}
}

// TestRunWithholdsCredentials: with and without a cap, a started daemon gets the address and the
// key of a gateway. It gets a provider's key only if the user names it and accepts costs that are
// not counted.
func TestRunWithholdsCredentials(t *testing.T) {
	t.Parallel()
	model := llmtest.NewServer(t, lanternModel)
	write := func(t *testing.T, dir, name, text string) {
		t.Helper()
		path := filepath.Join(dir, name)
		filetest.Write(t, path, text)
	}
	for name, tt := range map[string]struct {
		args             []string
		foreign          bool
		withheld, passed string
	}{
		"budget": {[]string{"--max-cost-usd=1", "--daemon-env=EVALCTL,OPENAI_API_KEY"}, false, "ANTHROPIC_API_KEY OPENAI_API_KEY OPENAI_BASE_URL", "EVALCTL"},
		"passed": {[]string{"--max-cost-usd=1", "--daemon-env=EVALCTL,OPENAI_API_KEY,ANTHROPIC_API_KEY"}, true, "OPENAI_API_KEY OPENAI_BASE_URL", "ANTHROPIC_API_KEY EVALCTL"},
		"search": {[]string{"--max-cost-usd=1", "--scenario=search-retrieve-only", "--scorer=retrieval"}, false,
			"ANTHROPIC_API_KEY OPENAI_API_KEY OPENAI_BASE_URL", ""},
		"no cap": {[]string{"--daemon-env=EVALCTL"}, false, "ANTHROPIC_API_KEY OPENAI_API_KEY OPENAI_BASE_URL", "EVALCTL"},
		"past the gateway": {[]string{"--max-cost-usd=1", "--unmetered-daemon", "--daemon-env=EVALCTL,OPENAI_API_KEY"}, false,
			"ANTHROPIC_API_KEY", "EVALCTL OPENAI_API_KEY OPENAI_BASE_URL"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			write(t, dir, "q.jsonl", `{"id":"a","question":"Which colour is the lantern?","expected_substrings":["red"],"expected_paths":["a.md"]}`+"\n")
			write(t, dir, "q.corpus/a.md", "The lantern is red.\n")
			spy := fmt.Sprintf(`SVC_SDK_GO_CMD=sh -c 'env >%s; exec "$EVALCTL" serve --addr "$0" --home "$1"' {addr} {home}`, filepath.Join(dir, "spy"))
			if strings.HasPrefix(name, "search") {
				spy = "SVC_SDK_GO_CMD=" // its own daemon, which needs no reader
			}
			cmd := replayCommand(t, dir)
			cmd.Args = append([]string{cmd.Args[0], "run", "--sdk=go", "--dataset=q.jsonl", "--scorer=exact", "--floor=0", "--output=out",
				"--llm-provider=openai", "--model=gpt-4o-mini"}, tt.args...)
			cmd.Env = append(cmd.Env, spy, "EVALCTL="+cmd.Path, "OPENAI_BASE_URL="+model.URL, "OPENAI_API_KEY="+llmSecret, "ANTHROPIC_API_KEY="+foreignSecret)
			out, err := cmd.CombinedOutput()
			if err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			had := readResult(t, filepath.Join(dir, "out", newestDay(t, dir), "go.json")).Settings.DaemonEnv
			if had == nil || ofTest(had.Withheld) != tt.withheld || ofTest(had.Passed) != tt.passed {
				t.Errorf("recorded %+v", had)
			}
			if strings.HasPrefix(name, "search") {
				return
			}
			spied, err := os.ReadFile(filepath.Join(dir, "spy"))
			if err != nil || strings.Contains(string(spied), foreignSecret) != tt.foreign || strings.Contains(string(spied), llmSecret) != (name == "past the gateway") {
				t.Errorf("%v\n%s", err, spied)
			}
			if !strings.Contains(string(spied), "OPENAI_API_KEY=") {
				t.Errorf("no key:\n%s", spied)
			}
			if past := tt.foreign || name == "past the gateway"; strings.Contains(string(out), "no cap limits") != past {
				t.Errorf("%s", out)
			}
		})
	}
}

// newestDay returns the only folder of results.
func newestDay(t *testing.T, dir string) string {
	t.Helper()
	days, err := os.ReadDir(filepath.Join(dir, "out"))
	if err != nil || len(days) != 1 {
		t.Fatal(days, err)
	}
	return days[0].Name()
}
