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

	"golang.org/x/text/encoding"

	"evalctl/daemon/protocol"
	"evalctl/internal/jsonobj"
)

// aliases maps other names of a key to the one that this daemon uses.
type aliases map[string]string

// decodeBody reads a JSON object. The Content-Type may be missing.
func decodeBody(w http.ResponseWriter, r *http.Request, also aliases, into any) error {
	body, err := readJSON(w, r, maxJSONBytes)
	if err != nil {
		return err
	}
	return decode(body, also, into)
}

// readJSON is readBody of JSON.
func readJSON(w http.ResponseWriter, r *http.Request, limit int64) ([]byte, error) {
	if err := requireType(r, protocol.TypeJSON, true); err != nil {
		return nil, err
	}
	return readBody(w, r, limit)
}

// maxKeys is how many keys an object may have, known or unknown: more than any client needs.
const maxKeys = 256

// decode reads one JSON object into a struct whose fields have JSON names. Keys may be in
// snake_case or camelCase, or be aliases. A key given twice must have the same value. Unknown keys
// are ignored.
func decode(body []byte, also aliases, into any) error {
	fields, err := normalizeKeys("the body", body, also, namesOf(into), false)
	if err != nil {
		return err
	}
	return decodeInto(fields, into)
}

// namesOf returns the JSON names of the struct that into points to.
func namesOf(into any) []string {
	var keys []string
	for field := range reflect.TypeOf(into).Elem().Fields() {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		keys = append(keys, name)
	}
	return keys
}

// decodeInto decodes the result of normalizeKeys.
func decodeInto(fields map[string]json.RawMessage, into any) error {
	folded, err := json.Marshal(fields)
	if err != nil {
		return jsonError(err)
	}
	if err := json.Unmarshal(folded, into); err != nil {
		return jsonError(err)
	}
	return nil
}

// normalizeKeys reads the JSON object in body and returns the values of keys, which are in
// snake_case. It skips other keys, or rejects them if strict. Errors call the object where.
func normalizeKeys(
	where string, body []byte, also aliases, keys []string, strict bool,
) (map[string]json.RawMessage, error) {
	if !utf8.Valid(body) {
		return nil, requestErrorf(errInvalid, "%s is not valid UTF-8", where)
	}
	dec := json.NewDecoder(bytes.NewReader(body))
	fields := map[string]json.RawMessage{}
	err := eachKey(dec, where, also, func(key, given string) error {
		if !slices.Contains(keys, key) {
			if strict {
				return requestErrorf(errInvalid, "%s has no key %.64q: use %s",
					where, given, strings.Join(keys, ", "))
			}
			return skip(dec)
		}
		value, err := readRaw(dec, key)
		if err != nil {
			return err
		}
		earlier, twice := fields[key]
		if twice && !sameValue(earlier, value) {
			return givenTwice(key)
		}
		if !twice {
			fields[key] = value
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return fields, expectEnd(dec, where)
}

// readRaw reads the value of a key. It rejects half a surrogate pair in a path: decoding would
// replace it, so that one document would overwrite another.
func readRaw(dec *json.Decoder, key string) (value json.RawMessage, err error) {
	if err := dec.Decode(&value); err != nil {
		return nil, jsonError(err)
	}
	if isPath(key) && jsonobj.HalfSurrogate(value) {
		return nil, requestErrorf(errInvalid, "%s contains half of a surrogate pair", key)
	}
	return value, nil
}

// isPath reports whether the value of a key is the path of a document.
func isPath(key string) bool { return key == "path" || key == "from" || key == "to" }

// eachKey reads one JSON object. For each key it calls value, which must read the key's value from
// dec. The arguments of value are the canonical key, or "" if there is none, and the key as given.
func eachKey(
	dec *json.Decoder, where string, also aliases, value func(key, given string) error,
) error {
	if err := expectDelim(dec, '{', where); err != nil {
		return err
	}
	for n := 0; dec.More(); n++ {
		if n == maxKeys {
			return requestErrorf(errTooLarge, "%s has more than %d keys", where, maxKeys)
		}
		token, err := dec.Token()
		if err != nil {
			return jsonError(err)
		}
		given := token.(string) // a decoder rejects other keys
		key, _ := canonical(given, also)
		if err := value(key, given); err != nil {
			return err
		}
	}
	return expectDelim(dec, '}', where)
}

// skip reads the next value without keeping it.
func skip(dec *json.Decoder) error {
	if err := dec.Decode(&ignoredValue{}); err != nil {
		return jsonError(err)
	}
	return nil
}

// ignoredValue is any JSON value.
type ignoredValue struct{}

func (*ignoredValue) UnmarshalJSON([]byte) error { return nil }

func givenTwice(key string) error {
	return requestErrorf(errInvalid, "%s is given twice, with different values", key)
}

func expectEnd(dec *json.Decoder, where string) error {
	switch _, err := dec.Token(); {
	case errors.Is(err, io.EOF):
		return nil
	case isA[*requestError](err):
		return err
	}
	return requestErrorf(errInvalid, "%s has more than one JSON value", where)
}

func expectDelim(dec *json.Decoder, want json.Delim, where string) error {
	token, err := dec.Token()
	if err != nil {
		return jsonError(err)
	}
	if token != want {
		return requestErrorf(errInvalid, "%s is not a JSON object", where)
	}
	return nil
}

// canonical converts topK into top_k, and an alias into the key it means. It returns false for keys
// with characters other than ASCII letters, digits and _: encoding/json would match some of them by
// Unicode case folding.
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

// jsonError describes why a body is rejected. It returns errors from reading the body unchanged.
func jsonError(err error) error {
	if isA[*requestError](err) {
		return err
	}
	if e, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return requestErrorf(errInvalid, "%s must be a %s, not a %s",
			e.Field, jsonName(e.Type), e.Value)
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return requestErrorf(errInvalid, "the body is not valid JSON: it ends too early")
	}
	if errors.Is(err, encoding.ErrInvalidUTF8) {
		return requestErrorf(errInvalid, "the body is not valid UTF-8")
	}
	return requestErrorf(errInvalid, "the body is not valid JSON: %v", err)
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
