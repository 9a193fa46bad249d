package llm

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
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
	made := 0 // requests; perAttempt may give up without making one
	once := func() (Response, error) {
		made++
		return o.once(ctx, r)
	}
	var resp Response
	var last error
	err := o.repeat(ctx, func() error {
		if e, ok := errors.AsType[*Error](last); ok && r.Retried != nil {
			r.Retried(e)
		}
		resp, last = perAttempt(once)
		return last
	}, func() bool { return !emitted })
	resp.Attempts = made
	return resp, err
}

// repeat calls once until it succeeds, fails permanently, or was called as often as allowed.
// mayRepeat, if not nil, is consulted before each further call.
func (o *endpoint) repeat(ctx context.Context, once func() error, mayRepeat func() bool) error {
	delays := backoff.NewExponentialBackOff()
	for made := 1; ; made++ {
		if err := o.waitForLimit(ctx); err != nil {
			return err
		}
		err := once()
		e, ok := errors.AsType[*Error](err)
		if !ok || !e.transient || made >= o.attempts || mayRepeat != nil && !mayRepeat() {
			return err
		}
		delay := delays.NextBackOff()
		if e.waitAsked {
			delay = e.RetryAfter
		}
		if delay > maxRetryAfter {
			return err // retrying sooner would ignore Retry-After
		}
		select {
		case <-time.After(delay):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
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
	switch {
	case errors.Is(cause, errSilent):
		e.Message = fmt.Sprintf("the provider sent nothing for %s", maxSilence)
		e.Billed = !x.unreached()
	case errors.Is(cause, errTooLong):
		e.Message = fmt.Sprintf("the provider did not finish its answer within %s", x.timeout)
		e.Billed, e.timedOut = !x.unreached(), true
	case errors.Is(err, errRefused):
		e.Status = x.status
		e.Message = refusalText(x.refusal)
		e.RetryAfter, e.waitAsked = retry.After(x.retryAfter, time.Now())
		e.transient, e.Billed = refusalKind(x.status)
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

// refusalKind classifies a status. A gateway that timed out or an engine that failed may already
// have been charged for; other rejected requests were not.
func refusalKind(status int) (transient, billed bool) {
	billed = status >= http.StatusInternalServerError && status != http.StatusServiceUnavailable
	return retry.Status(status), billed
}

// refusalText returns the message in the error bodies that providers send.
func refusalText(body []byte) string {
	var b struct {
		Error   json.RawMessage
		Message string
		Detail  string
	}
	if json.Unmarshal(body, &b) != nil {
		return string(body)
	}
	var text string
	var inner struct{ Message string }
	switch {
	case json.Unmarshal(b.Error, &inner) == nil && inner.Message != "":
		return inner.Message
	case json.Unmarshal(b.Error, &text) == nil && text != "":
		return text
	case b.Message != "":
		return b.Message
	case b.Detail != "":
		return b.Detail
	}
	return string(body)
}

// causeText removes what the client library and net/http add to a cause: the URL, which Error shows
// itself, and "error, ".
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
