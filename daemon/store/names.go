package store

import (
	"io/fs"
	"os"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// Folder describes which names a file system accepts. The zero value describes one that accepts all
// names of at most MaxSegmentBytes and keeps them apart.
type Folder struct {
	// Refused are the ASCII characters that no name may contain. Ends are those that no name may
	// end with.
	Refused string `json:"refused,omitempty"`
	Ends    string `json:"ends,omitempty"`
	// Longest is the length of the longest name in bytes; 0: MaxSegmentBytes.
	Longest int `json:"longest,omitempty"`
	// ASCII: other characters are rejected.
	ASCII bool `json:"ascii,omitempty"`
	// Devices: names of Windows devices, such as con and nul.md, are rejected.
	Devices bool `json:"devices,omitempty"`
	// Normalizes: the normal form of names is changed.
	Normalizes bool `json:"normalizes,omitempty"`
	// Folds: a file has several names, such as a.md and A.md, or composed and decomposed ones.
	Folds bool `json:"folds,omitempty"`
}

// Takes reports whether the file system accepts a name, if no other file is in the way.
func (f Folder) Takes(name string) bool {
	if f == (Folder{}) {
		return true
	}
	if f.Longest > 0 && len(name) > f.Longest || strings.ContainsAny(name, f.Refused) ||
		strings.ContainsRune(f.Ends, rune(name[len(name)-1])) || f.Devices && isDevice(name) {
		return false
	}
	for i := range len(name) {
		if name[i] < utf8.RuneSelf {
			continue
		}
		return !f.ASCII && (!f.Normalizes || norm.NFD.IsNormalString(name) && norm.NFC.IsNormalString(name) &&
			!strings.ContainsFunc(name, ignored))
	}
	return true
}

// ignored reports whether a file system may drop a character from a name.
func ignored(r rune) bool {
	return unicode.In(r, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector, unicode.Cf)
}

// isDevice reports whether a name is a Windows device's, with any extension.
func isDevice(name string) bool {
	stem, _, _ := strings.Cut(strings.ToLower(name), ".")
	switch stem = strings.TrimRight(stem, " "); stem {
	case "con", "prn", "aux", "nul", "conin$", "conout$":
		return true
	}
	if len(stem) < 4 || stem[:3] != "com" && stem[:3] != "lpt" {
		return false
	}
	return strings.Contains("0123456789¹²³", stem[3:])
}

// probeName is the name of a folder in which a backend tries which names the file system accepts.
// It is the encoded form of a name that no document can have.
var probeName = EncodeName(".")

// ProbeName returns the name of a folder that is never a document's.
func ProbeName() string { return probeName }

// Names finds the files of documents in a folder whose file system may not accept all names.
type Names struct {
	Folder Folder
	// Lstat is the method of the Root.
	Lstat func(name string) (fs.FileInfo, error)
	// ReadNames returns the names of the files in a folder.
	ReadNames func(dir string) ([]string, error)

	mu sync.Mutex
	// known has the names in folders, if the file system Folds. size is the number of all these
	// names.
	known map[string]map[string]bool
	size  int
}

// maxKnown is the most names that are remembered.
const maxKnown = 1 << 20

// mustEncode reports whether a document's file cannot have this name on any file system.
func mustEncode(segment string, folder bool) bool {
	return isMarked(segment) || isLeftover(segment, folder)
}

// EncodePath returns the file of a document on a file system that accepts all names.
func EncodePath(path string) string {
	segments := strings.Split(path, "/")
	for i, segment := range segments {
		if mustEncode(segment, i < len(segments)-1) {
			segments[i] = EncodeName(segment)
		}
	}
	return strings.Join(segments, "/")
}

// choose returns the name of a file that does not exist. dir is its future directory, "" or ending
// with a slash. plain permits a name that is not encoded.
func (n *Names) choose(dir, segment string, folder, plain bool) string {
	if !plain || mustEncode(segment, folder) || !n.Folder.Takes(segment) {
		return EncodeName(segment)
	}
	if n.Folder.Folds {
		if _, err := n.Lstat(dir + segment); err == nil { // another file has the name too
			return EncodeName(segment)
		}
	}
	return segment
}

// has reports whether name is the name under which the file is listed, and not only an equivalent
// one.
func (n *Names) has(dir, name string) (bool, error) {
	if !n.Folder.Folds || isMarked(name) {
		return true, nil
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	names, ok := n.known[dir]
	if !ok {
		list, err := n.ReadNames(dir)
		if err != nil {
			return false, err
		}
		if n.size += len(list); n.known == nil || n.size > maxKnown {
			n.known, n.size = map[string]map[string]bool{}, len(list)
		}
		names = make(map[string]bool, len(list))
		for _, name := range list {
			names[name] = true
		}
		n.known[dir] = names
	}
	return names[name], nil
}

// Created notes that there is a file now.
func (n *Names) Created(file string) {
	if n == nil || !n.Folder.Folds {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	for file != "" {
		dir := file[:strings.LastIndexByte(file, '/')+1]
		if names, ok := n.known[dir]; ok {
			names[file[len(dir):]] = true
		}
		file = strings.TrimSuffix(dir, "/")
	}
}

// Removed notes that a file is gone, with the folders that were empty without it.
func (n *Names) Removed(file string) {
	if n == nil || !n.Folder.Folds {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	sure := true // that file is gone
	for file != "" {
		dir := file[:strings.LastIndexByte(file, '/')+1]
		names, ok := n.known[dir]
		if delete(names, file[len(dir):]); sure && ok && len(names) > 0 {
			return
		}
		sure = sure && ok
		delete(n.known, dir) // it is read again if the folder is still there
		file = strings.TrimSuffix(dir, "/")
	}
}

// ReadNames returns the names of the files in a directory, which is "" or ends with a slash.
func ReadNames(root *os.Root, dir string) ([]string, error) {
	file, err := root.Open(dir + ".")
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return file.Readdirnames(-1)
}
