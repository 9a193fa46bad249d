package target

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

// Speaker returns the speaker's name in transcripts.
func (t Turn) Speaker() string {
	if t.Name != "" {
		return t.Name
	}
	return t.Role
}
