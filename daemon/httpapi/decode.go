package httpapi

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"reflect"
	"strings"
	"unicode/utf8"

	"evalctl/daemon/protocol"
)

// aliases maps further names of a key to the one that this daemon uses.
type aliases map[string]string

// decodeBody reads a JSON object whose Content-Type may be left out.
func decodeBody(w http.ResponseWriter, r *http.Request, also aliases, into any) error {
	if err := requireType(r, protocol.TypeJSON, true); err != nil {
		return err
	}
	body, err := readBody(w, r, maxJSONBytes)
	if err != nil {
		return err
	}
	return decode(body, also, into)
}

// decode reads one JSON object. Keys may be spelled in snake_case or camelCase
// or by an alias; a key that is given twice must have one value. Unknown keys
// are ignored.
func decode(body []byte, also aliases, into any) error {
	fields, err := fold(body, also)
	if err != nil {
		return err
	}
	folded, err := json.Marshal(fields)
	if err != nil {
		return jsonError(err)
	}
	if err := json.Unmarshal(folded, into); err != nil {
		return jsonError(err)
	}
	return nil
}

// fold reads one JSON object and gives its values under snake_case keys.
func fold(body []byte, also aliases) (map[string]json.RawMessage, error) {
	if !utf8.Valid(body) {
		return nil, refuse(errInvalid, "the body is not valid UTF-8")
	}
	dec := json.NewDecoder(bytes.NewReader(body))
	if err := expectDelim(dec, '{'); err != nil {
		return nil, err
	}
	fields := map[string]json.RawMessage{}
	for dec.More() {
		token, err := dec.Token()
		if err != nil {
			return nil, jsonError(err)
		}
		var value json.RawMessage
		if err := dec.Decode(&value); err != nil {
			return nil, jsonError(err)
		}
		key, known := canonical(token.(string), also)
		if !known {
			continue
		}
		earlier, ok := fields[key]
		if ok && !sameValue(earlier, value) {
			return nil, refuse(errInvalid, "%s is given twice, with different values", key)
		}
		if !ok {
			fields[key] = value
		}
	}
	if err := expectDelim(dec, '}'); err != nil {
		return nil, err
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, refuse(errInvalid, "the body has more than one JSON value")
	}
	return fields, nil
}

func expectDelim(dec *json.Decoder, want json.Delim) error {
	token, err := dec.Token()
	if err != nil {
		return jsonError(err)
	}
	if token != want {
		return refuse(errInvalid, "the body is not a JSON object")
	}
	return nil
}

// canonical turns topK into top_k. Keys of other characters than letters,
// digits and _ are unknown: encoding/json would match some of them by Unicode
// case folding.
func canonical(key string, also aliases) (string, bool) {
	var b strings.Builder
	for _, c := range []byte(key) {
		switch {
		case c >= 'A' && c <= 'Z':
			b.WriteByte('_')
			b.WriteByte(c - 'A' + 'a')
		case c >= 'a' && c <= 'z', c >= '0' && c <= '9', c == '_':
			b.WriteByte(c)
		default:
			return "", false
		}
	}
	name := b.String()
	if other, ok := also[name]; ok {
		name = other
	}
	return name, true
}

func sameValue(a, b json.RawMessage) bool {
	if bytes.Equal(a, b) {
		return true
	}
	var x, y any
	return json.Unmarshal(a, &x) == nil && json.Unmarshal(b, &y) == nil && reflect.DeepEqual(x, y)
}

func jsonError(err error) error {
	if e, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return refuse(errInvalid, "%s must be a %s, not a %s", e.Field, jsonName(e.Type), e.Value)
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return refuse(errInvalid, "the body is not valid JSON: it ends too early")
	}
	return refuse(errInvalid, "the body is not valid JSON: %v", err)
}

func jsonName(t reflect.Type) string {
	if t.Kind() == reflect.Int {
		return "whole number"
	}
	return t.Kind().String()
}
