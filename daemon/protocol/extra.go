package protocol

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"evalctl/internal/jsonobj"
)

// unmarshalExtra decodes a JSON object into known, which points to a struct, and returns the keys
// that the struct does not have, with their values verbatim. A key belongs to a field only if it is
// exactly the field's JSON name.
//
// A type with extra keys passes itself as a type without methods, which would otherwise call this
// function again.
func unmarshalExtra(data []byte, known any) (extra map[string]json.RawMessage, err error) {
	var all map[string]json.RawMessage
	if err := json.Unmarshal(data, &all); err != nil {
		return nil, err
	}
	if all == nil {
		return nil, errors.New("null is not a JSON object")
	}
	fields := map[string]json.RawMessage{}
	for _, name := range jsonNames(known) {
		if value, ok := all[name]; ok {
			fields[name] = value
			delete(all, name)
		}
	}
	exact, err := json.Marshal(fields)
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(exact, known); err != nil {
		return nil, err
	}
	if len(all) == 0 {
		return nil, nil
	}
	return all, nil
}

// marshalExtra encodes a struct, followed by the extra keys in ascending order. Extra keys that
// have the name of a field are left out.
func marshalExtra(known any, extra map[string]json.RawMessage) ([]byte, error) {
	data, err := jsonobj.Marshal(known)
	if err != nil {
		return nil, err
	}
	names := jsonNames(known)
	b := bytes.NewBuffer(bytes.TrimSuffix(data, []byte("}")))
	for _, key := range slices.Sorted(maps.Keys(extra)) {
		if slices.Contains(names, key) {
			continue
		}
		if !json.Valid(extra[key]) {
			return nil, fmt.Errorf("the value of the extra key %q is not JSON", key)
		}
		name, err := jsonobj.Marshal(key)
		if err != nil {
			return nil, err
		}
		if b.Len() > len("{") {
			b.WriteByte(',')
		}
		b.Write(name)
		b.WriteByte(':')
		b.Write(extra[key])
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// jsonNames returns the names of the fields of a struct, or of one that is pointed to.
func jsonNames(known any) []string {
	t := reflect.TypeOf(known)
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	var names []string
	for field := range t.Fields() {
		if name, _, _ := strings.Cut(field.Tag.Get("json"), ","); name != "-" {
			names = append(names, name)
		}
	}
	return names
}
