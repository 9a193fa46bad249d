package mapping

import (
	"context"
	"strings"
	"testing"
)

// TestPages checks that a page without items ends a search only if no other page follows it, and
// that the mode of an earlier page is kept.
func TestPages(t *testing.T) {
	const mapping = `name: x
search:
  tool: s
  arguments: {q: "{query}", c: "{cursor}"}
  reply: {items: "$.r[*]", text: $, mode: $.mode, next: $.next, none: "^none"}
`
	for _, c := range []struct {
		pages map[any]string // by cursor
		want  string
		calls int
	}{
		{map[any]string{nil: `{"r":["a"],"mode":"m","next":"1"}`, "1": `{"r":[],"next":"2"}`, "2": `{"r":["b"]}`}, "a b", 3},
		{map[any]string{nil: `{"r":["a"],"mode":"m","next":"1"}`, "1": `none`}, "a", 2},
		// The cursor of a scroll stays the same, and an empty page is the last.
		{map[any]string{nil: `{"r":["a"],"mode":"m","next":"1"}`, "1": `{"r":[],"next":"1"}`}, "a", 2},
	} {
		calls := 0
		s := fakeService(t, mapping, func(_ context.Context, _ *operation, values map[string]any) (callReply, error) {
			calls++
			return says(c.pages[values["cursor"]])
		})
		items, mode, err := s.find(t.Context(), s.brain("b"), s.mapping.search, map[string]any{"query": "q"}, 5)
		var texts []string
		for _, f := range items {
			texts = append(texts, f.text)
		}
		if got := strings.Join(texts, " "); err != nil || got != c.want || mode != "m" || calls != c.calls {
			t.Errorf("got %q, the mode %q, %d calls, %v", got, mode, calls, err)
		}
	}
}

// TestModeOfKeywords checks that a keyword that finds nothing does not erase the mode.
func TestModeOfKeywords(t *testing.T) {
	s := fakeService(t, `name: x
query: keywords
search: {tool: s, arguments: {q: "{query}"}, reply: {items: "$.r[*]", text: $, mode: $.mode, none: "^none"}}
`, func(_ context.Context, _ *operation, values map[string]any) (callReply, error) {
		if values["query"] == "lisbon" {
			return says("none")
		}
		return says(`{"r":["a"],"mode":"m"}`)
	})
	if _, mode, err := s.find(t.Context(), s.brain("b"), s.mapping.search, map[string]any{"query": "ada lisbon"}, 5); err != nil || mode != "m" {
		t.Errorf("the mode %q, %v", mode, err)
	}
}
