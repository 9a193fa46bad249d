package journal

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"evalctl/internal/filetest"
)

// TestOpenAtEveryByte cuts a journal at every byte and checks that exactly the complete lines are
// kept.
func TestOpenAtEveryByte(t *testing.T) {
	sample := sampleJournal(t, t.TempDir())
	journal := filetest.Read(t, sample.Path())
	_ = sample.Close()
	firstLine := bytes.IndexByte(journal, '\n') + 1
	path := filepath.Join(t.TempDir(), "go.journal")
	for at := range len(journal) + 1 {
		filetest.Write(t, path, string(journal[:at]))
		j, err := Open(path)
		if at < firstLine {
			if err == nil || err.Error() != path+" contains no run; start a new run" {
				t.Fatalf("%d bytes: got %v", at, err)
			}
			continue
		}
		if err != nil {
			t.Fatalf("%d bytes: %v", at, err)
		}
		_ = j.Close()
		want := journal[:bytes.LastIndexByte(journal[:at], '\n')+1]
		if got, _ := os.ReadFile(path); !bytes.Equal(got, want) || j.end != int64(len(want)) {
			t.Fatalf("%d bytes: the journal has %d, want %d", at, len(got), len(want))
		}
	}
}
