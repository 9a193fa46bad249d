package conformance

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"evalctl/daemon/protocol"
)

// everyByte holds each byte value, so that nothing on the way can take it for
// text.
var everyByte = func() string {
	b := make([]byte, 256)
	for i := range b {
		b[i] = byte(i)
	}
	return string(b)
}()

func documentChecks() []check {
	return slices.Concat(putChecks(), readChecks(), statChecks(), appendChecks(), deleteChecks(), renameChecks(), brainScopeChecks())
}

func putChecks() []check {
	chunked := putOf("a.md", "one two three")
	chunked.chunks = true
	return []check{
		must("documents-put-204", "4.2", "PUT of a new document answers 204.", answers(putOf("a.md", "one"), 204)),
		must("documents-put-existing-204", "4.2", "PUT of a document that exists answers 204.",
			put("a.md", "one"), answers(putOf("a.md", "two"), 204)),
		must("documents-put-reads-back", "4.2", "A document reads back as it was written.", put("a.md", "one"), reads("a.md", "one")),
		must("documents-put-binary", "4.2", "Every byte value survives a PUT.", put("a.bin", everyByte), reads("a.bin", everyByte)),
		must("documents-put-crlf", "4.2", "Line ends are kept as they were.", put("a.md", "one\r\ntwo\rthree\n"), reads("a.md", "one\r\ntwo\rthree\n")),
		must("documents-put-byte-order-mark", "4.2", "A byte order mark is kept.", put("a.md", "\ufeffone"), reads("a.md", "\ufeffone")),
		must("documents-put-empty", "4.2", "An empty body makes an empty document.", answers(putOf("a.md", ""), 204), reads("a.md", "")),
		must("documents-put-replaces", "4.3", "PUT replaces the whole content.", put("a.md", "a long first text"), put("a.md", "short"), reads("a.md", "short")),
		must("documents-put-parents", "4.3", "Parent folders are made implicitly.",
			answers(putOf("a/b/c/d.md", "deep"), 204), reads("a/b/c/d.md", "deep")),
		must("documents-put-keeps-others", "4.2", "PUT changes no other document.",
			put("a.md", "one"), put("a/b.md", "two"), put("b.md", "three"), reads("a.md", "one"), reads("a/b.md", "two")),
		must("documents-put-repeated", "7.4", "A PUT can be repeated.", put("a.md", "one"), answers(putOf("a.md", "one"), 204), reads("a.md", "one")),
		must("documents-put-concurrent", "7.4", "Of concurrent PUTs one wins, whole.", concurrentPuts),
		must("documents-put-path-missing-400", "7.1", "PUT without a path is 400.", answers(at("PUT", "/documents").bytes("x"), 400), listsAll()),
		should("documents-put-chunked", "4.2", "A body may come in chunks, without a length.", answers(chunked, 204), reads("a.md", "one two three")),
		should("documents-put-204-empty", "4.2", "No bytes follow the head of a 204.", answersBare(putOf("a.md", "one"), 204)),
	}
}

// concurrentPuts writes one document many times at once.
func concurrentPuts(ctx context.Context, t *trial) error {
	texts := make([]string, 8)
	for i := range texts {
		texts[i] = strings.Repeat(string(rune('a'+i)), 1000*(i+1))
	}
	if err := together(len(texts), func(i int) error { return put("a.md", texts[i])(ctx, t) }); err != nil {
		return err
	}
	res, err := t.do(ctx, readOf("a.md"))
	if err != nil {
		return err
	}
	if !slices.Contains(texts, string(res.body)) {
		return fmt.Errorf("want one of the texts that were written, got %s", clip(res.body))
	}
	return nil
}

// together calls f(0) to f(n-1) at the same time.
func together(n int, f func(int) error) error {
	errs := make([]error, n)
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() { errs[i] = f(i) })
	}
	wg.Wait()
	return errors.Join(errs...)
}

func readChecks() []check {
	return []check{
		must("documents-read-200", "4.2", "Reading a document answers 200.", put("a.md", "one"), answers(readOf("a.md"), 200, body("one"))),
		must("documents-read-content-type", "4.2", "A document is read as application/octet-stream.",
			put("a.md", "one"), answers(readOf("a.md"), 0, mediaType(protocol.TypeBytes))),
		must("documents-read-never-sniffed", "4.2", "Markup is read as application/octet-stream too.",
			put("a.html", "<!doctype html><script>1</script>"), answers(readOf("a.html"), 0, mediaType(protocol.TypeBytes))),
		must("documents-read-missing-404", "4.2", "Reading a document that does not exist is 404.", answers(readOf("a.md"), 404)),
		must("documents-read-fresh", "7.4", "A read sees the write that was answered before it.",
			put("a.md", "one"), reads("a.md", "one"), put("a.md", "two"), reads("a.md", "two"), appendTo("a.md", "3"), reads("a.md", "two3")),
		must("documents-read-folder-404", "4.2", "A folder cannot be read as a document.", put("a/b.md", "one"), answers(readOf("a"), 0, refused)),
		must("documents-read-path-missing-400", "4.2", "Reading without a path is 400.", answers(at("GET", "/documents/read"), 400)),
		must("documents-head-200", "4.2", "HEAD of a document answers 200.", put("a.md", "one"), answers(headOf("a.md"), 200)),
		must("documents-head-missing-404", "4.2", "HEAD of a document that does not exist is 404.", answers(headOf("a.md"), 404)),
		must("documents-head-empty", "4.2", "No bytes follow the head of the answer to HEAD.", put("a.md", "one"), answersBare(headOf("a.md"), 200)),
		must("documents-head-missing-empty", "4.2", "No bytes follow the head of the 404 to HEAD.", answersBare(headOf("a.md"), 404)),
	}
}

func statChecks() []check {
	stat := func(name string, v value) step { return answers(statOf("notes/é.md"), 200, key(name, v)) }
	seed := put("notes/é.md", "fünf")
	return []check{
		must("documents-stat-200", "4.2", "Stat of a document answers 200.", put("a.md", "one"), answers(statOf("a.md"), 200)),
		must("documents-stat-missing-404", "4.2", "Stat of a document that does not exist is 404.", answers(statOf("a.md"), 404)),
		must("documents-stat-path", "2", "Stat gives the path as it was written.", seed, stat("path", is("notes/é.md"))),
		must("documents-stat-size", "2", "Stat gives the size in bytes, not characters.", seed, stat("size", is(5.0))),
		must("documents-stat-size-empty", "2", "An empty document has size 0.", put("a.md", ""), answers(statOf("a.md"), 200, key("size", is(0.0)))),
		must("documents-stat-size-grows", "2", "Append makes the size grow.",
			put("a.md", "one"), appendTo("a.md", " two"), answers(statOf("a.md"), 200, key("size", is(7.0)))),
		must("documents-stat-mtime", "2", "Stat gives mtime in ISO 8601, in UTC, with milliseconds.", seed, stat("mtime", isUTCMillis)),
		must("documents-stat-is-dir", "2", "A document has is_dir false.", seed, stat("is_dir", is(false))),
		must("documents-stat-snake-case", "2", "Stat's keys are in snake_case.", seed, answers(statOf("notes/é.md"), 200, inSnakeCase)),
		should("documents-stat-json", "4.2", "Stat answers application/json.", seed, answers(statOf("notes/é.md"), 200, mediaType(protocol.TypeJSON))),
		should("documents-stat-folder", "4.3", "Stat of a folder has is_dir true.", seed, answers(statOf("notes"), 200, key("is_dir", is(true)))),
		should("documents-stat-mtime-advances", "2", "A write does not turn mtime back.", mtimeAdvances),
		should("documents-stat-path-missing-400", "4.2", "Stat without a path is 400.", answers(at("GET", "/documents/stat"), 400)),
	}
}

func mtimeAdvances(ctx context.Context, t *trial) error {
	var earlier string
	for _, text := range []string{"one", "two", "three"} {
		if err := put("a.md", text)(ctx, t); err != nil {
			return err
		}
		err := answers(statOf("a.md"), 200, key("mtime", func(got any) error {
			now, _ := got.(string)
			if now < earlier {
				return fmt.Errorf("was %s before, is %s after a write", earlier, now)
			}
			earlier = now
			return isUTCMillis(got)
		}))(ctx, t)
		if err != nil {
			return err
		}
	}
	return nil
}

func appendChecks() []check {
	return []check{
		must("documents-append-204", "4.2", "Append answers 204.", put("a.md", "one"), answers(appendOf("a.md", "two"), 204)),
		must("documents-append-extends", "4.3", "Append adds to the end.",
			put("a.md", "one"), appendTo("a.md", " two"), appendTo("a.md", " three"), reads("a.md", "one two three")),
		must("documents-append-creates", "4.2", "Append makes a document that does not exist.",
			answers(appendOf("a/b.md", "one"), 204), reads("a/b.md", "one")),
		must("documents-append-binary", "4.2", "Every byte value survives an append.",
			put("a.bin", everyByte), appendTo("a.bin", everyByte), reads("a.bin", everyByte+everyByte)),
		must("documents-append-nothing", "4.3", "Append of nothing changes nothing.",
			put("a.md", "one"), answers(appendOf("a.md", ""), 204), reads("a.md", "one")),
		must("documents-append-twice", "7.4", "The same append, sent twice, is applied twice.",
			appendTo("a.md", "one"), appendTo("a.md", "one"), reads("a.md", "oneone")),
		must("documents-append-path-missing-400", "7.1", "Append without a path is 400.", answers(at("POST", "/documents/append").bytes("x"), 400), listsAll()),
		should("documents-append-concurrent", "4.3", "Concurrent appends are all kept, each whole.", concurrentAppends),
	}
}

func concurrentAppends(ctx context.Context, t *trial) error {
	const n = 8
	err := together(n, func(i int) error { return appendTo("a.md", fmt.Sprintf("[line %d]", i))(ctx, t) })
	if err != nil {
		return err
	}
	res, err := t.do(ctx, readOf("a.md"))
	if err != nil {
		return err
	}
	left := string(res.body)
	for i := range n {
		left = strings.Replace(left, fmt.Sprintf("[line %d]", i), "", 1)
	}
	if left != "" || len(res.body) != n*len("[line 0]") {
		return fmt.Errorf("want %d appended pieces, each whole, got %s", n, clip(res.body))
	}
	return nil
}

func deleteChecks() []check {
	return []check{
		must("documents-delete-204", "4.2", "DELETE answers 204.", put("a.md", "one"), answers(deleteOf("a.md"), 204)),
		must("documents-delete-removes", "4.2", "A deleted document is gone.", put("a.md", "one"), remove("a.md"), absent("a.md"), answers(headOf("a.md"), 404)),
		must("documents-delete-missing-404", "4.2", "DELETE of a document that does not exist is 404.", answers(deleteOf("a.md"), 404)),
		must("documents-delete-twice-404", "7.4", "A second DELETE is 404.", put("a.md", "one"), remove("a.md"), answers(deleteOf("a.md"), 404)),
		must("documents-delete-keeps-others", "4.2", "DELETE removes no other document.",
			put("a.md", "one"), put("a.md.bak", "two"), put("b/a.md", "three"), remove("a.md"), reads("a.md.bak", "two"), reads("b/a.md", "three")),
		must("documents-delete-then-put", "4.2", "A deleted document can be written again.",
			put("a.md", "one"), remove("a.md"), put("a.md", "two"), reads("a.md", "two")),
		must("documents-delete-path-missing", "4.2", "DELETE without a path deletes no document by path.",
			put("a.md", "one"), answers(at("DELETE", "/documents"), 0, refused), reads("a.md", "one")),
	}
}

func renameChecks() []check {
	return []check{
		must("documents-rename-204", "4.2", "Rename answers 204.", put("a.md", "one"), answers(renameOf("a.md", "b.md"), 204)),
		must("documents-rename-moves", "4.3", "Rename moves the content.", put("a.md", everyByte), rename("a.md", "b/c.md"), reads("b/c.md", everyByte)),
		must("documents-rename-source-gone", "4.3", "After a rename the old path is gone.", put("a.md", "one"), rename("a.md", "b.md"), absent("a.md")),
		must("documents-rename-overwrites", "4.2", "Rename overwrites the destination.",
			put("a.md", "one"), put("b.md", "a longer text"), answers(renameOf("a.md", "b.md"), 204), reads("b.md", "one"), absent("a.md")),
		must("documents-rename-missing-404", "4.2", "Rename of a document that does not exist is 404.", answers(renameOf("a.md", "b.md"), 404)),
		must("documents-rename-missing-keeps", "4.2", "A rename that is 404 leaves the destination as it was.",
			put("b.md", "two"), answers(renameOf("a.md", "b.md"), 404), reads("b.md", "two")),
		must("documents-rename-twice-404", "7.4", "A second rename is 404.", put("a.md", "one"), rename("a.md", "b.md"), answers(renameOf("a.md", "b.md"), 404)),
		must("documents-rename-keeps-others", "4.2", "Rename changes no other document.",
			put("a.md", "one"), put("a.md2", "two"), rename("a.md", "c.md"), reads("a.md2", "two")),
	}
}

func brainScopeChecks() []check {
	return []check{
		must("documents-brains-apart", "5", "A document of one brain does not exist in another.", put("a.md", "one"), elsewhere(absent("a.md"))),
		must("documents-brains-write-apart", "5", "A write in one brain changes no other brain.",
			put("a.md", "one"), elsewhere(put("a.md", "two")), reads("a.md", "one")),
		should("documents-brain-missing", "4.2", "Reading in a brain that does not exist is 404, or 403 with a token.",
			lacksBrain("GET", "/documents/read?path=a.md", asItIs)),
		should("documents-brain-encoded", "4.2", "A brain id may come percent-encoded.", encodedBrain),
	}
}

func encodedBrain(ctx context.Context, t *trial) error {
	if err := put("a.md", "one")(ctx, t); err != nil {
		return err
	}
	id := fmt.Sprintf("%%%02X%s", t.brain[0], t.brain[1:])
	return answers(root("GET", "/v1/brains/"+id+"/documents/read?path=a.md"), 200, body("one"))(ctx, t)
}
