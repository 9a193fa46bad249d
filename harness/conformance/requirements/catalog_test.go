package requirements

import (
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestCatalogue(t *testing.T) {
	checks := All()
	if len(checks) < 700 {
		t.Errorf("%d checks, want at least 700", len(checks))
	}
	groups := []string{
		"brains", "documents", "records", "listing", "batch", "paths", "limits", "errors", "headers", "events", "auth",
		"search", "ask", "sessions", "ingest", "mcp", "evaluable",
	}
	ids, sentences := map[string]bool{}, map[string]string{}
	for _, c := range checks {
		if ids[c.ID] {
			t.Errorf("%s: duplicate id", c.ID)
		}
		ids[c.ID] = true
		if other, ok := sentences[c.Sentence]; ok {
			t.Errorf("%s: same sentence as %s: %s", c.ID, other, c.Sentence)
		}
		sentences[c.Sentence] = c.ID
		if !slices.Contains(groups, c.Group) || !strings.HasPrefix(c.ID, c.Group+"-") {
			t.Errorf("%s: group %q", c.ID, c.Group)
		}
		if c.Section == "" || !strings.HasSuffix(c.Sentence, ".") || strings.ToLower(c.ID) != c.ID {
			t.Errorf("%s: section %q, sentence %q", c.ID, c.Section, c.Sentence)
		}
	}
}
