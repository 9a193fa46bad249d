package conformance

import (
	"slices"

	"evalctl/daemon/protocol"
)

// refusal is a request that must be refused, for a reason that is in no doubt.
type refusal struct {
	id, what string
	status   int
	code     string
	request  request
	prepare  []step
}

var refusals = []refusal{
	{"read-missing", "reading what does not exist", 404, protocol.CodeNotFound, readOf("none.md"), nil},
	{"stat-missing", "stat of what does not exist", 404, protocol.CodeNotFound, statOf("none.md"), nil},
	{"delete-missing", "deleting what does not exist", 404, protocol.CodeNotFound, deleteOf("none.md"), nil},
	{"rename-missing", "renaming what does not exist", 404, protocol.CodeNotFound, renameOf("none.md", "b.md"), nil},
	{"batch-missing", "a batch that deletes what does not exist", 404, protocol.CodeNotFound, batchOf(deleteOp("none.md")), nil},
	{"put-path", "PUT of an invalid path", 400, protocol.CodeValidation, putOf("../a.md", "x"), nil},
	{"read-path", "reading an invalid path", 400, protocol.CodeValidation, readOf("../a.md"), nil},
	{"append-path", "append to an invalid path", 400, protocol.CodeValidation, appendOf("../a.md", "x"), nil},
	{"rename-path", "rename to an invalid path", 400, protocol.CodeValidation, renameOf("a.md", "../b.md"), []step{put("a.md", "one")}},
	{"batch-path", "a batch with an invalid path", 400, protocol.CodeValidation, batchOf(writeOp("../a.md", "x")), nil},
	{"rename-json", "rename with a body that is not JSON", 400, protocol.CodeValidation, jsonTo("/documents/rename", `{"from":`), nil},
	{"batch-json", "a batch that is not JSON", 400, protocol.CodeValidation, jsonTo("/documents/batch-ops", `{"ops":`), nil},
	{"put-type", "PUT of another media type", 415, protocol.CodeUnsupportedMediaType, at("PUT", "/documents", "path", "a.md").typed("text/markdown", "x"), nil},
	{"append-type", "append of another media type", 415, protocol.CodeUnsupportedMediaType, at("POST", "/documents/append", "path", "a.md").typed("text/plain", "x"), nil},
	{"rename-type", "rename in another media type", 415, protocol.CodeUnsupportedMediaType, at("POST", "/documents/rename").typed("text/plain", `{"from":"a.md","to":"b.md"}`), []step{put("a.md", "one")}},
	{"batch-type", "a batch in another media type", 415, protocol.CodeUnsupportedMediaType, at("POST", "/documents/batch-ops").typed(protocol.TypeBytes, `{"reason":"r","ops":[]}`), nil},
}

func jsonTo(path, text string) request { return at("POST", path).typed(protocol.TypeJSON, text) }

func errorChecks() []check {
	return slices.Concat(problemChecks(), mediaTypeChecks(), renameBodyChecks(), routeChecks())
}

func problemChecks() []check {
	var checks []check
	for _, r := range refusals {
		ask := func(wants ...want) []step {
			return append(r.prepare[:len(r.prepare):len(r.prepare)], answers(r.request, 0, append([]want{refused}, wants...)...))
		}
		checks = append(checks,
			must("errors-status-"+r.id, "7.1", "The status has its meaning: "+r.what+".", append(r.prepare[:len(r.prepare):len(r.prepare)], answers(r.request, r.status))...),
			must("errors-problem-"+r.id, "7.1", "The body is a Problem: "+r.what+".", ask(problem)...),
			should("errors-code-"+r.id, "7.1", "code is "+r.code+": "+r.what+".", ask(key("code", is(r.code)))...),
			should("errors-body-status-"+r.id, "7.1", "status in the body is that of the answer: "+r.what+".", ask(key("status", is(float64(r.status))))...),
		)
	}
	missing, invalid := refusals[0], refusals[5]
	return append(checks,
		should("errors-media-type-404", "7.1", "The Problem of a 404 is application/problem+json.", answers(missing.request, 404, mediaType(protocol.TypeProblem))),
		should("errors-media-type-400", "7.1", "The Problem of a 400 is application/problem+json.", answers(invalid.request, 400, mediaType(protocol.TypeProblem))),
		should("errors-title", "7.1", "A Problem has a title.", answers(missing.request, 404, key("title", isText))),
		should("errors-detail", "7.1", "A Problem has a detail.", answers(missing.request, 404, key("detail", isText))),
	)
}

func mediaTypeChecks() []check {
	put415 := func(contentType string) []step {
		return []step{put("a.md", "kept"), answers(at("PUT", "/documents", "path", "a.md").typed(contentType, "x"), 415), reads("a.md", "kept")}
	}
	return []check{
		must("errors-put-json-415", "7.1", "PUT of application/json is 415, and nothing is written.", put415(protocol.TypeJSON)...),
		must("errors-put-text-415", "7.1", "PUT of text/plain is 415, and nothing is written.", put415("text/plain; charset=utf-8")...),
		must("errors-put-form-415", "7.1", "PUT of a form is 415, and nothing is written.", put415("application/x-www-form-urlencoded")...),
		must("errors-append-text-415", "7.1", "Append of text/plain is 415, and nothing is written.",
			put("a.md", "kept"), answers(at("POST", "/documents/append", "path", "a.md").typed("text/plain", "x"), 415), reads("a.md", "kept")),
		must("errors-rename-text-415", "7.1", "Rename in text/plain is 415, and nothing is renamed.",
			put("a.md", "kept"), answers(at("POST", "/documents/rename").typed("text/plain", `{"from":"a.md","to":"b.md"}`), 415), listsAll("a.md")),
		must("errors-batch-text-415", "7.1", "A batch in text/plain is 415, and nothing is changed.",
			answers(at("POST", "/documents/batch-ops").typed("text/plain", string(encode(object{"reason": "r", "ops": []object{writeOp("a.md", "x")}}))), 415), listsAll()),
		should("errors-put-type-case", "4.2", "The case of a media type does not matter.",
			answers(at("PUT", "/documents", "path", "a.md").typed("Application/Octet-Stream", "x"), 204), reads("a.md", "x")),
		should("errors-rename-type-charset", "4.2", "A charset beside application/json does not matter.",
			put("a.md", "x"), answers(at("POST", "/documents/rename").typed("application/json; charset=utf-8", `{"from":"a.md","to":"b.md"}`), 204),
			reads("b.md", "x"), absent("a.md")),
	}
}

func renameBodyChecks() []check {
	rows := []struct{ id, sentence, body string }{
		{"from-missing", "Rename without from is 400.", `{"to":"b.md"}`},
		{"to-missing", "Rename without to is 400.", `{"from":"a.md"}`},
		{"from-number", "Rename from a number is 400.", `{"from":1,"to":"b.md"}`},
		{"to-null", "Rename to null is 400.", `{"from":"a.md","to":null}`},
		{"array", "Rename with an array is 400.", `["a.md","b.md"]`},
		{"empty", "Rename with an empty body is 400.", ``},
		{"json-twice", "Rename with two JSON values is 400.", `{"from":"a.md","to":"b.md"}{}`},
	}
	var checks []check
	for _, r := range rows {
		checks = append(checks, must("errors-rename-"+r.id+"-400", "7.1", r.sentence,
			put("a.md", "one"), answers(jsonTo("/documents/rename", r.body), 400), listsAll("a.md")))
	}
	return checks
}

func routeChecks() []check {
	return []check{
		should("errors-route-404", "7.1", "An endpoint that does not exist is 404, with a Problem.", answers(at("GET", "/no-such-endpoint"), 404, problem)),
		should("errors-version-404", "9", "A major version that does not exist is 404.", answers(root("GET", "/v99/brains"), 404)),
		should("errors-method-405", "7.1", "A method that an endpoint does not have is 405, with a Problem.", answers(at("PATCH", "/documents", "path", "a.md"), 405, problem)),
		should("errors-method-allow", "7.1", "A 405 says which methods there are.", answers(at("PATCH", "/documents", "path", "a.md"), 405, hasAllow)),
		should("errors-brain-missing-problem", "7.1", "A brain that does not exist is a Problem.",
			lacksBrain("PUT", "/documents?path=a.md", func(r request) request { return r.bytes("x") }, problem)),
	}
}

func hasAllow(r *response) error { return isText(r.header.Get("Allow")) }
