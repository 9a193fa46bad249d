package conformance

import (
	"net/http"
	"slices"
	"strings"
)

// sessionID is the session of the checks.
const sessionID = "conformance-1"

var messagesRoute = route("POST /sessions/" + sessionID + "/messages")

// editAnswer changes the JSON of successful responses, depending on the JSON of the requests.
func editAnswer(match func(*http.Request) bool, change func(request, o map[string]any)) wrapper {
	return replace(match, func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		request := bodyObject(r)
		a := capture(next, r)
		if !a.Failed() {
			a.Edit(func(o map[string]any) { change(request, o) })
		}
		a.Send(w, r)
	})
}

func lose(name string) func(_, o map[string]any) {
	return func(_, o map[string]any) { delete(o, name) }
}

func set(name string, v any) func(_, o map[string]any) {
	return func(_, o map[string]any) { o[name] = v }
}

// refuse rejects requests whose JSON matches.
func refuse(match func(*http.Request) bool, status int, which func(o map[string]any) bool) wrapper {
	return replace(and(match, func(r *http.Request) bool { return which(bodyObject(r)) }), reject(status))
}

func textOf(o map[string]any, name string) string {
	s, _ := o[name].(string)
	return s
}

func sessionMutants() []mutant {
	return slices.Concat(messageAnswerMutants(), messageRequestMutants())
}

func messageAnswerMutants() []mutant {
	edit := func(change func(request, o map[string]any)) wrapper { return editAnswer(messagesRoute, change) }
	return []mutant{
		{"message-plain", "the record of a message is text/plain", after(messagesRoute, func(_ *http.Request, a *captured) {
			a.Header().Set("Content-Type", "text/plain")
		}), []string{"sessions-message-json"}, nil},
		{"message-without-id", "messages have no id", edit(lose("id")), []string{"sessions-id"}, nil},
		{"message-one-id", "all messages have the same id", edit(set("id", "m-1")), []string{"sessions-id-unique"}, nil},
		{"message-other-session", "messages have the id of another session", edit(set("session_id", "other")),
			[]string{"sessions-session-id"}, nil},
		{"message-one-line", "the content of a message is returned on one line", edit(func(_, o map[string]any) {
			o["content"] = strings.ReplaceAll(textOf(o, "content"), "\n", " ")
		}), []string{"sessions-content"}, nil},
		{"message-local-time", "created_at of a message has no offset", edit(set("created_at", "2024-05-01T10:00:00")),
			[]string{"sessions-created-at"}, nil},
		{"message-nameless", "the name of a message is lost", edit(lose("name")),
			[]string{"sessions-name", "sessions-name-128"}, nil},
		{"message-camel-case", "the keys of a message are in camelCase", edit(set("sessionId", sessionID)),
			[]string{"sessions-snake-case"}, nil},
		{"message-metadata-echoed", "the record of a message has its metadata", edit(func(request, o map[string]any) {
			o["metadata"] = request["metadata"]
		}), []string{"sessions-metadata-not-echoed"}, nil},
		{"message-leaks", "searches find messages of other brains", editChunks(func(request map[string]any, list []any) []any {
			if request["query"] == "samovar" {
				list = append(list, map[string]any{"path": "sessions/other.md"})
			}
			return list
		}), []string{"sessions-apart"}, []string{"records-found", "ingest-*", "sessions-*"}},
	}
}

func messageRequestMutants() []mutant {
	refusing := func(status int, which func(o map[string]any) bool) wrapper {
		return refuse(messagesRoute, status, which)
	}
	some := []string{"sessions-*"}
	return []mutant{
		{"message-two-roles", "a message of a tool is rejected",
			refusing(400, func(o map[string]any) bool { return o["role"] == "tool" }), []string{"sessions-roles"}, some},
		{"message-metadata-refused", "a message with metadata is rejected",
			refusing(400, func(o map[string]any) bool { return o["metadata"] != nil }),
			[]string{"sessions-metadata-accepted"}, some},
		{"message-short-names", "a name may have 64 characters",
			refusing(400, func(o map[string]any) bool { return len(textOf(o, "name")) > 64 }),
			[]string{"sessions-name-128"}, nil},
		{"message-short", "content may have 100,000 characters",
			refusing(413, func(o map[string]any) bool { return len(textOf(o, "content")) > 100_000 }),
			[]string{"sessions-content-1000000"}, nil},
	}
}
