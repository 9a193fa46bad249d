package conformance

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

// operation is one of the endpoints of spec 4.2 with a request that succeeds
// in a brain that has nothing but a.md, whose text is "one".
type operation struct {
	id, name string
	request  request
	status   int
	wants    []want  // of the answer
	missing  request // if it has a method: the same about a path that does not exist, which is 404
	after    []step  // what shows that it was done
}

var (
	readers = []operation{
		{id: "read", name: "read", request: readOf("a.md"), status: 200, wants: []want{body("one")}, missing: readOf("none.md")},
		{id: "head", name: "HEAD", request: headOf("a.md"), status: 200, missing: headOf("none.md")},
		{id: "stat", name: "stat", request: statOf("a.md"), status: 200, missing: statOf("none.md"),
			wants: []want{key("path", is("a.md")), key("size", is(3.0))}},
		{id: "listing", name: "listing", request: listOf("dir", ""), status: 200, wants: holdsPaths("a.md")},
	}
	writers = []operation{
		{id: "put", name: "PUT", request: putOf("a.md", "two"), status: 204, after: []step{reads("a.md", "two")}},
		{id: "append", name: "append", request: appendOf("a.md", "two"), status: 204, after: []step{reads("a.md", "onetwo")}},
		{id: "delete", name: "DELETE", request: deleteOf("a.md"), status: 204, after: []step{absent("a.md")}},
		{id: "rename", name: "rename", request: renameOf("a.md", "b.md"), status: 204, after: []step{reads("b.md", "one"), absent("a.md")}},
		{id: "batch", name: "batch", request: batchOf(writeOp("b.md", "two")), status: 200,
			wants: []want{key("committed", is(1.0))}, after: []step{reads("b.md", "two")}},
	}
)

// ignores sends the operation with a header and wants it to be answered, and
// done, as without: a status alone does not show that.
func (o operation) ignores(name, value string) []step {
	steps := []step{put("a.md", "one"), answers(o.request.with(name, value), o.status, o.wants...)}
	if o.missing.method != "" {
		steps = append(steps, answers(o.missing.with(name, value), 404))
	}
	return append(steps, o.after...)
}

func headerChecks() []check {
	seed := put("a.md", "one")
	var checks []check
	add := func(c ...check) { checks = append(checks, c...) }
	for _, o := range readers {
		add(must("headers-"+o.id+"-no-store", "9", "The answer to "+o.name+" has Cache-Control: no-store.",
			seed, answers(o.request, o.status, cacheControl("no-store"))),
			must("headers-"+o.id+"-if-none-match", "9", "If-None-Match on "+o.name+" is ignored.", seed, matching(o)),
			must("headers-"+o.id+"-if-none-match-any", "9", "If-None-Match: * on "+o.name+" is ignored.", o.ignores("If-None-Match", "*")...),
			must("headers-"+o.id+"-if-match", "9", "If-Match on "+o.name+" is ignored.", o.ignores("If-Match", `"another"`)...))
	}
	for _, o := range writers {
		add(must("headers-"+o.id+"-no-cache-control", "9", "The answer to "+o.name+" has no Cache-Control.",
			seed, answers(o.request, o.status, without("Cache-Control"))),
			must("headers-"+o.id+"-no-etag", "9", "The answer to "+o.name+" has no ETag.", seed, answers(o.request, o.status, without("ETag"))),
			must("headers-"+o.id+"-if-match", "9", "If-Match on "+o.name+" is ignored.", o.ignores("If-Match", `"another"`)...),
			must("headers-"+o.id+"-if-none-match", "9", "If-None-Match on "+o.name+" is ignored.", o.ignores("If-None-Match", "*")...),
			must("headers-"+o.id+"-idempotency-key", "9", "Idempotency-Key on "+o.name+" is never rejected, and what was asked for is done.",
				o.ignores("Idempotency-Key", "key 1")...))
	}
	reserved := func(id, header, value string) {
		for _, o := range slices.Concat(readers, writers) {
			add(must("headers-"+o.id+"-"+id, "5", header+" on "+o.name+" is ignored, whatever it says.", o.ignores(header, value)...))
		}
	}
	reserved("tenant", "X-Tenant-Id", `../"another"; tenant`)
	reserved("workspace", "X-Workspace-Id", `00000000-0000-0000-0000-000000000000`)
	return append(checks, otherHeaderChecks(seed)...)
}

func otherHeaderChecks(seed step) []check {
	same := func(r request) request { return r.with("Idempotency-Key", "the same") }
	return []check{
		must("headers-idempotency-key-put", "9", "A PUT with a key that was used before is applied.",
			do(same(putOf("a.md", "one"))), do(same(putOf("a.md", "two"))), reads("a.md", "two")),
		must("headers-idempotency-key-append", "9", "An append with a key that was used before is applied again.",
			do(same(appendOf("a.md", "one"))), do(same(appendOf("a.md", "one"))), reads("a.md", "oneone")),
		must("headers-idempotency-key-read", "9", "Idempotency-Key on a read is ignored.", seed, answers(same(readOf("a.md")), 200, body("one"))),
		must("headers-tenant-empty", "5", "An empty X-Tenant-Id is ignored.", seed, answers(readOf("a.md").with("X-Tenant-Id", ""), 200, body("one"))),
		should("headers-read-missing-no-store", "9", "A 404 to a read is not to be stored either.", answers(readOf("a.md"), 404, cacheControl("no-store"))),
		should("headers-etag-strong", "9", "An ETag, where there is one, is strong.", seed, answers(readOf("a.md"), 200, strongETag)),
		should("headers-etag-changes", "9", "An ETag, where there is one, changes with the content.", seed, etagChanges),
		should("headers-user-agent-missing", "4.2", "A request without User-Agent is served.", seed, answers(readOf("a.md").with("User-Agent", ""), 200, body("one"))),
		should("headers-accept-octets", "4.2", "Accept: application/octet-stream is served.", seed, answers(readOf("a.md").with("Accept", "application/octet-stream"), 200, body("one"))),
		should("headers-accept-json", "4.2", "Accept: application/json on stat is served.", seed, answers(statOf("a.md").with("Accept", "application/json"), 200, key("path", is("a.md")))),
	}
}

// matching sends the ETag that a reading answer had, or, where it had none, one
// that a daemon could have made.
func matching(o operation) step {
	return func(ctx context.Context, t *trial) error {
		res, err := t.do(ctx, o.request)
		if err != nil {
			return err
		}
		tag := res.header.Get("ETag")
		if tag == "" {
			tag = `"7692c3ad3540bb803c020b3aee66cd8887123234ea0c6e7143c0add73ff431ed"` // SHA-256 of "one"
		}
		return t.take(ctx, o.ignores("If-None-Match", tag))
	}
}

func strongETag(r *response) error {
	tag := r.header.Get("ETag")
	if tag != "" && (!strings.HasPrefix(tag, `"`) || !strings.HasSuffix(tag, `"`) || len(tag) < 2) {
		return fmt.Errorf("want a strong ETag in quotes, got %q", tag)
	}
	return nil
}

func etagChanges(ctx context.Context, t *trial) error {
	var tags []string
	for _, text := range []string{"one", "two"} {
		if err := put("a.md", text)(ctx, t); err != nil {
			return err
		}
		res, err := t.do(ctx, readOf("a.md"))
		if err != nil {
			return err
		}
		tags = append(tags, res.header.Get("ETag"))
	}
	if tags[0] != "" && tags[0] == tags[1] {
		return fmt.Errorf("want another ETag for another content, got %s for both", tags[0])
	}
	return nil
}
