package requirements

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"evalctl/daemon/protocol"
)

func ownRecordFieldChecks() []check {
	plain := document("# Tea\n\nGreen.\n", "notes/tea.md")
	return []check{
		should("records-create-201", "4.1", "POST /documents returns 201.", expect(createOf(plain), 201)),
	}
}

func ownRecordContentChecks() []check {
	return []check{
		should("records-byte-size-as-read", "2", "The byte_size of a record is the size of the document as read.",
			matchesContent("byte_size", func(b []byte) any { return float64(len(b)) })),
		should("records-checksum-as-read", "2", "The checksum_sha256 of a record is the checksum of the document as read.",
			matchesContent("checksum_sha256", checksum)),
		should("records-tags", "2", "The tags of a document are a single string in metadata, joined by commas.",
			expectRecordField(document("x", "a.md", "tags", []string{"tea", "two words"}), "metadata",
				func(got any) error {
					o, _ := got.(object)
					return matchField(o, "tags", equals("tea,two words"))
				})),
		should("records-source-given", "2", "A record has the source in the request.",
			expectRecordField(document("x", "a.md", "source", "extract"), "source", equals("extract"))),
	}
}

func ownRecordPathChecks() []check {
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
	}
}

func ownRecordLookupChecks() []check {
	const coffee = "# Coffee\n"
	return []check{
		should("records-get-same", "4.2", "GET of a record returns the same fields as its creation.",
			withTea(func(r record) step {
				return inspect(recordOf(r.id), 200, ofObject(func(o object) error { return equals(r.fields)(o) }))
			})),
		should("records-get-no-store", "9.3", "The response to GET of a record has Cache-Control: no-store.",
			withTea(func(r record) step { return inspect(recordOf(r.id), 200, hasCacheControl("no-store")) })),
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

func ownRecordListChecks() []check {
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

func ownRecordValidationChecks() []check {
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

func deleteRecord(id string) request { return brainRequest("DELETE", "/documents/"+url.PathEscape(id)) }

func deleteByQuery(id string) request {
	return brainRequest("DELETE", "/documents", "document_id", id)
}

// listRecords is GET /documents without parameters.
var listRecords = brainRequest("GET", "/documents")

// expectRecordListed requires the list of records to contain an id, or not to.
func expectRecordListed(id string, want bool) step {
	return inspect(listRecords, 200, jsonField("items", func(got any) error {
		items, _ := got.([]any)
		has := slices.ContainsFunc(items, func(item any) bool {
			o, _ := item.(object)
			return o["id"] == id && o["checksum_sha256"] != nil
		})
		if has != want || items == nil {
			return fmt.Errorf("want a record with the id %q: %v, got %s", id, want, excerpt(encode(got)))
		}
		return nil
	}))
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

func bodyLacks(text string) assertion {
	return func(r *response) error {
		if strings.Contains(string(r.body), text) {
			return fmt.Errorf("want a document without %q, got %s", text, excerpt(r.body))
		}
		return nil
	}
}
