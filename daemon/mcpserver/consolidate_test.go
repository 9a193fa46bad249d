package mcpserver

import (
	"testing"

	"evalctl/daemon/protocol"
)

// An entry of pruned may be one fact of a document that remains.
func TestConsolidationText(t *testing.T) {
	got := consolidationText(protocol.Consolidation{
		Pruned: make([]protocol.ConsolidationAction, 2), Record: "memory/consolidations/_1.md",
	})
	want := "Compiled 0 summaries, promoted 0 notes, pruned 2 facts and episodes\n" +
		"record: memory/consolidations/_1.md"
	if got != want {
		t.Errorf("got %q", got)
	}
}
