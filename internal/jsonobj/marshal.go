package jsonobj

import (
	"bytes"
	"encoding/json"
)

// Marshal is json.Marshal without the escapes for HTML, which change texts that are compared, hashed
// or shown.
func Marshal(v any) (json.RawMessage, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(v)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
}

// Text returns the JSON of a value that has only texts, numbers and truth values, as Marshal writes
// it. It panics on a value that JSON cannot represent.
func Text(v any) string {
	data, err := Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(data)
}

// Quote returns a text as JSON, without the escapes for HTML.
func Quote(text string) json.RawMessage { return json.RawMessage(Text(text)) }
