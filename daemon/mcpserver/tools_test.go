package mcpserver_test

import (
	"encoding/json"
	"strings"
	"testing"

	"evalctl/daemon"
	"evalctl/daemon/mcpserver"
)

func TestRememberSearchAsk(t *testing.T) {
	s := connect(t, tools(t, startDaemon(t, daemon.Config{}), mcpserver.Config{}))
	if text, _, failed := call(t, s, "memory_search", map[string]any{"query": "tea"}); !failed ||
		!strings.HasPrefix(text, "no_brain: ") {
		t.Errorf("without a brain, a search says %q", text)
	}
	call(t, s, "memory_create_brain", map[string]any{"name": "My Notes"})
	_, record, _ := call(t, s, "memory_remember",
		map[string]any{"content": "# Tea\n\nAna drinks green tea.", "tags": []string{"a", "b"}})
	for _, want := range []string{`"path":"tea.md"`, `"brain_id":"my-notes"`, `"tags":"a,b"`, `"deleted_at":null`} {
		if !strings.Contains(record, want) {
			t.Errorf("the record lacks %s: %s", want, record)
		}
	}
	for _, args := range []map[string]any{{"query": "tea"}, {"query": "tea", "brain": "my-notes"}} {
		text, found, _ := call(t, s, "memory_search", args)
		if !strings.HasPrefix(text, "#1 score=0.") || !strings.HasSuffix(text, " tea.md\n# Tea\n\nAna drinks green tea.") {
			t.Errorf("text is %q", text)
		}
		var result struct {
			Query   string
			BrainID string `json:"brain_id"`
			Hits    []struct{ Path, Content string }
		}
		if err := json.Unmarshal([]byte(found), &result); err != nil {
			t.Fatal(err)
		}
		if result.Query != "tea" || result.BrainID != "my-notes" || len(result.Hits) != 1 ||
			result.Hits[0].Content != "# Tea\n\nAna drinks green tea." {
			t.Errorf("found %s", found)
		}
	}
	text, answer, _ := call(t, s, "memory_ask", map[string]any{"query": "What does Ana drink?"})
	if text != "Ana drinks green tea." || !strings.Contains(answer, `"quote":"Ana drinks green tea."`) ||
		!strings.Contains(answer, `"preview"`) {
		t.Errorf("answered %q, %s", text, answer)
	}
}
