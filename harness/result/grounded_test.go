package result_test

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
	for cite, want := range map[string]result.Grounding{
		`{"chunk_id":"c1"}`: result.GroundedByID, `{"chunkId":"c1"}`: result.GroundedByID,
		`{"chunk_id":"c2"}`: result.Ungrounded, `{"chunk_id":""}`: result.Ungrounded,
		`{}`: result.Ungrounded, `{"chunk_id":7}`: result.Ungrounded, `7`: result.Ungrounded,
		`{"chunk_id":"c1","quote":"kettle is green."}`:                result.GroundedByQuote,
		`{"chunk_id":"c1","quote":"  kettle\tis\ngreen "}`:            result.GroundedByQuote,
		`{"chunk_id":"c1","quote":"by the caf\u00e9"}`:                result.GroundedByQuote,
		`{"chunk_id":"c1","quote":"… kettle ... window."}`:            result.GroundedByQuote,
		`{"chunk_id":"c1","quote":"window … kettle"}`:                 result.Ungrounded,
		`{"chunk_id":"c1","quote":"The kettle is red."}`:              result.Ungrounded,
		`{"chunk_id":"c1","quote":"the kettle"}`:                      result.Ungrounded,
		`{"chunk_id":"c1","quote":" … "}`:                             result.GroundedByID,
		`{"chunk_id":"c1","quote":7}`:                                 result.GroundedByID,
		`{"chunk_id":"empty","quote":"The kettle"}`:                   result.GroundedByID,
		`{"chunk_id":"long","quote":"not in the part that was sent"}`: result.GroundedByID,
		`{"chunk_id":"long","quote":"kettle is green"}`:               result.GroundedByQuote,
		`{"chunk_id":"cut","quote":"The kettle is green"}`:            result.GroundedByID,
		`{"chunk_id":"other","quote":"The kettle"}`:                   result.Ungrounded,
	} {
		r := result.Record{Reply: result.Reply{Retrieved: chunks, Citations: []json.RawMessage{json.RawMessage(cite)}}}
		if got := r.Grounding(); got != want {
			t.Errorf("%s: got %v, want %v", cite, got, want)
		}
	}
}
