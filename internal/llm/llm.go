// Package llm speaks to language models: one Provider interface, a provider
// for every OpenAI-compatible endpoint, an offline deterministic one, and the
// accounting that keeps a run under its spend cap.
package llm

import (
	"context"
	"fmt"
)

// Role of a message.
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

// Request is one completion to make. Temperature is sent as it is, zero
// included. MaxTokens bounds the output and must be above 0: the worst case of
// a call is computed from it.
type Request struct {
	Model       string
	Messages    []Message
	Temperature float64
	MaxTokens   int
	// JSON asks for strict JSON-object mode.
	JSON bool
	// Fake returns the answer of the provider "fake", which has no other: whoever writes a
	// prompt knows what answers it. It must be deterministic and safe for concurrent use. It is
	// not sent, so requests that differ in it alone are the same request.
	Fake func() string
}

// Usage counts tokens. Estimated is set when the provider sent no counts and
// they were computed from the text's length.
type Usage struct {
	InputTokens  int
	OutputTokens int
	Estimated    bool
}

// Plus adds two usages; a sum with an estimate in it is one.
func (u Usage) Plus(v Usage) Usage {
	return Usage{u.InputTokens + v.InputTokens, u.OutputTokens + v.OutputTokens, u.Estimated || v.Estimated}
}

// Response is a finished completion. Model is the one that the provider says
// it ran. Attempts counts the HTTP requests made, at least 1.
type Response struct {
	Text  string
	Model string
	// FinishReason is why the model stopped: "stop" for a whole answer,
	// "length" when MaxTokens cut it, "content_filter" when the provider held
	// text back. Some providers leave it empty on calls that do not stream.
	FinishReason string
	Usage        Usage
	Attempts     int
	// Cost is set by a Meter: what the call was charged, lost attempts
	// included. It is 0 everywhere else.
	Cost USD
}

// Provider completes requests. Implementations are safe for concurrent use.
//
// Errors are *Error when the call reached for the provider and failed; a
// context's end is returned as it is. Next to an error the Response still holds
// Attempts and Cost.
//
// A call makes one request that may be charged. The providers of this package
// that repeat failed requests let a Meter account for each of them.
type Provider interface {
	// Name is the provider's name as in SVC_LLM_PROVIDER.
	Name() string
	// Complete returns the whole answer.
	Complete(ctx context.Context, r Request) (Response, error)
	// Stream calls emit with each piece of the answer as it arrives and
	// returns the whole answer. An error from emit stops the stream and is
	// returned.
	Stream(ctx context.Context, r Request, emit func(delta string) error) (Response, error)
}

func (r Request) check() error {
	if r.MaxTokens <= 0 {
		return fmt.Errorf("request to model %s: MaxTokens is %d, it must be above 0", quote(r.Model), r.MaxTokens)
	}
	return nil
}
