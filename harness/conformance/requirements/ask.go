package requirements

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"evalctl/daemon/protocol"
)

const question = "What colour is the kettle?"

// asking asks this file's question and judges the stream.
func asking(judge func(*askStream) error) []step {
	return expectAskOfNotes(askOf(question, nil), judge)
}

func askStreamChecks() []check {
	opens := expectStream(askOf(question, nil), func(s *stream) error { return s.verify(200) })
	isEventStream := expectStream(askOf(question, nil), func(s *stream) error {
		return s.verify(0, s.isOpen, hasMediaType(protocol.TypeEvents))
	})
	return []check{
		must("ask-200", "4.4", "POST /ask returns 200.", opens),
		must("ask-content-type", "4.4", "The media type of the response to POST /ask is text/event-stream.",
			isEventStream),
		must("ask-ends", "6.3", "An ask stream ends with done or error.", asking(endsWithDoneOrError)...),
		must("ask-ends-once", "6.3", "An ask stream has exactly one done or error event.",
			asking(func(s *askStream) error {
				switch s.ends() {
				case 0:
					return s.endless()
				case 1:
					return nil
				}
				return fmt.Errorf("want one done or error, got %q", s.eventNames())
			})...),
		must("ask-json", "6.3", "The data of every event in an ask stream is a JSON object.",
			asking(func(s *askStream) error { return s.eachPayload(func(object) error { return nil }) })...),
		must("ask-snake-case", "2", "The keys of every event in an ask stream are in snake_case.",
			asking(func(s *askStream) error {
				return s.eachPayload(func(o object) error { return snakeCase(o) })
			})...),
		should("ask-known-events", "6.3",
			"The events in an ask stream are retrieve, answer_delta, citation, done and error.",
			asking(func(s *askStream) error {
				unknown, names := s.unknownEvent(), s.eventNames()
				switch {
				case unknown == "":
					return nil
				case !slices.Contains(names, protocol.EventRetrieve) && !slices.Contains(names, protocol.EventError):
					return s.missing(protocol.EventRetrieve)
				case s.ends() == 0:
					return s.endless()
				}
				return because("has the event "+unknown, "want no other event, got %q", unknown)
			})...),
		should("ask-done", "6.3", "The stream of a question that the documents answer ends with done.",
			asking(func(s *askStream) error {
				if s.ends() == 0 {
					return s.endless()
				}
				if !slices.Contains(s.eventNames(), protocol.EventDone) {
					return fmt.Errorf("want done, got %q", s.eventNames())
				}
				return nil
			})...),
	}
}

// eachPayload judges the payload of every event.
func (s *askStream) eachPayload(judge func(object) error) error {
	for _, f := range s.frames {
		o, err := f.object()
		if err == nil {
			err = judge(o)
		}
		if err != nil {
			return fmt.Errorf("event %s: %w", f.name, err)
		}
	}
	return nil
}

func endsWithDoneOrError(s *askStream) error {
	if s.ends() == 0 {
		return s.endless()
	}
	if !isEnd(s.frames[len(s.frames)-1].name) {
		return fmt.Errorf("want done or error at the end, got %q", s.eventNames())
	}
	return nil
}

func askRetrieveChecks() []check {
	return []check{
		must("ask-retrieve", "6.3", "An ask stream has a retrieve event.", asking(func(s *askStream) error {
			_, err := s.requirePayloads(protocol.EventRetrieve)
			return err
		})...),
		must("ask-retrieve-chunks", "6.3", "The chunks in retrieve are an array.",
			asking(payloadField(protocol.EventRetrieve, "chunks", isArray))...),
		must("ask-retrieve-chunks-empty", "6.3",
			"The chunks in retrieve are an empty array, not null, if nothing is found.",
			expectAsk(askOf(question, nil), payloadField(protocol.EventRetrieve, "chunks", isArray))),
		should("ask-retrieve-finds", "6.3", "An ask retrieves a document that contains words of the question.",
			asking(hasRetrieved)...),
	}
}

func askChunkChecks() []check {
	chunkField := func(name string, m matcher) []step { return asking(eachRetrieved(hasField(name, m))) }
	long := seeds + "long.md"
	hasShortPreview := func(o object) error {
		text, _ := o["preview"].(string)
		if n := utf8.RuneCountInString(text); n > protocol.MaxPreviewChars {
			return fmt.Errorf("want at most %d characters, got %d", protocol.MaxPreviewChars, n)
		}
		return nil
	}
	return []check{
		must("ask-chunk-id", "2", "A retrieved chunk has a chunk_id.", chunkField("chunk_id", isNonEmptyString)...),
		must("ask-chunk-document-id", "2", "A retrieved chunk has a document_id.",
			chunkField("document_id", isNonEmptyString)...),
		must("ask-chunk-score", "2", "A retrieved chunk has a score.", chunkField("score", isNumber)...),
		must("ask-chunk-preview", "2", "A retrieved chunk has a preview.", chunkField("preview", isString)...),
		must("ask-chunk-preview-512", "2", "The preview of a retrieved chunk has at most 512 characters.",
			put(long, strings.Repeat("The kettle whistles loudly in the kitchen. ", 60)), awaitFound("whistles", long),
			expectAsk(askOf("Does the kettle whistle loudly?", nil), eachRetrieved(hasShortPreview))),
	}
}

func askAnswerChecks() []check {
	return []check{
		must("ask-delta", "6.3", "The delta of answer_delta is a string.",
			asking(payloadField(protocol.EventDelta, "delta", isString))...),
		must("ask-delta-before-end", "6.3", "No answer_delta follows done or error.",
			asking(func(s *askStream) error {
				all := s.eventNames()
				end := slices.IndexFunc(all, isEnd)
				if end >= 0 && slices.Contains(all[end:], protocol.EventDelta) {
					return fmt.Errorf("want every answer_delta before the end, got %q", all)
				}
				return nil
			})...),
		should("ask-answers", "6.3", "A question that the documents answer has a non-empty answer.",
			asking(func(s *askStream) error {
				if err := s.requireDeltas(); err != nil {
					return err
				}
				if strings.TrimSpace(s.answer()) == "" {
					return fmt.Errorf("want an answer, got %q", s.eventNames())
				}
				return nil
			})...),
		should("ask-done-answer", "6.3", "The answer of done is the concatenation of the deltas.",
			asking(func(s *askStream) error {
				if err := s.requireDeltas(); err != nil {
					return err
				}
				return payloadField(protocol.EventDone, "answer", equals(s.answer()))(s)
			})...),
		must("ask-empty-brain", "6.3", "The stream of a question in an empty brain ends with done or error.",
			expectAsk(askOf(question, nil), endsWithDoneOrError)),
	}
}

func askRequestChecks() []check {
	return []check{
		should("ask-top-k", "4.1", "top_k limits the number of chunks that an ask retrieves.", askingForOne("top_k")...),
	}
}

// askingForOne requires a key of value 1 to limit the number of chunks that an ask retrieves.
func askingForOne(key string) []step {
	return expectAskOfNotes(askOf("kettle parrot green called", object{key: 1}), func(s *askStream) error {
		chunks, err := s.retrievedChunks()
		if err == nil && len(chunks) != 1 {
			err = fmt.Errorf("want 1 chunk, got %d", len(chunks))
		}
		return err
	})
}
