package jsonstream

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
)

// offsetError is an error at a place in a file.
type offsetError struct {
	at  int64
	err error
}

func (e *offsetError) Error() string { return fmt.Sprintf("byte %d: %v", e.at, e.err) }
func (e *offsetError) Unwrap() error { return e.err }

// At returns an error that says at which offset of a file err occurred, and wraps err.
func At(offset int64, err error) error { return &offsetError{offset, err} }

// Decode decodes a value at this offset of a file, as json.Unmarshal does. The error has the offset
// of the fault.
func Decode(value []byte, offset int64, into any) error {
	err := json.Unmarshal(value, into)
	if err == nil {
		return nil
	}
	if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
		offset += max(0, syntax.Offset-1) // it counts the byte that is wrong
	}
	if kind, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		offset += kind.Offset
		err = fmt.Errorf("%s must not be a %s", cmp.Or(kind.Field, "it"), kind.Value)
	}
	return At(offset, err)
}
