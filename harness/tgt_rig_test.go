package harness

import (
	"testing"

	"evalctl/harness/daemontest"
)

func endpointOf(tb testing.TB, s *daemontest.Daemon, token string) *Endpoint {
	tb.Helper()
	e, err := NewEndpoint(s.URL, token, "evalctl-test", 16)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(e.Close)
	return e
}

func targetOf(tb testing.TB, s *daemontest.Daemon) *Target {
	return &Target{Endpoint: endpointOf(tb, s, ""), Brains: map[string]string{"": "eval"}, Scenario: AskBasic, Mode: "auto", TopK: 5, Dialect: Auto}
}
