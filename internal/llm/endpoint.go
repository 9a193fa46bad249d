package llm

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"evalctl/internal/httpclient"

	"golang.org/x/time/rate"
)

// endpoint is one URL of a provider, with the limits and retries that all kinds of requests share.
type endpoint struct {
	provider string
	url      string
	key      string
	keyVar   string // named in errors; may be empty
	client   *http.Client
	limiter  *rate.Limiter
	attempts int           // without patience
	patience time.Duration // 0: as many attempts as attempts
	reached  *atomic.Bool  // some request has been
}

// newEndpoint checks a configuration, whose Name and BaseURL must be set.
func newEndpoint(c endpointConfig, path string) (endpoint, error) {
	base, err := httpclient.ParseBaseURL(c.BaseURL)
	if err != nil {
		return endpoint{}, fmt.Errorf("the model provider's base URL %w", err)
	}
	if strings.ContainsFunc(c.APIKey, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return endpoint{}, errors.New("the model provider's API key contains a space, line break or " +
			"other character that no key has")
	}
	e := endpoint{
		provider: c.Name, url: base + path, key: c.APIKey, keyVar: c.KeyVariable,
		client: wireClient(c.Transport), limiter: c.Limiter, attempts: DefaultMaxAttempts,
		patience: c.Patience, reached: new(atomic.Bool),
	}
	return e, nil
}

// attempt makes one HTTP request with send and describes its failure.
func (o *endpoint) attempt(ctx context.Context, x *exchange, model string,
	send func(context.Context) error) error {
	watched, stop := x.start(ctx)
	defer stop()

	err := send(watched)
	if !x.unreached() {
		o.reached.Store(true)
	}
	if err == nil {
		return nil
	}
	if e, ok := errors.AsType[emitError](err); ok {
		return e.error
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if !x.sent {
		return fmt.Errorf("request to model %s failed before it was sent: %w", quote(model), err)
	}
	return o.failure(x, model, context.Cause(watched), err)
}
