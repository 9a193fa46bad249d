package requirements

func ownBatchRequestChecks() []check {
	post := func(body object) request { return brainRequest("POST", "/documents/batch-ops").withJSON(body) }
	write := []object{writeOp("a.md", "one")}
	camelCase := []object{{"type": "write", "path": "a.md", "contentBase64": "b25l"}}
	return []check{
		should("batch-charset", "4.2", "The Content-Type of a batch may have a charset parameter.",
			expect2xx(batchTyped("application/json; charset=utf-8", write...)), expectContent("a.md", "one")),
		should("batch-camel-case", "4.2", "The keys of a batch may be in camelCase.",
			expect2xx(post(object{"reason": "r", "ops": camelCase})), expectContent("a.md", "one")),
		should("batch-unknown-key", "4.2", "Unknown keys of a batch are ignored.",
			expect2xx(post(object{"reason": "r", "colour": "red", "ops": write})), expectContent("a.md", "one")),
	}
}

func ownPutChecks() []check {
	chunked := putOf("a.md", "one two three")
	chunked.chunked = true
	return []check{
		should("documents-put-chunked", "4.2", "PUT accepts a chunked body without Content-Length.",
			expect(chunked, 204), expectContent("a.md", "one two three")),
	}
}

func ownListingFormatChecks() []check {
	return []check{
		should("listing-sorted-bytewise", "4.2", "A listing compares paths byte by byte.",
			putPaths("a/b.md", "a.md", "a-b.md", "B.md", "é.md", "z.md"), expectEntries(recursive, sixAscending)),
	}
}

func ownListingScopeChecks() []check {
	return []check{
		should("listing-dir-missing-empty", "4.2", "The listing of a folder that does not exist is empty.",
			expectListing([]string{"dir", "none"})),
	}
}

func ownListingGlobChecks() []check {
	return []check{
		should("listing-glob-case", "2", "A glob is case-sensitive.",
			putPaths("a.MD", "b.md"), expectListing([]string{"glob", "*.md"}, "b.md")),
	}
}

func ownListingFreshnessChecks() []check {
	return []check{
		should("listing-after-last", "4.3", "A listing does not contain a folder whose last document was deleted.",
			putPaths("n/a.md", "b.md"), remove("n/a.md"), expectListing(flat, "b.md")),
	}
}

func ownPathEdgeChecks() []check {
	malformed := brainRequest("GET", "/documents/read")
	malformed.query = "path=%zz"
	return []check{
		should("paths-1025-400", "2", "PUT to a path of 1,025 characters is rejected with 400 and writes nothing.",
			expect(putOf(longPath(1025), "x"), 400), expectDocuments()),
		should("paths-twice-400", "4.2", "A request with two path parameters is rejected with 400.",
			put("a.md", "one"), expect(brainRequest("GET", "/documents/read", "path", "a.md", "path", "b.md"), 400)),
		should("paths-malformed-400", "4.2", "A query with invalid percent-encoding is rejected with 400.",
			expect(malformed, 400)),
	}
}
