package memory

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"evalctl/daemon/protocol"
	"evalctl/daemon/store"
)

// Limits of the metadata of a message.
const (
	maxMessageKeys     = 64
	maxMessageMetadata = 64 << 10 // bytes of JSON
)

// message is one line of a messages file. Index counts the messages of the session from 0. At has
// the client's time zone, which decides the day that "yesterday" counts from.
type message struct {
	Index    int               `json:"index"`
	ID       string            `json:"id"`
	Role     string            `json:"role"`
	Name     string            `json:"name,omitempty"`
	Content  string            `json:"content"`
	At       time.Time         `json:"created_at"`
	Metadata protocol.Metadata `json:"metadata,omitempty"`
}

// newMessage checks a message of a request (spec 2 and 8). An invalid one is an *ArgumentError
// whose name begins with where, or ErrTooLarge.
func newMessage(m protocol.SessionMessage, where string, now time.Time) (message, error) {
	out := message{
		ID: strings.ToLower(rand.Text()), Role: m.Role, Name: m.Name, Content: m.Content,
		Metadata: m.Metadata,
	}
	if !slices.Contains(protocol.Roles, m.Role) {
		return out, argumentErrorf(where+"role", "%.64q is not one of %s", m.Role, strings.Join(protocol.Roles, ", "))
	}
	if m.Content == "" {
		return out, argumentErrorf(where+"content", "is missing")
	}
	if n := utf8.RuneCountInString(m.Content); n > protocol.MaxMessageContent {
		return out, fmt.Errorf("%w: %scontent has %d characters, the limit is %d",
			ErrTooLarge, where, n, protocol.MaxMessageContent)
	}
	if n := utf8.RuneCountInString(m.Name); n > protocol.MaxMessageName {
		return out, argumentErrorf(where+"name", "has %d characters, the limit is %d", n, protocol.MaxMessageName)
	}
	if !utf8.ValidString(m.Content) || !utf8.ValidString(m.Name) {
		return out, argumentErrorf(where+"content", "or name is not valid UTF-8")
	}
	var err error
	if out.At, err = messageTime(m.CreatedAt, where, now); err != nil {
		return out, err
	}
	return out, checkMessageMetadata(m.Metadata, where)
}

// messageTime returns the given time, or now. Its year in UTC must be 1 to 9999 and its offset less
// than a day, the ranges of RFC 3339.
func messageTime(given, where string, now time.Time) (time.Time, error) {
	if given == "" {
		return now.UTC().Truncate(time.Millisecond), nil
	}
	t, err := time.Parse(time.RFC3339, given)
	const day = 24 * 60 * 60
	if _, offset := t.Zone(); err != nil || t.UTC().Year() < 1 || t.UTC().Year() > 9999 || max(offset, -offset) >= day {
		return t, argumentErrorf(where+"created_at", "%.64q is not an RFC 3339 time", given)
	}
	return t, nil
}

func checkMessageMetadata(metadata map[string]any, where string) error {
	name := where + "metadata"
	if n := len(metadata); n > maxMessageKeys {
		return argumentErrorf(name, "has %d keys, the limit is %d", n, maxMessageKeys)
	}
	for key, value := range metadata {
		if n, ok := value.(json.Number); ok {
			if _, err := n.Float64(); err == nil {
				value = nil // unlike front matter, the transcript keeps all digits
			}
		}
		if err := checkMetadataValue(name, key, value); err != nil {
			return err
		}
	}
	if skip := metadata[protocol.MetadataSkipExtract]; skip != nil {
		if _, ok := skip.(bool); !ok {
			return argumentErrorf(name, "%s is not a boolean", protocol.MetadataSkipExtract)
		}
	}
	if actor := metadata[protocol.MetadataActorID]; actor != nil {
		if _, ok := actor.(string); !ok {
			return argumentErrorf(name, "%s is not a string", protocol.MetadataActorID)
		}
	}
	data, err := json.Marshal(metadata)
	if err != nil {
		return argumentErrorf(name, "%v", err)
	}
	if len(data) > maxMessageMetadata {
		return argumentErrorf(name, "has %d bytes, the limit is %d", len(data), maxMessageMetadata)
	}
	return nil
}

// skipsExtract reports whether the message asks that no facts are extracted yet.
func (m message) skipsExtract() bool {
	skip, _ := m.Metadata[protocol.MetadataSkipExtract].(bool)
	return skip
}

func (m message) actor() string {
	actor, _ := m.Metadata[protocol.MetadataActorID].(string)
	return actor
}

func (m message) record(session string) protocol.SessionMessageRecord {
	return protocol.SessionMessageRecord{
		ID: m.ID, SessionID: session, Role: m.Role, Content: m.Content, Name: m.Name,
		CreatedAt: protocol.FormatTime(m.At),
	}
}

// encodeMessages returns the lines of a messages file.
func encodeMessages(messages []message) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	for _, m := range messages {
		if err := e.Encode(m); err != nil {
			return nil, err
		}
	}
	return b.Bytes(), nil
}

// decodeMessages reads the messages file at path. An unreadable file is store.ErrDamaged.
func decodeMessages(path string, data []byte) ([]message, error) {
	var out []message
	for line := range bytes.Lines(data) {
		var m message
		if err := json.Unmarshal(line, &m); err != nil {
			return nil, store.Damaged(err, "%s:%d: not a message: restore the file from a backup or the history",
				path, len(out)+1)
		}
		out = append(out, m)
	}
	return out, nil
}
