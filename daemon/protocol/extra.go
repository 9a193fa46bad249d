package protocol

import (
	"bytes"
	"encoding/json"
	"errors"
	"maps"
	"reflect"
	"slices"
	"strings"
)

// unmarshalExtra decodes a JSON object into the struct that known points to, and returns the keys
// that the struct has no field for. Names of keys must match exactly. The struct must not have
// methods of its own for JSON: pass a type that is defined by it.
func unmarshalExtra(data []byte, known any) (map[string]json.RawMessage, error) {
	var all map[string]json.RawMessage
	if err := json.Unmarshal(data, &all); err != nil {
		return nil, err
	}
	if all == nil {
		return nil, errors.New("null is not a JSON object")
	}
	fields := make(map[string]json.RawMessage, len(all))
	for key := range jsonNames(known) {
		if value, ok := all[key]; ok {
			fields[key] = value
			delete(all, key)
		}
	}
	data, err := json.Marshal(fields)
	if err != nil {
		return nil, err
	}
	if len(all) == 0 {
		all = nil
	}
	return all, json.Unmarshal(data, known)
}

// marshalExtra encodes the struct that known points to, followed by the keys of extra in ascending
// order. A key of extra that the struct has a field for is left out. See unmarshalExtra.
func marshalExtra(known any, extra map[string]json.RawMessage) ([]byte, error) {
	data, err := encode(known)
	if err != nil {
		return nil, err
	}
	names := jsonNames(known)
	buf := bytes.NewBuffer(bytes.TrimSuffix(data, []byte("}")))
	for _, key := range slices.Sorted(maps.Keys(extra)) {
		if names[key] {
			continue
		}
		pair, err := encode(map[string]json.RawMessage{key: extra[key]})
		if err != nil {
			return nil, err
		}
		if buf.Len() > len("{") {
			buf.WriteByte(',')
		}
		buf.Write(pair[1 : len(pair)-1])
	}
	buf.WriteByte('}')
	return buf.Bytes(), nil
}

// encode is json.Marshal without escapes for HTML, which would change what Extra contains.
func encode(v any) ([]byte, error) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	err := enc.Encode(v)
	return bytes.TrimSuffix(buf.Bytes(), []byte("\n")), err
}

// jsonNames returns the keys of the struct that known points to.
func jsonNames(known any) map[string]bool {
	names := map[string]bool{}
	for field := range reflect.TypeOf(known).Elem().Fields() {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		if name != "-" {
			names[name] = true
		}
	}
	return names
}
