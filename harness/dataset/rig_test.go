package dataset

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"evalctl/internal/filetest"
)

// writeDataset writes questions "question 1" to "question n" and returns the file's path.
func writeDataset(t *testing.T, n int) string {
	t.Helper()
	var b strings.Builder
	for i := 1; i <= n; i++ {
		fmt.Fprintf(&b, `{"id":"q%d","question":"question %d","reference_answer":"answer %d"}`+"\n",
			i, i, i)
	}
	return filetest.Write(t, filepath.Join(t.TempDir(), "questions.jsonl"), b.String())
}

// openAll opens a dataset and accepts every question.
func openAll(t *testing.T, path string) Dataset {
	t.Helper()
	d, err := Open(path, Options{Check: accept})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func encodeJSON(v any) []byte {
	data, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return data
}
