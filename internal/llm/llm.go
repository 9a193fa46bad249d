// Package llm calls language models. It contains the Provider interface, a provider for every
// OpenAI-compatible endpoint, a deterministic offline one, embedders, rerankers, and the accounting
// that keeps a run under its spend cap.
package llm

import (
	"context"
	"fmt"
	"time"
)

// Roles of a message.
const (
	RoleSystem    = "system"
	RoleUser      = "user"
	RoleAssistant = "assistant"
)

// Message is one turn of a conversation.
type Message struct {
	Role    string
	Content string
}

// Request is a completion to make. Temperature is always sent, even if it is 0, except to endpoints
// that refuse one for the model. MaxTokens limits the output and must be above 0, because the worst
// case of a call's cost is computed from it.
type Request struct {
	Model       string
	Messages    []Message
	Temperature float64
	MaxTokens   int
	// Emit, if set, is called with each piece of the answer as it arrives. An error from it stops
	// the call and is returned. Emit is not sent, but makes the request ask for streaming.
	Emit func(delta string) error
	// JSON asks for strict JSON-object mode, where the endpoint has it.
	JSON bool
	// Options fix how the model is asked, where this is not to be found out. Their MaxTokens and
	// Temperature do not replace the fields above, which are sent.
	Options Options
	// Timeout limits each attempt, from sending to the end of its answer; 0 means no limit. An
	// attempt that reaches it fails and is not repeated. It is not sent.
	Timeout time.Duration
	// Attempt counts, from 0, requests that are repeated to get another answer. It is not sent; a
	// Cache keeps one answer for each.
	Attempt int
	// Limits are other values that MaxTokens may have had when the same request was made. A
	// Cache takes a whole reply under one of them. They are not sent.
	Limits []int
	// Fake returns the answer of the provider "fake", which has no other: the author of a prompt
	// knows a fitting answer. It must be deterministic and safe for concurrent use. It is not sent,
	// so requests that differ only in Fake are the same request.
	Fake func() string
	// Retried, if set, is called with the error of each attempt that is followed by another one. It
	// is not sent.
	Retried func(*Error)
}

// Response is a finished completion. Model is the model that ran according to the provider.
// Attempts counts the HTTP requests made; it is 0 for a cached answer.
type Response struct {
	Text  string
	Model string
	// FinishReason is why the model stopped: "stop" for a whole answer, "length" if MaxTokens cut
	// it, "content_filter" if the provider withheld text. Some providers leave it empty on calls
	// that do not stream.
	FinishReason string
	// Refusal is the text of a model that declines to answer, in a separate field of the response.
	// Text is then empty. It is set only by calls that do not stream.
	Refusal string
	Usage   Usage
	// UsageProblem says why the provider's counts of tokens are implausible, such as a negative
	// one. A Meter then charges the worst case, and sets Usage to it.
	UsageProblem string
	Attempts     int
	// Asked is how the request was sent. It is the zero value for a cached answer and for provider
	// "fake".
	Asked Manner
	// Cost is the charge for the call, including lost attempts. Only a Meter sets it; otherwise it
	// is 0.
	Cost USD
	// Cached is set if a Cache had the answer. Usage is then the usage of the request that was
	// paid, and SavedUSD its present cost, 0 if the price is unknown.
	Cached   bool
	SavedUSD USD
}

// counted reports whether the provider sent a count of tokens, even an implausible one.
func (r *Response) counted() bool { return r.Usage.InputTokens > 0 || r.UsageProblem != "" }

// Provider completes requests. Implementations are safe for concurrent use.
//
// An error is an *Error if the request was sent to the provider and failed, or the context's error
// as it is. A Response returned with an error still has Attempts and Cost, and the Usage if the
// provider counted tokens in an error's body.
//
// A call makes one request that may be charged. The providers of this package that retry failed
// requests let a Meter account for each attempt.
type Provider interface {
	// Name is the provider's name as in SVC_LLM_PROVIDER.
	Name() string
	// Complete returns the whole answer, also if its pieces were emitted.
	Complete(ctx context.Context, r Request) (Response, error)
}

func (r Request) check() error {
	if r.MaxTokens <= 0 {
		return fmt.Errorf("request to model %s: MaxTokens is %d, it must be above 0", quote(r.Model), r.MaxTokens)
	}
	return nil
}
