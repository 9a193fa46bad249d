package conformance

import (
	"slices"

	"evalctl/daemon/protocol"
)

// refusedBatch wants a batch to be refused with a status, and two documents
// that are there before to be as they were: all or nothing.
func refusedBatch(status int, ops ...object) []step {
	return []step{
		put("kept.md", "kept"), put("old.md", "old"),
		answers(batchOf(ops...), status),
		reads("kept.md", "kept"), reads("old.md", "old"), lists(recursive, "kept.md", "old.md"),
	}
}

// rawBatch wants a body to be refused as invalid.
func rawBatch(text string) []step {
	return []step{
		answers(at("POST", "/documents/batch-ops").typed(protocol.TypeJSON, text), 400),
		lists(recursive),
	}
}

func batchChecks() []check {
	return slices.Concat(batchOps(), batchOrder(), batchAtomicity(), batchRefusals())
}

func batchOps() []check {
	all := at("POST", "/documents/batch-ops").json(object{
		"reason": "why", "message": "what", "author": "Ana", "email": "ana@example.org", "ops": []object{writeOp("a.md", "one")},
	})
	return []check{
		must("batch-200", "4.2", "A batch answers 200.", answers(batchOf(writeOp("a.md", "one")), 200)),
		must("batch-committed", "4.2", "A batch answers how many ops were committed.",
			answers(batchOf(writeOp("a.md", "1"), writeOp("b.md", "2"), appendOp("b.md", "3")), 0, status2xx, key("committed", is(3.0))), reads("b.md", "23")),
		should("batch-json", "4.2", "A batch answers application/json.", answers(batchOf(writeOp("a.md", "one")), 200, mediaType(protocol.TypeJSON))),
		must("batch-write", "4.2", "A write op writes.", batch(writeOp("n/a.md", "one")), reads("n/a.md", "one")),
		must("batch-write-replaces", "4.2", "A write op replaces the content.", put("a.md", "a long text"), batch(writeOp("a.md", "one")), reads("a.md", "one")),
		must("batch-write-binary", "4.2", "Every byte value survives a batch.", batch(writeOp("a.bin", everyByte)), reads("a.bin", everyByte)),
		must("batch-write-empty", "4.2", "A write op may have empty content.", batch(writeOp("a.md", "")), reads("a.md", "")),
		must("batch-append", "4.2", "An append op adds to the end.", put("a.md", "one"), batch(appendOp("a.md", " two")), reads("a.md", "one two")),
		must("batch-append-creates", "4.2", "An append op makes a document that does not exist.", batch(appendOp("a.md", "one")), reads("a.md", "one")),
		must("batch-delete", "4.2", "A delete op removes.", put("a.md", "one"), batch(deleteOp("a.md")), absent("a.md")),
		must("batch-rename", "4.2", "A rename op moves the content.",
			put("a.md", "one"), batch(renameOp("a.md", "b.md")), reads("b.md", "one"), absent("a.md")),
		must("batch-rename-overwrites", "4.2", "A rename op overwrites the destination.",
			put("a.md", "one"), put("b.md", "two"), batch(renameOp("a.md", "b.md")), reads("b.md", "one"), absent("a.md")),
		must("batch-author", "4.2", "A batch may have message, author and email.", answers(all, 200), reads("a.md", "one")),
		should("batch-charset", "4.2", "The media type of a batch may have a charset.",
			answers(at("POST", "/documents/batch-ops").typed("application/json; charset=utf-8", string(encode(object{"reason": "r", "ops": []object{writeOp("a.md", "one")}}))), 200),
			reads("a.md", "one")),
		should("batch-camel-case", "4.2", "The keys of a batch are understood in camelCase too.",
			do(at("POST", "/documents/batch-ops").json(object{"reason": "r", "ops": []object{{"type": "write", "path": "a.md", "contentBase64": "b25l"}}})),
			reads("a.md", "one")),
		should("batch-unknown-key", "4.2", "Unknown keys of a batch are ignored.",
			do(at("POST", "/documents/batch-ops").json(object{"reason": "r", "colour": "red", "ops": []object{writeOp("a.md", "one")}})),
			reads("a.md", "one")),
		must("batch-many", "8", "A batch may have 100 ops.", manyOps(100)...),
	}
}

// manyOps writes n documents in one batch and wants them all.
func manyOps(n int) []step {
	var ops []object
	for i := range n {
		ops = append(ops, appendOp("a.md", string(rune('a'+i%26))))
	}
	text := ""
	for i := range n {
		text += string(rune('a' + i%26))
	}
	return []step{answers(batchOf(ops...), 200, key("committed", is(float64(n)))), reads("a.md", text)}
}

func batchOrder() []check {
	return []check{
		must("batch-order", "4.2", "The ops of a batch are applied in the order in which they were sent.",
			batch(writeOp("a.md", "one"), appendOp("a.md", " two"), renameOp("a.md", "b.md"), writeOp("a.md", "three"), appendOp("b.md", " four")),
			reads("a.md", "three"), reads("b.md", "one two four")),
		must("batch-write-write", "4.3", "Of two writes in a batch the later wins.", batch(writeOp("a.md", "one"), writeOp("a.md", "two")), reads("a.md", "two")),
		must("batch-write-append", "4.3", "An append after a write extends it.", batch(writeOp("a.md", "one"), appendOp("a.md", "two")), reads("a.md", "onetwo")),
		must("batch-write-delete", "4.3", "A write and then a delete leaves nothing.", batch(writeOp("a.md", "one"), deleteOp("a.md")), absent("a.md")),
		must("batch-delete-write", "4.3", "A delete and then a write leaves the write.",
			put("a.md", "one"), batch(deleteOp("a.md"), writeOp("a.md", "two")), reads("a.md", "two")),
		must("batch-delete-append", "4.3", "An append after a delete begins anew.",
			put("a.md", "one"), batch(deleteOp("a.md"), appendOp("a.md", "two")), reads("a.md", "two")),
		must("batch-rename-chain", "4.2", "A renamed document can be renamed again.",
			put("a.md", "one"), batch(renameOp("a.md", "b.md"), renameOp("b.md", "c.md")), reads("c.md", "one"), lists(recursive, "c.md")),
		must("batch-rename-swap", "4.2", "Three renames swap two documents.",
			put("a.md", "one"), put("b.md", "two"),
			batch(renameOp("a.md", "t.md"), renameOp("b.md", "a.md"), renameOp("t.md", "b.md")),
			reads("a.md", "two"), reads("b.md", "one"), absent("t.md")),
		must("batch-rename-written", "4.2", "What a batch wrote it can rename.",
			batch(writeOp("a.md", "one"), renameOp("a.md", "b.md")), reads("b.md", "one"), absent("a.md")),
	}
}

func batchAtomicity() []check {
	first := []object{writeOp("kept.md", "changed"), writeOp("new.md", "new"), deleteOp("old.md")}
	rows := []struct {
		id, sentence string
		status       int
		last         object
	}{
		{"delete-missing", "a delete of nothing", 404, deleteOp("none.md")},
		{"rename-missing", "a rename of nothing", 404, renameOp("none.md", "x.md")},
		{"path-invalid", "an invalid path", 400, writeOp("../x.md", "x")},
		{"rename-invalid", "a rename to an invalid path", 400, renameOp("new.md", "/x.md")},
		{"base64-invalid", "content that is not base64", 400, object{"type": "write", "path": "x.md", "content_base64": "%%%"}},
		{"type-unknown", "an unknown type", 400, object{"type": "touch", "path": "x.md"}},
	}
	var checks []check
	for _, r := range rows {
		checks = append(checks, must("batch-atomic-"+r.id, "4.2", "A batch that ends with "+r.sentence+" changes nothing.",
			refusedBatch(r.status, append(first[:len(first):len(first)], r.last)...)...))
	}
	return append(checks,
		must("batch-atomic-first", "4.2", "A batch that begins with a failing op changes nothing.",
			refusedBatch(404, deleteOp("none.md"), writeOp("new.md", "new"))...),
		must("batch-atomic-append", "4.2", "Appends and renames are rolled back.",
			refusedBatch(404, appendOp("kept.md", "more"), renameOp("old.md", "moved.md"), deleteOp("none.md"))...),
		must("batch-delete-twice-404", "4.2", "An op sees what the ops before it did.",
			refusedBatch(404, deleteOp("old.md"), deleteOp("old.md"))...),
	)
}

func batchRefusals() []check {
	rows := []struct{ id, sentence, body string }{
		{"json-invalid", "A body that is not JSON is 400.", `{"reason":"r","ops":[`},
		{"not-object", "A body that is not an object is 400.", `[]`},
		{"ops-missing", "A batch without ops is 400.", `{"reason":"r"}`},
		{"ops-not-array", "ops that is not an array is 400.", `{"reason":"r","ops":{}}`},
		{"op-not-object", "An op that is not an object is 400.", `{"reason":"r","ops":["write"]}`},
		{"type-missing", "An op without a type is 400.", `{"reason":"r","ops":[{"path":"a.md","content_base64":""}]}`},
		{"path-missing", "An op without a path is 400.", `{"reason":"r","ops":[{"type":"write","content_base64":""}]}`},
		{"path-not-string", "A path that is not a string is 400.", `{"reason":"r","ops":[{"type":"delete","path":5}]}`},
		{"content-missing", "A write without content is 400.", `{"reason":"r","ops":[{"type":"write","path":"a.md"}]}`},
		{"content-not-string", "Content that is not a string is 400.", `{"reason":"r","ops":[{"type":"write","path":"a.md","content_base64":[1]}]}`},
		{"append-content-missing", "An append without content is 400.", `{"reason":"r","ops":[{"type":"append","path":"a.md"}]}`},
		{"to-missing", "A rename without to is 400.", `{"reason":"r","ops":[{"type":"write","path":"a.md","content_base64":""},{"type":"rename","path":"a.md"}]}`},
		{"body-empty", "An empty body is 400.", ``},
	}
	var checks []check
	for _, r := range rows {
		checks = append(checks, must("batch-"+r.id+"-400", "7.1", r.sentence, rawBatch(r.body)...))
	}
	return checks
}
