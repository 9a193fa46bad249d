package protocol_test

import (
	"encoding/json"
	"flag"
	"os"
	"regexp"
	"strings"
	"testing"

	"evalctl/daemon/protocol"
)

var update = flag.Bool("update", false, "rewrite the list of modes in docs/result.schema.json")

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
	if *update {
		if err := os.WriteFile(file, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if want != string(data) {
		t.Errorf("%s does not list the modes %s: run the test with -update", file, spaced)
	}
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
