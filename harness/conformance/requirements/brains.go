package requirements

import (
	"context"
	"net/http"
)

// ownBrain addresses the check's brain itself.
func ownBrain(method string) request { return brainRequest(method, "") }

func healthChecks() []check {
	health := daemonRequest("GET", "/healthz")
	return []check{
		must("brains-health-200", "4.4", "GET /healthz returns 200.", expect(health, 200)),
	}
}

// expectUndeleted requires that a document of an undeleted brain exists. Unlike elsewhere, 403 may
// mean that the brain no longer exists.
func expectUndeleted(path, text string) step {
	return expect(readOf(path), 0, func(r *response) error {
		if r.status == http.StatusForbidden {
			return isSuccess(r)
		}
		return unobservable(r)
	}, isSuccess, bodyIs(text))
}

// deletesBrains leaves a check not judged if the daemon cannot delete brains.
func deletesBrains(_ context.Context, c *client) error {
	if !c.target.deletes {
		return optional("the deletion of a brain")
	}
	return nil
}

// brainAccessChecks use the token of another tenant.
func brainAccessChecks() []check {
	get := ownBrain("GET").withToken(otherTenantToken)
	remove := ownBrain("DELETE").withHeader("X-Confirm-Delete", "yes").withToken(otherTenantToken)
	list := daemonRequest("GET", "/v1/brains").withToken(otherTenantToken)
	return []check{
		should("brains-tenant-get-403", "5", "With a token of another tenant, GET of a brain is rejected with 403.",
			inspect(ownBrain("GET"), 200), expect(get, 403)),
		should("brains-tenant-delete-403", "5", "With a token of another tenant, DELETE of a brain is rejected with 403.",
			deletesBrains, put("a.md", "one"), expect(remove, 403), expectUndeleted("a.md", "one")),
		should("brains-tenant-unlisted", "5", "With a token of another tenant, GET /v1/brains does not list the brain.",
			lazily(func(c *client) step {
				return inspect(list, 200, jsonField("items", isArray), jsonField("items", listsBrain(c.brain, false)))
			})),
	}
}
