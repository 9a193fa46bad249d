package store

import "fmt"

// UnusableError is the error of a store or a brain that cannot be used until somebody acts or, with
// ErrUnavailable, for a while.
type UnusableError struct {
	// Kind is ErrDamaged, ErrLocked, ErrSchemaVersion or ErrUnavailable.
	Kind error
	// Reason says what went wrong and what to do. Clients may see it: it contains no content, and
	// no path of the machine outside the store.
	Reason string
	// Cause is for the operator. It may be nil.
	Cause error
}

// Damaged returns an UnusableError of the kind ErrDamaged. The cause may be nil.
func Damaged(cause error, format string, args ...any) error {
	return &UnusableError{ErrDamaged, fmt.Sprintf(format, args...), cause}
}

// Locked returns an UnusableError of the kind ErrLocked. The cause may be nil.
func Locked(cause error, format string, args ...any) error {
	return &UnusableError{ErrLocked, fmt.Sprintf(format, args...), cause}
}

// Unavailable returns an UnusableError of the kind ErrUnavailable. The cause may be nil.
func Unavailable(cause error, format string, args ...any) error {
	return &UnusableError{ErrUnavailable, fmt.Sprintf(format, args...), cause}
}

// UnsupportedSchema returns an UnusableError of the kind ErrSchemaVersion.
func UnsupportedSchema(format string, args ...any) error {
	return &UnusableError{ErrSchemaVersion, fmt.Sprintf(format, args...), nil}
}

func (e *UnusableError) Error() string {
	if e.Cause == nil {
		return e.Reason
	}
	return e.Reason + ": " + e.Cause.Error()
}

// Unwrap returns the kind and the cause.
func (e *UnusableError) Unwrap() []error {
	if e.Cause == nil {
		return []error{e.Kind}
	}
	return []error{e.Kind, e.Cause}
}
