package requirements

import (
	"fmt"
	"slices"

	"evalctl/daemon/protocol"
)

// expectRolledBack requires that a rejected batch has no effect: two existing documents stay
// unchanged, and no other document appears. rejected judges the response.
func expectRolledBack(rejected assertion, ops ...object) []step {
	return []step{
		written("kept.md", "kept"), written("old.md", "old"),
		expect(batchOf(ops...), 0, rejected),
		expectContent("kept.md", "kept"), expectContent("old.md", "old"),
		expectListing(recursive, "kept.md", "old.md"),
	}
}

// givenFailure requires a failed request for the check to be judged. Whether the daemon rejects the
// request is left to other checks.
func givenFailure(r *response) error {
	if r.status < 400 {
		return unjudgedError{ReasonSetup, r.wantStatus("an error", fmt.Errorf("the check is about a batch that fails, but %s", r))}
	}
	return nil
}

// commit sends a batch that the daemon must accept.
func commit(ops ...object) step { return expect2xx(batchOf(ops...)) }

func batchOpChecks() []check {
	return []check{
		must("batch-200", "4.2", "A batch returns 200.", expect(batchOf(writeOp("a.md", "one")), 200)),
		must("batch-committed", "4.2", "A batch returns the number of committed ops.",
			expect(batchOf(writeOp("a.md", "1"), writeOp("b.md", "2"), appendOp("b.md", "3")), 0,
				isSuccess, jsonField("committed", equals(3.0))),
			expectContent("b.md", "23")),
		should("batch-json", "4.2", "The media type of the response to a batch is application/json.",
			inspect(batchOf(writeOp("a.md", "one")), 200, hasMediaType(protocol.TypeJSON))),
		must("batch-write", "4.2", "A write op creates a document.",
			commit(writeOp("n/a.md", "one")), expectContent("n/a.md", "one")),
		must("batch-write-replaces", "4.2", "A write op replaces the whole content.",
			written("a.md", "a long text"), commit(writeOp("a.md", "one")), expectContent("a.md", "one")),
		must("batch-write-binary", "4.2", "A write op preserves every byte value.",
			commit(writeOp("a.bin", everyByte)), expectContent("a.bin", everyByte)),
		must("batch-write-empty", "4.2", "A write op may have empty content.",
			commit(writeOp("a.md", "")), expectContent("a.md", "")),
		must("batch-append", "4.2", "An append op adds to the end of a document.",
			written("a.md", "one"), commit(appendOp("a.md", " two")), expectContent("a.md", "one two")),
		must("batch-append-creates", "4.2", "An append op on a document that does not exist creates it.",
			commit(appendOp("a.md", "one")), expectContent("a.md", "one")),
		must("batch-delete", "4.2", "A delete op removes a document.",
			written("a.md", "one"), commit(deleteOp("a.md")), expectAbsent("a.md")),
		must("batch-rename", "4.2", "A rename op moves the content to the new path.",
			written("a.md", "one"), commit(renameOp("a.md", "b.md")), expectContent("b.md", "one"), expectAbsent("a.md")),
		must("batch-rename-overwrites", "4.2", "A rename op overwrites an existing document at the new path.",
			written("a.md", "one"), written("b.md", "two"), commit(renameOp("a.md", "b.md")),
			expectContent("b.md", "one"), expectAbsent("a.md")),
	}
}

func batchRequestChecks() []check {
	post := func(body object) request { return brainRequest("POST", "/documents/batch-ops").withJSON(body) }
	write := []object{writeOp("a.md", "one")}
	all := post(object{"reason": "why", "message": "what", "author": "Ana", "email": "ana@example.org", "ops": write})
	return []check{
		must("batch-author", "4.2", "A batch may have message, author and email.",
			expect2xx(all), expectContent("a.md", "one")),
		must("batch-many", "8", "A batch may have 100 ops.", largeBatch(100)...),
	}
}

// largeBatch appends n times to a document in one batch.
func largeBatch(n int) []step {
	var ops []object
	text := ""
	for i := range n {
		letter := string(rune('a' + i%26))
		ops = append(ops, appendOp("a.md", letter))
		text += letter
	}
	return []step{
		expect2xx(batchOf(ops...)), expectContent("a.md", text),
	}
}

func batchOrderChecks() []check {
	return []check{
		must("batch-order", "4.2", "The ops of a batch are applied in the order of the request.",
			commit(writeOp("a.md", "one"), appendOp("a.md", " two"), renameOp("a.md", "b.md"),
				writeOp("a.md", "three"), appendOp("b.md", " four")),
			expectContent("a.md", "three"), expectContent("b.md", "one two four")),
		must("batch-write-write", "4.3", "Of two writes to a path in a batch, the later one takes effect.",
			commit(writeOp("a.md", "one"), writeOp("a.md", "two")), expectContent("a.md", "two")),
		must("batch-write-append", "4.3", "An append after a write in a batch extends the written content.",
			commit(writeOp("a.md", "one"), appendOp("a.md", "two")), expectContent("a.md", "onetwo")),
		must("batch-write-delete", "4.3", "A delete after a write in a batch removes the document.",
			commit(writeOp("a.md", "one"), deleteOp("a.md")), expectAbsent("a.md")),
		must("batch-delete-write", "4.3", "A write after a delete in a batch creates the document again.",
			written("a.md", "one"), commit(deleteOp("a.md"), writeOp("a.md", "two")), expectContent("a.md", "two")),
		must("batch-delete-append", "4.3", "An append after a delete in a batch starts with an empty document.",
			written("a.md", "one"), commit(deleteOp("a.md"), appendOp("a.md", "two")), expectContent("a.md", "two")),
		must("batch-rename-chain", "4.2", "A document renamed in a batch can be renamed again in the same batch.",
			written("a.md", "one"), commit(renameOp("a.md", "b.md"), renameOp("b.md", "c.md")),
			expectContent("c.md", "one"), expectListing(recursive, "c.md")),
		must("batch-rename-swap", "4.2", "Three rename ops in a batch can swap two documents.",
			written("a.md", "one"), written("b.md", "two"),
			commit(renameOp("a.md", "t.md"), renameOp("b.md", "a.md"), renameOp("t.md", "b.md")),
			expectContent("a.md", "two"), expectContent("b.md", "one"), expectAbsent("t.md")),
		must("batch-rename-written", "4.2", "A document written in a batch can be renamed in the same batch.",
			commit(writeOp("a.md", "one"), renameOp("a.md", "b.md")),
			expectContent("b.md", "one"), expectAbsent("a.md")),
	}
}

func batchAtomicityChecks() []check {
	first := []object{writeOp("kept.md", "changed"), writeOp("new.md", "new"), deleteOp("old.md")}
	rows := []struct {
		id, what string
		last     object
	}{
		{"delete-missing", "a delete of a missing document", deleteOp("none.md")},
		{"rename-missing", "a rename of a missing document", renameOp("none.md", "x.md")},
		{"path-invalid", "a write to an invalid path", writeOp("../x.md", "x")},
		{"rename-invalid", "a rename to an invalid path", renameOp("new.md", "/x.md")},
		{"base64-invalid", "content that is not base64",
			object{"type": "write", "path": "x.md", "content_base64": "%%%"}},
		{"type-unknown", "an op of unknown type", object{"type": "touch", "path": "x.md"}},
	}
	var checks []check
	for _, r := range rows {
		checks = append(checks,
			must("batch-atomic-"+r.id, "4.2", "A batch that fails, whose last op is "+r.what+", changes nothing.",
				expectRolledBack(givenFailure, append(slices.Clip(first), r.last)...)...))
	}
	return append(checks,
		must("batch-atomic-first", "4.2", "A batch that fails at its first op changes nothing.",
			expectRolledBack(givenFailure, deleteOp("none.md"), writeOp("new.md", "new"))...),
		must("batch-atomic-append", "4.2", "A failed batch rolls back appends and renames.",
			expectRolledBack(givenFailure, appendOp("kept.md", "more"), renameOp("old.md", "moved.md"),
				deleteOp("none.md"))...),
		must("batch-rename-missing", "4.2", "A batch that renames a missing document is rejected with 404, 400 or 409.",
			expect(batchOf(renameOp("none.md", "x.md")), 0, statusIn(404, 400, 409))),
		must("batch-delete-twice", "4.2", "A batch that deletes a document twice is rejected with 404, 400 or 409.",
			expectRolledBack(statusIn(404, 400, 409), deleteOp("old.md"), deleteOp("old.md"))...),
	)
}

func batchValidationChecks() []check {
	rows := []struct{ id, what, body string }{
		{"json-invalid", "A batch that is not valid JSON", `{"reason":"r","ops":[`},
		{"not-object", "A batch that is not a JSON object", `[]`},
		{"ops-missing", "A batch without ops", `{"reason":"r"}`},
		{"ops-not-array", "A batch whose ops is not an array", `{"reason":"r","ops":{}}`},
		{"op-not-object", "An op that is not an object", `{"reason":"r","ops":["write"]}`},
		{"type-missing", "An op without a type", `{"reason":"r","ops":[{"path":"a.md","content_base64":""}]}`},
		{"path-missing", "An op without a path", `{"reason":"r","ops":[{"type":"write","content_base64":""}]}`},
		{"path-not-string", "An op whose path is not a string", `{"reason":"r","ops":[{"type":"delete","path":5}]}`},
		{"content-missing", "A write op without content", `{"reason":"r","ops":[{"type":"write","path":"a.md"}]}`},
		{"content-not-string", "A write op whose content is not a string",
			`{"reason":"r","ops":[{"type":"write","path":"a.md","content_base64":[1]}]}`},
		{"base64-invalid", "A write op whose content is not base64",
			`{"reason":"r","ops":[{"type":"write","path":"a.md","content_base64":"%%%"}]}`},
		{"type-unknown", "An op of unknown type", `{"reason":"r","ops":[{"type":"touch","path":"a.md"}]}`},
		{"append-content-missing", "An append op without content",
			`{"reason":"r","ops":[{"type":"append","path":"a.md"}]}`},
		{"to-missing", "A rename op without to", `{"reason":"r","ops":[` +
			`{"type":"write","path":"a.md","content_base64":""},{"type":"rename","path":"a.md"}]}`},
		{"body-empty", "A batch with an empty body", ``},
	}
	var checks []check
	for _, r := range rows {
		checks = append(checks, must("batch-"+r.id+"-400", "7.1", r.what+" is rejected with 400.",
			expect(postJSON("/documents/batch-ops", r.body), 400), expectListing(recursive)))
	}
	return checks
}
