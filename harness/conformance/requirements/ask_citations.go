package requirements

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"evalctl/daemon/protocol"
)

// eachCitation judges each citation of an answer: the note with characters of two and four bytes.
func eachCitation(judge func(*askStream, object) error) []step {
	ask := askOf("What is the parrot called and what does it like?", nil)
	return expectAskOfNotes(ask, func(s *askStream) error {
		citations, err := s.payloads(protocol.EventCitation)
		if err == nil && len(citations) == 0 {
			err = optional("the answer has no citation")
		}
		if err != nil {
			return err
		}
		return each(citations, func(o object) error { return judge(s, o) })
	})
}

func askCitationChecks() []check {
	field := func(name string, m matcher) []step {
		return eachCitation(func(_ *askStream, o object) error { return matchField(o, name, m) })
	}
	return []check{
		must("ask-citation-type", "2", "The type of a citation is citation.", field("type", equals("citation"))...),
		must("ask-citation-chunk-id", "2", "A citation has a chunk_id.", field("chunk_id", isNonEmptyString)...),
		must("ask-citation-document-id", "2", "A citation has a document_id.",
			field("document_id", isNonEmptyString)...),
		must("ask-citation-quote", "2", "A citation has a quote.", field("quote", isNonEmptyString)...),
		must("ask-citation-offsets", "2",
			"The offsets of a citation are whole numbers from 0, and its end is not before its start.",
			eachCitation(func(_ *askStream, o object) error {
				_, _, err := answerSpan(o)
				return err
			})...),
		must("ask-citation-in-answer", "2", "The span of a citation is within the answer.",
			eachCitation(func(s *askStream, o object) error {
				_, end, err := answerSpan(o)
				if err == nil {
					err = s.requireDeltas()
				}
				if n := utf8.RuneCountInString(s.answer()); err == nil && end > n {
					err = fmt.Errorf("want a span within the %d characters of the answer, got the end %d", n, end)
				}
				return err
			})...),
		should("ask-citation-retrieved", "2", "The chunk of a citation is one of the retrieved chunks.",
			eachCitation(func(s *askStream, o object) error {
				chunks, err := s.retrievedChunks()
				for _, chunk := range chunks {
					if chunk["chunk_id"] == o["chunk_id"] {
						return nil
					}
				}
				return errors.Join(err, fmt.Errorf("want a retrieved chunk, got %v", o["chunk_id"]))
			})...),
		must("ask-citation-quote-from-document", "2", "The quote of a citation is text from the document.",
			eachCitation(quotesNotes)...),
	}
}

func answerSpan(o object) (start, end int, err error) { return span(o, "answer_start", "answer_end") }

// quotesNotes requires a quote to be part of a line in putNotes, or to contain such a line.
func quotesNotes(_ *askStream, o object) error {
	quote, _ := o["quote"].(string)
	lines := []string{"The parrot is called Pépé 🦜 and likes nuts.", "The kettle is green.", "# Pets", "# Kitchen"}
	for _, line := range lines {
		if strings.Contains(line, strings.TrimSpace(quote)) ||
			strings.Contains(strings.Join(strings.Fields(quote), " "), line) {
			return nil
		}
	}
	return fmt.Errorf("want a quote from the documents, got %q", quote)
}
