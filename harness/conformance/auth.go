package conformance

import (
	"context"
	"slices"

	"evalctl/daemon/protocol"
)

// allOperations are the requests that need a token, in a brain that has a.md.
var allOperations = slices.Concat(readOperations, writeOperations, []operation{
	{id: "events", name: "a change stream request", request: eventsRequest},
	{id: "search", name: "a search request", request: brainRequest("POST", "/search").withJSON(object{"query": "one"})},
	{id: "ask", name: "an ask request", request: brainRequest("POST", "/ask").withJSON(object{"question": "one"})},
})

func authChecks() []check {
	return slices.Concat(
		requiring(needToken, anonymousChecks()...),
		requiring(needReadOnlyToken, readOnlyChecks()...),
		requiring(needOtherTenant, tenantChecks()...))
}

// expectNoEffect writes a.md and sends a request that must not change or create any document.
func expectNoEffect(r request, status int, assertions ...assertion) []step {
	return []step{
		put("a.md", "one"), expect(r, status, assertions...), expectContent("a.md", "one"), expectDocuments("a.md"),
	}
}

// withAuthorization replaces the Authorization header.
func withAuthorization(r request, value string) request {
	return r.withToken(noToken).withHeader("Authorization", value)
}

func anonymousChecks() []check {
	var checks []check
	for _, o := range allOperations {
		checks = append(checks, must("auth-"+o.id+"-401", "5",
			"Without Authorization, "+o.name+" is rejected with 401 and changes nothing.",
			expectNoEffect(o.request.withToken(noToken), 401)...))
	}
	malformed := []struct{ id, what, value string }{
		{"basic", "Basic credentials", "Basic dXNlcjpwYXNz"},
		{"empty", "Bearer and no token", "Bearer "},
		{"word", "a single word", "letmein"},
	}
	for _, m := range malformed {
		checks = append(checks, must("auth-malformed-"+m.id+"-401", "7.1",
			"An Authorization header with "+m.what+" is rejected with 401.",
			expectNoEffect(withAuthorization(readOf("a.md"), m.value), 401)...))
	}
	read, write := readOf("a.md").withToken(noToken), putOf("a.md", "two")
	return append(checks,
		must("auth-unknown-token", "5", "An unknown token is rejected with 401 or 403 and changes nothing.",
			expectNoEffect(withAuthorization(write, "Bearer conformance-no-such-token"), 0, statusIn(401, 403))...),
		must("auth-token-prefix", "5", "A prefix of the token is rejected with 401 or 403.",
			expectNoEffect(write.withToken(truncatedToken), 0, statusIn(401, 403))...),
		must("auth-tenant-header", "5", "X-Tenant-Id does not replace a token.",
			expectNoEffect(read.withHeader("X-Tenant-Id", "default"), 401)...),
		must("auth-problem", "7.1", "The body of a 401 response is a Problem.",
			expectNoEffect(read, 0, given(401), isProblem)...),
		should("auth-code", "7.1", "The code in the Problem of a 401 response is unauthorized.",
			expectNoEffect(read, 0, given(401), jsonField("code", equals(protocol.CodeUnauthorized)))...),
		should("auth-scheme-case", "5", "The authentication scheme Bearer is case-insensitive.", put("a.md", "one"),
			func(ctx context.Context, c *client) error {
				r := withAuthorization(readOf("a.md"), "bearer "+c.target.token)
				return expect(r, 200, bodyIs("one"))(ctx, c)
			}),
		must("auth-token-200", "5", "With the token, a document can be read.",
			put("a.md", "one"), expect(readOf("a.md"), 200, bodyIs("one"))),
	)
}

func truncatedToken(d *target) string { return d.token[:len(d.token)-1] }

func readOnlyChecks() []check {
	var checks []check
	for _, o := range writeOperations {
		checks = append(checks, must("auth-readonly-"+o.id+"-403", "5",
			"With a read-only token, "+o.name+" is rejected with 403 and changes nothing.",
			expectNoEffect(o.request.withToken(readOnlyToken), 403)...))
	}
	for _, o := range readOperations {
		checks = append(checks, must("auth-readonly-"+o.id+"-200", "5",
			"With a read-only token, "+o.name+" is accepted.",
			expectNoEffect(o.request.withToken(readOnlyToken), o.status, o.assertions...)...))
	}
	write := putOf("a.md", "two").withToken(readOnlyToken)
	return append(checks,
		must("auth-readonly-problem", "7.1", "The body of a 403 response to a read-only token is a Problem.",
			expectNoEffect(write, 0, given(403), isProblem)...),
		should("auth-readonly-code", "7.1",
			"The code in the Problem of a 403 response to a read-only token is forbidden.",
			expectNoEffect(write, 0, given(403), jsonField("code", equals(protocol.CodeForbidden)))...))
}

func tenantChecks() []check {
	var checks []check
	for _, o := range allOperations {
		checks = append(checks, must("auth-tenant-"+o.id+"-403", "5",
			"With a token of another tenant, "+o.name+" is rejected with 403 and changes nothing.",
			expectNoEffect(o.request.withToken(otherTenantToken), 403)...))
	}
	read := readOf("a.md").withToken(otherTenantToken)
	return append(checks,
		must("auth-tenant-missing-document-403", "5",
			"With a token of another tenant, reading a document that does not exist is rejected with 403 as well.",
			expectNoEffect(readOf("none.md").withToken(otherTenantToken), 403)...),
		must("auth-tenant-header-403", "5", "X-Tenant-Id does not grant access to a token of another tenant.",
			expectNoEffect(read.withHeader("X-Tenant-Id", "default"), 403)...),
		must("auth-tenant-problem", "7.1", "The body of a 403 response to a token of another tenant is a Problem.",
			expectNoEffect(read, 0, given(403), isProblem)...),
		should("auth-tenant-code", "7.1",
			"The code in the Problem of a 403 response to a token of another tenant is forbidden.",
			expectNoEffect(read, 0, given(403), jsonField("code", equals(protocol.CodeForbidden)))...))
}
