package source

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"unicode/utf8"
)

// decodeText decodes a JSON string. With an error, wrong is the index of an invalid byte.
func decodeText(raw []byte) (text string, wrong int, err error) {
	if i := slices.IndexFunc(raw, func(c byte) bool { return c < ' ' }); i >= 0 {
		return "", i, fmt.Errorf("the character %q must be escaped in JSON", raw[i])
	}
	if !utf8.Valid(raw) {
		return "", firstInvalid(raw), errors.New("the text is not valid UTF-8; save the file as UTF-8")
	}
	if bytes.IndexByte(raw, '\\') < 0 {
		return string(raw[1 : len(raw)-1]), 0, nil
	}
	err = json.Unmarshal(raw, &text)
	if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
		return "", bytes.LastIndexByte(raw[:syntax.Offset-1], '\\'), errors.New("this escape is not valid JSON")
	}
	return text, 0, err
}

// firstInvalid returns the index of the first byte that is not UTF-8.
func firstInvalid(raw []byte) (at int) {
	for at < len(raw) {
		r, n := utf8.DecodeRune(raw[at:])
		if r == utf8.RuneError && n == 1 {
			break
		}
		at += n
	}
	return at
}
