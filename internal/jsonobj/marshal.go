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

// Quote returns a text as JSON, without the escapes for HTML.
func Quote(text string) json.RawMessage {
	quoted, _ := Marshal(text) // a text can always be encoded
	return quoted
}
