package dataset

import (
	"strings"
	"testing"

	"evalctl/internal/filetest"
)

// TestChangedLine checks that a question whose text has changed since Open is not asked.
func TestChangedLine(t *testing.T) {
	path := writeDataset(t, 6)
	d := openAll(t, path)
	data := filetest.Read(t, path)
	n := 0
	for q, err := range d.Questions() {
		if n++; n == 3 {
			// The new text has the same length and is written in place, so that the reader sees it.
			changed := strings.Replace(string(data), "question 4", "question 9", 1)
			filetest.Write(t, path, changed)
			break
		}
		if err != nil {
			t.Fatal(q, err)
		}
	}
	n = 0
	for _, err := range d.Questions() {
		n++
		if n == 4 {
			if err == nil || !strings.Contains(err.Error(),
				"questions.jsonl:4: the dataset changed during the run") {
				t.Fatalf("question 4: %v", err)
			}
			return
		}
		if err != nil {
			t.Fatal(n, err)
		}
	}
	t.Fatalf("only %d questions", n)
}
