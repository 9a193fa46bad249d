package mcpserver

import "testing"

// An entry of pruned may be one fact of a document that remains.
func TestConsolidationText(t *testing.T) {
	for response, want := range map[string]string{
		`{"result":{"compiled":[],"promoted":[],"pruned":[{},{}],"record":"memory/consolidations/_1.md"}}`: "Compiled 0 summaries, promoted 0 notes, pruned 2 facts and episodes\n" +
			"record: memory/consolidations/_1.md",
		`{"result":{"compiled":[],"promoted":[],"pruned":[]}}`: "Compiled 0 summaries, promoted 0 notes, pruned 0 facts and episodes",
		`{"result":{"compiled":[]}}`:                           "Consolidated the brain",
		`{"result":{"compiled":3}}`:                            "Consolidated the brain",
		``:                                                     "Consolidated the brain",
	} {
		if got := consolidationText([]byte(response)); got != want {
			t.Errorf("%s: got %q", response, got)
		}
	}
}
