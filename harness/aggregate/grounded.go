package aggregate

import (
	"strings"
	"unicode/utf8"

	"evalctl/daemon/protocol"
	"evalctl/harness/result"
	"evalctl/internal/jsonobj"
	"evalctl/internal/visible"
)

// grounding is how well the citations of an answer are supported.
type grounding int

// The kinds of grounding, from the weakest.
const (
	ungrounded grounding = iota
	// groundedByID means that a citation names a retrieved chunk but its quote cannot be checked:
	// there is none, the chunk has no text, or its text may have been truncated, at 512 characters
	// or with an ellipsis, before the quote.
	groundedByID
	// groundedByQuote means that the quote of a citation is in the text of the cited chunk.
	groundedByQuote
)

// groundingOf returns the strongest grounding among the citations of an answer. Quotes are compared
// as normalized by visible.Text, with each run of white space as one space, and with case. An
// ellipsis in a quote, "…" or "...", stands for any text: the parts must follow each other in the
// chunk.
func groundingOf(r *result.Record) grounding {
	best := ungrounded
	for _, raw := range r.Citations {
		cite, err := jsonobj.Parse(raw)
		if err != nil {
			continue
		}
		id := cite.Text("chunk_id", "chunkId")
		for i := range r.Retrieved {
			if c := &r.Retrieved[i]; id != "" && id == c.ChunkID {
				best = max(best, groundingOfQuote(cite.Text("quote"), c.Text))
			}
		}
	}
	return best
}

// groundingOfQuote returns the grounding of a citation with a quote from a chunk with this text.
func groundingOfQuote(quote, text string) grounding {
	parts, cut := quoteParts(quote), utf8.RuneCountInString(text) >= protocol.MaxPreviewChars
	text = spaced(text)
	cut = cut || strings.HasSuffix(text, "…") || strings.HasSuffix(text, "...")
	if len(parts) == 0 || text == "" {
		return groundedByID
	}
	rest := text
	for _, p := range parts {
		at := strings.Index(rest, p)
		if at < 0 {
			if cut {
				return groundedByID
			}
			return ungrounded
		}
		rest = rest[at+len(p):]
	}
	return groundedByQuote
}

// quoteParts returns the parts of a quote between ellipses.
func quoteParts(quote string) []string {
	var parts []string
	for p := range strings.SplitSeq(strings.ReplaceAll(quote, "...", "…"), "…") {
		if p = spaced(p); p != "" {
			parts = append(parts, p)
		}
	}
	return parts
}

// spaced normalizes a text for comparison, with single spaces.
func spaced(text string) string { return strings.Join(strings.Fields(visible.Text(text)), " ") }
