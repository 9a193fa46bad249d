package llm

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/cenkalti/backoff/v5"
	"github.com/sashabaranov/go-openai"

	"evalctl/internal/retry"
)

// retrying makes the HTTP attempts of one call, each within perAttempt.
func (o *openAIProvider) retrying(ctx context.Context, r Request,
	perAttempt func(once func() (Response, error)) (Response, error)) (Response, error) {
	if err := r.check(); err != nil {
		return Response{}, err
	}
	emitted := false
	if emit := r.Emit; emit != nil {
		r.Emit = func(delta string) error {
			emitted = true
			return emit(delta)
		}
	}
	c := call{provider: o, perAttempt: perAttempt, mayRepeat: func() bool { return !emitted }}
	resp, err := c.inDialect(ctx, r, r.Options.over(o.dialects.of(r.Model)))
	if refuses(err) && c.unnamed && o.dialects.mayProbe(r.Model) {
		if d, ok := c.probe(ctx, r); ok {
			resp, err = c.inDialect(ctx, r, d)
		}
	}
	resp.Attempts = c.made
	return resp, err
}

// call has the state that the requests of one call share.
type call struct {
	provider   *openAIProvider
	perAttempt func(once func() (Response, error)) (Response, error)
	mayRepeat  func() bool
	made       int // requests; perAttempt may give up without making one
	// unnamed is set if the last refusal may concern the parameters, and names none.
	unnamed bool
}

// inDialect makes the request in a dialect, and in further dialects as long as refusals show what
// to change.
func (c *call) inDialect(ctx context.Context, r Request, d Dialect) (resp Response, err error) {
	search := dialectSearch{request: r}
	for again := true; again; {
		search.tried = append(search.tried, d)
		if resp, err = c.repeat(ctx, r, d); err == nil {
			c.provider.dialects.accept(r, d)
			resp.Asked = r.asked(d)
			return resp, nil
		}
		var named bool
		d, named, again = search.next(err)
		e, ok := errors.AsType[*Error](err)
		c.unnamed = ok && !named && !e.said.concernsText()
	}
	return resp, err
}

// repeat makes the request in a dialect until it succeeds or may not be repeated.
func (c *call) repeat(ctx context.Context, r Request, d Dialect) (resp Response, last error) {
	once := func() (Response, error) {
		c.made++
		return c.provider.once(ctx, r, d)
	}
	err := c.provider.repeat(ctx, func() error {
		if e, ok := errors.AsType[*Error](last); ok && r.Retried != nil {
			r.Retried(e)
		}
		resp, last = c.perAttempt(once)
		return last
	}, c.mayRepeat)
	return resp, err
}

// probe finds out with a short text whether the endpoint refuses the parameters of a request, and
// returns a dialect that it accepts. ok is false if it accepts the parameters as they are, so that
// the texts of the request are the cause, and if it accepts no dialect.
func (c *call) probe(ctx context.Context, r Request) (d Dialect, ok bool) {
	p := r.probe()
	search := dialectSearch{request: p}
	for d, ok = p.Options.over(c.provider.dialects.of(r.Model)), true; ok; {
		search.tried = append(search.tried, d)
		_, err := c.repeat(ctx, p, d)
		if err == nil {
			c.provider.dialects.accept(p, d)
			return d, len(search.tried) > 1
		}
		next, named, open := search.next(err)
		switch {
		case !refuses(err):
			return Dialect{}, false
		case named && open:
			d = next
		default:
			d, ok = search.plain()
		}
	}
	return Dialect{}, false
}

// repeat calls once until it succeeds, fails permanently, or reaches the limit on attempts or time.
// mayRepeat, if not nil, is consulted before each further call.
func (o *endpoint) repeat(ctx context.Context, once func() error, mayRepeat func() bool) error {
	delays := backoff.NewExponentialBackOff()
	begun := time.Now()
	for made := 1; ; made++ {
		if err := o.waitForLimit(ctx); err != nil {
			return err
		}
		err := once()
		e, ok := errors.AsType[*Error](err)
		if !ok || !e.transient || mayRepeat != nil && !mayRepeat() {
			return err
		}
		delay, again := o.delay(e, made, delays.NextBackOff(), time.Since(begun))
		if !again {
			return err
		}
		if retry.Sleep(ctx, delay) != nil {
			return ctx.Err()
		}
	}
}

// delay returns how long to wait after a failed attempt, the made-th of a call that has taken so
// long. again is false if that was the last one. backoff is the wait if the provider asks for none.
func (o *endpoint) delay(e *Error, made int, backoff, taken time.Duration) (wait time.Duration, again bool) {
	wait = backoff
	// A provider that asks for no wait, over and over, must not be asked without end.
	if e.waitAsked && (made < DefaultMaxAttempts || e.RetryAfter > wait) {
		wait = e.RetryAfter
	}
	if o.patience == 0 || !o.reached.Load() { // one that was never there may be a wrong address
		return wait, made < o.attempts && wait <= maxRetryAfter
	}
	left := o.patience - taken
	if wait > left && !e.waitAsked {
		wait = left // one more attempt at the end
	}
	if left <= 0 || wait > left {
		e.gaveUp = fmt.Sprintf("gave up after %s in %s (--judge-patience %s)", requests(made), taken.Round(time.Second), o.patience)
		return 0, false
	}
	return wait, true
}

func requests(n int) string {
	if n == 1 {
		return "1 request"
	}
	return fmt.Sprintf("%d requests", n)
}

func (o *endpoint) waitForLimit(ctx context.Context) error {
	if o.limiter == nil {
		return ctx.Err()
	}
	err := o.limiter.Wait(ctx)
	if err == nil || ctx.Err() != nil {
		return ctx.Err()
	}
	if _, ok := ctx.Deadline(); ok {
		// The limiter fails at once if the wait would exceed the deadline.
		return fmt.Errorf("wait for the rate limit: %w", context.DeadlineExceeded)
	}
	return fmt.Errorf("wait for the rate limit: %w", err)
}

// failure describes a request that was sent and returned no usable answer.
func (o *endpoint) failure(x *exchange, model string, cause, err error) *Error {
	e := &Error{Provider: o.provider, URL: o.url, Model: model, keyVariable: o.keyVar}
	stated, states := errors.AsType[statedError](err)
	if api, ok := errors.AsType[*openai.APIError](err); ok && x.status/100 == 2 { // in a stream
		stated, states = streamError(api)
	}
	switch {
	case errors.Is(cause, errSilent):
		e.Message = fmt.Sprintf("the provider sent nothing for %s", maxSilence)
		e.Billed = !x.unreached()
	case errors.Is(cause, errTooLong):
		e.Message = fmt.Sprintf("the provider did not finish its answer within %s", x.timeout)
		e.Billed, e.timedOut = !x.unreached(), true
	case errors.Is(err, errRefused):
		e.refused(x, parseRefusal(x.refusal), x.status)
	case states:
		x.refusal = stated.body
		said := parseRefusal(stated.body)
		e.refused(x, said, said.status)
		e.Billed = x.emitted // its usage says so otherwise
	case x.status == 0:
		e.Message = causeText(err)
		e.transient = true
		e.Billed = !x.unreached()
	default:
		e.Message = causeText(err)
		e.transient = x.readErr != nil || errors.Is(err, errTruncated)
		e.Billed = true
	}
	if o.key != "" {
		e.Message = strings.ReplaceAll(e.Message, o.key, "[API key]")
	}
	e.Message = escaped(e.Message)
	return e
}

// refused describes a request that the provider refused with a status.
func (e *Error) refused(x *exchange, said refusal, status int) {
	e.said, e.Status, e.Message = said, status, said.message
	e.transient = status == http.StatusRequestTimeout || status == http.StatusConflict ||
		status == http.StatusTooManyRequests || status >= http.StatusInternalServerError
	switch x.header.Get("X-Should-Retry") {
	case "true":
		e.transient = true
	case "false":
		e.transient = false
	}
	// A gateway that timed out, or an engine that failed, may already have charged the request;
	// other rejected requests were not charged.
	e.Billed = status >= http.StatusInternalServerError && status != http.StatusServiceUnavailable
	if e.RetryAfter, e.waitAsked = waitOf(x.header); said.wait > e.RetryAfter {
		e.RetryAfter, e.waitAsked = said.wait, true
	}
}

// waitOf returns how long the headers of a response ask to wait: in milliseconds, in seconds,
// possibly with a fraction, or until a date.
func waitOf(h http.Header) (wait time.Duration, ok bool) {
	for _, header := range []struct {
		name string
		unit time.Duration
	}{{"Retry-After-Ms", time.Millisecond}, {"Retry-After", time.Second}} {
		n, err := strconv.ParseFloat(h.Get(header.name), 64)
		if err == nil && n >= 0 && n*float64(header.unit) < float64(longestWait) {
			return time.Duration(n * float64(header.unit)), true
		}
	}
	return retry.After(h.Get("Retry-After"), time.Now())
}

// longestWait is beyond all waits that are waited for.
const longestWait = 365 * 24 * time.Hour

// streamError returns the error that the client library found in a stream.
func streamError(e *openai.APIError) (stated statedError, ok bool) {
	body, err := json.Marshal(map[string]any{"error": map[string]any{
		"message": e.Message, "code": e.Code, "type": e.Type, "param": e.Param,
	}})
	return statedError{body}, err == nil
}

// causeText removes the additions of the client library and net/http from a cause: the URL, which
// Error shows itself, and "error, ".
func causeText(err error) string {
	if e, ok := errors.AsType[*openai.APIError](err); ok {
		return e.Message
	}
	if e, ok := errors.AsType[*url.Error](err); ok {
		err = e.Err
	}
	if _, ok := errors.AsType[*json.SyntaxError](err); ok {
		return "the answer is not the JSON that was expected: " + err.Error()
	}
	return err.Error()
}
