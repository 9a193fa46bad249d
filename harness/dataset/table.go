package dataset

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"strings"

	"evalctl/internal/inputfile"
)

// readTable reads the records of a table with a header.
func readTable(name string, data []byte, format Format) ([]record, error) {
	if format == TSV {
		data = inputfile.TSV(data)
	} else {
		data = inputfile.Table(data, true)
	}
	r := csv.NewReader(bytes.NewReader(data))
	r.Comma, r.ReuseRecord = separator(data, format), true
	var header []string
	var records []record
	for {
		row, err := r.Read()
		if errors.Is(err, io.EOF) {
			return records, nil
		}
		if e, ok := errors.AsType[*csv.ParseError](err); ok {
			return nil, &LineError{File: name, Line: e.StartLine, Err: tableError(e, len(header))}
		}
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", name, err)
		}
		line, _ := r.FieldPos(0)
		if header == nil {
			for _, h := range row {
				header = append(header, strings.TrimSpace(h))
			}
			continue
		}
		rec := record{line: line}
		for i, text := range row {
			if header[i] == "" && strings.TrimSpace(text) != "" {
				return nil, &LineError{File: name, Line: line, Err: fmt.Errorf(
					"column %d has a value and no name in the header", i+1)}
			}
			if header[i] != "" {
				rec.cells = append(rec.cells, cell{key: header[i], text: text})
			}
		}
		records = append(records, rec)
	}
}

// tableError describes a bad row.
func tableError(e *csv.ParseError, columns int) error {
	if errors.Is(e.Err, csv.ErrFieldCount) {
		return fmt.Errorf("the row has not the %d columns of the header; "+
			"put a text with separators in quotes", columns)
	}
	return fmt.Errorf(`%w; write a quote within a text as ""`, e.Err)
}

// separator returns the column separator of a table.
func separator(data []byte, format Format) rune {
	if format == TSV {
		return '\t'
	}
	header, _, _ := bytes.Cut(data, []byte("\n"))
	if bytes.Count(header, []byte(";")) > bytes.Count(header, []byte(",")) {
		return ';'
	}
	return ','
}
