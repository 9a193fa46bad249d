package requirements

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

// operation is an endpoint of spec 4.2 with a request that succeeds in a brain whose only document
// is a.md with the text "one".
type operation struct {
	id, name   string
	request    request
	status     int
	assertions []assertion // of the response
	missing    *request    // the same request for a path that does not exist, which returns 404
	after      []step      // show that the operation had its effect
}

var (
	readOperations = []operation{
		{id: "read", name: "a read request", request: readOf("a.md"), status: 200,
			assertions: []assertion{bodyIs("one")},
			missing:    new(readOf("none.md"))},
		{id: "head", name: "a HEAD request", request: headOf("a.md"), status: 200, missing: new(headOf("none.md"))},
		{id: "stat", name: "a stat request", request: statOf("a.md"), status: 200, missing: new(statOf("none.md")),
			assertions: []assertion{jsonField("path", equals("a.md")), jsonField("size", equals(3.0))}},
		{id: "listing", name: "a listing request", request: listOf("dir", ""), status: 200,
			assertions: hasPaths("a.md")},
	}
	writeOperations = []operation{
		{id: "put", name: "a PUT request", request: putOf("a.md", "two"), status: 204,
			after: []step{expectContent("a.md", "two")}},
		{id: "append", name: "an append request", request: appendOf("a.md", "two"), status: 204,
			after: []step{expectContent("a.md", "onetwo")}},
		{id: "delete", name: "a DELETE request", request: deleteOf("a.md"), status: 204,
			after: []step{expectAbsent("a.md")}},
		{id: "rename", name: "a rename request", request: renameOf("a.md", "b.md"), status: 204,
			after: []step{expectContent("b.md", "one"), expectAbsent("a.md")}},
		{id: "batch", name: "a batch request", request: batchOf(writeOp("b.md", "two")), status: 200,
			assertions: []assertion{jsonField("committed", equals(1.0))}, after: []step{expectContent("b.md", "two")}},
	}
)

// ignores requires that a header changes neither the response nor the effect of the operation. If
// the operation fails without the header, the check is not judged.
func (o operation) ignores(name, value string) []step {
	return []step{
		inOtherBrain(setup(o.steps(func(r request) request { return r })...)),
		dueTo("does not ignore "+name, o.steps(func(r request) request { return r.withHeader(name, value) })...),
	}
}

func (o operation) steps(change func(request) request) []step {
	steps := []step{put("a.md", "one"), expect(change(o.request), o.status, o.assertions...)}
	if o.missing != nil {
		steps = append(steps, expect(change(*o.missing), 404))
	}
	return append(steps, o.after...)
}

func headerChecks() []check {
	var checks []check
	for _, o := range readOperations {
		checks = append(checks, readHeaderChecks(o)...)
	}
	for _, o := range writeOperations {
		checks = append(checks, writeHeaderChecks(o)...)
	}
	reserved := []struct{ id, header, value string }{
		{"tenant", "X-Tenant-Id", `../"another"; tenant`},
		{"workspace", "X-Workspace-Id", `00000000-0000-0000-0000-000000000000`},
	}
	for _, r := range reserved {
		for _, o := range slices.Concat(readOperations, writeOperations) {
			checks = append(checks, must("headers-"+o.id+"-"+r.id, "5", r.header+" is ignored in "+o.name+".",
				o.ignores(r.header, r.value)...))
		}
	}
	return checks
}

func readHeaderChecks(o operation) []check {
	return []check{
		must("headers-"+o.id+"-no-store", "9", "The response to "+o.name+" has Cache-Control: no-store.",
			put("a.md", "one"), inspect(o.request, o.status, hasCacheControl("no-store"))),
		must("headers-"+o.id+"-if-none-match", "9", "If-None-Match with an ETag is ignored in "+o.name+".",
			put("a.md", "one"), ignoresETag(o)),
		must("headers-"+o.id+"-if-none-match-any", "9", "If-None-Match: * is ignored in "+o.name+".",
			o.ignores("If-None-Match", "*")...),
		must("headers-"+o.id+"-if-match", "9", "If-Match is ignored in "+o.name+".",
			o.ignores("If-Match", `"another"`)...),
	}
}

func writeHeaderChecks(o operation) []check {
	return []check{
		must("headers-"+o.id+"-no-cache-control", "9", "The response to "+o.name+" has no Cache-Control.",
			put("a.md", "one"), inspect(o.request, o.status, noHeader("Cache-Control"))),
		must("headers-"+o.id+"-no-etag", "9", "The response to "+o.name+" has no ETag.",
			put("a.md", "one"), inspect(o.request, o.status, noHeader("ETag"))),
		must("headers-"+o.id+"-if-match", "9", "If-Match is ignored in "+o.name+".",
			o.ignores("If-Match", `"another"`)...),
		must("headers-"+o.id+"-if-none-match", "9", "If-None-Match is ignored in "+o.name+".",
			o.ignores("If-None-Match", "*")...),
		must("headers-"+o.id+"-idempotency-key", "9",
			"Idempotency-Key is accepted in "+o.name+", and the request is applied.",
			o.ignores("Idempotency-Key", "key 1")...),
	}
}

func otherHeaderChecks() []check {
	seed := put("a.md", "one")
	same := func(r request) request { return r.withHeader("Idempotency-Key", "the same") }
	return []check{
		must("headers-idempotency-key-put", "9", "A PUT with an Idempotency-Key that was used before is applied.",
			expect2xx(same(putOf("a.md", "one"))), expect2xx(same(putOf("a.md", "two"))), expectContent("a.md", "two")),
		must("headers-idempotency-key-append", "9",
			"An append with an Idempotency-Key that was used before is applied.",
			expect2xx(same(appendOf("a.md", "one"))), expect2xx(same(appendOf("a.md", "one"))),
			expectContent("a.md", "oneone")),
		must("headers-idempotency-key-read", "9", "Idempotency-Key is ignored in a read request.",
			seed, expect(same(readOf("a.md")), 200, bodyIs("one"))),
		must("headers-tenant-empty", "5", "An empty X-Tenant-Id is ignored.",
			seed, expect(readOf("a.md").withHeader("X-Tenant-Id", ""), 200, bodyIs("one"))),
		should("headers-etag-strong", "9", "If a read returns an ETag, it is a strong one.",
			seed, inspect(readOf("a.md"), 200, strongETag)),
		should("headers-etag-changes", "9", "If a read returns an ETag, it changes with the content.", etagChanges),
		should("headers-accept-octets", "4.2", "A read request with Accept: application/octet-stream is accepted.",
			seed, expect(readOf("a.md").withHeader("Accept", "application/octet-stream"), 200, bodyIs("one"))),
		should("headers-accept-json", "4.2", "A stat request with Accept: application/json is accepted.",
			seed, expect(statOf("a.md").withHeader("Accept", "application/json"), 200,
				jsonField("path", equals("a.md")))),
	}
}

// ignoresETag sends If-None-Match with the ETag of the response. Without one it uses an ETag that a
// daemon could have chosen.
func ignoresETag(o operation) step {
	return func(ctx context.Context, c *client) error {
		res, err := c.do(ctx, o.request)
		if err != nil {
			return err
		}
		tag := res.header.Get("ETag")
		if tag == "" {
			tag = `"7692c3ad3540bb803c020b3aee66cd8887123234ea0c6e7143c0add73ff431ed"` // SHA-256 of "one"
		}
		return c.run(ctx, o.ignores("If-None-Match", tag)...)
	}
}

func strongETag(r *response) error {
	tag := r.header.Get("ETag")
	if tag != "" && (!strings.HasPrefix(tag, `"`) || !strings.HasSuffix(tag, `"`) || len(tag) < 2) {
		return fmt.Errorf("want a strong ETag in quotation marks, got %q", tag)
	}
	return nil
}

func etagChanges(ctx context.Context, c *client) error {
	first := ""
	read := expect(readOf("a.md"), 0, func(r *response) error {
		tag := r.header.Get("ETag")
		if tag != "" && tag == first {
			return fmt.Errorf("want different ETags for different contents, got %s for both", first)
		}
		first = tag
		return nil
	})
	return c.run(ctx, put("a.md", "one"), read, put("a.md", "two"), read)
}
