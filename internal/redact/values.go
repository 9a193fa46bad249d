package redact

import (
	"bytes"
	"encoding/json"
	"reflect"
)

// Values returns v with the secrets in all its strings and bytes replaced: in fields, elements, and
// keys and values of maps. It copies the parts that have a secret, and does not change v.
func Values[T any](r *Redactor, v T) T {
	if r == nil {
		return v
	}
	if changed, ok := r.value(reflect.ValueOf(&v).Elem()); ok {
		return changed.Interface().(T)
	}
	return v
}

// value returns a copy of v without secrets. ok is false if it has none.
func (r *Redactor) value(v reflect.Value) (_ reflect.Value, ok bool) {
	switch v.Kind() {
	case reflect.String:
		text := v.String()
		if clean := r.Text(text); clean != text {
			return reflect.ValueOf(clean).Convert(v.Type()), true
		}
	case reflect.Pointer, reflect.Interface:
		if v.IsNil() {
			return v, false
		}
		if inner, ok := r.value(v.Elem()); ok {
			return pointing(v, inner), true
		}
	case reflect.Struct:
		return r.parts(v, v.NumField(), reflect.Value.Field)
	case reflect.Array:
		return r.parts(v, v.Len(), reflect.Value.Index)
	case reflect.Slice:
		if v.Type() == reflect.TypeFor[json.RawMessage]() {
			return r.raw(v)
		}
		if v.Type().Elem().Kind() == reflect.Uint8 {
			text := string(v.Bytes())
			if clean := r.Text(text); clean != text {
				return reflect.ValueOf([]byte(clean)).Convert(v.Type()), true
			}
			return v, false
		}
		return r.parts(v, v.Len(), reflect.Value.Index)
	case reflect.Map:
		return r.members(v)
	}
	return v, false
}

// raw cleans a JSON text, in whose strings escapes may hide a secret.
func (r *Redactor) raw(v reflect.Value) (_ reflect.Value, ok bool) {
	text := v.Bytes()
	clean := json.RawMessage(r.Text(string(text)))
	changed := !bytes.Equal(clean, text)
	var decoded any
	dec := json.NewDecoder(bytes.NewReader(clean))
	dec.UseNumber() // a number stays as it is written
	if bytes.IndexByte(clean, '\\') >= 0 && dec.Decode(&decoded) == nil {
		if without, hid := r.value(reflect.ValueOf(&decoded).Elem()); hid {
			data, err := json.Marshal(without.Interface())
			if err != nil {
				panic(err) // it was JSON
			}
			clean, changed = data, true
		}
	}
	return reflect.ValueOf(clean), changed
}

// pointing returns a pointer or an interface like v to inner.
func pointing(v, inner reflect.Value) reflect.Value {
	if v.Kind() == reflect.Interface {
		out := reflect.New(v.Type()).Elem()
		out.Set(inner)
		return out
	}
	p := reflect.New(v.Type().Elem())
	p.Elem().Set(inner)
	return p.Convert(v.Type())
}

// parts cleans the n fields or elements of v. It does not change fields that only their package can
// set.
func (r *Redactor) parts(v reflect.Value, n int, part func(reflect.Value, int) reflect.Value) (out reflect.Value, ok bool) {
	out = v
	for i := range n {
		if v.Kind() == reflect.Struct && !v.Type().Field(i).IsExported() {
			continue
		}
		clean, changed := r.value(part(v, i))
		if !changed {
			continue
		}
		if !ok {
			out, ok = copied(v), true
		}
		part(out, i).Set(clean)
	}
	return out, ok
}

// copied returns a copy of a struct, an array or a slice whose parts can be set.
func copied(v reflect.Value) reflect.Value {
	if v.Kind() == reflect.Slice {
		out := reflect.MakeSlice(v.Type(), v.Len(), v.Len())
		reflect.Copy(out, v)
		return out
	}
	out := reflect.New(v.Type()).Elem()
	out.Set(v)
	return out
}

func (r *Redactor) members(v reflect.Value) (out reflect.Value, ok bool) {
	out = reflect.MakeMapWithSize(v.Type(), v.Len())
	for key, member := range v.Seq2() {
		cleanKey, changedKey := r.value(key)
		clean, changed := r.value(member)
		ok = ok || changedKey || changed
		out.SetMapIndex(cleanKey, clean)
	}
	if !ok {
		return v, false
	}
	return out, true
}
