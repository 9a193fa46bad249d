package gateway

import (
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"

	"evalctl/internal/llm"
	"evalctl/replay/ledger"
)

const maxRequest = 32 << 20

// The endpoints, below the base URL.
const (
	completions = "/chat/completions"
	embeddings  = "/embeddings"
	models      = "/models"
)

// refusal is a request that the gateway answers with an error of its own.
type refusal struct {
	status  int
	code    string
	message string
}

func (r *refusal) Error() string { return r.message }

func refuse(status int, code, format string, args ...any) *refusal {
	return &refusal{status, code, "evalctl gateway: " + fmt.Sprintf(format, args...)}
}

// write sends the error in OpenAI's form.
func (r *refusal) write(w http.ResponseWriter) {
	type problem struct {
		Message string  `json:"message"`
		Type    string  `json:"type"`
		Param   *string `json:"param"`
		Code    string  `json:"code"`
	}
	data, err := json.Marshal(map[string]problem{"error": {Message: r.message, Type: r.code, Code: r.code}})
	if err != nil {
		panic(err) // strings always encode
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(r.status)
	_, _ = w.Write(data) // fails only if the client has gone
}

func (g *Gateway) serve(w http.ResponseWriter, r *http.Request) {
	if !g.enter() {
		refuse(http.StatusServiceUnavailable, "closed", "the run has ended").write(w)
		return
	}
	defer g.running.Done()
	err := g.answer(w, r)
	if err == nil {
		return
	}
	if own, ok := errors.AsType[*refusal](err); ok {
		own.write(w)
		return
	}
	if r.Context().Err() != nil {
		panic(http.ErrAbortHandler) // not an empty answer
	}
	g.rejected(err).write(w)
}

// rejected records an error that ends the run, and returns the response for it. SDKs repeat neither
// of its statuses, except 500.
func (g *Gateway) rejected(err error) *refusal {
	g.fail(err)
	switch {
	case errors.Is(err, llm.ErrBudgetExceeded):
		return refuse(http.StatusPaymentRequired, "insufficient_quota", "%v (--max-cost-usd)", err)
	case errors.Is(err, llm.ErrNotCached):
		return refuse(http.StatusBadRequest, "not_cached", "%v", err)
	case errors.Is(err, errUnbounded):
		return refuse(http.StatusBadRequest, "unbounded_cost", "%v", err)
	}
	return refuse(http.StatusInternalServerError, "ledger", "%v", err)
}

func (g *Gateway) route(w http.ResponseWriter, r *http.Request) error {
	if r.Host != g.addr {
		return refuse(http.StatusForbidden, "wrong_host", "requests must be sent to %s", g.addr)
	}
	given, want := r.Header.Get("Authorization"), "Bearer "+g.key
	if subtle.ConstantTimeCompare([]byte(given), []byte(want)) != 1 {
		return refuse(http.StatusUnauthorized, "invalid_api_key", "the key is not that of the gateway: "+
			"it is in OPENAI_API_KEY of the daemon that evalctl started")
	}
	method := http.MethodPost
	switch r.URL.Path {
	case "/v1" + completions, "/v1" + embeddings:
	case "/v1" + models:
		method = http.MethodGet
	default:
		return refuse(http.StatusNotFound, "not_found", "there is no %s, only %s, %s and %s below /v1",
			r.URL.Path, completions, embeddings, models)
	}
	if r.Method != method {
		w.Header().Set("Allow", method)
		return refuse(http.StatusMethodNotAllowed, "method_not_allowed", "use %s for %s", method, r.URL.Path)
	}
	if method == http.MethodGet {
		return g.list(w, r)
	}
	return g.call(w, r, r.URL.Path[len("/v1"):])
}

// list forwards a request for the provider's models, which costs nothing.
func (g *Gateway) list(w http.ResponseWriter, r *http.Request) error {
	if g.config.Cache != nil && g.config.Cache.Mode() == llm.CacheOnly {
		return fmt.Errorf("%w of %s, and nothing may be sent (--cache only)", llm.ErrNotCached, models)
	}
	out, err := http.NewRequestWithContext(r.Context(), http.MethodGet, g.upstream+models, nil)
	if err != nil {
		return err
	}
	_, err = g.send(w, r, &call{}, out)
	return err
}

// call answers a request that may cost money.
func (g *Gateway) call(w http.ResponseWriter, r *http.Request, path string) error {
	if err := g.Err(); errors.Is(err, llm.ErrBudgetExceeded) {
		return err
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxRequest))
	if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return refuse(http.StatusRequestEntityTooLarge, "too_large", "the request is larger than %d bytes", maxRequest)
	}
	if err != nil {
		return refuse(http.StatusBadRequest, "bad_request", "the request could not be read: %v", err)
	}
	phase := ledger.Embed
	if path == completions {
		phase = g.config.Phase()
	}
	account := g.config.Ledger.Account(phase, g.config.Arm)
	c, err := parse(path, body, account.Capped())
	if err != nil {
		return err
	}
	var known bool
	c.account, c.capped = account, account.Capped()
	if c.price, known = g.config.Prices.Of(g.config.Upstream.Provider, c.model); !known {
		c.unpriced = true
		if c.capped {
			return fmt.Errorf("%w: %w", errUnbounded, g.config.Prices.Check(g.config.Upstream.Provider, c.model))
		}
	}
	return g.cached(w, r, c, phase)
}

// ask reserves the worst case, asks the provider, and settles with what it counted.
func (g *Gateway) ask(w http.ResponseWriter, r *http.Request, c *call) error {
	out, err := http.NewRequestWithContext(r.Context(), http.MethodPost, g.upstream+c.path, c.reader())
	if err != nil {
		return err
	}
	out.Header.Set("Content-Type", "application/json")
	settle, err := c.account.Reserve(r.Context(), c.model, c.worst())
	if err != nil {
		return err
	}
	charge := llm.Charge{Cost: c.worst(), Lost: c.worst(), Unpriced: c.unpriced}
	defer func() { settle(charge) }() // send panics to break a connection
	o, err := g.send(w, r, c, out)
	charge = c.charge(o)
	if o.broken {
		panic(http.ErrAbortHandler) // so that the daemon sees an incomplete answer
	}
	return err
}
