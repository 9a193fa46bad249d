package mcpserver

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"

	"evalctl/daemon/client"
	"evalctl/daemon/protocol"
)

// Modes of an extraction (spec 4.1).
const (
	modeSession    = "session"
	modeTranscript = "transcript"
)

type sessionExtract struct {
	Mode     string                          `json:"mode"`
	Messages []protocol.SessionMessageRecord `json:"messages"`
}

// transcriptExtract has a Fallback if the call named a session, and the daemon has none.
type transcriptExtract struct {
	Mode     string    `json:"mode"`
	Document any       `json:"document"`
	Fallback *fallback `json:"fallback,omitempty"`
}

func extract(ctx context.Context, c call) (reply, error) {
	messages := c.messages()
	session := c.args.text("session_id")
	return inBrain(ctx, c, func(id string, b *client.Brain) (reply, error) {
		if session == "" {
			return c.extractTranscript(ctx, id, b, messages, nil)
		}
		records, err := addMessages(ctx, b, session, messages)
		if err != nil && !aboutSession(err) && c.lacksRoute(ctx, id, err) {
			return c.extractTranscript(ctx, id, b, messages, err)
		}
		if err != nil {
			return reply{}, err
		}
		return reply{
			sessionExtract{modeSession, records},
			fmt.Sprintf("Added %d messages to session %s", len(records), session),
		}, nil
	})
}

// messages returns the messages of a call. Facts are extracted with the last one.
func (c call) messages() []protocol.SessionMessage {
	var all []protocol.SessionMessage
	list := c.args.list("messages")
	for i, item := range list {
		m := item.(map[string]any)
		metadata := map[string]any{}
		if actor := c.args.text("actor_id"); actor != "" {
			metadata[protocol.MetadataActorID] = actor
		}
		if i < len(list)-1 {
			metadata[protocol.MetadataSkipExtract] = true
		}
		all = append(all, protocol.SessionMessage{
			Role: m["role"].(string), Content: m["content"].(string), Metadata: metadata,
		})
	}
	return all
}

// addMessages adds messages as one batch. If the daemon has no batches of messages, it adds one
// after the other.
func addMessages(
	ctx context.Context, b *client.Brain, session string, messages []protocol.SessionMessage,
) ([]protocol.SessionMessageRecord, error) {
	records, err := b.AddMessages(ctx, session, messages)
	if !mayLackRoute(err) {
		return records, err
	}
	records = nil
	for i, m := range messages {
		record, err := b.AddMessage(ctx, session, m)
		if err != nil && i > 0 {
			e := toolErrorOf(err)
			return nil, &toolError{Code: e.Code, Message: fmt.Sprintf(
				"messages[%d] failed, the %d before were added: %s", i, i, e.Message)}
		}
		if err != nil {
			return nil, err
		}
		records = append(records, record)
	}
	return records, nil
}

// sessionWord finds texts that say that a session is missing, and not an endpoint.
var sessionWord = regexp.MustCompile(`(?i)session([^s]|$)`)

// aboutSession reports whether a daemon with sessions has rejected a request because of one.
func aboutSession(err error) bool {
	e, ok := errors.AsType[*client.Error](err)
	if !ok {
		return false
	}
	text := e.Problem.Code + " " + e.Problem.Title + " " + e.Problem.Detail
	return sessionWord.MatchString(strings.ReplaceAll(text, e.Path, "")) // which may contain the word
}

// extractTranscript stores the messages as a document. The daemon extracts facts from documents of
// this source and form. noSession is the failure to add them to their session, nil if they have
// none.
func (c call) extractTranscript(
	ctx context.Context, id string, b *client.Brain, messages []protocol.SessionMessage, noSession error,
) (reply, error) {
	d := protocol.CreateDocument{
		Title:   "Transcript of " + time.Now().UTC().Format(time.DateTime),
		Content: protocol.Transcript(messages...),
		Source:  protocol.SourceExtract,
	}
	d.Metadata = map[string]any{}
	for _, key := range []string{protocol.MetadataActorID, "session_id"} {
		if value := c.args.text(key); value != "" {
			d.Metadata[key] = value
		}
	}
	s, err := c.store(ctx, id, b, d)
	if err != nil {
		return reply{}, err
	}
	result := transcriptExtract{Mode: modeTranscript, Document: s.record}
	if noSession != nil {
		result.Fallback = insteadOf(noSession, s.request)
		s.text += "\nThe daemon has no sessions."
	}
	return reply{result, s.text}, nil
}
