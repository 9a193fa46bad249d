package gitstore

import (
	"fmt"
	"strings"

	"evalctl/daemon/store"
)

// hfsIgnored are the code points that HFS+ leaves out of a name, so that
// ".g\u200cit" is .git there (git's path.c and utf8.c).
const hfsIgnored = "\u200c\u200d\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u206a\u206b\u206c\u206d\u206e\u206f\ufeff"

// reserved refuses paths that name git's own files, here or in a clone on
// another system, and which git for that reason refuses too. So is .gitmodules,
// whose content git acts on and servers check.
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
		return fmt.Errorf("%w: git keeps the name %q to itself", store.ErrInvalidPath, name)
	}
	return nil
}
