package requirements

import (
	"evalctl/daemon/protocol"
)

func ownSchemeChecks() []check {
	return []check{
		should("auth-scheme-case", "5", "The authentication scheme Bearer is case-insensitive.", put("a.md", "one"),
			lazily(func(c *client) step {
				return expect(withAuthorization(readOf("a.md"), "bearer "+c.target.config.Token), 200, bodyIs("one"))
			})),
	}
}

func ownProblemChecks() []check {
	missing := readOf("none.md")
	return []check{
		should("errors-code-read-path", "7.1", "The code in the Problem is validation_error for reading an invalid path.",
			inspect(readOf("../a.md"), 400, jsonField("code", equals(protocol.CodeValidation)))),
		should("errors-code-batch-missing", "7.1",
			"The code in the Problem is not_found for a batch that deletes a document that does not exist.",
			inspect(batchOf(deleteOp("none.md")), 404, jsonField("code", equals(protocol.CodeNotFound)))),
		should("errors-title", "7.1", "A Problem has a title.",
			inspect(missing, 404, jsonField("title", isNonEmptyString))),
		should("errors-detail", "7.1", "A Problem has a detail.",
			inspect(missing, 404, jsonField("detail", isNonEmptyString))),
	}
}

func ownMediaTypeChecks() []check {
	return []check{
		should("errors-put-type-case", "4.2", "The media type of a request is case-insensitive.",
			expect(putTyped("Application/Octet-Stream", "a.md", "x"), 204), expectContent("a.md", "x")),
		should("errors-rename-type-charset", "4.2",
			"The Content-Type of a rename request may have a charset parameter.",
			put("a.md", "x"), expect(renameTyped("application/json; charset=utf-8", "a.md", "b.md"), 204),
			expectContent("b.md", "x"), expectAbsent("a.md")),
	}
}

func ownRouteChecks() []check {
	patch := brainRequest("PATCH", "/documents", "path", "a.md")
	return []check{
		should("errors-route-404", "7.1", "An unknown endpoint returns 404 with a Problem.",
			expect(brainRequest("GET", "/no-such-endpoint"), 404, isProblem)),
		should("errors-version-404", "9", "An unknown major version in the URL returns 404.",
			expect(daemonRequest("GET", "/v99/brains"), 404)),
		should("errors-method-405", "7.1", "A method that an endpoint does not support returns 405 with a Problem.",
			expect(patch, 405, isProblem)),
		should("errors-method-allow", "7.1", "A 405 response lists the supported methods in Allow.",
			inspect(patch, 405, hasAllowHeader)),
	}
}

func ownEventStreamChecks() []check {
	return []check{
		should("events-brain-missing", "6.1",
			"The change stream of a brain that does not exist returns 404, or 403 with a token.",
			expectNoBrain(eventsRequest)),
	}
}

func ownOtherHeaderChecks() []check {
	seed := put("a.md", "one")
	return []check{
		should("headers-read-missing-no-store", "9", "A 404 response to a read has Cache-Control: no-store.",
			inspect(readOf("a.md"), 404, hasCacheControl("no-store"))),
		should("headers-user-agent-missing", "4.2", "A request without User-Agent is accepted.",
			seed, expect(readOf("a.md").withHeader("User-Agent", ""), 200, bodyIs("one"))),
	}
}

func hasAllowHeader(r *response) error { return isNonEmptyString(r.header.Get("Allow")) }
