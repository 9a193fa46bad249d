package rows

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"io/fs"

	"evalctl/harness/result"
	"evalctl/internal/inputfile"
)

// JSONLines writes the questions of a result, one JSON object per line, with unchanged texts. Every
// object has all columns, in order; a missing value is null.
func JSONLines(w io.Writer, r *result.Reader) error {
	buffer := bufio.NewWriter(w)
	out := json.NewEncoder(buffer)
	out.SetEscapeHTML(false)
	res := r.Result()
	for rec, err := range r.Questions() {
		if err != nil {
			return err
		}
		if err := out.Encode(rowOf(&res, &rec)); err != nil {
			return err
		}
	}
	return buffer.Flush()
}

// Replaceable reports whether JSONLines may write a file: it does not exist, is empty, or begins with a
// row. Other files that end in .jsonl may be datasets.
func Replaceable(path string) bool {
	f, err := inputfile.Open(path, inputfile.Streamed)
	if err != nil {
		return errors.Is(err, fs.ErrNotExist)
	}
	defer f.Close()
	first := []byte(`{"` + Columns()[0].Name + `":`)
	start := make([]byte, len(first))
	n, err := io.ReadFull(f, start)
	return n == 0 && errors.Is(err, io.EOF) || bytes.Equal(start, first)
}
