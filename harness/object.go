package harness

import (
	"bytes"
	"encoding/json"
	"errors"
	"iter"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

var errNoObject = errors.New("not a JSON object")

// members calls each with every member of the JSON object data, in order and
// with repetitions. Values are slices of data. The error is errNoObject, one
// of encoding/json, or each's.
func members(data []byte, each func(key string, value json.RawMessage) error) error {
	value, err := valid(data)
	if err != nil {
		return err
	}
	return validMembers(value, each)
}

// valid gives the JSON text in data without space around it.
func valid(data []byte) (json.RawMessage, error) {
	if !json.Valid(data) {
		return nil, json.Unmarshal(data, new(json.RawMessage)) // says why
	}
	return bytes.TrimSpace(data), nil
}

// validMembers is members for a valid JSON text without space around it, in
// which looking for quotes and brackets is enough.
func validMembers(data []byte, each func(key string, value json.RawMessage) error) error {
	if data[0] != '{' {
		return errNoObject
	}
	for rest := bytes.TrimSpace(data[1:]); rest[0] != '}'; rest = bytes.TrimSpace(rest) {
		n := stringEnd(rest)
		key := stringValue(rest[:n])
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

// stringEnd is the length of the JSON string that b starts with.
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

// valueEnd is the length of the JSON value that b starts with, and of the space
// around it: up to the comma or brace that follows.
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

// stringValue is what a valid JSON string means.
func stringValue(raw []byte) string {
	s := string(raw[1 : len(raw)-1])
	if strings.Contains(s, `\`) || !utf8.ValidString(s) {
		_ = json.Unmarshal(raw, &s) // it is a string
	}
	return s
}

// object is a JSON object of a daemon, whose keys may be spelled in several
// ways. Its members are in the order they came in: the objects are small, and
// looked into once.
type object []member

type member struct {
	key   string
	value json.RawMessage
}

// parseObject reads a JSON object; of a repeated key the last value counts.
// Values are slices of data.
func parseObject(data []byte) (object, error) {
	value, err := valid(data)
	if err != nil {
		return nil, err
	}
	return objectIn(value)
}

// objectIn is parseObject for a value of a JSON text that was found valid.
func objectIn(value json.RawMessage) (object, error) {
	o := make(object, 0, 8)
	err := validMembers(value, func(key string, value json.RawMessage) error {
		o = append(o, member{key, value})
		return nil
	})
	if err != nil {
		return nil, err
	}
	return o, nil
}

// objects reads a list of objects, which is a value of a valid JSON text. null
// is an empty list, and in the list an empty object.
func objects(value json.RawMessage) (list []object, ok bool) {
	if string(value) == "null" {
		return nil, true
	}
	if len(value) == 0 || value[0] != '[' {
		return nil, false
	}
	for element := range elements(value) {
		o, err := objectIn(element)
		if err != nil && string(element) != "null" {
			return nil, false
		}
		list = append(list, o)
	}
	return list, true
}

// elements gives the elements of a list in a valid JSON text.
func elements(list json.RawMessage) iter.Seq[json.RawMessage] {
	return func(yield func(json.RawMessage) bool) {
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
}

// encode writes the members in their order; the keys are plain words.
func (o object) encode() []byte {
	b := []byte{'{'}
	for i, m := range o {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(strconv.AppendQuote(b, m.key), ':')
		b = append(b, m.value...)
	}
	return append(b, '}')
}

// get gives the value of a key; nil where it is missing.
func (o object) get(key string) json.RawMessage {
	for _, m := range slices.Backward(o) {
		if m.key == key {
			return m.value
		}
	}
	return nil
}

// text gives the first of the keys that holds a non-empty string.
func (o object) text(keys ...string) string {
	for _, k := range keys {
		raw := o.get(k)
		if len(raw) > len(`""`) && raw[0] == '"' {
			return stringValue(raw)
		}
	}
	return ""
}

// number gives the first of the keys that holds a number, 0 for none. No other
// JSON value reads as one.
func (o object) number(keys ...string) float64 {
	for _, k := range keys {
		if f, err := strconv.ParseFloat(string(o.get(k)), 64); err == nil {
			return f
		}
	}
	return 0
}

// tokens is a count of tokens. What cannot be one call's is cut to what can.
func (o object) tokens(keys ...string) int {
	return int(min(max(o.number(keys...), 0), 1e9))
}

// object gives a member that is an object, and nil for anything else.
func (o object) object(key string) object {
	value := o.get(key)
	if value == nil {
		return nil
	}
	sub, _ := objectIn(value) // nil when it is none
	return sub
}

// complaint is what a daemon says went wrong, on one line.
func (o object) complaint() string {
	return clip([]byte(strings.Join(nonEmpty(o.text("code"), o.text("message", "error", "detail")), ": ")))
}
