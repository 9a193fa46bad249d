package requirements

import (
	"fmt"
	"slices"

	"evalctl/daemon/protocol"
)

// allOperations are the requests that need a token, in a brain that has a.md.
var allOperations = slices.Concat(readOperations, writeOperations, []operation{
	{id: "events", name: "a change stream request", request: eventsRequest},
	{id: "search", name: "a search request", request: searchOf(object{"query": "one"})},
	{id: "ask", name: "an ask request", request: askOf("one", nil)},
})

// rejectedWith requires a status, provided that the daemon has the endpoint.
func (o operation) rejectedWith(status int) []assertion {
	if o.status == 0 { // one of the last three
		return []assertion{endpointExists, statusIn(status)}
	}
	return []assertion{statusIn(status)}
}

// endpointExists leaves a check not judged if the daemon may not have the endpoint.
func endpointExists(r *response) error {
	if slices.Contains([]int{404, 405, 501}, r.status) {
		return unjudgedError{ReasonObserve, r.wantStatus("401 or 403", fmt.Errorf("there may be no such endpoint: %s", r))}
	}
	return nil
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
	seed := put("a.md", "one")
	var checks []check
	for _, o := range allOperations {
		checks = append(checks, must("auth-"+o.id+"-401", "5",
			"Without Authorization, "+o.name+" is rejected with 401 and changes nothing.",
			expectNoEffect(o.request.withToken(noToken), 0, o.rejectedWith(401)...)...))
	}
	malformed := []struct{ id, what, value string }{
		{"basic", "Basic credentials", "Basic dXNlcjpwYXNz"},
		{"empty", "Bearer and no token", "Bearer "},
		{"word", "a single word", "letmein"},
	}
	for _, m := range malformed {
		checks = append(checks, must("auth-malformed-"+m.id+"-401", "7.1",
			"An Authorization header with "+m.what+" is rejected with 401.",
			seed, expect(withAuthorization(readOf("a.md"), m.value), 401)))
	}
	read, write := readOf("a.md").withToken(noToken), putOf("a.md", "two")
	checks = append(checks,
		must("auth-unknown-token", "5", "An unknown token is rejected with 401 or 403 and changes nothing.",
			expectNoEffect(withAuthorization(write, "Bearer conformance-no-such-token"), 0, statusIn(401, 403))...),
		must("auth-token-prefix", "5", "A prefix of the token is rejected with 401 or 403.",
			seed, expect(write.withToken(truncatedToken), 0, statusIn(401, 403))),
		must("auth-tenant-header", "5", "X-Tenant-Id does not replace a token.",
			seed, expect(read.withHeader("X-Tenant-Id", "default"), 401)))
	checks = append(checks, rejectionChecks("auth", read, 401, protocol.CodeUnauthorized, "a 401 response")...)
	return append(checks,
		must("auth-token-200", "5", "With the token, a document can be read.",
			put("a.md", "one"), expect(readOf("a.md"), 200, bodyIs("one"))),
	)
}

func truncatedToken(c Config) string { return c.Token[:len(c.Token)-1] }

func readOnlyChecks() []check {
	seed := put("a.md", "one")
	var checks []check
	for _, o := range writeOperations {
		checks = append(checks, must("auth-readonly-"+o.id+"-403", "5",
			"With a read-only token, "+o.name+" is rejected with 403 and changes nothing.",
			expectNoEffect(o.request.withToken(readOnlyToken), 403)...))
	}
	for _, o := range readOperations {
		checks = append(checks, must("auth-readonly-"+o.id+"-200", "5",
			"With a read-only token, "+o.name+" is accepted.",
			seed, expect(o.request.withToken(readOnlyToken), o.status, o.assertions...)))
	}
	write := putOf("a.md", "two").withToken(readOnlyToken)
	return append(checks, rejectionChecks("auth-readonly", write, 403, protocol.CodeForbidden,
		"a 403 response to a read-only token")...)
}

func tenantChecks() []check {
	seed := put("a.md", "one")
	var checks []check
	for _, o := range allOperations {
		checks = append(checks, must("auth-tenant-"+o.id+"-403", "5",
			"With a token of another tenant, "+o.name+" is rejected with 403 and changes nothing.",
			expectNoEffect(o.request.withToken(otherTenantToken), 0, o.rejectedWith(403)...)...))
	}
	read := readOf("a.md").withToken(otherTenantToken)
	checks = append(checks,
		must("auth-tenant-missing-document-403", "5",
			"With a token of another tenant, reading a document that does not exist is rejected with 403 as well.",
			seed, expect(readOf("none.md").withToken(otherTenantToken), 403)),
		must("auth-tenant-header-403", "5", "X-Tenant-Id does not grant access to a token of another tenant.",
			seed, expect(read.withHeader("X-Tenant-Id", "default"), 403)))
	return append(checks, rejectionChecks("auth-tenant", read, 403, protocol.CodeForbidden,
		"a 403 response to a token of another tenant")...)
}

// rejectionChecks judge the body of a rejection, called response in their sentences. Their ids
// begin with prefix.
func rejectionChecks(prefix string, r request, status int, code, response string) []check {
	seed := put("a.md", "one")
	return []check{
		must(prefix+"-problem", "7.1", "The body of "+response+" is a Problem.",
			seed, inspect(r, status, isProblem)),
		should(prefix+"-code", "7.1", "The code in the Problem of "+response+" is "+code+".",
			seed, inspect(r, status, jsonField("code", equals(code)))),
	}
}
