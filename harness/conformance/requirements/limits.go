package requirements

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"evalctl/daemon/protocol"
)

// textOfSize returns a text of n bytes in which a missing or repeated part is visible.
func textOfSize(n int) string {
	const line = "0123456789abcdef\n"
	return strings.Repeat(line, n/len(line)+1)[:n]
}

// wholeOr413 is wholeOr for a rejection with 413.
func wholeOr413(r request, after string) step { return wholeOr(r, after, 413) }

// wholeOr writes old to a.md, and sends a request that changes it. If the daemon accepts the
// request, a.md must have the new text; if it rejects it with one of the statuses, the old one.
func wholeOr(r request, after string, rejections ...int) step {
	want := after
	change := expect(r, 0, func(res *response) error {
		if slices.Contains(rejections, res.status) {
			want = "old"
			return nil
		}
		return isSuccess(res)
	})
	return inTurn(written("a.md", "old"), change, lazily(func(*client) step { return expectContent("a.md", want) }))
}

func writeLimitChecks() []check {
	const most = protocol.MaxWriteBytes
	var checks []check
	for _, o := range []struct {
		id, name, before string
		of               func(path, text string) request
	}{{"put", "PUT", "", putOf}, {"append", "Append", "old", appendOf}} {
		sized := func(n int, make func(r request, text string) step) step {
			return lazily(func(*client) step { text := textOfSize(n); return make(o.of("a.md", text), o.before+text) })
		}
		checks = append(checks,
			should("limits-"+o.id+"-2mib-204", "8", o.name+" accepts a body of 2,097,152 bytes.",
				sized(most, func(r request, _ string) step { return expect2xx(r) })),
			must("limits-"+o.id+"-2mib-whole", "8",
				o.name+" stores a body of 2,097,152 bytes completely or rejects it with 413.", sized(most, wholeOr413)),
			must("limits-"+o.id+"-over-whole", "8",
				o.name+" stores a body of 2,097,153 bytes completely or rejects it with 413.", sized(most+1, wholeOr413)))
	}
	return append(checks,
		should("limits-append-document-grows", "8", "A document may grow beyond the limit of a body.",
			lazily(func(*client) step {
				return inTurn(written("a.md", textOfSize(most)), expect2xx(appendOf("a.md", "more")),
					expectContent("a.md", textOfSize(most)+"more"))
			})),
		should("limits-put-declared-413", "8",
			"A Content-Length far above the limit is rejected with 413 before the body is sent.",
			oversizedContentLength),
		must("limits-413-problem", "7.1", "The body of a 413 response is a Problem.", expect413(isProblem)),
		should("limits-413-code", "7.1", "The code in the Problem of a 413 response is payload_too_large.",
			expect413(jsonField("code", equals(protocol.CodePayloadTooLarge)))),
	)
}

// expect413 checks the response to a body that most daemons reject.
func expect413(assert assertion) step {
	return lazily(func(*client) step {
		return expect(putOf("a.md", textOfSize(protocol.MaxWriteBytes+1)), 0, func(r *response) error {
			if r.status != 413 {
				return optional("the daemon does not reject a body of 2,097,153 bytes with 413")
			}
			return assert(r)
		})
	})
}

// oversizedContentLength announces a body of a terabyte and does not send it.
func oversizedContentLength(ctx context.Context, c *client) error {
	ctx, cancel := context.WithTimeoutCause(ctx, c.target.patience(c.target.within(10*time.Second)), errCheckTimeout)
	defer cancel()
	res, _, err := c.sendRaw(ctx, putOf("a.md", "x"), 1<<40)
	if err != nil {
		return err
	}
	return res.verify(413)
}

func compressionChecks() []check {
	return []check{
		should("limits-gzip", "8", "PUT stores a gzip body decompressed or rejects it.", gzipStored),
		must("limits-gzip-counted-unpacked", "8",
			"PUT stores 16 KiB that decompress to 16 MiB completely or rejects them.",
			lazily(func(*client) step {
				text := strings.Repeat("0", 16<<20)
				return wholeOr(putOf("a.md", gzipped(text)).withHeader("Content-Encoding", "gzip"), text, 413, 415, 400)
			})),
	}
}

func gzipped(text string) string {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, _ = z.Write([]byte(text)) // to memory, cannot fail
	_ = z.Close()
	return b.String()
}

// gzipStored writes a document with a gzip body. A daemon may also return it as it was sent, if it
// says so.
func gzipStored(ctx context.Context, c *client) error {
	const text = "one two three"
	if err := written("b.md", text)(ctx, c); err != nil {
		return err
	}
	res, err := c.do(ctx, putOf("a.md", gzipped(text)).withHeader("Content-Encoding", "gzip"))
	if err != nil || res.status/100 == 4 {
		return err
	}
	if err := res.verify(0, isSuccess); err != nil {
		return err
	}
	return observe(readOf("a.md"), 0, isSuccess, func(r *response) error {
		if r.header.Get("Content-Encoding") == "gzip" && string(r.body) == gzipped(text) {
			return nil
		}
		return bodyIs(text)(r)
	})(ctx, c)
}

// eachOp is an eighth of the bytes that a batch may have.
const eachOp = protocol.MaxBatchBytes / 8

// largeOps is a batch of eight ops. The last one writes a.md with n bytes, the others have eachOp.
func largeOps(n int) request {
	var ops []object
	for i := range 7 {
		ops = append(ops, writeOp(fmt.Sprintf("%d.md", i), textOfSize(eachOp)))
	}
	return batchOf(append(ops, writeOp("a.md", textOfSize(n)))...)
}

// manyOps is a batch of n ops that append a byte to a.md.
func manyOps(n int) request {
	return batchOf(slices.Repeat([]object{appendOp("a.md", "x")}, n)...)
}

func batchLimitChecks() []check {
	const most = protocol.MaxBatchOps
	return []check{
		should("limits-batch-8mib-200", "8", "A batch may have 8,388,608 bytes of content.",
			lazily(func(*client) step { return expect2xx(largeOps(eachOp)) })),
		must("limits-batch-8mib-over-whole", "8",
			"A batch with 8,388,609 bytes of content is applied completely, or rejected with 413 and changes nothing.",
			lazily(func(*client) step { return wholeOr413(largeOps(eachOp+1), textOfSize(eachOp+1)) })),
		should("limits-batch-1024-ops-200", "8", "A batch may have 1,024 ops.",
			lazily(func(*client) step { return expect2xx(manyOps(most)) })),
		must("limits-batch-1025-ops-whole", "8",
			"A batch of 1,025 ops is applied completely, or rejected with 413 and changes nothing.",
			lazily(func(*client) step { return wholeOr413(manyOps(most+1), "old"+strings.Repeat("x", most+1)) })),
	}
}

func listingLimitChecks() []check {
	const most = protocol.MaxListItems
	return []check{
		should("limits-listing-10000-200", "8", "A listing may have 10,000 items.",
			putMany(most), expect(listOf(recursive...), 200)),
	}
}

// kettleText returns a text of n characters that contains the word kettle.
func kettleText(n int) string { return "kettle " + strings.Repeat("x", n-len("kettle ")) }

func searchLimitChecks() []check {
	const chars, chunks = protocol.MaxSearchQuery, protocol.MaxSearchTopK
	query := func(text string) request { return searchOf(object{"query": text}) }
	topK := func(k int) request { return searchOf(object{"query": "kettle", "top_k": k}) }
	return []check{
		should("limits-search-query-200", "8", "The query of a search may have 4,096 characters.",
			expect(query(kettleText(chars)), 200)),
		should("limits-search-query-characters", "8", "The limit of a query is in characters, not in bytes.",
			expect(query(strings.Repeat("é", chars)), 200)),
		should("limits-search-top-k-200", "8", "The top_k of a search may be 100.", expect(topK(chunks), 200)),
	}
}

func askLimitChecks() []check {
	const chars, chunks = protocol.MaxAskQuery, protocol.MaxAskTopK
	return []check{
		should("limits-ask-query-200", "8", "A question may have 8,192 characters.",
			expect(askOf(kettleText(chars), nil), 200)),
		should("limits-ask-top-k-200", "8", "The top_k of an ask may be 50.",
			expect(askOf("kettle", object{"top_k": chunks}), 200)),
	}
}
