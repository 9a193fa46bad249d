package httpapi

import (
	"errors"
	"io/fs"
	"os"
	"strings"

	"evalctl/daemon/store"
)

// withoutPaths returns the text of an error for the log: all of its causes, but not the paths of
// documents, because these are users' memories.
func withoutPaths(err error) string {
	if err == nil {
		return ""
	}
	switch e := err.(type) { //nolint:errorlint // looks at each error of the tree by itself
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
			continue // the error's text does not contain its cause
		}
		text.WriteString(before + withoutPaths(cause))
		rest = after
	}
	return text.String() + rest
}
