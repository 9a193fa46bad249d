package gateway

import (
	"cmp"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"evalctl/harness/ledger"
	"evalctl/harness/result"
	"evalctl/internal/llm"
)

const maxRequest = 32 << 20

// The endpoints, below the base URL.
const (
	completions = result.PathCompletions
	embeddings  = result.PathEmbeddings
	models      = "/models"
)

// refusal is a request that the gateway rejects with its own error.
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
	if r.Host != g.addr {
		refuse(http.StatusForbidden, "wrong_host", "requests must be sent to %s", g.addr).write(w)
		return
	}
	path, known := endpoint(r.URL.Path)
	phase := g.config.Phase()
	counted := &statusWriter{w, 0}
	defer func() { g.requests.add(path, counted.status, phase) }()
	g.answer(counted, r, path, known, phase)
	counted.status = cmp.Or(counted.status, http.StatusOK)
}

// answer answers a request. It panics to break a connection.
func (g *Gateway) answer(w *statusWriter, r *http.Request, path string, known bool, phase ledger.Phase) {
	defer func() {
		if broken := recover(); broken != nil {
			w.status = 0
			panic(broken)
		}
	}()
	err := g.route(w, r, path, known, phase)
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

// rejected records an error that ends the run, and returns the response for it. SDKs do not retry
// its statuses, except 500.
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

func (g *Gateway) route(w http.ResponseWriter, r *http.Request, path string, known bool, phase ledger.Phase) error {
	key := cmp.Or(strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "), r.Header.Get("X-Api-Key"), r.Header.Get("Api-Key"))
	if subtle.ConstantTimeCompare([]byte(key), []byte(g.key)) != 1 {
		return refuse(http.StatusUnauthorized, "invalid_api_key", "the key is not the gateway's key: "+
			"use OPENAI_API_KEY from the environment that evalctl gave the daemon")
	}
	if !known {
		return refuse(http.StatusNotFound, "not_found", "the path %s is unknown; the gateway serves only %s, %s and %s below /v1",
			path, completions, embeddings, models)
	}
	method := http.MethodPost
	if path == models {
		method = http.MethodGet
	}
	if r.Method != method {
		w.Header().Set("Allow", method)
		return refuse(http.StatusMethodNotAllowed, "method_not_allowed", "use %s for %s", method, path)
	}
	if method == http.MethodGet {
		return g.list(w)
	}
	return g.call(w, r, path, phase)
}

// list answers with the arm's models, so that a daemon that chooses one chooses among these.
func (g *Gateway) list(w http.ResponseWriter) error {
	type model struct {
		ID     string `json:"id"`
		Object string `json:"object"`
		Owner  string `json:"owned_by"`
	}
	list := struct {
		Object string  `json:"object"`
		Data   []model `json:"data"`
	}{"list", []model{}}
	for _, id := range []string{g.config.Model, g.config.Embedding} {
		if id != "" {
			list.Data = append(list.Data, model{id, "model", "evalctl"})
		}
	}
	data, err := json.Marshal(list)
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(data) // fails only if the client has gone
	return nil
}

// call answers a request that may cost money.
func (g *Gateway) call(w http.ResponseWriter, r *http.Request, path string, phase ledger.Phase) error {
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
	model := g.config.Model
	if path == embeddings {
		phase, model = ledger.Embed, g.config.Embedding
	}
	account := g.config.Ledger.Account(phase, g.config.Arm)
	c, err := parse(path, body, model, account.Capped())
	if err != nil {
		return err
	}
	if c.unnamed {
		g.requests.withoutModel()
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

// ask reserves the worst case, asks the provider, and settles with its token count.
func (g *Gateway) ask(w http.ResponseWriter, r *http.Request, c *call) error {
	out, err := http.NewRequestWithContext(r.Context(), http.MethodPost, g.upstream+c.path, c.reader())
	if err != nil {
		return err
	}
	out.Header.Set("Content-Type", "application/json")
	if c.path == completions {
		g.note(g.config.Phase(), c.worst())
	}
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
