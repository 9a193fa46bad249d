// Package distill asks a language model to condense conversations and notes: into dated facts, the
// outcome of a session, and summaries of notes on one subject.
//
// Every request is a system prompt with rules and one JSON object with the texts, so that texts
// stay data: none can end its own string, and the prompts say that instructions in them are not
// followed. Every reply must be one JSON object of a documented shape. After any other reply, one
// more request says what was wrong; after that, the call fails with ErrReply. Nothing is ever taken
// from prose. Unknown keys are ignored, and a repeated key is an error.
//
// Long inputs are divided into windows, one request for each, so that prompts are bounded.
//
// With the provider "fake", deterministic heuristics answer the same requests offline, and their
// replies pass the same checks.
package distill

import (
	"errors"
	"time"

	"evalctl/internal/llm"
)

// ErrReply means that the model's reply was unusable, even after a second request.
var ErrReply = errors.New("the model gave no usable reply")

// Roles of a Message, as in session messages of the protocol.
const (
	RoleSystem    = "system"
	RoleUser      = "user"
	RoleAssistant = "assistant"
	RoleTool      = "tool"
)

// Message is one message of a conversation. Messages of users and assistants are distilled. Results
// of tools are context, and only their beginning is read. System messages are instructions to an
// assistant and are not read at all, nor are messages of other roles.
type Message struct {
	Role string
	Name string // who speaks; may be empty
	Text string
	At   time.Time // when it was written, in the writer's zone; may be zero
}

// Use is the model and the tokens that a call has used. Model is the model that ran according to
// the provider, and is empty if none did. Usage is the sum over all requests, including those with
// rejected replies.
type Use struct {
	Model string
	Usage llm.Usage
}

func (u *Use) add(r llm.Response) {
	u.Usage = u.Usage.Plus(r.Usage)
	if r.Model != "" {
		u.Model = r.Model
	}
}

// Distiller asks one model. It is safe for concurrent use if its provider is.
//
// Its methods return ErrReply, and the errors of the provider and of the context unchanged. They
// also return Use with an error.
type Distiller struct {
	provider llm.Provider
	model    string
}

// New returns a Distiller. It fails only when an argument is missing.
func New(provider llm.Provider, model string) (*Distiller, error) {
	if provider == nil || model == "" {
		return nil, errors.New("distiller: provider and model are required")
	}
	return &Distiller{provider: provider, model: model}, nil
}
