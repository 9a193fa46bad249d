package protocol_test

import (
	"encoding/json"
	"os"
	"regexp"
	"strings"
	"testing"

	"evalctl/daemon/protocol"
	"evalctl/internal/goldentest"
)

// modeEnum matches the list of modes in docs/result.schema.json.
var modeEnum = regexp.MustCompile(`("mode": \{"enum": )\[[^\]]*\]`)

// TestModesOfTheSchema compares the list in docs/result.schema.json, which docs/sweep.schema.json
// refers to, with the modes, or writes it with -update.
func TestModesOfTheSchema(t *testing.T) {
	const file = "../../docs/result.schema.json"
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if n := len(modeEnum.FindAll(data, -1)); n != 1 {
		t.Fatalf("%s has %d lists of modes, want 1", file, n)
	}
	// Imported answers have no mode.
	list, err := json.Marshal(append([]string{""}, protocol.Modes...))
	if err != nil {
		t.Fatal(err)
	}
	spaced := strings.ReplaceAll(string(list), ",", ", ")
	want := modeEnum.ReplaceAllString(string(data), "${1}"+spaced)
	goldentest.Compare(t, file, want)
}

func TestModesAreDocumented(t *testing.T) {
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
