package requirements

import (
	"fmt"
	"strings"

	"evalctl/daemon/protocol"
)

func recordFieldChecks() []check {
	plain := document("# Tea\n\nGreen.\n", "notes/tea.md")
	checks := []check{
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

func bodyContains(text string) assertion {
	return func(r *response) error {
		if !strings.Contains(string(r.body), text) {
			return fmt.Errorf("want a document that contains %q, got %s", text, excerpt(r.body))
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
		should("records-title-given", "4.1", "A record has the title in the request.",
			expectRecordField(document("# Tea", "a.md", "title", "Coffee: \"black\""), "title",
				equals("Coffee: \"black\""))),
		should("records-title-heading", "4.1", "Without a title in the request, the title is the first heading.",
			expectRecordField(document("text\n\n## Green tea\n\n# Other\n", "a.md"), "title", equals("Green tea"))),
		should("records-metadata-kept", "2", "Metadata values of every scalar type are preserved.",
			expectRecordField(document("x", "a.md", "metadata", everyType), "metadata", equals(everyType))),
	}
}

func recordPathChecks() []check {
	samovar := document("# Kitchen\n\nThe samovar is copper.\n", seeds+"samovar.md")
	return []check{
		should("records-found", "4.1", "A search finds a new document.",
			createThen(samovar, func(r record) step { return awaitFound("samovar", r.path) })),
	}
}

// withTea creates a document and runs steps with its record.
func withTea(then func(record) step) step {
	return createThen(document("# Tea\n\nGreen.\n", "notes/tea.md"), then)
}

func recordLookupChecks() []check {
	return []check{
		should("records-create-no-cache-headers", "9.3",
			"The response to POST /documents has neither Cache-Control nor ETag.",
			expect(createOf(document("# Tea\n\nGreen.\n", "notes/tea.md")), 0, given2xx, noHeader("Cache-Control"),
				noHeader("ETag"))),
	}
}

func recordListChecks() []check {
	return []check{
		should("records-listing-parameter", "4.2", "GET /documents with a listing parameter lists paths.",
			withTea(func(record) step {
				return inspect(listOf(recursive...), 200, jsonField("items", singleItem("is_dir", equals(false))))
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
	longestTitle := long(protocol.MaxDocumentTitle)
	return []check{
		should("records-title-512", "4.1", "A title may have 512 characters.",
			send(createOf(document("x", "d.md", "title", "ä"))),
			expect2xx(createOf(document("x", "c.md", "title", longestTitle))),
			// Whether a title is stored at all is left to other checks.
			setup(expectRecordField(document("x", "b.md", "title", "ä"), "title", equals("ä"))),
			expectRecordField(document("x", "a.md", "title", longestTitle), "title", equals(longestTitle))),
	}
}
