package httpapi

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"unicode/utf8"

	"evalctl/daemon/protocol"
)

// aliases maps further names of a key to the one that this daemon uses.
type aliases map[string]string

// decodeBody reads a JSON object whose Content-Type may be left out.
func decodeBody(w http.ResponseWriter, r *http.Request, also aliases, into any) error {
	body, err := readJSON(w, r)
	if err != nil {
		return err
	}
	return decode(body, also, into)
}

func readJSON(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	if err := requireType(r, protocol.TypeJSON, true); err != nil {
		return nil, err
	}
	return readBody(w, r, maxJSONBytes)
}

// decode reads one JSON object. Keys may be spelled in snake_case or camelCase
// or by an alias; a key that is given twice must have one value. Unknown keys
// are ignored.
func decode(body []byte, also aliases, into any) error {
	fields, err := fold("the body", body, also, nil)
	if err != nil {
		return err
	}
	return unfold(fields, into)
}

// unfold decodes what fold gave.
func unfold(fields map[string]json.RawMessage, into any) error {
	folded, err := json.Marshal(fields)
	if err != nil {
		return jsonError(err)
	}
	if err := json.Unmarshal(folded, into); err != nil {
		return jsonError(err)
	}
	return nil
}

// fold reads the one JSON object that where holds and gives its values under
// snake_case keys. With only, other keys are refused.
func fold(where string, body []byte, also aliases, only []string) (map[string]json.RawMessage, error) {
	if !utf8.Valid(body) {
		return nil, refuse(errInvalid, "%s is not valid UTF-8", where)
	}
	dec := json.NewDecoder(bytes.NewReader(body))
	if err := expectDelim(dec, '{', where); err != nil {
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
		if only != nil && !slices.Contains(only, key) {
			return nil, refuse(errInvalid, "%s has no key %.64q: use %s", where, token, strings.Join(only, ", "))
		}
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
	if err := expectDelim(dec, '}', where); err != nil {
		return nil, err
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, refuse(errInvalid, "%s has more than one JSON value", where)
	}
	return fields, nil
}

func expectDelim(dec *json.Decoder, want json.Delim, where string) error {
	token, err := dec.Token()
	if err != nil {
		return jsonError(err)
	}
	if token != want {
		return refuse(errInvalid, "%s is not a JSON object", where)
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
	switch t.Kind() {
	case reflect.Int:
		return "whole number"
	case reflect.Slice:
		return "list"
	case reflect.Bool:
		return "boolean"
	}
	return t.Kind().String()
}
