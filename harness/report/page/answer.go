package page

import (
	"fmt"
	"slices"
	"strings"

	"evalctl/harness/result"
	"evalctl/internal/jsonobj"
)

// segment is a part of an answer. Cites has the numbers of its citations, empty for none.
type segment struct{ Text, Cites string }

// citation is the source that the daemon names for a part of the answer.
type citation struct {
	N          int
	Place      string
	Quote      text
	start, end int
}

// addAnswer adds the answer, split at the spans of its citations.
func (d *detail) addAnswer(q *result.Record, l limits) {
	for i, raw := range q.Citations {
		if i == maxCitations {
			d.CitationsMore = len(q.Citations) - i
			break
		}
		d.Citations = append(d.Citations, citationOf(i+1, raw, q, l))
	}
	shown, more := prefix(q.Answer, l.answer)
	d.Answer, d.AnswerMore = segments([]rune(shown), d.Citations), more
}

// citationOf reads a citation. Spans are half-open ranges of code points. A citation with an
// invalid span gets none.
func citationOf(n int, raw []byte, q *result.Record, l limits) citation {
	c := citation{N: n}
	o, err := jsonobj.Parse(raw)
	if err != nil {
		c.Place = "not readable: " + line(string(raw), l.quote)
		return c
	}
	id := o.Text("chunk_id", "chunkId")
	c.Place = id
	for i, k := range q.Retrieved {
		if id != "" && k.ChunkID == id {
			c.Place = fmt.Sprintf("passage %d", i+1)
			break
		}
	}
	if c.Place == "" {
		c.Place = o.Text("document_id", "documentId", "path")
	}
	c.Place = name(c.Place)
	c.Quote = cut(o.Text("quote", "text"), l.quote)
	start, err := o.Number("answer_start", "answerStart")
	end, errEnd := o.Number("answer_end", "answerEnd")
	if length := float64(len(q.Answer)); err == nil && errEnd == nil && start >= 0 && start < end && end <= length {
		c.start, c.end = int(start), int(end)
	}
	return c
}

// segments splits a text wherever a citation begins or ends.
func segments(runes []rune, citations []citation) []segment {
	bounds := []int{0, len(runes)}
	for _, c := range citations {
		if c.start < c.end {
			bounds = append(bounds, min(c.start, len(runes)), min(c.end, len(runes)))
		}
	}
	slices.Sort(bounds)
	bounds = slices.Compact(bounds)
	var out []segment
	for i := 1; i < len(bounds); i++ {
		from, to := bounds[i-1], bounds[i]
		var cites []string
		for _, c := range citations {
			if c.start <= from && to <= c.end {
				cites = append(cites, fmt.Sprint(c.N))
			}
		}
		out = append(out, segment{clean(string(runes[from:to])), strings.Join(cites, ", ")})
	}
	return out
}
