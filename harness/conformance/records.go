package conformance

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"evalctl/daemon/protocol"
)

// The requests about records, whose fields spec 2 gives and whose endpoints are
// those of the reference daemon: every check of this group is a SHOULD.
func createOf(fields object) request   { return at("POST", "/documents").json(fields) }
func recordOf(id string) request       { return at("GET", "/documents/"+url.PathEscape(id)) }
func deleteRecord(id string) request   { return at("DELETE", "/documents/"+url.PathEscape(id)) }
func deleteByQuery(id string) request  { return at("DELETE", "/documents", "document_id", id) }
func created(text, path string) object { return object{"content": text, "path": path} }

// record is one that was created.
type record struct {
	id, path string
	fields   object
}

// withRecord creates a document and goes on with its record.
func withRecord(fields object, then func(record) []step) step {
	return func(ctx context.Context, t *trial) error {
		res, err := t.do(ctx, createOf(fields))
		if err != nil {
			return err
		}
		if err := status2xx(res); err != nil {
			return fmt.Errorf("%s: %w", res.line, err)
		}
		r, err := res.record()
		if err != nil {
			return fmt.Errorf("%s: %w", res.line, err)
		}
		return t.take(ctx, then(r))
	}
}

func (r *response) record() (record, error) {
	o, err := r.object()
	if err != nil {
		return record{}, err
	}
	id, _ := o["id"].(string)
	path, _ := o["path"].(string)
	if id == "" || path == "" {
		return record{}, fmt.Errorf("want a record with id and path, got %s", clip(r.body))
	}
	return record{id, path, o}, nil
}

// says judges one field of the record of a new document, as it was answered and
// as it is read afterwards: an answer may echo what is not kept.
func says(fields object, name string, v value) step {
	return withRecord(fields, func(r record) []step {
		return []step{
			func(context.Context, *trial) error { return judgeKey(r.fields, name, v) },
			answers(recordOf(r.id), 200, key(name, v)),
		}
	})
}

// hasRecord wants the listing of records to have an id, or not to.
func hasRecord(id string, want bool) step {
	return answers(at("GET", "/documents"), 200, key("items", func(got any) error {
		items, _ := got.([]any)
		has := slices.ContainsFunc(items, func(item any) bool {
			o, _ := item.(object)
			return o["id"] == id && o["checksum_sha256"] != nil
		})
		if has != want || items == nil {
			return fmt.Errorf("want a record with the id %q: %v, got %s", id, want, clip(encode(got)))
		}
		return nil
	}))
}

func recordChecks() []check {
	return slices.Concat(recordFields(), recordContent(), recordLookup(), recordRefusals())
}

func fits(pattern string) value {
	re := regexp.MustCompile(pattern)
	return func(got any) error {
		if s, ok := got.(string); !ok || !re.MatchString(s) {
			return fmt.Errorf("want a text like %s, got %s", pattern, clip(encode(got)))
		}
		return nil
	}
}

func isCount(got any) error {
	if n, ok := got.(float64); !ok || n < 0 || n != float64(int64(n)) {
		return fmt.Errorf("want a whole number from 0, got %s", clip(encode(got)))
	}
	return nil
}

func recordFields() []check {
	plain := created("# Tea\n\nGreen.\n", "notes/tea.md")
	checks := []check{
		should("records-create-201", "4.1", "POST /documents answers 201.", answers(createOf(plain), 201)),
		should("records-create-json", "4.1", "A new record is application/json.", answers(createOf(plain), 201, mediaType(protocol.TypeJSON))),
		should("records-snake-case", "2", "The keys of a record are in snake_case.", answers(createOf(plain), 201, inSnakeCase)),
		should("records-brain-id", "2", "A record has the id of its brain.", func(ctx context.Context, t *trial) error {
			return says(plain, "brain_id", is(t.brain))(ctx, t)
		}),
	}
	for _, f := range []struct {
		name, sentence string
		v              value
	}{
		{"id", "A record has an id.", isText},
		{"title", "A record has a title.", isText},
		{"path", "A record has the path that was asked for.", is("notes/tea.md")},
		{"source", "The source of a record is ingest, extract, compile or reflect.", fits(`^(ingest|extract|compile|reflect)$`)},
		{"content_type", "The content_type of Markdown is text/markdown.", is("text/markdown")},
		{"byte_size", "A record has a byte_size, a whole number from 0.", isCount},
		{"checksum_sha256", "A record has a checksum_sha256 of 64 lower-case hexadecimal digits.", fits(`^[0-9a-f]{64}$`)},
		{"metadata", "A record has metadata, an object also when there is none.", isObject},
		{"commit_sha", "A record has a commit_sha of 7 to 64 lower-case hexadecimal digits.", fits(`^[0-9a-f]{7,64}$`)},
		{"created_at", "A record says when it was created, with an offset.", isTime},
		{"updated_at", "A record says when it was updated, with an offset.", isTime},
		{"deleted_at", "A record has deleted_at, null while the document is there.", is(nil)},
	} {
		id := "records-" + strings.ReplaceAll(f.name, "_", "-")
		checks = append(checks, should(id, "2", f.sentence, says(plain, f.name, f.v)))
	}
	return checks
}

// asRead judges a field of a record against the bytes of its document.
func asRead(name string, want func([]byte) any) step {
	return withRecord(object{"content": "# Tee\n\nGrün.\n", "path": "a.md", "tags": []string{"x"}}, func(r record) []step {
		return []step{answers(readOf(r.path), 200, func(res *response) error { return judgeKey(r.fields, name, is(want(res.body))) })}
	})
}

func checksum(data []byte) any {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

func recordContent() []check {
	every := object{"s": "täxt, \"quoted\": yes", "n": 2.5, "i": 3.0, "b": true, "z": nil}
	holds := func(text string) want {
		return func(r *response) error {
			if !strings.Contains(string(r.body), text) {
				return fmt.Errorf("want a document that holds %q, got %s", text, clip(r.body))
			}
			return nil
		}
	}
	const text = "# Tea\n\nGreen – every line\r\nof it.\n"
	return []check{
		should("records-content", "4.1", "The content of a new document can be read under its path.",
			withRecord(created(text, "a.md"), func(r record) []step { return []step{answers(readOf(r.path), 200, holds(text))} })),
		should("records-byte-size-as-read", "2", "byte_size is that of what is read.", asRead("byte_size", func(b []byte) any { return float64(len(b)) })),
		should("records-checksum-as-read", "2", "checksum_sha256 is that of what is read.", asRead("checksum_sha256", checksum)),
		should("records-title-given", "4.1", "A record has the title that was given.",
			says(object{"content": "# Tea", "path": "a.md", "title": "Coffee: \"black\""}, "title", is("Coffee: \"black\""))),
		should("records-title-heading", "4.1", "Without a title, a record has that of the first heading.", says(created("text\n\n## Green tea\n\n# Other\n", "a.md"), "title", is("Green tea"))),
		should("records-tags", "2", "Tags are one text in metadata, joined by commas.",
			says(object{"content": "x", "path": "a.md", "tags": []string{"tea", "two words"}}, "metadata", func(got any) error {
				o, _ := got.(object)
				return judgeKey(o, "tags", is("tea,two words"))
			})),
		should("records-metadata-kept", "2", "Metadata of every type comes back.", says(object{"content": "x", "path": "a.md", "metadata": every}, "metadata", is(every))),
		should("records-source-given", "2", "A record has the source that was given.", says(object{"content": "x", "path": "a.md", "source": "extract"}, "source", is("extract"))),
		should("records-path-derived", "4.1", "Without a path, documents of one title get one each.",
			withRecord(object{"content": "one", "title": "Tea"}, func(first record) []step {
				return []step{withRecord(object{"content": "two", "title": "Tea"}, func(second record) []step {
					return []step{answers(readOf(first.path), 200, holds("one")), answers(readOf(second.path), 200, holds("two"))}
				})}
			})),
		should("records-path-taken", "4.1", "A new document never replaces another one.",
			put("a.md", "one"), answers(createOf(created("two", "a.md")), 409), reads("a.md", "one")),
		should("records-found", "4.1", "A search finds a new document.",
			withRecord(created("# Kitchen\n\nThe samovar is copper.\n", seeds+"samovar.md"), func(r record) []step { return []step{finds("samovar", r.path, true)} })),
	}
}

func recordLookup() []check {
	seed := created("# Tea\n\nGreen.\n", "notes/tea.md")
	about := func(then func(record) []step) []step { return []step{withRecord(seed, then)} }
	return []check{
		should("records-get-same", "4.2", "A record is read as it was when it was created.", about(func(r record) []step {
			return []step{answers(recordOf(r.id), 200, func(res *response) error {
				o, err := res.object()
				if err == nil {
					err = is(r.fields)(o)
				}
				return err
			})}
		})...),
		should("records-get-no-store", "9.3", "A record is not cached.", about(func(r record) []step {
			return []step{answers(recordOf(r.id), 200, cacheControl("no-store"))}
		})...),
		should("records-create-no-cache-headers", "9.3", "The answer to POST /documents has neither Cache-Control nor ETag.", answers(createOf(seed), 201, without("Cache-Control"), without("ETag"))),
		should("records-get-fresh", "2", "A record follows the document that is written under its path.", about(func(r record) []step {
			return []step{put(r.path, "# Coffee\n"), answers(recordOf(r.id), 200, key("checksum_sha256", is(checksum([]byte("# Coffee\n")))), key("byte_size", is(9.0)))}
		})...),
		should("records-get-missing-404", "4.2", "A record that does not exist is 404.", answers(recordOf("conformance-none"), 404)),
		should("records-brains-apart", "5", "A record of one brain does not exist in another.", about(func(r record) []step {
			return []step{elsewhere(answers(recordOf(r.id), 404), hasRecord(r.id, false))}
		})...),
		should("records-list", "4.2", "GET /documents without a listing parameter lists records.", about(func(r record) []step { return []step{hasRecord(r.id, true)} })...),
		should("records-list-empty", "4.2", "In an empty brain the listing of records is an empty array.", answers(at("GET", "/documents"), 200, key("items", is([]any{})))),
		should("records-list-put", "4.2", "A document that was PUT has a record too.",
			put("b.md", "text"), answers(at("GET", "/documents"), 200, key("items", func(got any) error {
				items, _ := got.([]any)
				if len(items) != 1 {
					return fmt.Errorf("want one record, got %s", clip(encode(got)))
				}
				o, _ := items[0].(object)
				return judgeKey(o, "checksum_sha256", is(checksum([]byte("text"))))
			}))),
		should("records-list-no-store", "9.3", "The listing of records is not cached.", answers(at("GET", "/documents"), 200, cacheControl("no-store"))),
		should("records-listing-parameter", "4.2", "With a listing parameter GET /documents lists paths.", about(func(r record) []step {
			return []step{answers(listOf("recursive", "true"), 200, key("items", func(got any) error {
				items, _ := got.([]any)
				if len(items) != 1 {
					return fmt.Errorf("want one entry, got %s", clip(encode(got)))
				}
				o, _ := items[0].(object)
				return judgeKey(o, "is_dir", is(false))
			}))}
		})...),
		should("records-delete-204", "4.2", "DELETE of a record answers 204.", about(func(r record) []step { return []step{answers(deleteRecord(r.id), 204)} })...),
		should("records-delete-removes", "4.2", "A document whose record was deleted is gone.", about(func(r record) []step {
			return []step{do(deleteRecord(r.id)), absent(r.path), answers(recordOf(r.id), 404), hasRecord(r.id, false)}
		})...),
		should("records-delete-twice-404", "7.4", "A second DELETE of a record is 404.", about(func(r record) []step {
			return []step{do(deleteRecord(r.id)), answers(deleteRecord(r.id), 404)}
		})...),
		should("records-delete-by-query", "4.2", "DELETE /documents with document_id in place of path deletes by id.", about(func(r record) []step {
			return []step{answers(deleteByQuery(r.id), 204), absent(r.path), answers(recordOf(r.id), 404), hasRecord(r.id, false)}
		})...),
		should("records-delete-path", "4.2", "A document that is deleted by its path has no record any more.", about(func(r record) []step {
			return []step{remove(r.path), answers(recordOf(r.id), 404), hasRecord(r.id, false)}
		})...),
	}
}

func recordRefusals() []check {
	long := func(n int) string { return strings.Repeat("ä", n) }
	refuse := func(id, sentence string, fields object) check {
		return should("records-"+id, "4.1", sentence, answers(createOf(fields), 400, problem), answers(at("GET", "/documents"), 200, key("items", is([]any{}))))
	}
	tags := make([]string, protocol.MaxDocumentTags+1)
	for i := range tags {
		tags[i] = fmt.Sprint("t", i)
	}
	return []check{
		refuse("content-missing-400", "A document without content is 400.", object{"path": "a.md"}),
		refuse("content-empty-400", "A document of empty content is 400.", object{"path": "a.md", "content": ""}),
		refuse("content-number-400", "A document whose content is no string is 400.", object{"path": "a.md", "content": 1}),
		refuse("title-513-400", "A title of 513 characters is 400.", object{"content": "x", "path": "a.md", "title": long(protocol.MaxDocumentTitle + 1)}),
		refuse("path-invalid-400", "A document with a path that leads out is 400.", created("x", "../a.md")),
		refuse("tags-65-400", "65 tags are 400.", object{"content": "x", "path": "a.md", "tags": tags}),
		refuse("tag-65-400", "A tag of 65 characters is 400.", object{"content": "x", "path": "a.md", "tags": []string{long(protocol.MaxDocumentTag + 1)}}),
		refuse("metadata-nested-400", "Metadata that is nested is 400.", object{"content": "x", "path": "a.md", "metadata": object{"a": object{}}}),
		should("records-title-512", "4.1", "A title of 512 characters is kept.",
			says(object{"content": "x", "path": "a.md", "title": long(protocol.MaxDocumentTitle)}, "title", is(long(protocol.MaxDocumentTitle)))),
		should("records-content-above-limit", "8", "Content of 5,000,001 characters is 413 or 400, and nothing is cut.", later(func() step {
			return answers(createOf(created(big(protocol.MaxDocumentContent+1), "a.md")), 0, oneOf(400, 413))
		}), absent("a.md")),
		should("records-type-415", "7.1", "POST /documents of another media type is 415.", answers(at("POST", "/documents").typed("text/plain", `{"content":"x"}`), 415)),
		should("records-brain-missing", "4.2", "Creating in a brain that does not exist is 404, or 403 with a token.",
			lacksBrain("POST", "/documents", func(r request) request { return r.json(created("x", "a.md")) })),
	}
}
