// Package distill asks a language model what conversations and notes come down to: dated facts, the
// outcome of a session, and summaries of notes on one subject.
//
// Every request is a system prompt with rules and one JSON object with the texts, so that texts
// stay data: none can end its own string, and the prompts say that instructions in them are not
// followed. Every reply must be one JSON object of a documented shape. A reply that is not gets one
// more request, which says what was wrong; after that, the call fails with ErrReply. Nothing is
// ever taken from prose. Keys that are not asked for are ignored, and a key that is given twice is
// an error.
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

// ErrReply means that the model's reply could not be used, also after it was asked again.
var ErrReply = errors.New("the model gave no usable reply")

// Roles of a Message, as in session messages of the protocol.
const (
	RoleSystem    = "system"
	RoleUser      = "user"
	RoleAssistant = "assistant"
	RoleTool      = "tool"
)

// Message is one message of a conversation. What users and assistants say is distilled. What tools
// return is context, of which only the beginning is read. System messages are instructions to an
// assistant and are not read at all, as are messages of other roles.
type Message struct {
	Role string
	Name string // who speaks; may be empty
	Text string
	At   time.Time // when it was written, in the writer's zone; may be zero
}

// Use is what a call has used. Model is the model that ran according to the provider, and is empty
// if none did. Usage is the sum over all requests, rejected replies included.
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
// Its methods return the errors of the provider and of the context as they are, and ErrReply. They
// return Use with an error as well.
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
