package rows

import (
	"io"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress/zstd"

	"evalctl/harness/result"
)

// rowsOfGroup is how many rows are held in memory before they are written.
const rowsOfGroup = 10_000

// Parquet writes the questions of a result, with the texts as they are.
func Parquet(w io.Writer, r *result.Reader) error {
	out := parquet.NewGenericWriter[Row](w, parquet.Compression(&zstd.Codec{}), parquet.MaxRowsPerRowGroup(rowsOfGroup))
	res, row := r.Result(), make([]Row, 1)
	for rec, err := range r.Questions() {
		if err != nil {
			return err
		}
		row[0] = rowOf(&res, &rec)
		if _, err := out.Write(row); err != nil {
			return err
		}
	}
	return out.Close()
}
