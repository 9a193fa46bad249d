package requirements

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"sync"

	"evalctl/daemon/protocol"
)

// everyByte contains each byte value once, so it is not valid text in any encoding.
var everyByte = func() string {
	b := make([]byte, 256)
	for i := range b {
		b[i] = byte(i)
	}
	return string(b)
}()

func putChecks() []check {
	return []check{
		must("documents-put-204", "4.2", "PUT of a new document returns 204.", expect(putOf("a.md", "one"), 204)),
		must("documents-put-existing-204", "4.2", "PUT of an existing document returns 204.",
			put("a.md", "one"), expect(putOf("a.md", "two"), 204)),
		must("documents-put-reads-back", "4.2", "Reading a document returns the content that was written.",
			put("a.md", "one"), expectContent("a.md", "one")),
		must("documents-put-binary", "4.2", "PUT preserves every byte value.",
			expectPut("a.bin", everyByte), expectContent("a.bin", everyByte)),
		must("documents-put-crlf", "4.2", "PUT preserves line endings.",
			expectPut("a.md", "one\r\ntwo\rthree\n"), expectContent("a.md", "one\r\ntwo\rthree\n")),
		must("documents-put-byte-order-mark", "4.2", "PUT preserves a byte order mark.",
			expectPut("a.md", "\ufeffone"), expectContent("a.md", "\ufeffone")),
		must("documents-put-normal-form", "4.2", "PUT preserves the Unicode normal form of a text.",
			expectPut("a.md", "\u00e9 e\u0301"), expectContent("a.md", "\u00e9 e\u0301")),
		must("documents-put-empty", "4.2", "PUT with an empty body creates an empty document.",
			expectPut("a.md", ""), expectContent("a.md", "")),
		must("documents-put-replaces", "4.3", "PUT replaces the whole content.",
			put("a.md", "a long first text"), put("a.md", "short"), expectContent("a.md", "short")),
		must("documents-put-parents", "4.3", "PUT creates parent folders implicitly.",
			expectPut("a/b/c/d.md", "deep"), expectContent("a/b/c/d.md", "deep")),
		must("documents-put-keeps-others", "4.2", "PUT does not change other documents.",
			put("a.md", "one"), put("a/b.md", "two"), put("b.md", "three"),
			expectContent("a.md", "one"), expectContent("a/b.md", "two")),
		must("documents-put-repeated", "7.4", "Repeating a PUT returns 204 and has no further effect.",
			put("a.md", "one"), expect(putOf("a.md", "one"), 204), expectContent("a.md", "one")),
		must("documents-put-concurrent", "7.4",
			"After concurrent PUTs, the document has the complete content of one of them.",
			concurrentPuts),
		must("documents-put-path-missing-400", "7.1", "PUT without a path is rejected with 400 and writes nothing.",
			expect(brainRequest("PUT", "/documents").withBytes("x"), 400), expectDocuments()),
		should("documents-put-204-empty", "4.2", "The 204 response to PUT has no body.",
			expectNoBody(putOf("a.md", "one"), 204)),
	}
}

// expectPut writes a document that the daemon must accept.
func expectPut(path, text string) step { return expect2xx(putOf(path, text)) }

// concurrentPuts writes several contents of one document concurrently.
func concurrentPuts(ctx context.Context, c *client) error {
	texts := make([]string, 8)
	for i := range texts {
		texts[i] = strings.Repeat(string(rune('a'+i)), 1000*(i+1))
	}
	if err := concurrently(len(texts), func(i int) error { return put("a.md", texts[i])(ctx, c) }); err != nil {
		return err
	}
	res, err := c.get(ctx, readOf("a.md"), 0, unobservable)
	if err == nil && !slices.Contains(texts, string(res.body)) {
		err = brokenf("want one of the texts that were written, got %s", excerpt(res.body))
	}
	return err
}

// concurrently calls f(0) to f(n-1) concurrently and joins their errors.
func concurrently(n int, f func(int) error) error {
	errs := make([]error, n)
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() { errs[i] = f(i) })
	}
	wg.Wait()
	return errors.Join(errs...)
}

func readChecks() []check {
	seed := put("a.md", "one")
	return []check{
		must("documents-read-200", "4.2", "Reading a document returns 200.",
			seed, expect(readOf("a.md"), 200, bodyIs("one"))),
		must("documents-read-content-type", "4.2", "A document is returned as application/octet-stream.",
			seed, inspect(readOf("a.md"), 200, hasMediaType(protocol.TypeBytes))),
		must("documents-read-never-sniffed", "4.2", "An HTML document is returned as application/octet-stream.",
			put("a.html", "<!doctype html><script>1</script>"),
			inspect(readOf("a.html"), 200, hasMediaType(protocol.TypeBytes))),
		must("documents-read-missing-404", "4.2", "Reading a document that does not exist returns 404.",
			expect(readOf("a.md"), 404)),
		must("documents-read-fresh", "7.4", "A read returns the result of every write that was acknowledged before it.",
			seed, expectContent("a.md", "one"), put("a.md", "two"), expectContent("a.md", "two"),
			appendTo("a.md", "3"), expectContent("a.md", "two3")),
		must("documents-read-folder-404", "4.2", "Reading a folder returns an error.",
			put("a/b.md", "one"), expect(readOf("a"), 0, isErrorStatus)),
		must("documents-read-path-missing-400", "4.2", "Reading without a path is rejected with 400.",
			expect(brainRequest("GET", "/documents/read"), 400)),
		must("documents-head-200", "4.2", "HEAD of a document returns 200.", seed, expect(headOf("a.md"), 200)),
		must("documents-head-missing-404", "4.2", "HEAD of a document that does not exist returns 404.",
			expect(headOf("a.md"), 404)),
		must("documents-head-empty", "4.2", "The 200 response to HEAD has no body.",
			seed, expectNoBody(headOf("a.md"), 200)),
		must("documents-head-missing-empty", "4.2", "The 404 response to HEAD has no body.",
			expectNoBody(headOf("a.md"), 404)),
	}
}

func statChecks() []check {
	stat := func(name string, m matcher) step { return inspect(statOf("notes/é.md"), 200, jsonField(name, m)) }
	seed := put("notes/é.md", "fünf")
	return []check{
		must("documents-stat-envelope", "2", "The response to stat is the object with the fields, not one around it.",
			put("a.md", "one"), inspect(asSent(statOf("a.md")), 200, hasEnvelope(statShape))),
		must("documents-stat-200", "4.2", "Stat of a document returns 200.",
			put("a.md", "one"), expect(statOf("a.md"), 200)),
		must("documents-stat-missing-404", "4.2", "Stat of a document that does not exist returns 404.",
			expect(statOf("a.md"), 404)),
		must("documents-stat-path", "2", "Stat returns the path as it was written.",
			seed, stat("path", equals("notes/é.md"))),
		must("documents-stat-size", "2", "Stat returns the size in bytes, not in characters.",
			seed, stat("size", equals(5.0))),
		must("documents-stat-size-empty", "2", "The size of an empty document is 0.",
			put("a.md", ""), inspect(statOf("a.md"), 200, jsonField("size", equals(0.0)))),
		must("documents-stat-size-grows", "2", "Append increases the size.",
			put("a.md", "one"), appendTo("a.md", " two"), inspect(statOf("a.md"), 200, jsonField("size", equals(7.0)))),
		must("documents-stat-mtime", "2", "Stat returns mtime as an ISO 8601 timestamp in UTC with milliseconds.",
			seed, stat("mtime", isUTCMillis)),
		must("documents-stat-is-dir", "2", "The is_dir of a document is false.", seed, stat("is_dir", equals(false))),
		must("documents-stat-snake-case", "2", "The keys of the response to stat are in snake_case.",
			seed, inspect(statOf("notes/é.md"), 200, bodyInSnakeCase)),
		should("documents-stat-json", "4.2", "The media type of the response to stat is application/json.",
			seed, inspect(statOf("notes/é.md"), 200, hasMediaType(protocol.TypeJSON))),
		should("documents-stat-folder", "4.3", "Stat of a folder returns is_dir true.",
			seed, inspect(statOf("notes"), 200, jsonField("is_dir", equals(true)))),
		should("documents-stat-mtime-advances", "2", "A write does not set mtime to an earlier time.", mtimeAdvances),
		should("documents-stat-path-missing-400", "4.2", "Stat without a path is rejected with 400 or 404.",
			expect(brainRequest("GET", "/documents/stat"), 0, statusIn(400, 404))),
	}
}

func mtimeAdvances(ctx context.Context, c *client) error {
	var earlier string
	notEarlier := jsonField("mtime", func(got any) error {
		now, _ := got.(string)
		if now < earlier {
			return fmt.Errorf("was %s before a write, is %s after it", earlier, now)
		}
		earlier = now
		return isUTCMillis(got)
	})
	stat := inspect(statOf("a.md"), 200, notEarlier)
	return c.run(ctx, put("a.md", "one"), stat, put("a.md", "two"), stat, put("a.md", "three"), stat)
}

func appendChecks() []check {
	return []check{
		must("documents-append-204", "4.2", "Append returns 204.",
			put("a.md", "one"), expect(appendOf("a.md", "two"), 204)),
		must("documents-append-extends", "4.3", "Append adds to the end of a document.",
			put("a.md", "one"), appendTo("a.md", " two"), appendTo("a.md", " three"),
			expectContent("a.md", "one two three")),
		must("documents-append-creates", "4.2", "Append to a document that does not exist creates it.",
			expect2xx(appendOf("a/b.md", "one")), expectContent("a/b.md", "one")),
		must("documents-append-binary", "4.2", "Append preserves every byte value.",
			put("a.bin", everyByte), expect2xx(appendOf("a.bin", everyByte)), expectContent("a.bin", everyByte+everyByte)),
		must("documents-append-nothing", "4.3", "Append with an empty body does not change the document.",
			put("a.md", "one"), expect2xx(appendOf("a.md", "")), expectContent("a.md", "one")),
		must("documents-append-twice", "7.4", "An append that is sent twice is applied twice.",
			appendTo("a.md", "one"), appendTo("a.md", "one"), expectContent("a.md", "oneone")),
		must("documents-append-path-missing-400", "7.1", "Append without a path is rejected with 400 and writes nothing.",
			expect(brainRequest("POST", "/documents/append").withBytes("x"), 400), expectDocuments()),
		should("documents-append-concurrent", "4.3", "Concurrent appends are all applied, each as a whole.",
			concurrentAppends),
	}
}

func concurrentAppends(ctx context.Context, c *client) error {
	const n = 8
	err := concurrently(n, func(i int) error { return appendTo("a.md", fmt.Sprintf("[line %d]", i))(ctx, c) })
	if err != nil {
		return err
	}
	res, err := c.get(ctx, readOf("a.md"), 0, unobservable)
	if err != nil {
		return err
	}
	left := string(res.body)
	for i := range n {
		left = strings.Replace(left, fmt.Sprintf("[line %d]", i), "", 1)
	}
	if left != "" || len(res.body) != n*len("[line 0]") {
		return brokenf("want %d appended texts, each as a whole, got %s", n, excerpt(res.body))
	}
	return nil
}

func deleteChecks() []check {
	seed := put("a.md", "one")
	return []check{
		must("documents-delete-204", "4.2", "DELETE of a document returns 204.", seed, expect(deleteOf("a.md"), 204)),
		must("documents-delete-removes", "4.2", "After DELETE, the document no longer exists.",
			seed, remove("a.md"), expectAbsent("a.md"), observe(headOf("a.md"), 404)),
		must("documents-delete-missing-404", "4.2", "DELETE of a document that does not exist returns 404.",
			expect(deleteOf("a.md"), 404)),
		must("documents-delete-twice-404", "7.4", "A second DELETE of a document returns 404.",
			seed, remove("a.md"), expect(deleteOf("a.md"), 404)),
		must("documents-delete-keeps-others", "4.2", "DELETE does not remove other documents.",
			seed, put("a.md.bak", "two"), put("b/a.md", "three"), remove("a.md"),
			expectContent("a.md.bak", "two"), expectContent("b/a.md", "three")),
		must("documents-delete-then-put", "4.2", "A deleted document can be written again.",
			seed, remove("a.md"), put("a.md", "two"), expectContent("a.md", "two")),
		must("documents-delete-path-missing", "4.2",
			"DELETE without a path or id deletes no document and returns an error.",
			seed, expect(brainRequest("DELETE", "/documents"), 0, isErrorStatus), expectContent("a.md", "one")),
	}
}

func renameChecks() []check {
	seed := put("a.md", "one")
	return []check{
		must("documents-rename-204", "4.2", "Rename returns 204.", seed, expect(renameOf("a.md", "b.md"), 204)),
		must("documents-rename-moves", "4.3", "Rename moves the content to the new path.",
			put("a.md", everyByte), rename("a.md", "b/c.md"), expectContent("b/c.md", everyByte)),
		must("documents-rename-source-gone", "4.3", "After a rename, the old path no longer exists.",
			seed, rename("a.md", "b.md"), expectAbsent("a.md")),
		must("documents-rename-overwrites", "4.2", "Rename overwrites an existing document at the new path.",
			seed, put("b.md", "a longer text"), expect2xx(renameOf("a.md", "b.md")),
			expectContent("b.md", "one"), expectAbsent("a.md")),
		must("documents-rename-missing-404", "4.2", "Rename of a document that does not exist returns 404.",
			expect(renameOf("a.md", "b.md"), 404)),
		must("documents-rename-missing-keeps", "4.2",
			"A rename that returns 404 does not change the document at the new path.",
			put("b.md", "two"), inspect(renameOf("a.md", "b.md"), 404), expectContent("b.md", "two")),
		must("documents-rename-twice-404", "7.4", "A second rename of a document returns 404.",
			seed, rename("a.md", "b.md"), expect(renameOf("a.md", "b.md"), 404)),
		must("documents-rename-keeps-others", "4.2", "Rename does not change other documents.",
			seed, put("a.md2", "two"), rename("a.md", "c.md"), expectContent("a.md2", "two")),
	}
}

func brainIsolationChecks() []check {
	return []check{
		must("documents-brains-apart", "5", "A document in one brain does not exist in another brain.",
			put("a.md", "one"), inOtherBrain(expectAbsent("a.md"))),
		must("documents-brains-write-apart", "5", "A write to one brain does not change another brain.",
			put("a.md", "one"), inOtherBrain(put("a.md", "two")), expectContent("a.md", "one")),
		should("documents-brain-missing", "4.2",
			"Reading a document in a brain that does not exist returns 404, or 403 with a token.",
			expectNoBrain(readOf("a.md"))),
		should("documents-brain-encoded", "4.2", "A brain id in a URL may be percent-encoded.",
			put("a.md", "one"), lazily(func(c *client) step {
				id := fmt.Sprintf("%%%02X%s", c.brain[0], url.PathEscape(c.brain[1:]))
				return expect(daemonRequest("GET", "/v1/brains/"+id+"/documents/read?path=a.md"), 200, bodyIs("one"))
			})),
	}
}
