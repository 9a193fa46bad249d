package requirements

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"

	"evalctl/daemon/protocol"
)

func recordFieldChecks() []check {
	plain := document("# Tea\n\nGreen.\n", "notes/tea.md")
	checks := []check{
		should("records-create-201", "4.1", "POST /documents returns 201.", expect(createOf(plain), 201)),
		should("records-create-json", "4.1", "The media type of the response to POST /documents is application/json.",
			expect(createOf(plain), 0, given2xx, hasMediaType(protocol.TypeJSON))),
		should("records-envelope", "2", "The response to POST /documents is the record, not an object around it.",
			expect(asSent(createOf(plain)), 0, given2xx, hasEnvelope(recordShape))),
		should("records-snake-case", "2", "The keys of a record are in snake_case.",
			expect(createOf(plain), 0, given2xx, bodyInSnakeCase)),
		should("records-brain-id", "2", "A record has the id of its brain.",
			lazily(func(c *client) step { return expectRecordField(plain, "brain_id", equals(c.brain)) })),
	}
	for _, f := range []struct {
		name, sentence string
		m              matcher
	}{
		{"id", "A record has an id.", isNonEmptyString},
		{"title", "A record has a title.", isNonEmptyString},
		{"path", "A record has the path in the request.", equals("notes/tea.md")},
		{"source", "The source of a record is ingest, extract, compile or reflect.",
			matchesPattern(`^(ingest|extract|compile|reflect)$`)},
		{"content_type", "The content_type of a Markdown document is text/markdown.", equals("text/markdown")},
		{"byte_size", "The byte_size of a record is a whole number from 0.", isCount},
		{"checksum_sha256", "The checksum_sha256 of a record is 64 lower-case hexadecimal digits.",
			matchesPattern(`^[0-9a-f]{64}$`)},
		{"metadata", "The metadata of a record is an object, even if it is empty.", isObject},
		{"commit_sha", "The commit_sha of a record is 7 to 64 lower-case hexadecimal digits.",
			matchesPattern(`^[0-9a-f]{7,64}$`)},
		{"created_at", "The created_at of a record is a timestamp with an offset.", isTimestamp},
		{"updated_at", "The updated_at of a record is a timestamp with an offset.", isTimestamp},
		{"deleted_at", "The deleted_at of a record is null while the document exists.", equals(nil)},
	} {
		id := "records-" + strings.ReplaceAll(f.name, "_", "-")
		checks = append(checks, should(id, "2", f.sentence, expectRecordField(plain, f.name, f.m)))
	}
	return checks
}

// matchesContent compares a field of a record with what want returns for the document's bytes.
func matchesContent(name string, want func([]byte) any) step {
	fields := document("# Tee\n\nGrün.\n", "a.md", "tags", []string{"x"})
	return createThen(fields, func(r record) step {
		return inspect(readOf(r.path), 200, func(res *response) error {
			return matchField(r.fields, name, equals(want(res.body)))
		})
	})
}

func checksum(data []byte) any {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

func bodyContains(text string) assertion {
	return func(r *response) error {
		if !strings.Contains(string(r.body), text) {
			return fmt.Errorf("want a document that contains %q, got %s", text, excerpt(r.body))
		}
		return nil
	}
}

func bodyLacks(text string) assertion {
	return func(r *response) error {
		if strings.Contains(string(r.body), text) {
			return fmt.Errorf("want a document without %q, got %s", text, excerpt(r.body))
		}
		return nil
	}
}

func recordContentChecks() []check {
	const text = "# Tea\n\nGreen – every line\r\nof it.\n"
	everyType := object{"s": "täxt, \"quoted\": yes", "n": 2.5, "i": 3.0, "b": true, "z": nil}
	return []check{
		should("records-content", "4.1", "Reading the path of a new document returns its content.",
			createThen(document(text, "a.md"), func(r record) step {
				return inspect(readOf(r.path), 200, bodyContains(text))
			})),
		should("records-byte-size-as-read", "2", "The byte_size of a record is the size of the document as read.",
			matchesContent("byte_size", func(b []byte) any { return float64(len(b)) })),
		should("records-checksum-as-read", "2", "The checksum_sha256 of a record is the checksum of the document as read.",
			matchesContent("checksum_sha256", checksum)),
		should("records-title-given", "4.1", "A record has the title in the request.",
			expectRecordField(document("# Tea", "a.md", "title", "Coffee: \"black\""), "title",
				equals("Coffee: \"black\""))),
		should("records-title-heading", "4.1", "Without a title in the request, the title is the first heading.",
			expectRecordField(document("text\n\n## Green tea\n\n# Other\n", "a.md"), "title", equals("Green tea"))),
		should("records-tags", "2", "The tags of a document are a single string in metadata, joined by commas.",
			expectRecordField(document("x", "a.md", "tags", []string{"tea", "two words"}), "metadata",
				func(got any) error {
					o, _ := got.(object)
					return matchField(o, "tags", equals("tea,two words"))
				})),
		should("records-metadata-kept", "2", "Metadata values of every scalar type are preserved.",
			expectRecordField(document("x", "a.md", "metadata", everyType), "metadata", equals(everyType))),
		should("records-source-given", "2", "A record has the source in the request.",
			expectRecordField(document("x", "a.md", "source", "extract"), "source", equals("extract"))),
	}
}

func recordPathChecks() []check {
	samovar := document("# Kitchen\n\nThe samovar is copper.\n", seeds+"samovar.md")
	return []check{
		should("records-path-derived", "4.1",
			"Without paths in the requests, documents with the same title get different paths.",
			createThen(object{"content": "one", "title": "Tea"}, func(first record) step {
				return createThen(object{"content": "two", "title": "Tea"}, func(second record) step {
					return inTurn(inspect(readOf(first.path), 200, bodyContains("one")),
						inspect(readOf(second.path), 200, bodyContains("two")))
				})
			})),
		should("records-path-taken", "4.1",
			"POST /documents to the path of an existing document returns 409 and does not replace it.",
			put("a.md", "one"), expect(createOf(document("two", "a.md")), 409), expectContent("a.md", "one")),
		should("records-found", "4.1", "A search finds a new document.",
			createThen(samovar, func(r record) step { return awaitFound("samovar", r.path) })),
	}
}

// withTea creates a document and runs steps with its record.
func withTea(then func(record) step) step {
	return createThen(document("# Tea\n\nGreen.\n", "notes/tea.md"), then)
}

func recordLookupChecks() []check {
	const coffee = "# Coffee\n"
	return []check{
		should("records-get-same", "4.2", "GET of a record returns the same fields as its creation.",
			withTea(func(r record) step {
				return inspect(recordOf(r.id), 200, ofObject(func(o object) error { return equals(r.fields)(o) }))
			})),
		should("records-get-no-store", "9.3", "The response to GET of a record has Cache-Control: no-store.",
			withTea(func(r record) step { return inspect(recordOf(r.id), 200, hasCacheControl("no-store")) })),
		should("records-create-no-cache-headers", "9.3",
			"The response to POST /documents has neither Cache-Control nor ETag.",
			expect(createOf(document("# Tea\n\nGreen.\n", "notes/tea.md")), 0, given2xx, noHeader("Cache-Control"),
				noHeader("ETag"))),
		should("records-get-fresh", "2", "A record reflects a later PUT to its path.",
			withTea(func(r record) step {
				return inTurn(put(r.path, coffee),
					inspect(recordOf(r.id), 200, jsonField("checksum_sha256", equals(checksum([]byte(coffee)))),
						jsonField("byte_size", equals(float64(len(coffee))))))
			})),
		should("records-get-missing-404", "4.2", "GET of a record that does not exist returns 404.",
			expect(recordOf("conformance-none"), 404)),
		should("records-brains-apart", "5", "A record of one brain does not exist in another brain.",
			withTea(func(r record) step {
				return inOtherBrain(expect(recordOf(r.id), 404), expectRecordListed(r.id, false))
			})),
	}
}

func recordListChecks() []check {
	return []check{
		should("records-list", "4.2", "GET /documents without listing parameters lists records.",
			withTea(func(r record) step { return expectRecordListed(r.id, true) })),
		should("records-list-empty", "4.2", "The items of the list of records of an empty brain are an empty array.",
			inspect(listRecords, 200, jsonField("items", equals([]any{})))),
		should("records-list-put", "4.2", "The list of records contains a document that was written by PUT.",
			put("b.md", "text"), inspect(listRecords, 200,
				jsonField("items", singleItem("checksum_sha256", equals(checksum([]byte("text"))))))),
		should("records-list-no-store", "9.3", "The list of records has Cache-Control: no-store.",
			inspect(listRecords, 200, hasCacheControl("no-store"))),
		should("records-listing-parameter", "4.2", "GET /documents with a listing parameter lists paths.",
			withTea(func(record) step {
				return inspect(listOf(recursive...), 200, jsonField("items", singleItem("is_dir", equals(false))))
			})),
	}
}

func recordDeleteChecks() []check {
	isGone := func(r record) step {
		return inTurn(expectAbsent(r.path), expect(recordOf(r.id), 404), expectRecordListed(r.id, false))
	}
	return []check{
		should("records-delete-204", "4.2", "DELETE of a record returns 204.",
			withTea(func(r record) step { return expect(deleteRecord(r.id), 204) })),
		should("records-delete-removes", "4.2", "DELETE of a record deletes the document.",
			withTea(func(r record) step { return inTurn(send(deleteRecord(r.id)), isGone(r)) })),
		should("records-delete-twice-404", "7.4", "A second DELETE of a record returns 404.",
			withTea(func(r record) step { return inTurn(send(deleteRecord(r.id)), expect(deleteRecord(r.id), 404)) })),
		should("records-delete-by-query", "4.2",
			"DELETE /documents with document_id instead of path deletes the document.",
			withTea(func(r record) step { return inTurn(expect(deleteByQuery(r.id), 204), isGone(r)) })),
		should("records-delete-path", "4.2", "DELETE of a document by its path deletes its record.",
			withTea(func(r record) step {
				return inTurn(remove(r.path), expect(recordOf(r.id), 404), expectRecordListed(r.id, false))
			})),
	}
}

// tooManyTags returns one tag more than a document may have.
func tooManyTags() []string {
	tags := make([]string, protocol.MaxDocumentTags+1)
	for i := range tags {
		tags[i] = fmt.Sprint("t", i)
	}
	return tags
}

func recordValidationChecks() []check {
	long := func(n int) string { return strings.Repeat("ä", n) }
	rejected := func(id, what string, fields object) check {
		return should("records-"+id, "4.1", what+" is rejected with 400.",
			expect(createOf(fields), 400, isProblem), inspect(listRecords, 200, jsonField("items", equals([]any{}))))
	}
	longestTitle := long(protocol.MaxDocumentTitle)
	return []check{
		rejected("content-missing-400", "A document without content", object{"path": "a.md"}),
		rejected("content-empty-400", "A document with empty content", document("", "a.md")),
		rejected("content-number-400", "A document whose content is not a string",
			object{"path": "a.md", "content": 1}),
		rejected("title-513-400", "A title of 513 characters", document("x", "a.md", "title", longestTitle+"ä")),
		rejected("path-invalid-400", "A document whose path leads out of the brain", document("x", "../a.md")),
		rejected("tags-65-400", "A document with 65 tags", document("x", "a.md", "tags", tooManyTags())),
		rejected("tag-65-400", "A tag of 65 characters",
			document("x", "a.md", "tags", []string{long(protocol.MaxDocumentTag + 1)})),
		rejected("metadata-nested-400", "A nested object in metadata",
			document("x", "a.md", "metadata", object{"a": object{}})),
		should("records-title-512", "4.1", "A title may have 512 characters.",
			send(createOf(document("x", "d.md", "title", "ä"))),
			expect2xx(createOf(document("x", "c.md", "title", longestTitle))),
			// Whether a title is stored at all is left to other checks.
			setup(expectRecordField(document("x", "b.md", "title", "ä"), "title", equals("ä"))),
			expectRecordField(document("x", "a.md", "title", longestTitle), "title", equals(longestTitle))),
		should("records-content-above-limit", "8",
			"Content of 5,000,001 characters is rejected with 413 or 400 and writes nothing.",
			lazily(func(*client) step {
				tooLong := document(textOfSize(protocol.MaxDocumentContent+1), "a.md")
				return expect(createOf(tooLong), 0, statusIn(400, 413))
			}), expectAbsent("a.md")),
		should("records-type-415", "7.1", "POST /documents with an unsupported media type is rejected with 415.",
			expect(brainRequest("POST", "/documents").withBody("text/plain", `{"content":"x"}`), 415)),
		should("records-brain-missing", "4.2",
			"POST /documents in a brain that does not exist returns 404, or 403 with a token.",
			expectNoBrain(createOf(document("x", "a.md")))),
	}
}
