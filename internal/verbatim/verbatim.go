// Package verbatim carries the ids and the progress tokens of JSON-RPC messages through a library
// that decodes numbers as float64. The library would change 2^53 + 1, and the sign of 2^63, and the
// sender of a request would wait for ever. A text replaces each such value while the library has
// it.
package verbatim

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"strings"

	"evalctl/internal/jsonobj"
)

// mark begins every text that replaces a value. It is random, so that no text of a sender begins
// with it.
var mark = "verbatim-" + rand.Text() + ":"

// Text returns the text that replaces a value.
func Text(value json.RawMessage) string { return mark + string(value) }

// Value returns the value that a text replaces. ok is false for any other text.
func Value(text string) (value json.RawMessage, ok bool) {
	raw, ok := strings.CutPrefix(text, mark)
	if !ok {
		return nil, false
	}
	return json.RawMessage(raw), true
}

// Incoming returns a received message with texts in place of the id of a request, the id that a
// cancellation names, and a progress token that is a number. Other messages, and values that are
// neither a string nor a number, are returned unchanged.
func Incoming(message []byte) []byte {
	o, err := jsonobj.Parse(message)
	if err != nil || o.Get("method") == nil {
		return message
	}
	id := o.Get("id")
	if !isString(id) && !isNumber(id) {
		id = nil
	}
	params := o.Object("params")
	changed := cancels(o, params)
	if token := params.Object("_meta").Get("progressToken"); changed == nil && isNumber(token) {
		changed = replace(params, "_meta", replace(params.Object("_meta"), "progressToken", quote(token)))
	}
	if changed != nil {
		o = with(o, "params", changed)
	}
	if id != nil {
		o = with(o, "id", quote(id))
	}
	if id == nil && changed == nil {
		return message
	}
	return encode(o)
}

// cancels returns the parameters of a cancellation with a text for its id, nil for other messages.
func cancels(o, params jsonobj.Object) json.RawMessage {
	if method, _ := jsonobj.String(o.Get("method")); method != "notifications/cancelled" {
		return nil
	}
	id := params.Get("requestId")
	if !isString(id) && !isNumber(id) {
		return nil
	}
	return replace(params, "requestId", quote(id))
}

// Outgoing returns a message of the library, or an event that has one, with the values in place of
// the texts that replace them.
func Outgoing(message []byte) []byte {
	key := []byte(`"` + mark)
	var out []byte
	done := 0 // bytes of message that out has
	for from := 0; ; {
		at := bytes.Index(message[from:], key)
		if at < 0 {
			break
		}
		at += from
		from = at + len(key)
		var text string
		d := json.NewDecoder(bytes.NewReader(message[at:]))
		if escaped(message[:at]) || d.Decode(&text) != nil {
			continue
		}
		value, _ := Value(text)
		out = append(append(out, message[done:at]...), value...)
		done = at + int(d.InputOffset())
		from = done
	}
	if done == 0 {
		return message
	}
	return append(out, message[done:]...)
}

// escaped reports whether a backslash before the next byte belongs to it: the byte is inside a
// string.
func escaped(before []byte) bool {
	return (len(before)-len(bytes.TrimRight(before, `\`)))%2 == 1
}

func quote(value json.RawMessage) json.RawMessage { return jsonobj.Quote(Text(value)) }

// with returns an object with an additional member. A later member with the same key would win.
func with(o jsonobj.Object, key string, value json.RawMessage) jsonobj.Object {
	out := make(jsonobj.Object, 0, len(o))
	for _, m := range o {
		if string(m.Key) != key {
			out = append(out, m)
		}
	}
	return append(out, jsonobj.Member{Key: []byte(key), Value: value})
}

func replace(o jsonobj.Object, key string, value json.RawMessage) json.RawMessage {
	return encode(with(o, key, value))
}

func encode(o jsonobj.Object) []byte {
	size := 2
	for _, m := range o {
		size += len(m.Key) + len(m.Value) + 8
	}
	b := append(make([]byte, 0, size), '{')
	for i, m := range o {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(append(b, jsonobj.Quote(string(m.Key))...), ':')
		b = append(b, m.Value...)
	}
	return append(b, '}')
}

func isString(value json.RawMessage) bool { return len(value) > 0 && value[0] == '"' }

func isNumber(value json.RawMessage) bool {
	return len(value) > 0 && (value[0] == '-' || value[0] >= '0' && value[0] <= '9')
}
