package requirements

import (
	"fmt"
	"strings"

	"evalctl/daemon/protocol"
)

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
