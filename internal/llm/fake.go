package llm

import (
	"context"
	"evalctl/internal/printable"
	"strings"
)

// FakeModel is the only model of the Fake provider.
const FakeModel = "fake"

// Fake is a deterministic offline provider for tests and first runs. It answers a request
// with the text that the request's Fake function returns, cut at MaxTokens; a request without
// that function is an *Error. A token is four bytes and costs nothing. The zero value is
// ready to use and safe for concurrent use.
type Fake struct{}

// NewFake returns the offline provider.
func NewFake() Fake { return Fake{} }

// Name is "fake".
func (Fake) Name() string { return ProviderFake }

// Complete returns the whole answer.
func (Fake) Complete(ctx context.Context, r Request) (Response, error) {
	if err := ctx.Err(); err != nil {
		return Response{}, err
	}
	text, err := r.offlineAnswer()
	if err != nil {
		return Response{Attempts: 1}, err
	}
	reason := "stop"
	// In tokens, since a large MaxTokens in bytes would overflow.
	if tokens(len(text)) > r.MaxTokens {
		text, reason = printable.Prefix(text, bytesPerToken*r.MaxTokens), "length"
	}
	u := estimate(r, text)
	u.Estimated = false // here the estimate is the definition
	return Response{Text: text, Model: FakeModel, FinishReason: reason, Usage: u, Attempts: 1}, nil
}

// Stream emits the answer word by word.
func (f Fake) Stream(ctx context.Context, r Request, emit func(string) error) (Response, error) {
	resp, err := f.Complete(ctx, r)
	if err != nil {
		return resp, err
	}
	for word := range strings.SplitAfterSeq(resp.Text, " ") {
		if err := ctx.Err(); err != nil {
			return Response{Attempts: 1}, err
		}
		if err := emit(word); err != nil {
			return Response{Attempts: 1}, err
		}
	}
	return resp, nil
}

func (r Request) offlineAnswer() (string, error) {
	if err := r.check(); err != nil {
		return "", err
	}
	if r.Fake == nil {
		return "", &Error{
			Provider: ProviderFake, Model: FakeModel,
			Message: "this request has no offline answer (its Fake function is not set); " +
				"set SVC_LLM_PROVIDER to a real provider",
		}
	}
	return r.Fake(), nil
}
