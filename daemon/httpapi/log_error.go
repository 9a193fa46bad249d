package httpapi

import (
	"errors"
	"io/fs"
	"os"
	"strings"

	"evalctl/daemon/store"
)

// withoutPaths is the text of an error for the log: all of its causes, but not
// the documents that they happened to, whose paths are what users remember.
func withoutPaths(err error) string {
	if err == nil {
		return ""
	}
	switch e := err.(type) { //nolint:errorlint // each error of the tree is looked at by itself
	case *store.Error:
		return e.Op + ": " + withoutPaths(e.Err)
	case *fs.PathError:
		return e.Op + ": " + withoutPaths(e.Err)
	case *os.LinkError:
		return e.Op + ": " + withoutPaths(e.Err)
	}
	var causes []error
	switch e := err.(type) { //nolint:errorlint // as above
	case interface{ Unwrap() []error }:
		causes = e.Unwrap()
	default:
		causes = []error{errors.Unwrap(err)}
	}
	text, rest := strings.Builder{}, err.Error()
	for _, cause := range causes {
		if cause == nil {
			continue
		}
		before, after, found := strings.Cut(rest, cause.Error())
		if !found {
			continue // an error that does not tell its cause
		}
		text.WriteString(before + withoutPaths(cause))
		rest = after
	}
	return text.String() + rest
}
