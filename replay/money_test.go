package replay_test

import (
	"strings"
	"testing"

	"evalctl/harness"
	"evalctl/harness/launch"
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
		Name: "go", Upstream: &llm.Config{Provider: llm.ProviderOpenAI}, // which needs a key
		Session: harness.SessionConfig{Profile: launch.Profile{SDK: "go", Command: []string{"sleep", "{port}"}}},
	}}
	out, _, err := run(t, c, t.TempDir())
	if err != nil || len(out) != 1 || out[0].Err == nil || !strings.Contains(out[0].Err.Error(), "gateway to the models") {
		t.Errorf("%v, %+v", err, out)
	}
}
