package rows

import (
	"bufio"
	"encoding/json"
	"io"

	"evalctl/harness/resultfile"
)

// JSONLines writes the questions of a result, one JSON object per line, with unchanged texts. Every
// object has all columns, in order; a missing value is null.
func JSONLines(w io.Writer, r *resultfile.Reader) error {
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

// Start returns how each object of JSONLines begins.
func Start() string { return `{"` + Columns()[0].Name + `":` }
