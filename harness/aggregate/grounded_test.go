package aggregate

import (
	"encoding/json"
	"strings"
	"testing"

	"evalctl/harness/result"
)

// TestGrounding checks what a citation rests on, by its quote and the text of the chunk.
func TestGrounding(t *testing.T) {
	long := "The kettle is green. " + strings.Repeat("x ", 300)
	chunks := []result.Chunk{
		{ChunkID: "c1", Text: "The kettle\n is  green.\nIt stands by the cafe\u0301 window."}, {},
		{ChunkID: "empty"}, {ChunkID: "long", Text: long}, {ChunkID: "cut", Text: "The kettle…"},
	}
	for cite, want := range map[string]grounding{
		`{"chunk_id":"c1"}`: groundedByID, `{"chunkId":"c1"}`: groundedByID,
		`{"chunk_id":"c2"}`: ungrounded, `{"chunk_id":""}`: ungrounded,
		`{}`: ungrounded, `{"chunk_id":7}`: ungrounded, `7`: ungrounded,
		`{"chunk_id":"c1","quote":"kettle is green."}`:                groundedByQuote,
		`{"chunk_id":"c1","quote":"  kettle\tis\ngreen "}`:            groundedByQuote,
		`{"chunk_id":"c1","quote":"by the caf\u00e9"}`:                groundedByQuote,
		`{"chunk_id":"c1","quote":"… kettle ... window."}`:            groundedByQuote,
		`{"chunk_id":"c1","quote":"window … kettle"}`:                 ungrounded,
		`{"chunk_id":"c1","quote":"The kettle is red."}`:              ungrounded,
		`{"chunk_id":"c1","quote":"the kettle"}`:                      ungrounded,
		`{"chunk_id":"c1","quote":" … "}`:                             groundedByID,
		`{"chunk_id":"c1","quote":7}`:                                 groundedByID,
		`{"chunk_id":"empty","quote":"The kettle"}`:                   groundedByID,
		`{"chunk_id":"long","quote":"not in the part that was sent"}`: groundedByID,
		`{"chunk_id":"long","quote":"kettle is green"}`:               groundedByQuote,
		`{"chunk_id":"cut","quote":"The kettle is green"}`:            groundedByID,
		`{"chunk_id":"other","quote":"The kettle"}`:                   ungrounded,
	} {
		r := result.Record{Reply: result.Reply{Retrieved: chunks, Citations: []json.RawMessage{json.RawMessage(cite)}}}
		if got := groundingOf(&r); got != want {
			t.Errorf("%s: got %v, want %v", cite, got, want)
		}
	}
}
