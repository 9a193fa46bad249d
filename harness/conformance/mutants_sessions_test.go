package conformance

import (
	"net/http"
	"slices"
	"strings"
	"time"
)

// sessionID is the session of the checks.
const sessionID = "conformance-1"

var (
	messagesRoute = route("POST /sessions/" + sessionID + "/messages")
	recallRoute   = route("POST /sessions/" + sessionID + "/recall")
	reflectRoute  = route("POST /sessions/" + sessionID + "/reflect")
)

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

// tolerate changes requests so that the daemon does not reject them.
func tolerate(match func(*http.Request) bool, change func(o map[string]any)) wrapper {
	return before(match, func(r *http.Request) { editBody(r, change) })
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
	return slices.Concat(messageAnswerMutants(), messageRequestMutants(), recallMutants(), reflectMutants())
}

func messageAnswerMutants() []mutant {
	edit := func(change func(request, o map[string]any)) wrapper { return editAnswer(messagesRoute, change) }
	return []mutant{
		{"message-200", "a message returns 200 instead of 201", after(messagesRoute, changeStatus(201, 200)),
			[]string{"sessions-message-201"}, nil},
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
		{"message-forgotten", "messages are acknowledged but not stored", replace(messagesRoute,
			func(w http.ResponseWriter, r *http.Request, _ http.Handler) {
				o := bodyObject(r)
				o["id"], o["session_id"], o["created_at"] = "m", sessionID, "2024-05-01T10:00:00Z"
				delete(o, "metadata")
				w.WriteHeader(201)
				_, _ = w.Write(encode(o))
			}), []string{"sessions-message-found"}, []string{"sessions-*"}},
		{"message-leaks", "searches find messages of other brains", editChunks(func(request map[string]any, list []any) []any {
			if request["query"] == "samovar" {
				list = append(list, map[string]any{"path": "sessions/other.md"})
			}
			return list
		}), []string{"sessions-apart"}, []string{"records-found", "ingest-*", "sessions-*"}},
		{"session-anywhere", "a message to a brain that does not exist is accepted",
			after(messagesRoute, func(_ *http.Request, a *captured) {
				if a.Missing() || a.Status == http.StatusForbidden {
					a.ReplaceWith(201, `{}`)
				}
			}), []string{"sessions-brain-missing"}, nil},
	}
}

func messageRequestMutants() []mutant {
	tolerating := func(change func(o map[string]any)) wrapper { return tolerate(messagesRoute, change) }
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
		{"message-any-role", "an unknown role becomes user", tolerating(func(o map[string]any) {
			if o["role"] == "narrator" || o["role"] == nil {
				o["role"] = "user"
			}
		}), []string{"sessions-role-unknown-400", "sessions-role-missing-400"}, nil},
		{"message-any-content", "content that is missing or a number is accepted", tolerating(func(o map[string]any) {
			if _, ok := o["content"].(string); !ok {
				o["content"] = "x"
			}
		}), []string{"sessions-content-missing-400", "sessions-content-number-400"}, nil},
		{"message-name-cut", "a long name is cut", tolerating(func(o map[string]any) {
			if s := textOf(o, "name"); len(s) > 128 {
				o["name"] = s[:128]
			}
		}), []string{"sessions-name-129-400"}, nil},
		{"message-metadata-flattened", "objects in metadata are dropped", tolerating(func(o map[string]any) {
			if m, ok := o["metadata"].(map[string]any); ok && m["a"] != nil {
				delete(m, "a")
			}
		}), []string{"sessions-metadata-nested-400"}, nil},
		{"message-short-names", "a name may have 64 characters",
			refusing(400, func(o map[string]any) bool { return len(textOf(o, "name")) > 64 }),
			[]string{"sessions-name-128"}, nil},
		{"message-short", "content may have 100,000 characters",
			refusing(413, func(o map[string]any) bool { return len(textOf(o, "content")) > 100_000 }),
			[]string{"sessions-content-1000000"}, nil},
		{"message-cut", "content above the limit is cut", tolerating(func(o map[string]any) {
			if s := []rune(textOf(o, "content")); len(s) > 1_000_000 {
				o["content"] = "cut"
			}
		}), []string{"sessions-content-over-limit"}, nil},
		{"message-not-json", "a message that is not JSON is accepted",
			replace(and(messagesRoute, func(r *http.Request) bool { return bodyObject(r) == nil }), respond(201, `{}`)),
			[]string{"sessions-json-invalid-400"}, nil},
	}
}

func recallMutants() []mutant {
	edit := func(change func(request, o map[string]any)) wrapper { return editAnswer(recallRoute, change) }
	eachOf := func(change func(o map[string]any)) wrapper {
		return edit(func(_, o map[string]any) {
			list, _ := o["chunks"].([]any)
			for _, c := range list {
				change(c.(map[string]any))
			}
		})
	}
	number := func(o map[string]any) float64 { n, _ := o["top_k"].(float64); return n }
	return []mutant{
		{"recall-results", "a recall returns its chunks as results", edit(func(_, o map[string]any) {
			o["results"] = o["chunks"]
			delete(o, "chunks")
		}), []string{"sessions-recall-chunks"}, []string{"sessions-recall-*"}},
		{"recall-null", "the chunks of a recall without results are null", edit(func(_, o map[string]any) {
			if list, _ := o["chunks"].([]any); len(list) == 0 {
				o["chunks"] = nil
			}
		}), []string{"sessions-recall-chunks-empty"}, nil},
		{"recall-nothing", "a recall finds nothing", edit(set("chunks", []any{})),
			[]string{"sessions-recall-finds", "sessions-recall-path", "sessions-recall-score", "sessions-recall-top-k"}, nil},
		{"recall-pathless", "the chunks of a recall have no path",
			eachOf(func(o map[string]any) { delete(o, "path") }), []string{"sessions-recall-path"}, []string{"sessions-recall-finds"}},
		{"recall-unscored", "the chunks of a recall have no score",
			eachOf(func(o map[string]any) { delete(o, "score") }), []string{"sessions-recall-score"}, nil},
		{"recall-camel-case", "the keys of a recall are in camelCase", edit(set("tookMs", 1)),
			[]string{"sessions-recall-snake-case"}, nil},
		{"recall-top-k-ignored", "a recall ignores top_k", tolerate(recallRoute, func(o map[string]any) { delete(o, "top_k") }),
			[]string{"sessions-recall-top-k", "sessions-recall-top-k-400"}, nil},
		{"recall-any-query", "a recall accepts any query", tolerate(recallRoute, func(o map[string]any) {
			if s := textOf(o, "query"); s == "" || len(s) > 4096 {
				o["query"] = "kettle"
			}
		}), []string{"sessions-recall-query-400", "sessions-recall-query-empty-400", "sessions-recall-query-missing-400"}, nil},
		{"recall-small-limits", "a recall accepts short queries and a top_k up to 20",
			refuse(recallRoute, 400, func(o map[string]any) bool { return len(textOf(o, "query")) > 1000 || number(o) > 20 }),
			[]string{"sessions-recall-query-200", "sessions-recall-top-k-200"}, nil},
	}
}

func reflectMutants() []mutant {
	edit := func(change func(request, o map[string]any)) wrapper { return editAnswer(reflectRoute, change) }
	return []mutant{
		{"reflect-no-status", "a reflection has no status", edit(lose("reflection_status")),
			[]string{"sessions-reflect-status"}, []string{"sessions-reflect-empty"}},
		{"reflect-attempts", "reflection_attempted is a number", edit(set("reflection_attempted", 1)),
			[]string{"sessions-reflect-attempted"}, nil},
		{"reflect-date", "ended_at is a date", edit(set("ended_at", "2024-05-01")),
			[]string{"sessions-reflect-ended-at"}, nil},
		{"reflect-camel-case", "the keys of a reflection are in camelCase", edit(set("endedAt", "")),
			[]string{"sessions-reflect-snake-case"}, nil},
		{"reflect-pathless", "the result of a reflection has no path", edit(func(_, o map[string]any) {
			o["reflection_status"] = "completed"
			o["reflection"] = map[string]any{"outcome": "good", "should_record_episode": false}
		}), []string{"sessions-reflect-result"}, []string{"sessions-reflect-empty"}},
		{"reflect-again", "reflecting again ends the session again", edit(func(_, o map[string]any) {
			o["ended_at"] = time.Now().Format(time.RFC3339Nano)
		}), []string{"sessions-reflect-again"}, nil},
		{"reflect-open", "a session that ended accepts messages", after(messagesRoute, changeStatus(409, 201)),
			[]string{"sessions-reflect-ends"}, nil},
		{"reflect-invents", "a reflection on an empty session is completed", after(reflectRoute, func(_ *http.Request, a *captured) {
			if a.Missing() || strings.Contains(a.Body.String(), "no_result") {
				a.ReplaceWith(200, `{"reflection_status":"completed","reflection_attempted":true}`)
			}
		}), []string{"sessions-reflect-empty"}, nil},
	}
}
