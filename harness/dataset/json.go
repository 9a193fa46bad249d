package dataset

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	"evalctl/internal/jsonobj"
)

// readJSON reads the objects of an array, also of one inside an object, or several objects in
// sequence, optionally separated by commas.
func readJSON(name string, data []byte) ([]record, error) {
	var records []record
	dec, begin := json.NewDecoder(bytes.NewReader(data)), int64(0) // dec reads from begin on
	counter := lineCounter{data: data, line: 1}
	for {
		var value json.RawMessage
		err := dec.Decode(&value)
		if errors.Is(err, io.EOF) {
			return records, nil
		}
		if err != nil {
			at := begin + dec.InputOffset()
			if e, ok := errors.AsType[*json.SyntaxError](err); ok {
				at = begin + e.Offset
			} else if errors.Is(err, io.ErrUnexpectedEOF) {
				at = int64(len(data))
			}
			return nil, &LineError{File: name, Line: counter.at(at), Err: fmt.Errorf("bad JSON: %w", err)}
		}
		end := begin + dec.InputOffset()
		start, from := end-int64(len(value)), 0
		found, err := objectsOf(name, value, func(part json.RawMessage) int {
			// Parts are subslices of value in order.
			at := from + max(bytes.Index(value[from:], part), 0)
			from = min(at+1, len(value))
			return counter.at(start + int64(at))
		})
		if err != nil {
			return nil, err
		}
		records = append(records, found...)
		if rest := bytes.TrimLeft(data[end:], " \t\r\n"); bytes.HasPrefix(rest, []byte(",")) {
			begin = int64(len(data) - len(rest) + 1)
			dec = json.NewDecoder(bytes.NewReader(data[begin:]))
		}
	}
}

// objectsOf returns the objects in a value: its elements, its only list's elements unless it is
// itself a record, or the value itself.
func objectsOf(name string, value json.RawMessage, line func(json.RawMessage) int) ([]record, error) {
	if value[0] == '[' {
		var records []record
		for element := range jsonobj.Elements(value) {
			at := line(element)
			r, err := recordOf(element, at)
			if err != nil {
				return nil, &LineError{File: name, Line: at, Err: err}
			}
			records = append(records, r)
		}
		return records, nil
	}
	o, err := jsonobj.Parse(value)
	if err != nil {
		err = fmt.Errorf("expected a JSON object or array, not %s", jsonKind(value))
		return nil, &LineError{File: name, Line: line(value), Err: err}
	}
	var lists []jsonobj.Member
	var others []string
	for _, m := range o {
		if isObjects(m.Value) {
			lists = append(lists, m)
		} else {
			others = append(others, string(m.Key))
		}
	}
	if len(lists) == 1 && !isRecord(string(lists[0].Key), others) {
		return objectsOf(name, lists[0].Value, line)
	}
	r, err := recordOf(value, line(value))
	return []record{r}, err
}

// isRecord reports whether an object with a list of objects and other keys is itself a question or
// a document, so that the list belongs to it.
func isRecord(list string, others []string) bool {
	has := func(name string) bool {
		return slices.ContainsFunc(others, func(key string) bool { return letters(key) == name })
	}
	asks := func(key string) bool { return questionSynonyms[letters(key)] == "question" }
	of := cmp.Or(questionSynonyms[letters(list)], letters(list))
	return has("question") || has("path") && has("text") ||
		(of == "checks" || of == "before") && slices.ContainsFunc(others, asks)
}

// isObjects reports whether value is a non-empty list of objects.
func isObjects(value json.RawMessage) bool {
	for element := range jsonobj.Elements(value) {
		return element[0] == '{'
	}
	return false
}

// recordOf returns the record of an object.
func recordOf(value json.RawMessage, line int) (record, error) {
	o, err := jsonobj.Parse(value)
	if err != nil {
		return record{}, fmt.Errorf("expected a JSON object, not %s", jsonKind(value))
	}
	r := record{line: line}
	for _, m := range o {
		r.cells = append(r.cells, cell{key: string(m.Key), json: m.Value})
	}
	return r, nil
}

// lineCounter converts ascending offsets to line numbers.
type lineCounter struct {
	data   []byte
	offset int64
	line   int
}

func (c *lineCounter) at(offset int64) int {
	offset = min(offset, int64(len(c.data)))
	if offset < c.offset {
		c.offset, c.line = 0, 1
	}
	c.line += bytes.Count(c.data[c.offset:offset], []byte("\n"))
	c.offset = offset
	return c.line
}
