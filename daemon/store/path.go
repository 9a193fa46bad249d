package store

import (
	"fmt"
	"path"
	"strings"
	"unicode/utf8"
)

// Longest path and path segment. The first is the specification's limit for a
// document record (spec 2), the second is what common filesystems can name.
const (
	MaxPathChars    = 1024 // code points
	MaxSegmentBytes = 255
)

// ValidPath returns nil when p may name a document, and otherwise an error that
// wraps ErrInvalidPath and says which rule is broken.
//
// The rules are those of spec 2 (Path rules), and three more that keep the
// answer the same on every backend: valid UTF-8, since a path travels in JSON;
// at most MaxPathChars; no segment over MaxSegmentBytes.
func ValidPath(p string) error {
	switch {
	case p == "":
		return invalid("empty")
	case !utf8.ValidString(p):
		return invalid("not valid UTF-8")
	case utf8.RuneCountInString(p) > MaxPathChars:
		return invalid(fmt.Sprintf("longer than %d characters", MaxPathChars))
	case strings.ContainsRune(p, 0):
		return invalid("contains NUL")
	case strings.Contains(p, `\`):
		return invalid("contains a backslash")
	case p[0] == '/':
		return invalid("starts with a slash")
	case p[len(p)-1] == '/':
		return invalid("ends with a slash")
	}
	for segment := range strings.SplitSeq(p, "/") {
		switch {
		case segment == "":
			return invalid("has an empty segment")
		case segment == ".", segment == "..":
			return invalid("has a dot segment")
		case len(segment) > MaxSegmentBytes:
			return invalid(fmt.Sprintf("has a segment longer than %d bytes", MaxSegmentBytes))
		}
	}
	if path.Clean(p) != p {
		return invalid("not canonical")
	}
	return nil
}

// IsGenerated reports whether path marks a generated file: its base name
// begins with an underscore (spec 2).
func IsGenerated(p string) bool { return strings.HasPrefix(path.Base(p), "_") }

func invalid(why string) error { return fmt.Errorf("%w: %s", ErrInvalidPath, why) }

// parent gives the directory of p, empty for one at the root.
func parent(p string) string {
	return p[:max(strings.LastIndexByte(p, '/'), 0)]
}

// below reports whether p lies under dir; everything lies under the root "".
func below(p, dir string) bool {
	return dir == "" || len(p) > len(dir) && p[len(dir)] == '/' && p[:len(dir)] == dir
}
