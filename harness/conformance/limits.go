package conformance

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

// big is a text of n bytes that a cut or a repetition would change.
func big(n int) string {
	const line = "0123456789abcdef\n"
	return strings.Repeat(line, n/len(line)+1)[:n]
}

// wholeOr413 sends a request that writes a.md, after which it has the text, or
// what it had before if the daemon refused with 413: never a part.
func wholeOr413(r func() request, before, after func() string) step {
	return func(ctx context.Context, t *trial) error {
		if err := put("a.md", before())(ctx, t); err != nil {
			return err
		}
		res, err := t.do(ctx, r())
		if err != nil {
			return err
		}
		if res.status == 413 {
			return reads("a.md", before())(ctx, t)
		}
		if err := status2xx(res); err != nil {
			return fmt.Errorf("%s: %w", res.line, err)
		}
		return reads("a.md", after())(ctx, t)
	}
}

// later makes a step when it is taken: the texts of this group are large, and
// a catalogue should not be.
func later(make func() step) step {
	return func(ctx context.Context, t *trial) error { return make()(ctx, t) }
}

func limitChecks() []check {
	return slices.Concat(bodyLimits(), batchLimits(), listingLimits(), queryLimits())
}

func bodyLimits() []check {
	const most = protocol.MaxWriteBytes
	old := func() string { return "old" }
	sized := func(n int) func() string { return func() string { return big(n) } }
	putBig := func(n int) func() request { return func() request { return putOf("a.md", big(n)) } }
	appendBig := func(n int) func() request { return func() request { return appendOf("a.md", big(n)) } }
	extended := func(n int) func() string { return func() string { return "old" + big(n) } }
	return []check{
		should("limits-put-2mib-204", "8", "A body of 2,097,152 bytes can be PUT.", later(func() step { return answers(putOf("a.md", big(most)), 204) })),
		must("limits-put-2mib-whole", "8", "A PUT of 2,097,152 bytes is stored whole, or refused with 413.", wholeOr413(putBig(most), old, sized(most))),
		should("limits-put-over-413", "8", "A PUT of 2,097,153 bytes is 413.", later(func() step { return answers(putOf("a.md", big(most+1)), 413) })),
		must("limits-put-over-whole", "8", "A PUT of 2,097,153 bytes is stored whole, or refused with 413: never cut.", wholeOr413(putBig(most+1), old, sized(most+1))),
		should("limits-append-2mib-204", "8", "A body of 2,097,152 bytes can be appended.",
			later(func() step { return answers(appendOf("a.md", big(most)), 204) })),
		must("limits-append-2mib-whole", "8", "An append of 2,097,152 bytes is stored whole, or refused with 413.", wholeOr413(appendBig(most), old, extended(most))),
		should("limits-append-over-413", "8", "An append of 2,097,153 bytes is 413.", later(func() step { return answers(appendOf("a.md", big(most+1)), 413) })),
		must("limits-append-over-whole", "8", "An append of 2,097,153 bytes is stored whole, or refused with 413: never cut.",
			wholeOr413(appendBig(most+1), old, extended(most+1))),
		should("limits-append-document-grows", "8", "The limit is one of bodies: a document may grow beyond it.", later(func() step {
			return func(ctx context.Context, t *trial) error {
				return t.take(ctx, []step{put("a.md", big(most)), answers(appendOf("a.md", "more"), 204), reads("a.md", big(most)+"more")})
			}
		})),
		should("limits-put-declared-413", "8", "A length far above any limit is 413 before the body has come.", declared),
		should("limits-put-chunked-413", "8", "A body above the limit is 413 when its length was not said.", later(func() step {
			r := putOf("a.md", big(most+1))
			r.chunks = true
			return answers(r, 413)
		})),
		must("limits-413-problem", "7.1", "A 413 has a Problem body.", tooLarge(problem)),
		should("limits-413-code", "7.1", "The code of a 413 is payload_too_large.", tooLarge(key("code", is(protocol.CodePayloadTooLarge)))),
		should("limits-gzip", "8", "A gzip body is stored unpacked, or is 415.", gzipSmall),
		must("limits-gzip-counted-unpacked", "8", "Bytes are counted after decompression: 16 KiB that unpack to 16 MiB are refused.", gzipBomb),
	}
}

// tooLarge judges the refusal of a body that most daemons refuse.
func tooLarge(w want) step {
	return func(ctx context.Context, t *trial) error {
		res, err := t.do(ctx, putOf("a.md", big(protocol.MaxWriteBytes+1)))
		if err != nil {
			return err
		}
		if res.status != 413 {
			return notJudged{"a body of 2,097,153 bytes is not 413"}
		}
		return res.judge(413, []want{w})
	}
}

// declared sends a head that announces a terabyte, and no body.
func declared(ctx context.Context, t *trial) error {
	ctx, cancel := context.WithTimeoutCause(ctx, 10*time.Second, errCheckTimeout)
	defer cancel()
	res, _, err := t.raw(ctx, putOf("a.md", "x"), 1<<40)
	if err != nil {
		return err
	}
	return res.judge(413, nil)
}

func zipped(text string) string {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, _ = z.Write([]byte(text)) // into memory: cannot fail
	_ = z.Close()
	return b.String()
}

func gzipSmall(ctx context.Context, t *trial) error {
	res, err := t.do(ctx, putOf("a.md", zipped("one two three")).with("Content-Encoding", "gzip"))
	if err != nil || res.status == 415 {
		return err
	}
	if err := res.judge(204, nil); err != nil {
		return err
	}
	return reads("a.md", "one two three")(ctx, t)
}

func gzipBomb(ctx context.Context, t *trial) error {
	bomb := zipped(strings.Repeat("0", 16<<20))
	return t.take(ctx, []step{
		put("a.md", "old"),
		answers(putOf("a.md", bomb).with("Content-Encoding", "gzip"), 0, oneOf(413, 415)),
		reads("a.md", "old"),
	})
}

func batchLimits() []check {
	const each = protocol.MaxBatchBytes / 8
	bytesOf := func(last int) request {
		var ops []object
		for i := range 7 {
			ops = append(ops, writeOp(fmt.Sprintf("%d.md", i), big(each)))
		}
		return batchOf(append(ops, writeOp("a.md", big(last)))...)
	}
	opsOf := func(n int) request {
		var ops []object
		for range n {
			ops = append(ops, appendOp("a.md", "x"))
		}
		return batchOf(ops...)
	}
	const most = protocol.MaxBatchOps
	return []check{
		should("limits-batch-8mib-200", "8", "A batch may have 8,388,608 bytes of content.", later(func() step { return answers(bytesOf(each), 200) })),
		should("limits-batch-8mib-over-413", "8", "A batch with 8,388,609 bytes of content is 413.", later(func() step { return answers(bytesOf(each+1), 413) })),
		must("limits-batch-8mib-over-whole", "8", "A batch with 8,388,609 bytes of content is applied whole, or refused with 413 and nothing is changed.",
			wholeOr413(func() request { return bytesOf(each + 1) }, func() string { return "old" }, func() string { return big(each + 1) })),
		should("limits-batch-1024-ops-200", "8", "A batch may have 1,024 ops.", later(func() step { return answers(opsOf(most), 200, key("committed", is(float64(most)))) })),
		should("limits-batch-1025-ops-413", "8", "A batch of 1,025 ops is 413.", later(func() step { return answers(opsOf(most+1), 413) })),
		must("limits-batch-1025-ops-whole", "8", "A batch of 1,025 ops is applied whole, or refused with 413 and nothing is changed.",
			wholeOr413(func() request { return opsOf(most + 1) }, func() string { return "old" }, func() string { return "old" + strings.Repeat("x", most+1) })),
	}
}

func listingLimits() []check {
	const most = protocol.MaxListItems
	return []check{
		should("limits-listing-10000-200", "8", "A listing may have 10,000 items.", func(ctx context.Context, t *trial) error {
			if _, err := fill(ctx, t, most); err != nil {
				return err
			}
			return answers(listOf(recursive...), 200)(ctx, t)
		}),
		should("limits-listing-over-whole", "8", "A listing of 10,001 items is whole, or 413: never cut.", longListing(most+1, true)),
	}
}

func queryLimits() []check {
	text := func(n int) string { return "kettle " + strings.Repeat("x", n-len("kettle ")) }
	search := func(k string, v any) request {
		return at("POST", "/search").json(object{"query": "kettle", k: v})
	}
	ask := func(k string, v any) request {
		return at("POST", "/ask").json(object{"question": "kettle", k: v})
	}
	const q, k, aq, ak = protocol.MaxSearchQuery, protocol.MaxSearchTopK, protocol.MaxAskQuery, protocol.MaxAskTopK
	return []check{
		should("limits-search-query-200", "8", "A search may have 4,096 characters.", answers(search("query", text(q)), 200)),
		should("limits-search-query-characters", "8", "The characters of a search are counted, not its bytes.", answers(search("query", strings.Repeat("é", q)), 200)),
		should("limits-search-query-400", "8", "A search of 4,097 characters is 400.", answers(search("query", text(q+1)), 400)),
		should("limits-search-query-empty-400", "8", "A search for nothing is 400.", answers(search("query", ""), 400)),
		should("limits-search-top-k-200", "8", "A search may ask for 100 chunks.", answers(search("top_k", k), 200)),
		should("limits-search-top-k-400", "8", "A search for 101 chunks is 400.", answers(search("top_k", k+1), 400)),
		should("limits-search-top-k-negative-400", "8", "A search for fewer than one chunk is 400.", answers(search("top_k", -1), 400)),
		should("limits-search-top-k-zero-400", "8", "A search for no chunks is 400.", answers(search("top_k", 0), 400)),
		should("limits-ask-query-200", "8", "A question may have 8,192 characters.", answers(ask("question", text(aq)), 200)),
		should("limits-ask-query-400", "8", "A question of 8,193 characters is 400.", answers(ask("question", text(aq+1)), 400)),
		should("limits-ask-query-empty-400", "8", "An empty question is 400.", answers(ask("question", ""), 400)),
		should("limits-ask-top-k-200", "8", "A question may ask for 50 chunks.", answers(ask("top_k", ak), 200)),
		should("limits-ask-top-k-400", "8", "A question that asks for 51 chunks is 400.", answers(ask("top_k", ak+1), 400)),
		should("limits-ask-top-k-zero-400", "8", "A question that asks for no chunks is 400.", answers(ask("top_k", 0), 400)),
	}
}
