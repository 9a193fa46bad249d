package client

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"unicode/utf8"

	"evalctl/daemon/protocol"
	"evalctl/internal/httpclient"
)

// AddMessage adds a message to a session, which it opens if there is none (spec 4.1,
// memory_extract). It is not safe to repeat: the message may be added twice. Code of the error is
// protocol.CodeConflict if the session has ended. A record never has metadata, even if the daemon
// sends it (spec 2). From a daemon that sends no record, it has only what the message has.
func (b *Brain) AddMessage(
	ctx context.Context, session string, m protocol.SessionMessage,
) (protocol.SessionMessageRecord, error) {
	r := b.session(http.MethodPost, session, "/messages", messageViolations("", m)...)
	r.json(m)
	return add(ctx, b.c, r, recordOf(session, m))
}

// add is call for a request that adds messages. A daemon that answers without content has added
// them; the result is then unsaid.
func add[T any](ctx context.Context, c *Client, r request, unsaid T) (T, error) {
	data, err := c.fetch(ctx, r, maxJSON)
	if err == nil && len(bytes.TrimSpace(data)) == 0 {
		return unsaid, nil
	}
	return decode[T](ctx, r, data, err)
}

// recordOf returns what the client knows about a message that was added.
func recordOf(session string, m protocol.SessionMessage) protocol.SessionMessageRecord {
	return protocol.SessionMessageRecord{SessionID: session, Role: m.Role, Content: m.Content, Name: m.Name, CreatedAt: m.CreatedAt}
}

// AddMessages is AddMessage for 1 to protocol.MaxSessionMessages messages, which are added all or
// none. The records are in the same order.
func (b *Brain) AddMessages(
	ctx context.Context, session string, m []protocol.SessionMessage,
) ([]protocol.SessionMessageRecord, error) {
	var all []violation
	if n := len(m); n == 0 || n > protocol.MaxSessionMessages {
		all = append(all, invalid("there are %d messages, it must be 1 to %d", n, protocol.MaxSessionMessages))
	}
	for i, one := range m {
		all = append(all, messageViolations(fmt.Sprintf("message %d: ", i), one)...)
	}
	r := b.session(http.MethodPost, session, "/messages/batch", all...)
	r.json(protocol.SessionMessages{Messages: m})
	var unsaid protocol.SessionMessageList
	for _, one := range m {
		unsaid.Messages = append(unsaid.Messages, recordOf(session, one))
	}
	list, err := add(ctx, b.c, r, unsaid)
	if err == nil && len(list.Messages) != len(m) {
		err = fmt.Errorf("%s %s: the response has %d messages, the request had %d",
			r.method, r.path, len(list.Messages), len(m))
	}
	return list.Messages, err
}

// Session describes a session. A session that no message was added to does not exist.
func (b *Brain) Session(ctx context.Context, id string) (protocol.Session, error) {
	return call[protocol.Session](ctx, b.c, b.session(http.MethodGet, id, ""))
}

// DeleteSession deletes a session with its messages and the documents made from them.
func (b *Brain) DeleteSession(ctx context.Context, id string) error {
	return b.c.send(ctx, b.session(http.MethodDelete, id, ""))
}

// Recall finds the chunks that match a query best, with some weight for the latest messages of the
// session (spec 4.1, memory_recall). The session need not exist.
func (b *Brain) Recall(
	ctx context.Context, session string, q protocol.RecallRequest,
) (protocol.RecallResponse, error) {
	r := b.session(http.MethodPost, session, "/recall",
		limitChars("query", q.Query, protocol.MaxSearchQuery),
		limitNumber("top_k", q.TopK, protocol.MaxRecallTopK))
	r.json(q)
	return call[protocol.RecallResponse](ctx, b.c, r)
}

// Reflect ends a session and returns its outcome (spec 4.1, memory_reflect). It may be repeated:
// once the status is completed or no_result, the response stays the same, and a failed reflection
// is tried again. Options.Timeout does not apply, because the model may need longer for a long
// session. If ctx ends earlier, the daemon goes on, and repeating the request returns the
// reflection.
func (b *Brain) Reflect(ctx context.Context, session string) (protocol.ReflectResponse, error) {
	return callModel[protocol.ReflectResponse](ctx, b.c, b.session(http.MethodPost, session, "/reflect"))
}

func (b *Brain) session(method, id, endpoint string, all ...violation) request {
	r := request{method: method, path: b.path + "/sessions/" + httpclient.Segment(id) + endpoint}
	if id == "" { // the URL would be another endpoint
		r.check(invalid("session id is empty"))
	}
	r.check(limitChars("session id", id, len(id)))
	r.check(all...)
	return r
}

func messageViolations(where string, m protocol.SessionMessage) []violation {
	all := []violation{
		limitChars(where+"content", m.Content, len(m.Content)),
		limitChars(where+"role", m.Role, len(m.Role)),
		limitChars(where+"name", m.Name, protocol.MaxMessageName),
	}
	if n := utf8.RuneCountInString(m.Content); n > protocol.MaxMessageContent {
		all = append(all, tooLarge("%scontent has %d characters, the limit is %d",
			where, n, protocol.MaxMessageContent))
	}
	for key, value := range m.Metadata {
		all = append(all, limitChars(where+"a key of metadata", key, protocol.MaxMetadataKey))
		if text, ok := value.(string); ok {
			all = append(all, limitChars(where+"a value of metadata", text, len(text)))
		}
	}
	return all
}
