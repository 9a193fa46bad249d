package source

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite the table of docs/benchmarks.md")

// TestDocs checks that the documentation has what is done about every irregularity.
func TestDocs(t *testing.T) {
	const page, head = "../../docs/benchmarks.md", "| kind | what is done |\n|---|---|\n"
	data, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(data), head)
	_, after, ends := strings.Cut(rest, "\n\n")
	if !ok || !ends {
		t.Fatalf("%s has no table of irregularities", page)
	}
	var table strings.Builder
	for _, k := range slices.Sorted(maps.Keys(handling)) {
		fmt.Fprintf(&table, "| `%s` | %s |\n", k, handling[k])
	}
	want := before + head + table.String() + "\n" + after
	if *update {
		if err := os.WriteFile(page, []byte(want), 0o600); err != nil {
			t.Fatal(err)
		}
	} else if string(data) != want {
		t.Errorf("the table of %s is not that of the code; run go test ./replay/source -run TestDocs -update", page)
	}
}
