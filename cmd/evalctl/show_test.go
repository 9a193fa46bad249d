package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"evalctl/harness/history"
	"evalctl/harness/report"
	"evalctl/internal/filetest"
)

// mutations calls each with the JSON of v after every change of a single value: to null, or to
// another text, which includes what controls a terminal.
func mutations(v any, each func()) {
	change := func(old any, set func(any)) {
		mutations(old, each)
		for _, other := range []any{nil, "\x1b[31m"} {
			set(other)
			each()
		}
		set(old)
	}
	switch node := v.(type) {
	case map[string]any:
		for key, old := range node {
			change(old, func(other any) { node[key] = other })
		}
	case []any:
		for i := range min(len(node), 1) {
			change(node[i], func(other any) { node[i] = other })
		}
	}
}

// TestReportOfADamagedResult changes every value of a result file. Whatever resultfile.Open accepts is
// printed: nothing panics, and no control characters are passed on.
func TestReportOfADamagedResult(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("nothing in it is concurrent")
	}
	data := filetest.Read(t, "../../harness/testdata/result.json")
	var doc any
	numbers := json.NewDecoder(bytes.NewReader(data))
	numbers.UseNumber() // amounts of money have no exponent
	if err := numbers.Decode(&doc); err != nil {
		t.Fatal(err)
	}
	root := t.TempDir()
	path := filepath.Join(root, "go.json")
	changes, shown := 0, 0
	mutations(doc, func() {
		changes++
		data, err := json.Marshal(doc)
		if err == nil {
			err = os.WriteFile(path, data, 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
		var out strings.Builder
		p := &process{env: func(string) string { return "" }, stdout: &out, stderr: &out}
		for _, err := range []error{(&showCmd{File: path}).Run(t.Context(), p), (&listCmd{historyFlags: historyFlags{Dir: root}}).Run(p)} {
			if err == nil {
				shown++
			}
		}
		f, err := history.Read(root, time.Time{})
		if err != nil {
			t.Fatal(err)
		}
		report.Text(newTerminal(p, false), report.Trend{Trend: f.Trend(0)})
		for line := range strings.Lines(out.String()) {
			if strings.ContainsRune(line, '\x1b') {
				t.Fatalf("a control character was printed: %q", line)
			}
		}
	})
	t.Logf("%d changes, shown %d times", changes, shown)
	if changes < 300 || shown < changes*5/4 {
		t.Errorf("%d changes, shown %d times", changes, shown)
	}
}
