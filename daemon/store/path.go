package store

import (
	"fmt"
	"path"
	"strings"
	"unicode/utf8"
)

// Limits on a path and its segments. The first is the limit of a document record (spec 2), the
// third the limit of common file systems. The others keep a path together with the home's path
// below the 4,096 bytes that Linux allows, and bound the cost of a listing.
const (
	MaxPathChars    = 1024 // code points
	MaxPathBytes    = 3072
	MaxSegmentBytes = 255
	MaxFolders      = 128
)

// ValidPath returns nil if p can be the path of a document. Otherwise it returns an error that
// wraps ErrInvalidPath and names the broken rule.
//
// It enforces spec 2 (Path rules) and further limits, so that all backends accept the same paths: a
// path is valid UTF-8, because it is sent as JSON; it has at most MaxPathChars characters and
// MaxPathBytes bytes, in at most MaxFolders folders; no segment is longer than MaxSegmentBytes.
func ValidPath(p string) error {
	switch {
	case p == "":
		return invalid("empty")
	case !utf8.ValidString(p):
		return invalid("not valid UTF-8")
	case utf8.RuneCountInString(p) > MaxPathChars:
		return invalid(fmt.Sprintf("longer than %d characters", MaxPathChars))
	case len(p) > MaxPathBytes:
		return invalid(fmt.Sprintf("longer than %d bytes", MaxPathBytes))
	case strings.Count(p, "/") > MaxFolders:
		return invalid(fmt.Sprintf("in more than %d folders", MaxFolders))
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

// isGenerated reports whether p is the path of a generated file: its base name begins with an
// underscore (spec 2).
func isGenerated(p string) bool { return strings.HasPrefix(path.Base(p), "_") }

func invalid(reason string) error { return fmt.Errorf("%w: %s", ErrInvalidPath, reason) }

// parent returns the directory of p, empty at the root.
func parent(p string) string {
	return p[:max(strings.LastIndexByte(p, '/'), 0)]
}

// isBelow reports whether p is below dir. Everything is below the root "".
func isBelow(p, dir string) bool {
	return dir == "" || len(p) > len(dir) && p[len(dir)] == '/' && p[:len(dir)] == dir
}
