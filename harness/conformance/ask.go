package conformance

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"evalctl/daemon/protocol"
)

const question = "What colour is the kettle?"

func isEnd(event string) bool { return event == protocol.EventDone || event == protocol.EventError }

func askChecks() []check {
	return slices.Concat(streamOfAsk(), retrieveOfAsk(), answerOfAsk(), citationsOfAsk(), requestOfAsk(), filtersOfAsk())
}

func streamOfAsk() []check {
	plain := asks(question, nil)
	return []check{
		must("ask-200", "4.4", "POST /ask answers 200.", talks(plain, func(*conversation) error { return nil })...),
		must("ask-content-type", "4.4", "The answer to POST /ask is text/event-stream.",
			talks(plain, func(c *conversation) error { return c.judge(200, []want{mediaType(protocol.TypeEvents)}) })...),
		must("ask-ends", "6.3", "An ask stream ends with done or error.", talks(plain, ended)...),
		must("ask-ends-once", "6.3", "An ask stream has one done or one error.", talks(plain, func(c *conversation) error {
			n := 0
			for _, name := range c.names() {
				if isEnd(name) {
					n++
				}
			}
			if n != 1 {
				return fmt.Errorf("want one done or error, got %q", c.names())
			}
			return nil
		})...),
		must("ask-json", "6.3", "The data of every event of an ask stream is a JSON object.", talks(plain, func(c *conversation) error {
			for _, f := range c.frames {
				if _, err := f.object(); err != nil {
					return err
				}
			}
			return nil
		})...),
		must("ask-snake-case", "2", "The keys of every event of an ask stream are in snake_case.", talks(plain, func(c *conversation) error {
			for _, f := range c.frames {
				o, err := f.object()
				if err == nil {
					err = snakeCase(o)
				}
				if err != nil {
					return fmt.Errorf("event %s: %w", f.name, err)
				}
			}
			return nil
		})...),
		should("ask-known-events", "6.3", "The events of an ask stream are retrieve, answer_delta, citation, done and error.", talks(plain, func(c *conversation) error {
			for _, name := range c.names() {
				if !slices.Contains([]string{protocol.EventRetrieve, protocol.EventDelta, protocol.EventCitation, protocol.EventDone, protocol.EventError}, name) {
					return fmt.Errorf("want no other event, got %q", name)
				}
			}
			return nil
		})...),
		should("ask-done", "6.3", "A question that the notes answer ends with done.", talks(plain, func(c *conversation) error {
			if !slices.Contains(c.names(), protocol.EventDone) {
				return fmt.Errorf("want done, got %q", c.names())
			}
			return nil
		})...),
	}
}

func ended(c *conversation) error {
	if n := len(c.frames); n == 0 || !isEnd(c.frames[n-1].name) {
		return fmt.Errorf("want done or error at the end, got %q", c.names())
	}
	return nil
}

func retrieveOfAsk() []check {
	plain := asks(question, nil)
	chunk := func(name string, v value) []step {
		return talks(plain, func(c *conversation) error {
			list, err := c.retrieved()
			for _, o := range list {
				if err == nil {
					err = judgeKey(o, name, v)
				}
			}
			return err
		})
	}
	return []check{
		must("ask-retrieve", "6.3", "An ask stream says what was retrieved.", talks(plain, func(c *conversation) error {
			_, err := c.some(protocol.EventRetrieve)
			return err
		})...),
		should("ask-retrieve-first", "6.3", "retrieve comes first in an ask stream.", talks(plain, func(c *conversation) error {
			if len(c.frames) == 0 || c.frames[0].name != protocol.EventRetrieve {
				return fmt.Errorf("want retrieve first, got %q", c.names())
			}
			return nil
		})...),
		must("ask-retrieve-chunks", "6.3", "retrieve carries chunks, an array.", talks(plain, payload(protocol.EventRetrieve, "chunks", isArray))...),
		must("ask-retrieve-chunks-empty", "6.3", "chunks of retrieve is an empty array, not null, when nothing was found.",
			answered(plain, payload(protocol.EventRetrieve, "chunks", isArray))),
		should("ask-retrieve-finds", "6.3", "An ask retrieves what holds the words of the question.", talks(plain, func(c *conversation) error {
			_, err := c.retrieved()
			return err
		})...),
		should("ask-retrieve-mode", "4.4", "retrieve says the mode that ran.", talks(plain, payload(protocol.EventRetrieve, "effective_mode", isText))...),
		should("ask-retrieve-mode-concrete", "4.4", "The mode that ran is never auto in retrieve.",
			talks(plain, payload(protocol.EventRetrieve, "effective_mode", isConcrete))...),
		should("ask-retrieve-mode-asked", "4.4", "retrieve says the mode that was asked for.",
			talks(asks(question, object{"mode": protocol.ModeBM25}), payload(protocol.EventRetrieve, "mode", is(protocol.ModeBM25)))...),
		must("ask-chunk-id", "2", "A retrieved chunk has a chunk_id.", chunk("chunk_id", isText)...),
		must("ask-chunk-document-id", "2", "A retrieved chunk has a document_id.", chunk("document_id", isText)...),
		must("ask-chunk-score", "2", "A retrieved chunk has a score.", chunk("score", isNumber)...),
		must("ask-chunk-preview", "2", "A retrieved chunk has a preview.", chunk("preview", isString)...),
		must("ask-chunk-preview-512", "2", "The preview of a retrieved chunk has at most 512 characters.",
			put(seeds+"long.md", strings.Repeat("The kettle whistles loudly in the kitchen. ", 60)), finds("whistles", seeds+"long.md", true),
			answered(asks("Does the kettle whistle loudly?", nil), func(c *conversation) error {
				list, err := c.retrieved()
				for _, o := range list {
					if text, _ := o["preview"].(string); utf8.RuneCountInString(text) > protocol.MaxPreviewChars {
						err = fmt.Errorf("want at most %d characters, got %d", protocol.MaxPreviewChars, utf8.RuneCountInString(text))
					}
				}
				return err
			})),
	}
}

func answerOfAsk() []check {
	plain := asks(question, nil)
	done := func(name string, v value) []step { return talks(plain, payload(protocol.EventDone, name, v)) }
	return []check{
		must("ask-delta", "6.3", "answer_delta carries delta, a string.", talks(plain, payload(protocol.EventDelta, "delta", isString))...),
		must("ask-delta-before-end", "6.3", "No answer_delta follows done or error.", talks(plain, func(c *conversation) error {
			all := c.names()
			end := slices.IndexFunc(all, isEnd)
			if end >= 0 && slices.Contains(all[end:], protocol.EventDelta) {
				return fmt.Errorf("want every answer_delta before the end, got %q", all)
			}
			return nil
		})...),
		should("ask-answers", "6.3", "A question that the notes answer gets an answer.", talks(plain, func(c *conversation) error {
			if strings.TrimSpace(c.answer()) == "" {
				return fmt.Errorf("want an answer, got %q", c.names())
			}
			return nil
		})...),
		should("ask-done-ok", "6.3", "done has ok true.", done("ok", is(true))...),
		should("ask-done-answer", "6.3", "The answer of done is that of the deltas.", talks(plain, func(c *conversation) error {
			return payload(protocol.EventDone, "answer", is(c.answer()))(c)
		})...),
		should("ask-done-model", "6.3", "done names the model that ran.", done("model", isText)...),
		should("ask-done-usage", "6.3", "done counts the tokens.", done("usage", func(got any) error {
			o, _ := got.(object)
			return errors.Join(judgeKey(o, "input_tokens", isNumber), judgeKey(o, "output_tokens", isNumber))
		})...),
		should("ask-done-took-ms", "6.3", "done says how long it took.", done("took_ms", isNumber)...),
		must("ask-empty-brain", "6.3", "A question to an empty brain ends with done or error too.", answered(plain, ended)),
	}
}

func citationsOfAsk() []check {
	// The question is about the note with characters of two and four bytes.
	ask := asks("What is the parrot called and what does it like?", nil)
	cited := func(judge func(*conversation, object) error) []step {
		return talks(ask, func(c *conversation) error {
			list, err := c.all(protocol.EventCitation)
			if err == nil && len(list) == 0 {
				return notJudged{"the answer has no citation"}
			}
			for _, o := range list {
				if err == nil {
					err = judge(c, o)
				}
			}
			return err
		})
	}
	field := func(name string, v value) []step {
		return cited(func(_ *conversation, o object) error { return judgeKey(o, name, v) })
	}
	return []check{
		must("ask-citation-type", "2", "A citation has the type citation.", field("type", is("citation"))...),
		must("ask-citation-chunk-id", "2", "A citation has a chunk_id.", field("chunk_id", isText)...),
		must("ask-citation-document-id", "2", "A citation has a document_id.", field("document_id", isText)...),
		must("ask-citation-quote", "2", "A citation has a quote.", field("quote", isText)...),
		must("ask-citation-offsets", "2", "A citation's offsets are whole numbers from 0, the end not before the start.",
			cited(func(_ *conversation, o object) error { _, _, err := span(o); return err })...),
		must("ask-citation-in-answer", "2", "A citation lies within the answer.", cited(func(c *conversation, o object) error {
			_, end, err := span(o)
			if n := utf8.RuneCountInString(c.answer()); err == nil && end > n {
				err = fmt.Errorf("want a span within the %d characters of the answer, got the end %d", n, end)
			}
			return err
		})...),
		should("ask-citation-whole-words", "2", "A cited span begins and ends between words, in code points.", cited(wholeWords)...),
		should("ask-citation-retrieved", "2", "A cited chunk was retrieved.", cited(func(c *conversation, o object) error {
			list, err := c.retrieved()
			for _, chunk := range list {
				if chunk["chunk_id"] == o["chunk_id"] {
					return nil
				}
			}
			return errors.Join(err, fmt.Errorf("want a retrieved chunk, got %v", o["chunk_id"]))
		})...),
		must("ask-citation-quote-from-document", "2", "A quote is text of the document that was written.", cited(func(_ *conversation, o object) error {
			quote, _ := o["quote"].(string)
			for _, text := range []string{"The parrot is called Pépé 🦜 and likes nuts.", "The kettle is green.", "# Pets", "# Kitchen"} {
				if strings.Contains(text, strings.TrimSpace(quote)) || strings.Contains(strings.Join(strings.Fields(quote), " "), text) {
					return nil
				}
			}
			return fmt.Errorf("want a quote from the notes, got %q", quote)
		})...),
	}
}

// span gives a citation's offsets.
func span(o object) (start, end int, err error) {
	a, okA := o["answer_start"].(float64)
	b, okB := o["answer_end"].(float64)
	if !okA || !okB || a < 0 || b < a || a != float64(int(a)) || b != float64(int(b)) {
		return 0, 0, fmt.Errorf("want offsets with 0 <= answer_start <= answer_end, got %v and %v", o["answer_start"], o["answer_end"])
	}
	return int(a), int(b), nil
}

// wholeWords wants no letter on both sides of an end of the span.
func wholeWords(c *conversation, o object) error {
	start, end, err := span(o)
	if err != nil {
		return err
	}
	text := []rune(c.answer())
	for _, at := range []int{start, end} {
		if at > 0 && at < len(text) && isWord(text[at-1]) && isWord(text[at]) {
			return fmt.Errorf("want a span between words, got an end within %q", string(text[max(0, at-10):min(len(text), at+10)]))
		}
	}
	if end > len(text) || start < end && (text[start] == ' ' || text[end-1] == ' ') {
		return fmt.Errorf("want a span between words, got one from %d to %d of %q", start, end, string(text))
	}
	return nil
}

func isWord(r rune) bool {
	return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r > 0x7f
}

func requestOfAsk() []check {
	ok := func(fields object) []step {
		return []step{notes, answered(at("POST", "/ask").json(fields), func(c *conversation) error {
			_, err := c.retrieved()
			return err
		})}
	}
	refused400 := func(fields object) step { return answers(at("POST", "/ask").json(fields), 400) }
	most := func(name string) []step {
		return talks(asks("kettle parrot green called", object{name: 1}), func(c *conversation) error {
			list, err := c.retrieved()
			if err == nil && len(list) != 1 {
				err = fmt.Errorf("want 1 chunk, got %d", len(list))
			}
			return err
		})
	}
	return []check{
		should("ask-question-key", "4.4", "An ask may have its question under question.", ok(object{"question": question})...),
		should("ask-query-key", "4.1", "An ask may have its question under query.", ok(object{"query": question})...),
		should("ask-top-k", "4.1", "top_k bounds how many chunks an ask retrieves.", most("top_k")...),
		should("ask-top-k-camel-case", "4.1", "An ask understands topK as top_k.", most("topK")...),
		should("ask-reader-mode", "4.4", "An ask with reader_mode augmented is served.", ok(object{"question": question, "reader_mode": protocol.ReaderAugmented})...),
		should("ask-reader-mode-unknown-400", "4.4", "An ask with an unknown reader_mode is 400.", refused400(object{"question": question, "reader_mode": "expert"})),
		should("ask-mode-unknown-400", "4.4", "An ask in an unknown mode is 400.", refused400(object{"question": question, "mode": "psychic"})),
		should("ask-question-missing-400", "4.1", "An ask without a question is 400.", refused400(object{"top_k": 3})),
		should("ask-spellings-disagree-400", "4.1", "An ask whose question and query differ is 400.", refused400(object{"question": question, "query": "another"})),
		should("ask-json-invalid-400", "7.1", "An ask that is not JSON is 400, with a Problem.", answers(jsonTo("/ask", `{"question":`), 400, problem)),
		should("ask-brain-missing", "4.4", "An ask in a brain that does not exist is 404, or 403 with a token.",
			lacksBrain("POST", "/ask", func(r request) request { return r.json(object{"question": question}) })),
	}
}
