package httpapi

import (
	"io"
	"strings"
	"testing"

	"evalctl/daemon/protocol"
	"evalctl/internal/awaittest"
	"evalctl/internal/llm"
	"evalctl/internal/llm/llmtest"
)

const consolidatePath = "/v1/brains/eval/consolidate"

func TestConsolidateOverHTTP(t *testing.T) {
	s := startFake(t)
	const nothing = `"compiled":[],"promoted":[],"pruned":[]}}` + "\n"
	for body, dry := range map[string]string{"": "false", " \n": "false", "{}": "false", `{"dry_run":true}`: "true", `{"dryRun":true,"x":1}`: "true"} {
		for _, path := range []string{consolidatePath, "/v1/brains/eval/compile"} {
			if got := s.expect(t, 200, "POST", path, body); got != `{"result":{"dry_run":`+dry+`,`+nothing {
				t.Errorf("%q: got %s", body, got)
			}
		}
	}
	for _, body := range []string{"x", "[]", `{"dry_run":"yes"}`, `{"dry_run":1}`, `{"dry_run":true,"dryRun":false}`} {
		if got := s.expect(t, 400, "POST", consolidatePath, body); !strings.Contains(got, protocol.CodeValidation) {
			t.Errorf("%q: got %s", body, got)
		}
	}
	s.expect(t, 404, "POST", "/v1/brains/other/consolidate", "")
	s.expect(t, 405, "GET", consolidatePath, "")
}

// extracted waits until facts were extracted from a session of one message.
func (s *server) extracted(t testing.TB, session string) {
	t.Helper()
	awaittest.Until(t, "facts of "+session, func() bool {
		return strings.Contains(s.expect(t, 200, "GET", "/v1/brains/eval/sessions/"+session, ""), `"extracted":1`)
	})
}

func TestConsolidateWithAFailedModel(t *testing.T) {
	replies := map[string]llmtest.Reply{
		`502 "code":"bad_gateway"`:  {Text: "I have deleted everything."},
		`502 "code":"bad_gateway" `: {Status: 401, Body: "no"},
		`429 "code":"rate_limited"`: {Status: 429, RetryAfter: "3600"},
	}
	for want, reply := range replies {
		srv := llmtest.NewServer(t, func(llmtest.Call) llmtest.Reply { return reply })
		p, err := llm.Open(llm.Config{Provider: llm.ProviderOpenAI, Model: "m", BaseURL: srv.URL})
		if err != nil {
			t.Fatal(err)
		}
		s := start(t, p, "m")
		seal := startFake(t) // the daemon's own documents are made by another daemon
		seal.expect(t, 201, "POST", "/v1/brains/eval/sessions/one/messages", `{"role":"user","content":"I have a brother in Lima."}`)
		seal.extracted(t, "one")
		const path = "memory/agent/facts/one.md"
		s.put(t, path, seal.expect(t, 200, "GET", "/v1/brains/eval/documents/read?path="+path, ""))
		status, code := 502, strings.TrimSpace(want[4:])
		if want[:3] == "429" {
			status = 429
		}
		res := s.do(t, "POST", consolidatePath, "")
		body, err := io.ReadAll(res.Body)
		res.Body.Close()
		if got := res.Header.Get("Retry-After"); err != nil || res.StatusCode != status ||
			!strings.Contains(string(body), code) || got != reply.RetryAfter {
			t.Errorf("got %d %s, Retry-After %q, %v", res.StatusCode, body, got, err)
		}
		if list := s.expect(t, 200, "GET", "/v1/brains/eval/documents?recursive=true&include_generated=true", ""); strings.Contains(list, "consolidations") {
			t.Errorf("something was written: %s", list)
		}
	}
}
