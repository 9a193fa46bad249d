package gitstore

import (
	"fmt"
	"strings"

	"evalctl/daemon/store"
)

// hfsIgnored are the code points that HFS+ ignores in names, so that ".g\u200cit" is .git there
// (see utf8.c in git).
const hfsIgnored = "\u200c\u200d\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u206a\u206b\u206c\u206d\u206e\u206f\ufeff"

// reserved returns an error for a path that names git's own files, on this system or in a clone
// on another one. Git rejects these paths for the same reason. The path .gitmodules is reserved
// because git acts on its content, and servers check it.
func reserved(path string) error {
	for segment := range strings.SplitSeq(path, "/") {
		if err := reservedName(segment); err != nil {
			return err
		}
	}
	return nil
}

func reservedName(name string) error {
	plain := strings.Map(func(r rune) rune {
		if strings.ContainsRune(hfsIgnored, r) {
			return -1
		}
		return r
	}, name)
	plain, _, _ = strings.Cut(plain, ":") // NTFS: the stream of a file
	switch strings.ToLower(strings.TrimRight(plain, " .")) {
	case ".git", "git~1", ".gitmodules":
		return fmt.Errorf("%w: git reserves the name %q", store.ErrInvalidPath, name)
	}
	return nil
}
