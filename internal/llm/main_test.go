package llm

import (
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// ask returns a request with one user message.
func ask(model, content string) Request {
	return Request{Model: model, MaxTokens: 100, Messages: []Message{{RoleUser, content}}}
}

// streamed returns a request whose answer is emitted.
func streamed(r Request, emit func(string) error) Request {
	r.Emit = emit
	return r
}
