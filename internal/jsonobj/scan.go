package jsonobj

import (
	"bytes"
	"encoding/json"
	"errors"
	"unicode/utf8"
)

// ErrNotObject is returned for a JSON text that is not an object.
var ErrNotObject = errors.New("not a JSON object")

// Walk calls each with every member of the JSON object data, in order and repeated keys included.
// Keys are decoded. Values are slices of data, and so are most keys. The error is ErrNotObject, one
// of encoding/json, or that of each.
func Walk(data []byte, each func(key []byte, value json.RawMessage) error) error {
	value, err := valid(data)
	if err != nil {
		return err
	}
	return walkValid(value, each)
}

// valid returns the JSON text in data without the space around it.
func valid(data []byte) (json.RawMessage, error) {
	if !isValid(data) {
		return nil, json.Unmarshal(data, new(json.RawMessage)) // the error has the reason
	}
	return bytes.TrimSpace(data), nil
}

// walkValid is Walk for a valid JSON text without space around it. Since the text is valid, it
// suffices to look for quotes, brackets and commas.
func walkValid(data []byte, each func(key []byte, value json.RawMessage) error) error {
	if data[0] != '{' {
		return ErrNotObject
	}
	for rest := bytes.TrimSpace(data[1:]); rest[0] != '}'; rest = bytes.TrimSpace(rest) {
		n := stringEnd(rest)
		key := rest[1 : n-1]
		if !plain(key) {
			key = []byte(unquote(rest[:n]))
		}
		rest = bytes.TrimSpace(rest[n:])[len(":"):]
		n = valueEnd(rest)
		if err := each(key, bytes.TrimSpace(rest[:n])); err != nil {
			return err
		}
		if rest = rest[n:]; rest[0] == ',' {
			rest = rest[1:]
		}
	}
	return nil
}

// eachElement yields the elements of a valid JSON list.
func eachElement(list json.RawMessage, yield func(json.RawMessage) bool) {
	for rest := bytes.TrimSpace(list[1:]); rest[0] != ']'; rest = bytes.TrimSpace(rest) {
		n := valueEnd(rest)
		if !yield(bytes.TrimSpace(rest[:n])) {
			return
		}
		if rest = rest[n:]; rest[0] == ',' {
			rest = rest[1:]
		}
	}
}

// stringEnd returns the length of the JSON string at the start of b.
func stringEnd(b []byte) int {
	for i := 1; ; i++ {
		switch b[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
}

// valueEnd returns the length of the JSON value at the start of b, with the space around it: the
// offset of the comma or bracket that follows.
func valueEnd(b []byte) int {
	depth := 0
	for i := 0; ; i++ {
		switch b[i] {
		case '"':
			i += stringEnd(b[i:]) - 1
		case '{', '[':
			depth++
		case '}', ']':
			if depth == 0 {
				return i
			}
			depth--
		case ',':
			if depth == 0 {
				return i
			}
		}
	}
}

// unquote decodes a valid JSON string.
func unquote(raw []byte) (s string) {
	if inside := raw[1 : len(raw)-1]; plain(inside) {
		return string(inside)
	}
	_ = json.Unmarshal(raw, &s) // cannot fail: raw is a string
	return s
}

// plain reports whether what is between the quotes of a JSON string is what it encodes.
func plain(inside []byte) bool {
	return bytes.IndexByte(inside, '\\') < 0 && utf8.Valid(inside)
}
