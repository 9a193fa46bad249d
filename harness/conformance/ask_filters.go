package conformance

import (
	"context"
	"fmt"
	"strings"

	"evalctl/daemon/protocol"
)

// filtersOfAsk are about which notes an ask retrieves, told by words that only
// one of them has.
func filtersOfAsk() []check {
	const asked = "Where is the walrus?"
	shows := func(more object, in, out string) []step {
		return []step{walruses, answered(asks(asked, more), func(c *conversation) error {
			list, err := c.retrieved()
			if err != nil {
				return err
			}
			var previews strings.Builder
			for _, o := range list {
				text, _ := o["preview"].(string)
				previews.WriteString(text + "\n")
			}
			if !strings.Contains(previews.String(), in) || strings.Contains(previews.String(), out) {
				return fmt.Errorf("want previews with %q and without %q, got %q", in, out, previews.String())
			}
			return nil
		})}
	}
	refused400 := func(fields object) step { return answers(asks(asked, fields), 400) }
	const inMarch, inApril, inUndated = "meets another", "distant island", "walrus!"
	return []check{
		should("ask-question-date-later", "4.1", "An ask with a question_date retrieves nothing that is dated later.",
			shows(object{"question_date": "2024-03-31"}, inMarch, inApril)...),
		should("ask-question-date-undated", "4.1", "An ask with a question_date retrieves undated documents too.",
			shows(object{"question_date": "2024-01-31"}, inUndated, inMarch)...),
		should("ask-filter-tags", "4.1", "An ask takes the filter tags.", shows(object{"filters": object{"tags": []string{"sea"}}}, inApril, inUndated)...),
		should("ask-filter-path-prefix", "4.1", "An ask takes the filter path_prefix.", shows(object{"filters": object{"path_prefix": seeds + "ma"}}, inMarch, inApril)...),
		should("ask-scope", "4.1", "An ask in a scope retrieves only what lies below its folder.", put("memory/global/walrus.md", "The walrus is called Odo."),
			finds("Odo", "memory/global/walrus.md", true), func(ctx context.Context, t *trial) error {
				return t.take(ctx, shows(object{"scope": protocol.ScopeGlobal}, "called Odo", inUndated))
			}),
		should("ask-filters-unknown-400", "4.1", "An ask with a filter that does not exist is 400.", refused400(object{"filters": object{"colour": "red"}})),
		should("ask-scope-unknown-400", "4.1", "An ask in an unknown scope is 400.", refused400(object{"scope": "galactic"})),
		should("ask-question-date-invalid-400", "4.1", "An ask whose question_date is no date is 400.", refused400(object{"question_date": "yesterday"})),
	}
}
