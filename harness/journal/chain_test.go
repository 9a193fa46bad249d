package journal

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"evalctl/harness/dataset"
	"evalctl/internal/chain"
	"evalctl/internal/filetest"
)

// unlinked returns a journal as an older version wrote it.
func unlinked(data []byte) []byte {
	return regexp.MustCompile(`"chain":"[0-9a-f]*",`).ReplaceAll(data, nil)
}

// TestChangedLines: a journal with another score, or with other lines than the run wrote, is refused
// at the line, and not changed. What a kill cuts off is not missed.
func TestChangedLines(t *testing.T) {
	j := sampleJournal(t, t.TempDir())
	r := answered("q2", 3)
	if err := j.Append(Entry{Kind: KindAnswer, Index: 2, Record: &r}); err != nil {
		t.Fatal(err)
	}
	_ = j.Close()
	lines := strings.SplitAfter(strings.TrimSuffix(string(filetest.Read(t, j.Path())), "\n"), "\n")
	lines[5] += "\n"
	all := strings.Join(lines, "")
	for name, tt := range map[string]struct {
		text string
		line int
	}{
		"a score":            {strings.Replace(all, `"score":0.75`, `"score":0.25`, 1), 4},
		"the last line":      {strings.Replace(all, `"line":3`, `"line":4`, 1), 6},
		"the first line":     {strings.Replace(all, `"floor":"0.9"`, `"floor":"0.1"`, 1), 1},
		"a line removed":     {lines[0] + lines[1] + lines[2] + lines[4] + lines[5], 4},
		"lines moved":        {lines[0] + lines[2] + lines[1] + lines[3] + lines[4], 2},
		"a line inserted":    {lines[0] + lines[1] + string(unlinked([]byte(lines[2]))) + lines[2], 3},
		"a line of a second": {all + lines[4], 7},
	} {
		path := filetest.Write(t, filepath.Join(t.TempDir(), "go.journal"), tt.text)
		_, err := Open(path)
		at, ok := errors.AsType[*dataset.LineError](err)
		if !ok || at.Line != tt.line || !errors.Is(err, chain.ErrBroken) || !strings.Contains(err.Error(), "start a new run") {
			t.Errorf("%s: got %v, want line %d", name, err, tt.line)
		}
		if kept, _ := os.ReadFile(path); string(kept) != tt.text {
			t.Errorf("%s: a damaged journal was changed", name)
		}
	}
	for n := 1; n <= len(lines); n++ {
		path := filetest.Write(t, filepath.Join(t.TempDir(), "go.journal"), strings.Join(lines[:n], "")+`{"chain":"12`)
		j, err := Open(path)
		if err != nil {
			t.Fatalf("%d lines: %v", n, err)
		}
		if err := j.Append(Entry{Kind: kindSeeded, Brain: fmt.Sprint(n)}); err != nil || j.Unchained() {
			t.Fatal(err)
		}
		if got := reopened(t, j); !got.Seeded(fmt.Sprint(n)) {
			t.Errorf("%d lines: what was added is not there", n)
		}
	}
}

// TestUnchained: the journal of an older version is continued as that version would.
func TestUnchained(t *testing.T) {
	j := sampleJournal(t, t.TempDir())
	_ = j.Close()
	old := string(unlinked(filetest.Read(t, j.Path())))
	path := filetest.Write(t, filepath.Join(t.TempDir(), "go.journal"), old)
	j, err := Open(path)
	if err != nil || !j.Unchained() || j.Spent() != 12 {
		t.Fatal(err)
	}
	if err := j.MarkSeeded("b"); err != nil {
		t.Fatal(err)
	}
	if got := string(filetest.Read(t, path)); got != old+`{"kind":"seeded","index":0,"brain":"b"}`+"\n" {
		t.Errorf("got %s", got)
	}
	if got := reopened(t, j); !got.Seeded("b") || !got.Unchained() {
		t.Error("what was added is not there")
	}
}

// TestFailedWrite: after a line that the disk did not take, the chain goes on with the one before.
func TestFailedWrite(t *testing.T) {
	j := sampleJournal(t, t.TempDir())
	before := j.chain
	f := j.file
	closed, err := openFile(filepath.Join(t.TempDir(), "other"), os.O_CREATE|os.O_RDWR)
	if err != nil {
		t.Fatal(err)
	}
	_ = closed.Close()
	j.file = closed.file
	if err := j.MarkSeeded("lost"); err == nil || j.chain != before {
		t.Errorf("got %v", err)
	}
	j.file = f
	if err := j.MarkSeeded("b"); err != nil {
		t.Fatal(err)
	}
	if got := reopened(t, j); !got.Seeded("b") || got.Seeded("lost") {
		t.Error("what was added is not there")
	}
}
