package requirements

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"evalctl/daemon/protocol"
)

func ownMessageFieldChecks() []check {
	return []check{
		should("sessions-message-201", "4.1", "POST of a message returns 201.", expect(messageOf(plainMessage), 201)),
	}
}

func ownMessageEffectChecks() []check {
	return []check{
		should("sessions-brain-missing", "4.1",
			"A message to a brain that does not exist returns 404, or 403 with a token.",
			seedSession, expectNoBrain(messageOf(plainMessage))),
		should("sessions-message-found", "1", "A search finds the messages of a session.",
			send(messageOf(message("user", "My samovar is made of copper."))), awaitAnyPath("samovar")),
	}
}

func ownMessageLimitChecks() []check {
	rejected := func(id, what string, fields object) check {
		return should("sessions-"+id, "2", what+" is rejected with 400 and a Problem.",
			seedSession, expect(messageOf(fields), 400, isProblem))
	}
	longest := strings.Repeat("n", protocol.MaxMessageName)
	return []check{
		rejected("role-unknown-400", "A message with an unknown role", message("narrator", "Hello.")),
		rejected("role-missing-400", "A message without a role", object{"content": "Hello."}),
		rejected("content-missing-400", "A message without content", object{"role": "user"}),
		rejected("content-number-400", "A message whose content is not a string", object{"role": "user", "content": 5}),
		rejected("name-129-400", "A name of 129 characters", message("tool", "x", "name", longest+"n")),
		rejected("metadata-nested-400", "A message with an object inside metadata",
			message("user", "x", "metadata", object{"a": object{}})),
		should("sessions-content-over-limit", "8", "Content of 1,000,001 characters is rejected with 400 or 413.",
			seedSession, expectLongMessage(protocol.MaxMessageContent+1, statusIn(400, 413))),
		should("sessions-json-invalid-400", "7.1", "A message that is not valid JSON is rejected with 400 and a Problem.",
			seedSession, expect(postJSON("/sessions/"+sessionID+"/messages", `{"role":`), 400, isProblem)),
	}
}

func recallChecks() []check {
	kettleWith := func(name string, v any) request { return recallOf(object{"query": "kettle", name: v}) }
	rejected := func(id, what string, fields object) check {
		return should("sessions-recall-"+id, "8", what+" is rejected with 400.",
			seedRecall, expect(recallOf(fields), 400))
	}
	each := func(name string, m matcher) step {
		return expect(recallOf(object{"query": "kettle"}), 0, given2xx, eachChunk(hasField(name, m)))
	}
	return []check{
		should("sessions-recall-chunks", "4.1", "A recall returns its chunks as an array.",
			seedRecall, expect(recallOf(object{"query": "kettle"}), 0, given2xx, jsonField("chunks", isArray))),
		should("sessions-recall-chunks-empty", "4.1", "The chunks of a recall without results are an empty array.",
			inOtherBrain(seedRecall), expect(recallOf(object{"query": "zzyzx"}), 0, given2xx, jsonField("chunks", isArray))),
		should("sessions-recall-finds", "4.1", "A recall finds documents of the brain.",
			seedRecall, awaitRecalled("parrot", parrot)),
		should("sessions-recall-path", "4.1", "A chunk found by a recall has a path.",
			seedRecall, each("path", isNonEmptyString)),
		should("sessions-recall-score", "4.1", "A chunk found by a recall has a score.",
			seedRecall, each("score", isNumber)),
		should("sessions-recall-snake-case", "2", "The keys of the response to a recall are in snake_case.",
			seedRecall, expect(recallOf(object{"query": "kettle"}), 0, given2xx, bodyInSnakeCase)),
		should("sessions-recall-top-k", "4.1", "top_k limits the number of chunks that a recall returns.",
			seedRecall, expect(recallOf(object{"query": "parrot kettle", "top_k": 1}), 0, given2xx, chunkCount(1))),
		should("sessions-recall-top-k-200", "8", "The top_k of a recall may be 50.",
			seedRecall, expect(kettleWith("top_k", protocol.MaxRecallTopK), 200)),
		should("sessions-recall-query-200", "8", "The query of a recall may have 4,096 characters.",
			seedRecall, expect(recallOf(object{"query": kettleText(protocol.MaxSearchQuery)}), 200)),
		rejected("top-k-400", "A recall with a top_k of 51",
			object{"query": "kettle", "top_k": protocol.MaxRecallTopK + 1}),
		rejected("query-400", "A recall with a query of 4,097 characters",
			object{"query": kettleText(protocol.MaxSearchQuery + 1)}),
		rejected("query-empty-400", "A recall with an empty query", object{"query": ""}),
		rejected("query-missing-400", "A recall without a query", object{}),
	}
}

func reflectChecks() []check {
	field := func(name string, m matcher) []step {
		return []step{talk, expect(reflectOf(), 0, given2xx, jsonField(name, m))}
	}
	return []check{
		should("sessions-reflect-status", "4.1", "A reflection returns a reflection_status.",
			field("reflection_status", isNonEmptyString)...),
		should("sessions-reflect-attempted", "4.1", "A reflection returns reflection_attempted, true or false.",
			field("reflection_attempted", isBool)...),
		should("sessions-reflect-ended-at", "3", "A reflection returns ended_at, with an offset.",
			field("ended_at", isTimestamp)...),
		should("sessions-reflect-snake-case", "2", "The keys of the response to a reflection are in snake_case.",
			talk, expect(reflectOf(), 0, given2xx, bodyInSnakeCase)),
		should("sessions-reflect-result", "2",
			"A completed reflection has outcome, should_record_episode and path.",
			talk, expect(reflectOf(), 0, given2xx, isReflection)),
		should("sessions-reflect-again", "3", "Reflecting on a session again returns the same ended_at.",
			talk, reflectTwice),
		should("sessions-reflect-ends", "3", "A session that ended accepts no further message: 400 or 409.",
			talk, send(reflectOf()), expect(messageOf(plainMessage), 0, statusIn(400, 409))),
		should("sessions-reflect-empty", "3",
			"A reflection on a session without messages returns no_result, or 404 if there is no such session.",
			inOtherBrain(talk, send(reflectOf())), expect(reflectOf(), 0, func(r *response) error {
				if r.status == 404 {
					return nil
				}
				return r.verify(0, isSuccess, jsonField("reflection_status", equals(protocol.ReflectionNoResult)))
			})),
	}
}

func reflectOf() request { return sessionRequest("/reflect", object{}) }

func recallOf(fields object) request { return sessionRequest("/recall", fields) }

// seedRecall writes documents and messages, and requires that the daemon has the endpoint, whose
// path the specification does not name.
var seedRecall = setup(putNotes, seedSession, expect2xx(recallOf(object{"query": "kettle"})))

// awaitRecalled waits until a recall finds a document.
func awaitRecalled(query, path string) step {
	recalled := func(ctx context.Context, c *client) ([]string, error) {
		return c.pathsFound(ctx, recallOf(object{"query": query}), given2xx)
	}
	return await(indexedWithin, recalled, func(got []string) bool { return slices.Contains(got, path) },
		func(_ *client, got []string) error {
			return brokenf("recall of %q: want %s among the paths, got %q: %w", query, path, got, errSilence)
		})
}

// talk adds a short conversation to the session.
var talk = setup(
	send(messageOf(message("user", "Please plan the trip to Oslo. I prefer trains.", "metadata", object{"skip_extract": true}))),
	send(messageOf(message("assistant", "Booked: the night train on 2024-05-03.", "metadata", object{"skip_extract": true}))),
	send(messageOf(message("user", "Great, thank you. That solved it."))),
)

var isReflection = ofObject(func(o object) error {
	if o["reflection_status"] != protocol.ReflectionCompleted {
		return optional(fmt.Sprintf("a completed reflection: its status is %v", o["reflection_status"]))
	}
	return reflectionFields(o["reflection"])
})

// reflectTwice lets a moment pass between two reflections, so that a new time would differ.
func reflectTwice(ctx context.Context, c *client) error {
	var first any
	note := func(r *response) error {
		o, err := r.object()
		first = o["ended_at"]
		return err
	}
	again := expect(reflectOf(), 0, isSuccess, func(r *response) error {
		return jsonField("ended_at", equals(first))(r)
	})
	return c.run(ctx, expect(reflectOf(), 0, given2xx, note), pause(20*time.Millisecond), again)
}
