package source

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"evalctl/internal/jsonobj"
	"evalctl/internal/jsonstream"
)

// walker reads the JSON of a benchmark file in order and checks every value. Its errors have the
// byte offset of the bad value.
type walker struct {
	r     *jsonstream.Reader
	traps *traps
	where string // the current element, for examples
	keep  bool   // whether the texts of turns are kept
	// keys are the keys of the enclosing objects, outermost first.
	keys  []string
	short map[string]string // decoded texts by how they are written, see decode
}

// end returns an error unless only space follows the array.
func (w *walker) end() error {
	if c, err := w.r.Peek(); err == nil {
		return jsonstream.At(w.r.Offset(), fmt.Errorf("%q after the end of the array; "+
			"the file must contain nothing else", c))
	}
	return w.r.End()
}

// members reads an object. A repeated key is an error, because either value could be meant.
func (w *walker) members(each func(key string) error) error {
	first := len(w.keys)
	defer func() { w.keys = w.keys[:first] }()
	const few = 32
	var more map[string]bool // of the keys after the first few
	return w.r.Members(func(key string) error {
		if more[key] || slices.Contains(w.keys[first:], key) {
			return w.errorf("the key %.40q is given twice in one object", key)
		}
		if len(w.keys)-first < few {
			w.keys = append(w.keys, key)
		} else if more == nil {
			more = map[string]bool{key: true}
		} else {
			more[key] = true
		}
		return each(key)
	})
}

// required is members for an object with required keys. what names the object.
func (w *walker) required(what string, keys []string, each func(key string) error) error {
	given := make(map[string]bool, len(keys))
	err := w.members(func(key string) error {
		if slices.Contains(keys, key) {
			given[key] = true
		}
		return each(key)
	})
	for _, key := range keys {
		if err == nil && !given[key] {
			err = w.errorf("the %s that ends here has no %s", what, key)
		}
	}
	return err
}

// errorf returns an error about the next value, or about the last one if none follows.
func (w *walker) errorf(format string, args ...any) error {
	return jsonstream.At(w.r.Offset(), fmt.Errorf(format, args...))
}

// unknown skips and counts a value with an unknown key.
func (w *walker) unknown(key string) error {
	w.traps.add(trapUnknownKey, fmt.Sprintf("%s: %.40q", w.where, key))
	return w.skip()
}

// skip checks and skips a value.
func (w *walker) skip() error {
	raw, at, err := w.value()
	if err != nil || json.Valid(raw) {
		return err
	}
	return jsonstream.Decode(raw, at, new(json.RawMessage))
}

// value returns a raw value, which may be invalid, and its offset.
func (w *walker) value() (raw []byte, at int64, err error) {
	if _, err := w.r.Peek(); err != nil {
		return nil, 0, err
	}
	at = w.r.Offset()
	raw, err = w.r.Value()
	return raw, at, err
}

// scalar is a string, a number or null.
type scalar struct {
	text   string
	filled bool // text has more than space
	number bool
}

// scalar reads a string, a number, or null as an empty string. name is the key, for errors.
func (w *walker) scalar(name string) (scalar, error) {
	raw, at, err := w.value()
	if err != nil {
		return scalar{}, err
	}
	switch {
	case raw[0] == '"':
		text, wrong, err := w.decode(raw)
		if err != nil {
			return scalar{}, jsonstream.At(at+int64(wrong), fmt.Errorf("%s: %w", name, err))
		}
		if strings.ContainsRune(text, utf8.RuneError) && jsonobj.HalfSurrogate(raw) {
			w.traps.add(trapSurrogate, fmt.Sprintf("%s: %s, byte %d", w.where, name, at))
		}
		return scalar{text: text, filled: strings.TrimSpace(text) != ""}, nil
	case string(raw) == "null":
		return scalar{}, nil
	}
	if err := jsonstream.Decode(raw, at, new(json.RawMessage)); err != nil {
		return scalar{}, err
	}
	if raw[0] != '-' && (raw[0] < '0' || raw[0] > '9') {
		return scalar{}, jsonstream.At(at, fmt.Errorf("%s must be a string, not %s", name, kindOf(raw)))
	}
	return scalar{text: string(raw), filled: true, number: true}, nil
}

// maxShort and maxShorts limit the length and number of shared strings.
const maxShort, maxShorts = 32, 4096

// decode is decodeText, but short strings such as names and ids, which recur often, are shared.
func (w *walker) decode(raw []byte) (text string, wrong int, err error) {
	if len(raw) > maxShort {
		return decodeText(raw)
	}
	if text, known := w.short[string(raw)]; known {
		return text, 0, nil
	}
	text, wrong, err = decodeText(raw)
	if w.short == nil {
		w.short = map[string]string{}
	}
	if err == nil && len(w.short) < maxShorts {
		w.short[string(raw)] = text
	}
	return text, wrong, err
}

// text reads a non-empty string or a number, since ids may be numbers.
func (w *walker) text(name string) (string, error) {
	at := w.r.Offset()
	s, err := w.scalar(name)
	if err == nil && !s.filled {
		err = jsonstream.At(at, fmt.Errorf("%s is empty", name))
	}
	return s.text, err
}

// texts reads an array of strings. null is an empty array.
func (w *walker) texts(name string) (list []string, err error) {
	if c, err := w.r.Peek(); err != nil {
		return nil, err
	} else if c != '[' {
		s, err := w.scalar(name)
		if err == nil && s.text != "" {
			err = w.errorf("%s must be an array of strings", name)
		}
		return nil, err
	}
	err = w.r.Elements(func() error {
		s, err := w.scalar(name)
		list = append(list, s.text)
		return err
	})
	return list, err
}

// array reads an array and calls each for its elements.
func (w *walker) array(name string, each func() error) error {
	if c, err := w.r.Peek(); err != nil {
		return err
	} else if c != '[' {
		return w.errorf("%s must be an array", name)
	}
	return w.r.Elements(each)
}

// object checks that an object follows.
func (w *walker) object(name string) error {
	c, err := w.r.Peek()
	if err == nil && c != '{' {
		err = w.errorf("%s must be an object", name)
	}
	return err
}

// kindOf names the kind of a JSON value, for errors.
func kindOf(raw []byte) string {
	switch raw[0] {
	case '{':
		return "an object"
	case '[':
		return "an array"
	case 't', 'f':
		return "a boolean"
	case 'n':
		return "null"
	case '"':
		return "a string"
	}
	return "a number"
}
