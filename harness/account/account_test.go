package account

import (
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"evalctl/harness/gateway"
	"evalctl/internal/awaittest"
	"evalctl/internal/llm"
	"evalctl/internal/llm/llmtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestCloseChargesOpenRequests: a request of the daemon that has no answer yet when the account is
// closed may be billed. It counts with its highest possible cost, and the ledger stays.
func TestCloseChargesOpenRequests(t *testing.T) {
	asked, answer := make(chan struct{}), make(chan struct{})
	vendor := llmtest.NewServer(t, func(llmtest.Call) llmtest.Reply {
		close(asked)
		<-answer
		return llmtest.Reply{}
	})
	dir := t.TempDir()
	upstream := llm.Config{Provider: llm.ProviderOpenAI, Model: "m", BaseURL: vendor.URL, APIKey: "k"}
	a, err := Open(Config{
		Dir: dir, Name: "go", Started: time.Now(), Prices: llm.Prices{"m": {Input: llm.Dollar, Output: llm.Dollar}},
		Daemons: map[string]gateway.Models{"go": {Upstream: &upstream, Completion: "m"}},
	}, false, 0)
	if err != nil {
		t.Fatal(err)
	}
	env := map[string]string{}
	for _, v := range a.Environment("go") {
		name, value, _ := strings.Cut(v, "=")
		env[name] = value
	}
	ended := make(chan error)
	go func() {
		const body = `{"model":"m","max_tokens":10,"messages":[{"role":"user","content":"hello"}]}`
		r, err := http.NewRequest(http.MethodPost, env["OPENAI_BASE_URL"]+"/chat/completions", strings.NewReader(body))
		if err == nil {
			r.Header.Set("Authorization", "Bearer "+env["OPENAI_API_KEY"])
			var res *http.Response
			if res, err = http.DefaultTransport.RoundTrip(r); err == nil {
				err = errors.Join(res.Body.Close(), errors.New("it was answered"))
			}
		}
		ended <- err
	}()
	awaittest.Receive(t, "asked", asked)
	if spent := a.Spent(); spent != 0 {
		t.Fatalf("%s spent before the answer", spent)
	}
	err = a.Close()
	close(answer)
	if err != nil {
		t.Error(err)
	}
	awaittest.Receive(t, "ended", ended)
	if a.Spent() == 0 {
		t.Error("the open request was not charged")
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "*.ledger")); len(left) != 1 {
		t.Errorf("ledgers left: %q", left)
	}
	http.DefaultTransport.(*http.Transport).CloseIdleConnections()
}

// TestCloseWithoutCosts: nothing is left of an account that nothing was charged to.
func TestCloseWithoutCosts(t *testing.T) {
	dir := t.TempDir()
	a, err := Open(Config{Dir: dir, Name: "go", Started: time.Now(), Paid: true}, false, 0)
	if err == nil {
		err = a.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	if left, _ := os.ReadDir(dir); len(left) != 0 {
		t.Errorf("left: %v", left)
	}
}
