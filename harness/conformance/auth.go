package conformance

import (
	"context"
	"slices"

	"evalctl/daemon/protocol"
)

// everyOperation is what needs a token, in a brain that has a.md.
var everyOperation = slices.Concat(readers, writers, []operation{
	{id: "events", name: "the change stream", request: eventStream},
	{id: "search", name: "search", request: at("POST", "/search").json(object{"query": "one"})},
	{id: "ask", name: "ask", request: at("POST", "/ask").json(object{"question": "one"})},
})

func authChecks() []check {
	return slices.Concat(
		with(aToken, anonymousChecks()...),
		with(aReadOnlyToken, readOnlyChecks()...),
		with(anotherTenant, tenantChecks()...))
}

// unchanged wants a.md to be as it was, and to be alone.
var unchanged = []step{reads("a.md", "one"), listsAll("a.md")}

// tries sends a request with other credentials and wants it to have no effect.
func tries(r request, status int, wants ...want) []step {
	return slices.Concat([]step{put("a.md", "one"), answers(r, status, wants...)}, unchanged)
}

// nameless puts a value of ours where the run's token would stand.
func nameless(r request, authorization string) request {
	return r.as(anonymous).with("Authorization", authorization)
}

func anonymousChecks() []check {
	var checks []check
	for _, o := range everyOperation {
		checks = append(checks, must("auth-"+o.id+"-401", "5", "Without Authorization "+o.name+" is 401, and nothing is changed.",
			tries(o.request.as(anonymous), 401)...))
	}
	malformed := []struct{ id, what, value string }{
		{"basic", "Basic credentials", "Basic dXNlcjpwYXNz"},
		{"empty", "Bearer without a token", "Bearer "},
		{"word", "a word", "letmein"},
	}
	for _, m := range malformed {
		checks = append(checks, must("auth-malformed-"+m.id+"-401", "7.1", "An Authorization header with "+m.what+" is 401.",
			tries(nameless(readOf("a.md"), m.value), 401)...))
	}
	read := readOf("a.md").as(anonymous)
	return append(checks,
		must("auth-unknown-token", "5", "A token that nobody has is 401 or 403, and nothing is changed.",
			tries(nameless(putOf("a.md", "two"), "Bearer conformance-no-such-token"), 0, oneOf(401, 403))...),
		must("auth-token-prefix", "5", "The beginning of the token is not the token.", tries(putOf("a.md", "two").as(shortened), 0, oneOf(401, 403))...),
		must("auth-tenant-header", "5", "X-Tenant-Id does not replace a token.", tries(read.with("X-Tenant-Id", "default"), 401)...),
		must("auth-problem", "7.1", "A 401 has a Problem body.", tries(read, 401, problem)...),
		should("auth-code", "7.1", "The code of a 401 is unauthorized.", tries(read, 401, key("code", is(protocol.CodeUnauthorized)))...),
		should("auth-scheme-case", "5", "The case of the word Bearer does not matter.", put("a.md", "one"),
			func(ctx context.Context, t *trial) error {
				return answers(nameless(readOf("a.md"), "bearer "+t.target.token), 200, body("one"))(ctx, t)
			}),
		must("auth-token-200", "5", "With the token a document can be read.", put("a.md", "one"), answers(readOf("a.md"), 200, body("one"))),
	)
}

func shortened(d *target) string { return d.token[:len(d.token)-1] }

func readOnlyChecks() []check {
	var checks []check
	for _, o := range writers {
		checks = append(checks, must("auth-readonly-"+o.id+"-403", "5", "With a token that may only read "+o.name+" is 403, and nothing is changed.",
			tries(o.request.as(readOnlyToken), 403)...))
	}
	for _, o := range readers {
		checks = append(checks, must("auth-readonly-"+o.id+"-200", "5", "With a token that may only read "+o.name+" is served.",
			tries(o.request.as(readOnlyToken), o.status, o.wants...)...))
	}
	write := putOf("a.md", "two").as(readOnlyToken)
	return append(checks,
		must("auth-readonly-problem", "7.1", "The 403 to a token that may only read has a Problem body.", tries(write, 403, problem)...),
		should("auth-readonly-code", "7.1", "The code of the 403 to a token that may only read is forbidden.", tries(write, 403, key("code", is(protocol.CodeForbidden)))...))
}

func tenantChecks() []check {
	var checks []check
	for _, o := range everyOperation {
		checks = append(checks, must("auth-tenant-"+o.id+"-403", "5", "With a token of another tenant "+o.name+" is 403, and nothing is changed.",
			tries(o.request.as(otherTenant), 403)...))
	}
	read := readOf("a.md").as(otherTenant)
	return append(checks,
		must("auth-tenant-missing-document-403", "5", "Another tenant does not learn which documents exist.", tries(readOf("none.md").as(otherTenant), 403)...),
		must("auth-tenant-header-403", "5", "X-Tenant-Id does not let another tenant in.", tries(read.with("X-Tenant-Id", "default"), 403)...),
		must("auth-tenant-problem", "7.1", "The 403 to another tenant has a Problem body.", tries(read, 403, problem)...),
		should("auth-tenant-code", "7.1", "The code of the 403 to another tenant is forbidden.", tries(read, 403, key("code", is(protocol.CodeForbidden)))...))
}
