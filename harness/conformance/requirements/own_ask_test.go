package requirements

import (
	"errors"
	"fmt"
	"strings"

	"evalctl/daemon/protocol"
)

func ownAskRetrieveChecks() []check {
	inBM25 := askOf(question, object{"mode": protocol.ModeBM25})
	return []check{
		should("ask-retrieve-first", "6.3", "The first event in an ask stream is retrieve.",
			asking(func(s *askStream) error {
				if len(s.frames) == 0 || s.frames[0].name != protocol.EventRetrieve {
					return fmt.Errorf("want retrieve first, got %q", s.eventNames())
				}
				return nil
			})...),
		should("ask-retrieve-mode", "4.4", "retrieve reports the mode that ran in effective_mode.",
			asking(payloadField(protocol.EventRetrieve, "effective_mode", isNonEmptyString))...),
		should("ask-retrieve-mode-concrete", "4.4", "The effective_mode in retrieve is never auto.",
			asking(payloadField(protocol.EventRetrieve, "effective_mode", isConcreteMode))...),
		should("ask-retrieve-mode-asked", "4.4", "retrieve reports the requested mode in mode.",
			expectAskOfNotes(inBM25, payloadField(protocol.EventRetrieve, "mode", equals(protocol.ModeBM25)))...),
	}
}

func ownAskAnswerChecks() []check {
	doneField := func(name string, m matcher) []step { return asking(payloadField(protocol.EventDone, name, m)) }
	return []check{
		should("ask-done-ok", "6.3", "The ok of done is true.", doneField("ok", equals(true))...),
		should("ask-done-model", "6.3", "The model of done is the model that answered.",
			doneField("model", isNonEmptyString)...),
		should("ask-done-usage", "6.3", "The usage of done has input_tokens and output_tokens.",
			doneField("usage", func(got any) error {
				o, _ := got.(object)
				return errors.Join(matchField(o, "input_tokens", isNumber), matchField(o, "output_tokens", isNumber))
			})...),
		should("ask-done-took-ms", "6.3", "done reports the duration in took_ms.", doneField("took_ms", isNumber)...),
	}
}

func ownAskRequestChecks() []check {
	ask := func(fields object) request { return brainRequest("POST", "/ask").withJSON(fields) }
	retrieves := func(fields object) []step { return expectAskOfNotes(ask(fields), hasRetrieved) }
	rejected := func(fields object) step { return expect(ask(fields), 400) }
	return []check{
		should("ask-question-key", "4.4", "An ask accepts the question under the key question.",
			retrieves(object{"question": question})...),
		should("ask-query-key", "4.1", "An ask accepts the question under the key query.",
			retrieves(object{"query": question})...),
		should("ask-top-k-camel-case", "4.1", "An ask accepts topK in place of top_k.", askingForOne("topK")...),
		should("ask-reader-mode", "4.4", "An ask accepts the reader_mode augmented.",
			retrieves(object{"question": question, "reader_mode": protocol.ReaderAugmented})...),
		should("ask-reader-mode-unknown-400", "4.4", "An ask with an unknown reader_mode is rejected with 400.",
			rejected(object{"question": question, "reader_mode": "expert"})),
		should("ask-mode-unknown-400", "4.4", "An ask in an unknown mode is rejected with 400.",
			rejected(object{"question": question, "mode": "psychic"})),
		should("ask-question-missing-400", "4.1", "An ask without a question is rejected with 400.",
			rejected(object{"top_k": 3})),
		should("ask-spellings-disagree-400", "4.1", "An ask whose question and query differ is rejected with 400.",
			rejected(object{"question": question, "query": "another"})),
		should("ask-json-invalid-400", "7.1", "An ask that is not valid JSON is rejected with 400 and a Problem.",
			expect(postJSON("/ask", `{"question":`), 400, isProblem)),
		should("ask-brain-missing", "4.4", "An ask in a brain that does not exist returns 404, or 403 with a token.",
			expectNoBrain(ask(object{"question": question}))),
	}
}

func ownAskCitationChecks() []check {
	return []check{
		should("ask-citation-whole-words", "2",
			"The span of a citation, in code points, begins and ends between words.",
			eachCitation(onWordBoundaries)...),
	}
}

// askFilterChecks recognise the documents of putWalruses in previews by words that only one of them
// contains.
func askFilterChecks() []check {
	const (
		asked                       = "Where is the walrus?"
		inMarch, inApril, inUndated = "meets another", "distant island", "walrus!"

		globalPath = "memory/global/walrus.md"
	)
	previews := func(fields object, included, excluded string) step {
		return expectAsk(askOf(asked, fields), func(s *askStream) error {
			chunks, err := s.retrievedChunks()
			if err != nil {
				return err
			}
			var all strings.Builder
			for _, o := range chunks {
				text, _ := o["preview"].(string)
				all.WriteString(text + "\n")
			}
			if !strings.Contains(all.String(), included) || strings.Contains(all.String(), excluded) {
				return fmt.Errorf("want previews with %q and without %q, got %q", included, excluded, all.String())
			}
			return nil
		})
	}
	filter := func(name string, v any) object { return object{"filters": object{name: v}} }
	rejected := func(fields object) step { return expect(askOf(asked, fields), 400) }
	return []check{
		should("ask-question-date-later", "4.1",
			"An ask with a question_date does not retrieve documents with a later date.",
			putWalruses, previews(object{"question_date": "2024-03-31"}, inMarch, inApril)),
		should("ask-question-date-undated", "4.1", "An ask with a question_date retrieves undated documents.",
			putWalruses, previews(object{"question_date": "2024-01-31"}, inUndated, inMarch)),
		should("ask-filter-tags", "4.1", "An ask accepts the filter tags.",
			putWalruses, previews(filter("tags", []string{"sea"}), inApril, inUndated)),
		should("ask-filter-path-prefix", "4.1", "An ask accepts the filter path_prefix.",
			putWalruses, previews(filter("path_prefix", seeds+"ma"), inMarch, inApril)),
		should("ask-scope", "4.1", "An ask in a scope retrieves only documents below its folder.",
			put(globalPath, "The walrus is called Odo."), awaitFound("Odo", globalPath), putWalruses,
			previews(object{"scope": protocol.ScopeGlobal}, "called Odo", inUndated)),
		should("ask-filters-unknown-400", "4.1", "An ask with an unknown filter is rejected with 400.",
			rejected(filter("colour", "red"))),
		should("ask-scope-unknown-400", "4.1", "An ask in an unknown scope is rejected with 400.",
			rejected(object{"scope": "galactic"})),
		should("ask-question-date-invalid-400", "4.1", "An ask whose question_date is not a date is rejected with 400.",
			rejected(object{"question_date": "yesterday"})),
	}
}

// onWordBoundaries requires that neither end of a citation's span is inside a word or beside a
// space inside the span.
func onWordBoundaries(s *askStream, o object) error {
	start, end, err := answerSpan(o)
	if err != nil {
		return err
	}
	text := []rune(s.answer())
	for _, at := range []int{start, end} {
		if at > 0 && at < len(text) && isWord(text[at-1]) && isWord(text[at]) {
			return fmt.Errorf("want a span between words, got an end within %q",
				string(text[max(0, at-10):min(len(text), at+10)]))
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
