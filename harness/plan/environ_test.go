package plan

import (
	"slices"
	"strings"
	"testing"

	"evalctl/harness"
	"evalctl/harness/launch"
	"evalctl/harness/target"
	"evalctl/harness/wording"
)

// targetsOf returns targets of an environment.
func targetsOf(environ []string, passed ...string) Targets {
	return Targets{Environ: environ, Passed: passed, Registry: target.Registry{Env: func(name string) string {
		value, _ := assigned(environ, name)
		return value
	}}}
}

// TestPassedTo: a daemon of the protocol gets what configures it, and anything else what is named.
func TestPassedTo(t *testing.T) {
	environ := []string{
		"PATH=/bin", "SVC_TOKEN=t", "SVC_TOKEN_OTHER=t", "SVC_EVAL_JUDGE_API_KEY=k", "SVC_EVAL_FLOOR=1", "SVC_SDK_GO_CMD=x",
		"SVC_STORE=postgres://h/d", "SVC_EMBED_PROVIDER=openai", "SVC_EMBED_API_KEY=k", "SVC_EMBED_MODEL=m", "SVC_RERANK_API_KEY=k",
		"SVC_SIGN_KEY_PASSPHRASE=p", "SVC_FUTURE=1", "OPENAI_API_KEY=k", "OPENAI_BASE_URL=http://h", "OLLAMA_HOST=h",
		"PGHOST=h", "PGPASSWORD=p", "MINE=1", "OTHER=1",
	}
	config := "SVC_TOKEN SVC_STORE SVC_EMBED_PROVIDER SVC_EMBED_API_KEY SVC_EMBED_MODEL SVC_FUTURE OPENAI_BASE_URL"
	for name, tt := range map[string]struct {
		d      target.Definition
		passed []string
		want   string
	}{
		"protocol": {target.Definition{}, []string{"MINE", "PGPASSWORD"}, "MINE PGPASSWORD " + config + " PGHOST"},
		"own":      {target.Definition{Own: true}, nil, config + " PGHOST"},
		"fs":       {target.Definition{Profile: launch.Profile{Env: []string{"SVC_STORE=fs"}}}, nil, config},
		"mcp":      {target.Definition{MCP: true}, []string{"MINE"}, "MINE"},
		"mapped":   {target.Definition{Settings: target.Settings{Mapping: "m.yaml"}}, nil, ""},
	} {
		targets := targetsOf(environ, tt.passed...)
		got := targets.PassedTo(tt.d, modelVariables(targets.Env, "fake"))
		if strings.Join(got, " ") != tt.want {
			t.Errorf("%s: got %q, want %q", name, got, tt.want)
		}
	}
}

func TestDaemonEnv(t *testing.T) {
	environ := []string{
		"PATH=/bin", "SVC_TOKEN=t", "SVC_TOKEN_OTHER=t", "SOME_API_KEY=k", "EMPTY_API_KEY=", "OPENAI_API_KEY=k",
		"OPENAI_BASE_URL=http://h", "OLLAMA_HOST=h", "MINE_API_KEY=a=b", "PLAIN=1",
	}
	targets := targetsOf(environ, "MINE_API_KEY", "PLAIN")
	env := targets.DaemonEnv(harness.SessionConfig{}, append(modelVariables(targets.Env, "openai"), "MINE_API_KEY", "PLAIN", "OLLAMA_HOST", "SVC_TOKEN"))
	if want := []string{"OPENAI_API_KEY", "SOME_API_KEY", "SVC_TOKEN_OTHER"}; !slices.Equal(env.Withheld, want) {
		t.Errorf("withheld %q, want %q", env.Withheld, want)
	}
	if want := []string{"MINE_API_KEY", "OPENAI_BASE_URL", "PLAIN"}; !slices.Equal(env.Passed, want) {
		t.Errorf("passed %q, want %q", env.Passed, want)
	}
	if got := wording.DaemonEnv(env); !strings.HasPrefix(got, "passed on MINE_API_KEY, OPENAI_BASE_URL (no cap limits") || !strings.Contains(got, "; passed on PLAIN; withheld OPENAI_API_KEY") {
		t.Error(got)
	}
	if err := CheckPassed(environ, []string{"MINE_API"}, "--daemon-env"); err == nil || !strings.Contains(err.Error(), "MINE_API: the variable is not set") {
		t.Errorf("a variable that is not set: %v", err)
	}
}

// TestHint: a daemon that is likely to need a key gets it only if it is named.
func TestHint(t *testing.T) {
	environ := []string{"OPENAI_API_KEY=k", "SVC_EMBED_PROVIDER=openai"}
	for name, tt := range map[string]struct {
		d        target.Definition
		provider string
		environ  []string
		passed   []string
		want     bool
	}{
		"reader":   {target.Definition{}, "openai", environ[:1], nil, true},
		"embedder": {target.Definition{}, "fake", environ, nil, true},
		"own key":  {target.Definition{}, "fake", append(environ, "SVC_EMBED_API_KEY=k"), nil, false},
		"own url":  {target.Definition{}, "fake", append(environ, "SVC_EMBED_BASE_URL=http://h"), nil, false},
		"named":    {target.Definition{}, "openai", environ, []string{"OPENAI_API_KEY"}, false},
		"not set":  {target.Definition{}, "openai", environ[1:], nil, false},
		"offline":  {target.Definition{}, "fake", environ[:1], nil, false},
		"foreign":  {target.Definition{MCP: true}, "openai", environ, nil, false},
		"running":  {target.Definition{Endpoint: "http://h"}, "openai", environ, nil, false},
	} {
		got := targetsOf(tt.environ).Hint(tt.d, tt.provider, tt.passed)
		if tt.want != strings.Contains(got, "add --daemon-env OPENAI_API_KEY") || !tt.want && got != "" {
			t.Errorf("%s: %q", name, got)
		}
	}
}
