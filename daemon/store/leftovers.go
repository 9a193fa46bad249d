package store

import (
	"regexp"
	"slices"
	"strings"
	"sync"
)

// leftovers are the names of files and folders that other programs leave behind in a folder, or
// keep there for themselves. Case does not matter.
//
// A file with such a name, or in a folder with such a name, is not a document. A document with such
// a name is in a file with an encoded name. So everything that a client writes is a document, and
// files of other programs never become one.
var leftovers = struct {
	folders, files []string              // whole names
	prefixes       []string              // of files; they begin with "." or "~"
	shapes         func() *regexp.Regexp // of files; they begin with "." or "#", end with "~", or contain "conflict"
}{
	folders: []string{
		".git", ".hg", ".svn", ".jj", // versions
		".obsidian", ".idea", ".vscode", // editors
		".trash", ".trashes", "$recycle.bin", "lost+found", // deleted files
		".stfolder", ".stversions", ".dropbox.cache", ".sync", "@eadir", // sync programs
		".spotlight-v100", ".fseventsd", ".temporaryitems", "system volume information", // systems
	},
	files: []string{
		".ds_store", ".localized", "icon\r", "thumbs.db", "ehthumbs.db", "desktop.ini", ".directory", // systems
		".dropbox", ".stignore", // sync programs
	},
	prefixes: []string{
		"._",                                     // macOS, on other file systems
		".#", ".~lock.", "~$", ".goutputstream-", // editors: locks, and files that are being written
		".nfs0000", ".fuse_hidden", // files that were deleted while they were open
		".syncthing.", "~syncthing~", // files that are being received
	},
	shapes: sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`~$` + // the version before, of many editors
			`|^#.*#$` + // Emacs
			`|^\..*\.(sw[a-p]|kate-swp|icloud)$` + // Vim, Kate, files that iCloud has not fetched
			`|\.sync-conflict-\d{8}-\d{6}-\w{7}` + // Syncthing
			`|\(.*conflicted copy .*\d{4}.*\)` + // Dropbox, Nextcloud, Obsidian
			`|_conflict-\d{8}-\d{6}|\(sfconflict .*\)`) // ownCloud, Seafile
	}),
}

// isLeftover reports whether a file, or a folder, has one of the names of leftovers.
func isLeftover(name string, folder bool) bool {
	if folder {
		name = strings.ToLower(name)
		return slices.Contains(leftovers.folders, name) || strings.HasPrefix(name, ".trash-")
	}
	for _, file := range leftovers.files {
		if len(file) == len(name) && strings.EqualFold(file, name) {
			return true
		}
	}
	first, last := name[0], name[len(name)-1]
	odd := first == '.' || first == '~' || first == '#' || last == '~'
	name = strings.ToLower(name)
	if !odd && !strings.Contains(name, "conflict") {
		return false
	}
	return slices.ContainsFunc(leftovers.prefixes, func(p string) bool { return strings.HasPrefix(name, p) }) ||
		leftovers.shapes().MatchString(name)
}
