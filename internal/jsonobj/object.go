// Package jsonobj reads JSON objects whose keys are not known in advance, may be spelled in several
// ways, or must not be repeated. Unlike encoding/json it matches keys exactly, keeps their order,
// and reports repeated keys to callers that ask for them. Values are slices of the input and are
// decoded only on request.
package jsonobj

import (
	"encoding/json"
	"errors"
	"fmt"
	"iter"

	"evalctl/internal/decimal"
)

// Object is a JSON object: its members in the order of the text, including repeated keys. A lookup
// scans the members, which suits small objects that are read once.
type Object []Member

// Member is a decoded key and its value, a JSON text without space around it.
type Member struct {
	Key   []byte
	Value json.RawMessage
}

// ErrNotObject is returned for a JSON text that is not an object.
var ErrNotObject = errors.New("not a JSON object")

// ErrNotObjects is returned for a value that is not a list of objects.
var ErrNotObjects = errors.New("not a list of objects")

// usualMembers is room for the members of most objects.
const usualMembers = 8

// Parse parses a JSON object. Keys and values are slices of data, save keys with escapes. The error
// is ErrNotObject for other JSON values, and encoding/json's for a text that is not JSON.
func Parse(data []byte) (Object, error) {
	return Append(make(Object, 0, usualMembers), data)
}

// Prefix parses the JSON object at the start of data, and returns the rest. ok is false if data
// does not start with an object.
func Prefix(data []byte) (o Object, rest []byte, ok bool) {
	rest, ok = skipObject(data, maxDepth, &o)
	if !ok {
		return nil, data, false
	}
	return o, rest, true
}

// Append is Parse into an object whose members are no longer needed, say o[:0].
func Append(o Object, data []byte) (Object, error) {
	if rest, ok := skipObject(skipSpace(data), maxDepth, &o); ok && len(skipSpace(rest)) == 0 {
		return o, nil
	}
	if err := json.Unmarshal(data, new(json.RawMessage)); err != nil {
		return nil, err // it has the reason
	}
	return nil, ErrNotObject
}

// Get returns the value of key, the last one if key is repeated, and nil if it is missing.
func (o Object) Get(key string) json.RawMessage {
	for i := len(o) - 1; i >= 0; i-- {
		if string(o[i].Key) == key {
			return o[i].Value
		}
	}
	return nil
}

// Text returns the value of the first of keys that is a non-empty string, and "" if none is.
func (o Object) Text(keys ...string) string {
	s, _ := String(o.First(keys...))
	return s
}

// First returns the value of the first of keys that is a non-empty string, and nil if none is.
func (o Object) First(keys ...string) json.RawMessage {
	for _, k := range keys {
		if v := o.Get(k); len(v) > len(`""`) && v[0] == '"' {
			return v
		}
	}
	return nil
}

// Number returns the value of the first of keys that is a number, and 0 if none is. The error names
// a number that decimal.Parse refuses.
func (o Object) Number(keys ...string) (float64, error) {
	for _, k := range keys {
		v := o.Get(k)
		if len(v) == 0 || v[0] != '-' && !isDigit(v[0]) {
			continue
		}
		n, err := decimal.Parse(string(v))
		if err != nil {
			return 0, fmt.Errorf("%q: %w", k, err)
		}
		return n, nil
	}
	return 0, nil
}

// Object returns the value of key if it is an object, and nil otherwise.
func (o Object) Object(key string) Object {
	value := o.Get(key)
	if len(value) == 0 || value[0] != '{' {
		return nil
	}
	sub := make(Object, 0, usualMembers)
	skipObject(value, maxDepth, &sub)
	return sub
}

// String returns the string that value encodes; ok is false if value is not a JSON string.
// value must be a value of a parsed object or nil.
func String(value json.RawMessage) (s string, ok bool) {
	if len(value) == 0 || value[0] != '"' {
		return "", false
	}
	return unquote(value), true
}

// Objects parses value, a list of at most most objects. null is an empty list, and null in the list
// an empty object. value must be a value of a parsed object or nil.
func Objects(value json.RawMessage, most int) (list []Object, err error) {
	if string(value) == "null" {
		return nil, nil
	}
	if len(value) == 0 || value[0] != '[' {
		return nil, ErrNotObjects
	}
	for element := range Elements(value) {
		if len(list) == most {
			return nil, fmt.Errorf("the list has more than %d entries", most)
		}
		var o Object
		if string(element) != "null" {
			o = make(Object, 0, usualMembers)
			if _, ok := skipObject(element, maxDepth, &o); !ok {
				return nil, ErrNotObjects
			}
		}
		list = append(list, o)
	}
	return list, nil
}

// Elements returns the elements of value, which must be a value of a parsed object or nil. A value
// that is not a list has none.
func Elements(value json.RawMessage) iter.Seq[json.RawMessage] {
	return func(yield func(json.RawMessage) bool) {
		skipArray(value, maxDepth, yield)
	}
}
