package requirements

import (
	"context"
	"fmt"
	"net/url"
	"strings"

	"evalctl/daemon/protocol"
)

// sessionID is the session of the checks of this file. Each has a brain of its own.
const sessionID = "conformance-1"

// sessionRequest posts to an endpoint of the session.
func sessionRequest(endpoint string, body any) request {
	return brainRequest("POST", "/sessions/"+url.PathEscape(sessionID)+endpoint).withJSON(body)
}

func messageOf(fields object) request { return sessionRequest("/messages", fields) }

// message returns the fields of a message, with more as names and values in turn.
func message(role, content string, more ...any) object {
	return withFields(object{"role": role, "content": content}, more...)
}

var (
	plainMessage = message("user", "The kettle whistles at noon.")
	// seedSession requires that the daemon has sessions. Without them, nothing in this file is
	// judged.
	seedSession = send(messageOf(plainMessage))
)

// expectMessageField matches a field of the record of a new message.
func expectMessageField(fields object, name string, m matcher) step {
	return expect(messageOf(fields), 0, given2xx, jsonField(name, m))
}

func messageFieldChecks() []check {
	text := `Ünïcödé "quoted" 🦜` + "\nsecond line"
	return []check{
		should("sessions-message-json", "4.1", "The media type of the response to POST of a message is application/json.",
			expect(messageOf(plainMessage), 0, given2xx, hasMediaType(protocol.TypeJSON))),
		must("sessions-id", "2", "The record of a message has an id.",
			expectMessageField(plainMessage, "id", isNonEmptyString)),
		must("sessions-id-unique", "2", "The records of two messages have different ids.", differentMessageIDs),
		must("sessions-session-id", "2", "The record of a message has the id of its session.",
			expectMessageField(plainMessage, "session_id", equals(sessionID))),
		must("sessions-content", "2", "The record of a message has its content, unchanged.",
			expectMessageField(message("user", text), "content", equals(text))),
		must("sessions-created-at", "2", "The record of a message has created_at, with an offset.",
			expectMessageField(plainMessage, "created_at", isTimestamp)),
		must("sessions-name", "2", "The record of a message with a name has it.",
			expectMessageField(message("tool", "12 °C", "name", "thermometer"), "name", equals("thermometer"))),
		must("sessions-snake-case", "2", "The keys of the record of a message are in snake_case.",
			expect(messageOf(plainMessage), 0, given2xx, bodyInSnakeCase)),
		must("sessions-roles", "2", "A message may have the role system, user, assistant or tool.",
			seedSession, eachRole),
		must("sessions-metadata-accepted", "2", "A message may have metadata with actor_id and skip_extract.",
			seedSession, expect2xx(messageOf(message("user", "Hello.", "metadata",
				object{"actor_id": "ana", "skip_extract": true})))),
		must("sessions-metadata-not-echoed", "2", "The record of a message has no metadata.",
			expect(messageOf(message("user", "Hello.", "metadata", object{"actor_id": "ana", "mood": "calm"})), 0,
				given2xx, noField("metadata"))),
	}
}

func eachRole(ctx context.Context, c *client) error {
	for _, role := range []string{
		protocol.RoleSystem, protocol.RoleUser, protocol.RoleAssistant, protocol.RoleTool,
	} {
		r := messageOf(message(role, "Hello.", "metadata", object{"skip_extract": true}))
		if err := c.run(ctx, expect(r, 0, isSuccess, jsonField("role", equals(role)))); err != nil {
			return err
		}
	}
	return nil
}

func differentMessageIDs(ctx context.Context, c *client) error {
	var first any
	differs := func(r *response) error {
		o, err := r.object()
		switch {
		case err != nil || o["id"] == nil:
			return unjudgedError{ReasonSetup, fmt.Errorf("the record has no id: %s", excerpt(r.body))}
		case o["id"] == first:
			return fmt.Errorf("want different ids for two messages, got %v for both", first)
		}
		first = o["id"]
		return nil
	}
	same := expect(messageOf(plainMessage), 0, given2xx, differs)
	return c.run(ctx, same, same)
}

func messageEffectChecks() []check {
	return []check{
		should("sessions-apart", "1", "A search does not find the messages of a session in another brain.",
			send(messageOf(message("user", "My samovar is made of copper."))),
			inOtherBrain(seedSession, expect(searchOf(object{"query": "samovar"}), 0, given(200), chunkCount(0)))),
	}
}

func messageLimitChecks() []check {
	longest := strings.Repeat("n", protocol.MaxMessageName)
	return []check{
		should("sessions-name-128", "8", "The name of a message may have 128 characters.",
			seedSession, expect(messageOf(message("tool", "x", "name", longest)), 0, isSuccess,
				jsonField("name", equals(longest)))),
		should("sessions-content-1000000", "8", "The content of a message may have 1,000,000 characters.",
			seedSession, expectLongMessage(protocol.MaxMessageContent, isSuccess)),
	}
}

// expectLongMessage checks the response to a message of n characters.
func expectLongMessage(n int, assert assertion) step {
	return lazily(func(*client) step {
		return expect(messageOf(message("user", strings.Repeat("é", n), "metadata", object{"skip_extract": true})), 0, assert)
	})
}

// reflectionFields matches a Reflection result (spec 2).
func reflectionFields(got any) error {
	o, ok := got.(object)
	if !ok {
		return fmt.Errorf("reflection: want an object, got %s", excerpt(encode(got)))
	}
	if err := matchFields(o, map[string]matcher{"outcome": isString, "should_record_episode": isBool, "path": isString}); err != nil {
		return fmt.Errorf("reflection: %w", err)
	}
	if feedback, ok := o["retry_feedback"]; ok && feedback != nil {
		return isString(feedback)
	}
	return nil
}
