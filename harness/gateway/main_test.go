package gateway

import (
	"io"
	"log/slog"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"evalctl/harness/ledger"
	"evalctl/internal/llm"
	"evalctl/internal/llm/llmtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const secret = "sk-secret-0123456789"

// At one dollar per million tokens, a token costs a micro-dollar.
var prices = llm.Prices{"m": {Input: llm.Dollar, Output: llm.Dollar}, "e": {Input: llm.Dollar}}

const token = llm.Dollar / 1_000_000

// rig is a gateway with what is above and below it.
type rig struct {
	*Gateway
	t      *testing.T
	ledger *ledger.Ledger
	vendor *llmtest.Server
}

// start starts a gateway to a provider under the test's control. limit may be nil.
func start(t *testing.T, limit *llm.USD, cache *llm.Cache, reply func(llmtest.Call) llmtest.Reply) *rig {
	t.Helper()
	l, err := ledger.Create(filepath.Join(t.TempDir(), "replay.ledger"), nil, time.Now(), limit)
	if err != nil {
		t.Fatal(err)
	}
	r := &rig{t: t, ledger: l, vendor: llmtest.NewServer(t, reply)}
	r.Gateway, err = Start(Config{
		Upstream: llm.Config{Provider: llm.ProviderOpenAI, BaseURL: r.vendor.URL, APIKey: secret},
		Ledger:   l, Prices: prices, Cache: cache, Arm: "go", Log: slog.New(slog.NewTextHandler(t.Output(), nil)),
		Phase: func() ledger.Phase { return ledger.Actor },
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	return r
}

func openCache(t *testing.T, dir string, mode llm.CacheMode) *llm.Cache {
	t.Helper()
	c, err := llm.OpenCache(dir, mode, 0)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// client returns our own client of the gateway.
func (r *rig) client() llm.Provider {
	r.t.Helper()
	p, err := llm.Open(llm.Config{Provider: llm.ProviderOpenAI, Model: "m", BaseURL: r.URL(), APIKey: r.Key()})
	if err != nil {
		r.t.Fatal(err)
	}
	return p
}

// post sends a body and returns the response with its body.
func (r *rig) post(path, body string) (*http.Response, string) {
	r.t.Helper()
	return r.do(http.MethodPost, path, body, func(*http.Request) {})
}

func (r *rig) do(method, path, body string, change func(*http.Request)) (*http.Response, string) {
	r.t.Helper()
	req, err := http.NewRequestWithContext(r.t.Context(), method, "http://"+r.addr+path, strings.NewReader(body))
	if err != nil {
		r.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+r.Key())
	change(req)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		r.t.Fatal(err)
	}
	defer res.Body.Close()
	data, err := io.ReadAll(res.Body)
	if err != nil {
		r.t.Fatal(err)
	}
	http.DefaultClient.CloseIdleConnections()
	return res, string(data)
}

// spent waits for the requests in progress and returns the figures.
func (r *rig) spent() (total, lost llm.USD) {
	r.t.Helper()
	if err := r.Close(); err != nil {
		r.t.Fatal(err)
	}
	c := r.ledger.Accounting("go")
	return c.TotalUSD, c.LostUSD
}

func ask(content string) llm.Request {
	return llm.Request{Model: "m", MaxTokens: 100, Messages: []llm.Message{{Role: llm.RoleUser, Content: content}}}
}

// streamed returns a request whose answer is emitted.
func streamed(r llm.Request, emit func(string) error) llm.Request {
	r.Emit = emit
	return r
}
