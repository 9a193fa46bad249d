package mapping

import (
	"fmt"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// TestTextPlace checks that a pattern is found for replies that are text, which reads the texts and the
// ids of other replies of the same form too.
func TestTextPlace(t *testing.T) {
	type item struct{ id, title, text string }
	list := func(head string, form func(int, item) string, tail string) func([]item) string {
		return func(items []item) string {
			var b strings.Builder
			for i, one := range items {
				b.WriteString(form(i+1, one))
			}
			return fmt.Sprintf(head, len(items)) + b.String() + tail
		}
	}
	for name, reply := range map[string]func([]item) string{
		"numbers and hashes": list("Found %d memories:\n\n", func(n int, i item) string {
			return fmt.Sprintf("%d. %s\n   Hash: %s\n   Created: 2026-11-29T05:47:1%dZ\n\n", n, i.text, i.id, n)
		}, ""),
		"headings": list("**Found %d relevant memories:**\n\n", func(n int, i item) string {
			return fmt.Sprintf("**%d. %s** (ID: %s)\nType: general | Importance: 0.%d\nContent: %s\n\n", n, i.title, i.id, n, i.text)
		}, "\nNext steps:\n- Use get to see more"),
		"bullets": list("Found %d results:\n\n", func(_ int, i item) string {
			return fmt.Sprintf("• [normal] %s (none)\n  %s\n\n", i.id, i.text)
		}, ""),
		"rulers": list("%d results\n---\n", func(_ int, i item) string {
			return fmt.Sprintf("ID: %s\nText: %s\n---\n", i.id, i.text)
		}, ""),
	} {
		t.Run(name, func(t *testing.T) {
			samples := newSamples("zqmark")
			var items []item
			for i, s := range samples {
				id := fmt.Sprintf("%064x", 1234567*(i+1))
				s.given = []any{id}
				items = append(items, item{id, s.title, s.text})
			}
			p := locate(callReply{texts: []string{reply(items)}}, samples)
			if p == nil || p.pattern == "" || !p.hasID() {
				t.Fatalf("place %+v of\n%s", p, reply(items))
			}
			text, err := yaml.Marshal(map[string]any{"name": "x", "search": map[string]any{"tool": "s", "arguments": map[string]any{"q": "{query}"}, "reply": p.reply()}})
			if err != nil {
				t.Fatal(err)
			}
			m := parsed(t, string(text))
			others := []item{{"a1", "One", "Ada moved to Lisbon.\nIn March."}, {"b-2", "Two", "Bob"}}
			read, err := m.search.reply.read(t.Context(), callReply{texts: []string{reply(others)}}, "s")
			if err != nil || len(read.items) != 2 || read.items[0].text != others[0].text || read.items[1].text != "Bob" || read.items[1].id != "b-2" {
				t.Errorf("read %+v, %v by %s", read.items, err, text)
			}
		})
	}
}

// flow returns a value as a line of YAML.
func flow(t *testing.T, v map[string]any) string {
	t.Helper()
	data, err := yaml.Marshal(entry{Arguments: v})
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(strings.TrimPrefix(string(data), "arguments: "))
}
