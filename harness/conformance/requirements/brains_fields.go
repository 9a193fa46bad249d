package requirements

import (
	"context"
	"fmt"
	"net/http"
	"strings"

	"evalctl/daemon/protocol"
)

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
				return inspect(list, 200, jsonField("items", isArray), jsonField("items", lists("brain", c.brain, false)))
			})),
	}
}
