package llm

import (
	"context"
	"evalctl/internal/printable"
	"strings"
)

// FakeModel is the only model of the Fake provider.
const FakeModel = "fake"

// Fake is a deterministic offline provider for tests and first runs. It answers a request with the
// result of the request's Fake function, cut at MaxTokens. A request without that function is an
// *Error. A token is four bytes and costs nothing. The zero value is ready to use and safe for
// concurrent use.
type Fake struct{}

// NewFake returns the offline provider.
func NewFake() Fake { return Fake{} }

// Name is "fake".
func (Fake) Name() string { return ProviderFake }

// Complete returns the whole answer, which it emits word by word.
func (Fake) Complete(ctx context.Context, r Request) (Response, error) {
	if err := ctx.Err(); err != nil {
		return Response{}, err
	}
	text, err := r.offlineAnswer()
	if err != nil {
		return Response{Attempts: 1}, err
	}
	reason := "stop"
	// In tokens, because a large MaxTokens in bytes would overflow.
	if Tokens(len(text)) > r.MaxTokens {
		text, reason = printable.Prefix(text, bytesPerToken*r.MaxTokens), "length"
	}
	if err := r.stream(ctx, text); err != nil {
		return Response{Attempts: 1}, err
	}
	u := estimate(r, text)
	u.Estimated = false // here the estimate is the definition
	return Response{Text: text, Model: FakeModel, FinishReason: reason, Usage: u, Attempts: 1}, nil
}

// stream emits a text word by word, if it is wanted.
func (r Request) stream(ctx context.Context, text string) error {
	if r.Emit == nil {
		return nil
	}
	for word := range strings.SplitAfterSeq(text, " ") {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := r.Emit(word); err != nil {
			return err
		}
	}
	return nil
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
