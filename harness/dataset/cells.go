package dataset

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"evalctl/internal/jsonobj"
)

// cell is a value with its key: text in a table, otherwise JSON.
type cell struct {
	key  string
	text string
	json json.RawMessage
}

// column is a field of a JSONL line.
type column struct {
	key  string
	list bool
}

// encodeMembers returns an object on one line.
func encodeMembers(members []jsonobj.Member) ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, m := range members {
		if i > 0 {
			b.WriteString(", ")
		}
		b.Write(jsonobj.Quote(string(m.Key)))
		b.WriteString(": ")
		if !bytes.ContainsAny(m.Value, "\r\n") {
			b.Write(m.Value)
		} else if err := json.Compact(&b, m.Value); err != nil {
			return nil, err
		}
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// raw returns the cell's value unchanged, nil for an empty table cell.
func (c cell) raw() json.RawMessage {
	if c.json != nil {
		return c.json
	}
	if c.text == "" {
		return nil
	}
	return jsonobj.Quote(c.text)
}

// value returns the cell's value in the form its column requires, nil for none.
func (k column) value(c cell) (json.RawMessage, error) {
	switch {
	case k.key == "checks":
		return checksCell(c)
	case c.json == nil && k.list:
		return listOf(c)
	case c.json == nil:
		return c.raw(), nil
	case string(c.json) == "null":
		return nil, nil
	case k.list && c.json[0] == '[':
		return scalars(c)
	case k.list:
		one, err := scalar(c.key, c.json)
		return joinList([]json.RawMessage{one}), err
	}
	return scalar(c.key, c.json)
}

// scalar returns a string, number or boolean as a string.
func scalar(key string, value json.RawMessage) (json.RawMessage, error) {
	switch value[0] {
	case '"':
		return value, nil
	case '{', '[', 'n':
		return nil, fmt.Errorf("field %q must be text, not %s", key, jsonKind(value))
	}
	return jsonobj.Quote(string(value)), nil
}

// joinList returns a JSON list of these values.
func joinList(values []json.RawMessage) json.RawMessage {
	list := []byte("[")
	for i, v := range values {
		if i > 0 {
			list = append(list, ", "...)
		}
		list = append(list, v...)
	}
	return append(list, ']')
}

// scalars returns a list with its elements as strings.
func scalars(c cell) (json.RawMessage, error) {
	list := []json.RawMessage{}
	for element := range jsonobj.Elements(c.json) {
		s, err := scalar(c.key, element)
		if err != nil {
			return nil, fmt.Errorf("field %q must be a list of texts: an element is %s", c.key, jsonKind(element))
		}
		list = append(list, s)
	}
	return joinList(list), nil
}

// listOf returns the list in a table cell: a JSON array, or texts separated by semicolons.
func listOf(c cell) (json.RawMessage, error) {
	text := strings.TrimSpace(c.text)
	if strings.HasPrefix(text, "[") {
		if !json.Valid([]byte(text)) {
			return nil, fmt.Errorf("column %q begins with [ and is not a JSON array; "+
				`write ["a", "b"], or a; b`, c.key)
		}
		return scalars(cell{key: c.key, json: json.RawMessage(text)})
	}
	list := []json.RawMessage{}
	for part := range strings.SplitSeq(text, ";") {
		if part = strings.TrimSpace(part); part != "" {
			list = append(list, jsonobj.Quote(part))
		}
	}
	if len(list) == 0 {
		return nil, nil
	}
	return joinList(list), nil
}
