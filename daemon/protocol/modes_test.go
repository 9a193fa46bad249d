package protocol_test

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	"evalctl/daemon/protocol"
)

// TestModesAreDocumented checks the two documents that list the modes.
func TestModesAreDocumented(t *testing.T) {
	data, err := os.ReadFile("../../docs/result.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	var schema struct {
		Defs struct {
			Identity struct {
				Properties struct{ Mode struct{ Enum []string } }
			}
		} `json:"$defs"`
	}
	if err := json.Unmarshal(data, &schema); err != nil {
		t.Fatal(err)
	}
	got := schema.Defs.Identity.Properties.Mode.Enum
	if !slices.Equal(slices.Sorted(slices.Values(got)), slices.Sorted(slices.Values(protocol.Modes))) {
		t.Errorf("docs/result.schema.json has the modes %v, want %v", got, protocol.Modes)
	}
	text, err := os.ReadFile("../../docs/retrieval.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, mode := range protocol.Modes {
		if !strings.Contains(string(text), "\n| `"+mode+"` | ") {
			t.Errorf("docs/retrieval.md has no row for the mode %s", mode)
		}
	}
}
