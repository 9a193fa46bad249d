package requirements

import (
	"context"
	"fmt"
	"net/http"
	"strings"

	"evalctl/daemon/protocol"
)

func ownHealthChecks() []check {
	health := daemonRequest("GET", "/healthz")
	return []check{
		should("brains-health-ok", "4.4", "GET /healthz returns a JSON object whose ok is true.",
			expect(health, 200, jsonField("ok", equals(true)))),
		should("brains-health-open", "4.4", "GET /healthz needs no credentials.",
			expect(health.withToken(noToken), 200)),
	}
}

func createBrainChecks() []check {
	fresh := object{"name": "{new}"}
	rejected := func(fields object) step { return createBrainThen(fields, 400, nil) }
	return []check{
		should("brains-create-201", "2", "POST /v1/brains returns 201, and documents can be written to the new brain.",
			createBrainThen(fresh, 201, nil, expect2xx(putOf("a.md", "one")), expectContent("a.md", "one"))),
		should("brains-create-id", "2", "A new brain has an id.", expectBrainField(fresh, "id", isNonEmptyString)),
		should("brains-create-name", "2", "A new brain has the name in the request.",
			lazily(func(c *client) step { return expectBrainField(fresh, "name", equals(freshName(c))) })),
		should("brains-create-slug", "2",
			"Without a slug in the request, the daemon derives a valid slug from the name.",
			expectBrainField(object{"name": "{new} Notes & More"}, "slug", isSlug)),
		should("brains-create-private", "2", "The default visibility of a brain is private.",
			expectBrainField(fresh, "visibility", equals("private"))),
		should("brains-create-visibility", "2", "A new brain has the visibility in the request.",
			expectBrainField(object{"name": "{new}", "visibility": "tenant"}, "visibility", equals("tenant"))),
		should("brains-create-visibility-unknown-400", "2", "An unknown visibility is rejected with 400.",
			rejected(object{"name": "{new}", "visibility": "secret"})),
		should("brains-create-slug-invalid-400", "2",
			"A slug with characters other than a-z, 0-9 and - is rejected with 400.",
			rejected(object{"name": "{new}", "slug": "No Slug"})),
		should("brains-create-name-missing-400", "2", "A brain with neither name nor id is rejected with 400.",
			rejected(object{})),
		should("brains-create-camel-case", "2", "brainId is accepted in place of id.",
			lazily(func(c *client) step {
				return expectBrainField(object{"brainId": "{new}"}, "id", equals(freshName(c)))
			})),
		should("brains-create-snake-case", "2", "The keys of the response to POST /v1/brains are in snake_case.",
			createBrainThen(fresh, 0, []assertion{given2xx, bodyInSnakeCase})),
		should("brains-create-twice-409", "2",
			"Creating a brain that exists returns 409 and does not change the brain.",
			put("a.md", "one"), recreateBrain(409), expectContent("a.md", "one")),
	}
}

func readBrainChecks() []check {
	list := daemonRequest("GET", "/v1/brains")
	return []check{
		should("brains-get-200", "2", "GET of a brain returns the brain with its id.",
			lazily(func(c *client) step { return expect(ownBrain("GET"), 200, jsonField("id", equals(c.brain))) })),
		should("brains-get-missing", "2", "GET of a brain that does not exist returns 404, or 403 with a token.",
			expectNoBrain(ownBrain("GET"))),
		should("brains-list-items", "2", "GET /v1/brains returns a JSON object with an items array.",
			inspect(list, 200, jsonField("items", isArray))),
		should("brains-list-holds", "2", "GET /v1/brains lists a new brain.", expectBrainListed(true)),
	}
}

func deleteBrainChecks() []check {
	confirmed := ownBrain("DELETE").withHeader("X-Confirm-Delete", "yes")
	return []check{
		should("brains-delete-unconfirmed-428", "2", "DELETE of a brain without X-Confirm-Delete: yes returns 428.",
			put("a.md", "one"), expect(ownBrain("DELETE"), 428), expectUndeleted("a.md", "one")),
		should("brains-delete-204", "2", "DELETE of a brain with X-Confirm-Delete: yes returns 204.",
			put("a.md", "one"), expect(confirmed, 204)),
		should("brains-delete-removes", "2", "After DELETE, the brain and its documents no longer exist.",
			put("a.md", "one"), send(confirmed), expectGone(readOf("a.md")), expectGone(ownBrain("GET")),
			expectBrainListed(false)),
		should("brains-delete-forgets", "2", "A brain created under the id of a deleted brain is empty.",
			put("a.md", "one"), send(confirmed), recreateBrain(201), expectAbsent("a.md"), expectDocuments()),
	}
}

// brainFieldChecks cover the fields of a brain (spec 2) and their limits. The specification does
// not name the endpoints of brains, so every check is a SHOULD.
func brainFieldChecks() []check {
	long := func(n int) string { return "{new}" + strings.Repeat("n", n-len(newBrainName())-len("x")) }
	named := func(name string) object { return object{"name": name} }
	slugged := func(slug string) object { return object{"name": "{new}", "slug": slug} }
	rejected := func(id, what string, fields object) check {
		return should("brains-"+id, "8", what+" is rejected with 400.", createBrainThen(fields, 400, nil))
	}
	return []check{
		should("brains-create-name-128", "2", "The name of a brain may have 128 characters.",
			createBrainThen(named(long(protocol.MaxBrainName)), 0, []assertion{isSuccess})),
		rejected("create-name-129-400", "A name of 129 characters", named(long(protocol.MaxBrainName+1))),
		rejected("create-name-number-400", "A name that is a number", object{"name": 5}),
		should("brains-create-slug-given", "2", "A new brain has the slug in the request.",
			lazily(func(c *client) step {
				return expectBrainField(slugged("{new}-s"), "slug", equals(freshName(c)+"-s"))
			})),
		should("brains-create-slug-64", "2", "The slug of a brain may have 64 characters.",
			createBrainThen(slugged(long(protocol.MaxBrainSlug)), 0, []assertion{isSuccess})),
		rejected("create-slug-65-400", "A slug of 65 characters", slugged(long(protocol.MaxBrainSlug+1))),
		rejected("create-slug-dash-400", "A slug that begins with a hyphen", slugged("-{new}")),
		should("brains-create-slug-long-name", "2", "The slug that is derived from a long name is valid.",
			expectBrainField(named(long(100)+" & More"), "slug", isSlug)),
		should("brains-create-slug-unique", "2", "Two brains with the same name get different slugs, unless the second one is rejected with 409.",
			createBrainThen(object{"name": "{new} Twin"}, 0, []assertion{given2xx}, twin)),
		should("brains-create-visibility-public", "2", "The visibility of a brain may be public.",
			expectBrainField(object{"name": "{new}", "visibility": "public"}, "visibility", equals("public"))),
		should("brains-list-fields", "2", "The items of GET /v1/brains have id, slug, name and visibility.",
			inspect(daemonRequest("GET", "/v1/brains"), 200, jsonField("items", eachIn(brainFields)))),
		should("brains-list-snake-case", "2", "The keys of GET /v1/brains are in snake_case.",
			inspect(daemonRequest("GET", "/v1/brains"), 200, bodyInSnakeCase)),
	}
}

// createBrainThen creates a brain, checks the response, runs steps in the new brain, and deletes
// it. In string fields, "{new}" is replaced with freshName.
func createBrainThen(fields object, status int, assertions []assertion, then ...step) step {
	return func(ctx context.Context, c *client) error {
		res, err := c.do(ctx, daemonRequest(http.MethodPost, "/v1/brains").withJSON(filledIn(fields, freshName(c))))
		if err != nil {
			return err
		}
		created := freshName(c)
		if id := res.createdID(); id != "" {
			created = id
			defer c.target.deleteBrain(ctx, id)
		}
		if err := res.verify(status, assertions...); err != nil {
			return err
		}
		return c.runIn(ctx, created, then...)
	}
}

// expectBrainField matches a field of a new brain, in the response and when the brain is read back.
func expectBrainField(fields object, name string, m matcher) step {
	return createBrainThen(fields, 0, []assertion{given2xx, jsonField(name, m)},
		inspect(ownBrain("GET"), 200, jsonField(name, m)))
}

// recreateBrain creates the check's brain again. The check is skipped if the daemon chooses brain
// ids itself and creates another one.
func recreateBrain(status int) step {
	return func(ctx context.Context, c *client) error {
		r := daemonRequest("POST", "/v1/brains").withJSON(object{"id": c.brain, "name": c.brain, "slug": c.brain})
		res, err := c.do(ctx, r)
		if err != nil {
			return err
		}
		if id := res.createdID(); id != "" && id != c.brain {
			c.target.deleteBrain(ctx, id)
			return optional("the daemon chooses brain ids itself")
		}
		return res.verify(status)
	}
}

// expectGone requires that something no longer exists. 403 is accepted because a daemon need not
// reveal to a token which brains exist.
func expectGone(r request) step {
	return expect(r, 0, func(r *response) error {
		if r.status == http.StatusForbidden {
			return nil
		}
		return unobservable(r)
	}, statusIn(404, 403))
}

// expectBrainListed requires the list of brains to contain the check's brain, or not to.
func expectBrainListed(want bool) step {
	return lazily(func(c *client) step {
		return inspect(daemonRequest("GET", "/v1/brains"), 200, jsonField("items", listsBrain(c.brain, want)))
	})
}

// twin creates a brain with the name of the client's brain.
func twin(ctx context.Context, c *client) error {
	own, err := c.get(ctx, ownBrain("GET"), 0, given(200))
	if err != nil {
		return err
	}
	first, err := own.object()
	if err != nil {
		return against(err)
	}
	res, err := c.do(ctx, daemonRequest(http.MethodPost, "/v1/brains").withJSON(object{"name": first["name"]}))
	if err != nil {
		return err
	}
	if id := res.createdID(); id != "" {
		defer c.target.deleteBrain(ctx, id)
	}
	if res.status == http.StatusConflict {
		return nil
	}
	return res.verify(0, given2xx, jsonField("slug", func(got any) error {
		if got == first["slug"] {
			return fmt.Errorf("want a slug that no other brain has, got the first brain's, %v", got)
		}
		return isSlug(got)
	}))
}

// createdID returns the id in the response to a request that created a brain, or "".
func (r *response) createdID() string {
	if all := r.brainIDs(); r.status/100 == 2 && len(all) > 0 {
		return all[0].id
	}
	return ""
}
