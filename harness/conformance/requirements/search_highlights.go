package requirements

import (
	"errors"
	"fmt"
	"strings"
)

// searchHighlightChecks use a text with markup whose characters have one to four bytes.
func searchHighlightChecks() []check {
	const text = "🦜🦜 Pépé ça & <em>walrus</em> <script>alert(1)</script> naïve walrus."
	zoo := seeds + "zoo.md"
	eachWalrus := func(judge func(object) error) []step {
		return []step{
			put(zoo, text), awaitFound("walrus", zoo),
			inspect(searchOf(object{"query": "walrus"}), 200, eachChunk(judge)),
		}
	}
	return []check{
		should("search-highlights", "2", "A chunk that contains a word of the query has highlights.",
			putNotes, inspect(plainSearch, 200, eachChunk(hasField("highlights", isNonEmptyArray)))),
		should("search-highlights-in-text", "2", "Highlights are non-empty spans within the text.",
			eachWalrus(eachHighlight(func([]rune) error { return nil }))...),
		should("search-highlights-code-points", "2",
			"The offsets of highlights are in code points and enclose the words that matched.",
			eachWalrus(eachHighlight(func(span []rune) error {
				if got := string(span); got != "walrus" {
					return fmt.Errorf("want the span walrus, got %q", got)
				}
				return nil
			}))...),
		should("search-text-verbatim", "2", "The text of a chunk is neither marked up nor escaped.",
			eachWalrus(func(c object) error {
				if got, _ := c["text"].(string); strings.TrimSpace(got) != text {
					return fmt.Errorf("want the text %q, got %q", text, got)
				}
				return nil
			})...),
	}
}

// eachHighlight judges the text that each highlight of a chunk encloses. Highlights must be
// non-empty and lie within the chunk's text.
func eachHighlight(judge func(span []rune) error) func(object) error {
	return func(c object) error {
		highlights, _ := c["highlights"].([]any)
		if len(highlights) == 0 {
			return optional("the chunk has no highlights")
		}
		body, _ := c["text"].(string)
		text := []rune(body)
		for _, item := range highlights {
			o, _ := item.(object)
			start, end, err := span(o, "start", "end")
			switch {
			case err != nil:
			case start == end:
				err = errors.New("want non-empty spans")
			case end > len(text):
				err = fmt.Errorf("want spans within the %d characters of the text, got the end %d", len(text), end)
			default:
				err = judge(text[start:end])
			}
			if err != nil {
				return fmt.Errorf("highlights: %w", err)
			}
		}
		return nil
	}
}
