package llm

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/sashabaranov/go-openai"
	"golang.org/x/time/rate"

	"evalctl/internal/jsonobj"
)

// Defaults and limits of an endpoint.
const (
	// DefaultMaxAttempts is how many requests a call makes at most, unless it has a Patience.
	DefaultMaxAttempts = 4
	// maxSilence is how long the provider may send nothing.
	maxSilence = 2 * time.Minute
	// maxRetryAfter is the longest wait that a call without a Patience accepts from a provider. If
	// the provider asks for more, the call fails with that time in its error.
	maxRetryAfter = 60 * time.Second
)

// endpointConfig selects an endpoint. Zero values mean the defaults.
type endpointConfig struct {
	// Name of the provider, ProviderOpenAI by default.
	Name string
	// BaseURL up to and including the API version, OpenAIBaseURL by default.
	BaseURL string
	// APIKey is sent as a bearer token. Empty sends none.
	APIKey string
	// KeyVariable is named in the error for a rejected key. Empty means OPENAI_API_KEY for
	// ProviderOpenAI and SVC_RERANK_API_KEY for RerankHTTP.
	KeyVariable string
	// Transport makes the requests, nil for one of its own.
	Transport http.RoundTripper
	// Limiter is waited for before each HTTP attempt; nil means no limit.
	Limiter *rate.Limiter
	// Patience is Config.Patience.
	Patience time.Duration
}

// openAIProvider is a Provider for any endpoint that implements OpenAI's chat completions. It is
// safe for concurrent use.
//
// As in OpenAI's own clients, it retries after transport errors and after the statuses 408, 409,
// 429 and from 500 on, unless x-should-retry says otherwise. An error with one of these statuses in
// an answer with a good status counts too. The next attempt follows after an exponential delay, or
// after the time that the provider asks for. A call is not retried once a piece of a stream was
// emitted, or if the provider was silent.
//
// Parameters that the endpoint refuses are left out or sent by their other name, in the same call
// and in all later calls to the model.
type openAIProvider struct {
	endpoint
	client   *openai.Client
	dialects dialects
}

// newOpenAI checks the configuration and makes no request.
func newOpenAI(c endpointConfig) (*openAIProvider, error) {
	client, e, err := c.open("/chat/completions")
	if err != nil {
		return nil, err
	}
	return &openAIProvider{endpoint: e, client: client}, nil
}

// open returns the library's client and the endpoint of path.
func (c endpointConfig) open(path string) (*openai.Client, endpoint, error) {
	if c.Name == "" {
		c.Name = ProviderOpenAI
	}
	if c.BaseURL == "" {
		c.BaseURL = OpenAIBaseURL
	}
	if c.Name == ProviderOpenAI {
		c.KeyVariable = cmp.Or(c.KeyVariable, openAIKeyVariable)
	}
	e, err := newEndpoint(c, path)
	if err != nil {
		return nil, e, err
	}
	cfg := openai.DefaultConfig(c.APIKey)
	cfg.BaseURL = strings.TrimSuffix(e.url, path)
	cfg.EmptyMessagesLimit = 1 << 30 // keep-alive comments are not an error
	cfg.HTTPClient = e.client
	return openai.NewClientWithConfig(cfg), e, nil
}

// Name is the configured name.
func (o *openAIProvider) Name() string { return o.provider }

// Complete returns the whole answer. A stream that ends without a finish reason is an error,
// because the answer is incomplete.
func (o *openAIProvider) Complete(ctx context.Context, r Request) (Response, error) {
	return o.retrying(ctx, r, unmetered)
}

func unmetered(once func() (Response, error)) (Response, error) { return once() }

// IsReasoningModel reports whether a model is one of OpenAI's reasoning models. They reject a
// temperature, so none is sent and answers may vary. They spend part of MaxTokens on reasoning that
// is not shown.
func IsReasoningModel(model string) bool {
	prefixes := []string{"gpt-5", "gpt-6", "o1", "o3", "o4"}
	return slices.ContainsFunc(prefixes, func(prefix string) bool { return strings.HasPrefix(model, prefix) })
}

// once makes one HTTP request in a dialect.
func (o *openAIProvider) once(ctx context.Context, r Request, d Dialect) (Response, error) {
	x := &exchange{timeout: r.Timeout, fields: d.fields(r)}
	r.Messages = d.messages(r)
	r.JSON = d.sent(r).JSON
	var resp Response
	err := o.attempt(ctx, x, r.Model, func(ctx context.Context) (err error) {
		if r.Emit == nil {
			resp, err = o.complete(ctx, x, r)
		} else {
			resp, err = o.stream(ctx, x, r)
		}
		return err
	})
	if e, ok := errors.AsType[*Error](err); ok {
		var counted bool
		resp.Usage, resp.UsageProblem, counted = RejectedUsage(x.refusal)
		e.Billed = e.Billed || counted
	}
	return resp, err
}

func (o *openAIProvider) complete(ctx context.Context, x *exchange, r Request) (Response, error) {
	x.keepBody = true
	if _, err := o.client.CreateChatCompletion(ctx, wireRequest(r)); err != nil {
		return Response{}, err
	}
	var got completion
	if err := json.Unmarshal(x.body, &got); err != nil {
		return Response{}, err
	}
	if len(got.Choices) == 0 {
		return Response{}, errors.New("the answer has no choices")
	}
	choice := got.Choices[0]
	text, err := contentText(choice.Message.Content)
	if err != nil {
		return Response{}, err
	}
	resp := finish(r, text, got.Model, choice.FinishReason, got.Usage)
	if resp.Text == "" {
		resp.Refusal = string(choice.Message.Refusal)
	}
	return resp, nil
}

// emitError marks an error from the caller's emit, which is not the provider's.
type emitError struct{ error }

func (o *openAIProvider) stream(ctx context.Context, x *exchange, r Request) (Response, error) {
	req := wireRequest(r)
	req.StreamOptions = &openai.StreamOptions{IncludeUsage: true}
	stream, err := o.client.CreateChatCompletionStream(ctx, req)
	if err != nil {
		return Response{}, err // the library's stream is unusable then
	}
	defer func() { _ = stream.Close() }()

	var text strings.Builder
	var pieces jsonobj.Pieces
	emit := func(delta string) error {
		if delta == "" {
			return nil
		}
		text.WriteString(delta)
		x.emitted = true
		if err := r.Emit(delta); err != nil {
			return emitError{err}
		}
		return nil
	}
	var model, reason looseText
	var usage json.RawMessage
	final := false // whether the usage came with the finish reason or later
	for {
		var chunk completionChunk
		line, err := stream.RecvRaw()
		if err == nil {
			_, err = jsonobj.Bound(line, jsonobj.MaxDecoded)
		}
		if err == nil {
			err = json.Unmarshal(line, &chunk)
		}
		if err != nil {
			if reason != "" { // the answer is complete; only its usage may be missing
				if !final && !errors.Is(err, io.EOF) {
					usage = nil // a running count
				}
				break
			}
			if errors.Is(err, io.EOF) {
				err = errTruncated
			}
			return Response{}, err
		}
		if stated, ok := errorIn(line); ok {
			return Response{}, stated
		}
		if chunk.Model != "" {
			model = chunk.Model
		}
		if len(chunk.Choices) > 0 {
			reason = cmp.Or(chunk.Choices[0].FinishReason, reason)
		}
		if u := chunk.Usage; len(u) > 0 && string(u) != "null" {
			usage, final = u, reason != ""
		}
		if len(chunk.Choices) == 0 {
			continue
		}
		if err := emit(pieces.Next(chunk.Choices[0].Delta.Content)); err != nil {
			return Response{}, err
		}
	}
	if err := emit(pieces.Rest()); err != nil {
		return Response{}, err
	}
	return finish(r, text.String(), model, reason, usage), nil
}

func wireRequest(r Request) openai.ChatCompletionRequest {
	req := openai.ChatCompletionRequest{Model: r.Model}
	for _, m := range r.Messages {
		req.Messages = append(req.Messages, openai.ChatCompletionMessage{Role: m.Role, Content: m.Content})
	}
	if r.JSON {
		req.ResponseFormat = &openai.ChatCompletionResponseFormat{
			Type: openai.ChatCompletionResponseFormatTypeJSONObject,
		}
	}
	return req
}

// finish returns a response. Its usage is estimated if the provider did not count.
func finish(r Request, text string, model, reason looseText, usage json.RawMessage) Response {
	resp := Response{Text: text, Model: cmp.Or(string(model), r.Model), FinishReason: string(reason)}
	if resp.Usage, resp.UsageProblem = ParseUsage(usage); resp.Usage.InputTokens == 0 {
		resp.Usage = estimate(r, text)
	}
	return resp
}
