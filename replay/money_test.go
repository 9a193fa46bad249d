package replay_test

import (
	"strings"
	"testing"

	"evalctl/harness"
	"evalctl/harness/gateway"
	"evalctl/harness/launch"
	"evalctl/harness/plan"
	"evalctl/harness/result"
	"evalctl/internal/llm"
	"evalctl/replay"
)

// TestNoGateway: an arm whose gateway cannot be started fails by itself.
func TestNoGateway(t *testing.T) {
	p := newProvider(t)
	c := p.config(t, benchmark(t, 1), 20*llm.Dollar)
	c.Cache.Dir = t.TempDir()
	c.Ingest = "bulk"
	c.Arms = []replay.Arm{{
		Name: "go",
		Calls: plan.Calls{
			Models:    gateway.Models{Upstream: &llm.Config{Provider: llm.ProviderOpenAI}}, // which needs a key
			DaemonEnv: &result.DaemonEnv{},
		},
		Session: harness.SessionConfig{Profile: launch.Profile{Command: []string{"sleep", "{port}"}}},
	}}
	out, _, err := run(t, c, t.TempDir())
	if err != nil || len(out) != 1 || out[0].Err == nil || !strings.Contains(out[0].Err.Error(), "gateway to the models") {
		t.Errorf("%v, %+v", err, out)
	}
}

// TestPassedIsKnown: an arm is not planned unless it is known what its daemon may spend with.
func TestPassedIsKnown(t *testing.T) {
	for name, tt := range map[string]struct {
		env    *result.DaemonEnv
		passed []string
		ok     bool
	}{
		"not said":     {nil, nil, false},
		"not recorded": {&result.DaemonEnv{}, []string{"SVC_TOKEN", "OPENAI_API_KEY"}, false},
		"recorded":     {&result.DaemonEnv{Passed: []string{"OPENAI_API_KEY"}}, []string{"OPENAI_API_KEY", "SVC_STORE"}, true},
		"nothing":      {&result.DaemonEnv{}, []string{"SVC_TOKEN", "OLLAMA_HOST"}, true},
	} {
		c := newProvider(t).config(t, benchmark(t, 1), 20*llm.Dollar)
		c.Ingest = "bulk"
		profile := launch.Profile{Command: []string{"sleep", "{port}"}, Passed: tt.passed}
		c.Arms = []replay.Arm{{Name: "go", Calls: plan.Calls{DaemonEnv: tt.env}, Session: harness.SessionConfig{Profile: profile}}}
		if _, err := replay.New(c); (err == nil) != tt.ok || err != nil && !strings.Contains(err.Error(), "Arm.DaemonEnv") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
