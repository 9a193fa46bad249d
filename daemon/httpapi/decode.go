package httpapi

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"reflect"
	"slices"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/encoding"

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

// maxKeys is how many keys an object may have, known or not: more than any
// client has use for, and few enough to look at.
const maxKeys = 256

// decode reads one JSON object into a struct whose fields have JSON names. Keys
// may be spelled in snake_case or camelCase or by an alias; a key that is given
// twice must have one value. Unknown keys are ignored.
func decode(body []byte, also aliases, into any) error {
	fields, err := normalizeKeys("the body", body, also, namesOf(into), false)
	if err != nil {
		return err
	}
	return decodeInto(fields, into)
}

// namesOf gives the JSON names of what into points to.
func namesOf(into any) []string {
	var keys []string
	for field := range reflect.TypeOf(into).Elem().Fields() {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		keys = append(keys, name)
	}
	return keys
}

// unfold decodes what fold gave.
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

// fold reads the one JSON object that where holds and gives the values of keys,
// which are in snake_case. Other keys are skipped, or refused when strict.
func normalizeKeys(where string, body []byte, also aliases, keys []string, strict bool) (map[string]json.RawMessage, error) {
	if !utf8.Valid(body) {
		return nil, requestErrorf(errInvalid, "%s is not valid UTF-8", where)
	}
	dec := json.NewDecoder(bytes.NewReader(body))
	fields := map[string]json.RawMessage{}
	err := eachKey(dec, where, also, func(key, given string) error {
		if !slices.Contains(keys, key) {
			if strict {
				return requestErrorf(errInvalid, "%s has no key %.64q: use %s", where, given, strings.Join(keys, ", "))
			}
			return skip(dec)
		}
		var value json.RawMessage
		if err := dec.Decode(&value); err != nil {
			return jsonError(err)
		}
		earlier, twice := fields[key]
		if twice && !sameValue(earlier, value) {
			return refuseTwice(key)
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

// eachKey reads one JSON object. It calls value at each key, in snake_case and
// as it was given, to take the key's value from dec. A key that canonical does
// not know is "".
func eachKey(dec *json.Decoder, where string, also aliases, value func(key, given string) error) error {
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
		given := token.(string) // a decoder takes no other key
		key, _ := canonical(given, also)
		if err := value(key, given); err != nil {
			return err
		}
	}
	return expectDelim(dec, '}', where)
}

// skip passes over the next value without keeping it.
func skip(dec *json.Decoder) error {
	if err := dec.Decode(&ignored{}); err != nil {
		return jsonError(err)
	}
	return nil
}

// ignored is any JSON value.
type ignored struct{}

func (*ignored) UnmarshalJSON([]byte) error { return nil }

func refuseTwice(key string) error {
	return requestErrorf(errInvalid, "%s is given twice, with different values", key)
}

func expectEnd(dec *json.Decoder, where string) error {
	switch _, err := dec.Token(); {
	case errors.Is(err, io.EOF):
		return nil
	case isA[*requestError](err), errors.Is(err, os.ErrDeadlineExceeded):
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

// jsonError says what is wrong with a body. Errors of reading one stay as they
// are.
func jsonError(err error) error {
	if isA[*requestError](err) || errors.Is(err, os.ErrDeadlineExceeded) {
		return err
	}
	if e, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return requestErrorf(errInvalid, "%s must be a %s, not a %s", e.Field, jsonName(e.Type), e.Value)
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
