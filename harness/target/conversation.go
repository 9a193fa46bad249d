package target

import "context"

// Conversation is one session of a conversation.
type Conversation struct {
	ID    string
	Path  string // of the document that a passage of the session belongs to
	Title string
	Date  string // RFC 3339, empty if it is not known
	Turns []Turn
}

// Turn is one message of a conversation. Role is user or assistant. Name and Date may be empty.
type Turn struct{ Role, Name, Text, Date string }

// Speaker returns who a transcript says is speaking.
func (t Turn) Speaker() string {
	if t.Name != "" {
		return t.Name
	}
	return t.Role
}

// Reader is a Store that reads what was written.
type Reader interface {
	// Get returns the texts of a document. The error is ErrLacks if the service cannot read.
	Get(ctx context.Context, id, path string) ([]string, error)
}

// Listener is a Store that remembers conversations by rules of its own.
type Listener interface {
	// Tell remembers the turns of a session. When it returns, they are remembered, though perhaps not
	// found by a search yet.
	Tell(ctx context.Context, id string, c Conversation) error
}
