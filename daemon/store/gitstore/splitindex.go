package gitstore

import (
	"crypto/sha1"
	"encoding/binary"
	"encoding/hex"
	"maps"
	"slices"
)

// sharedPrefix begins the name of a shared index, which ends with its checksum.
const sharedPrefix = "sharedindex."

// maxSplit is the number of entries that a split index may have before a new shared index is
// written.
const maxSplit = 512

// splitIndex is an index of two files, as git update-index --split-index makes it: most entries are
// in a shared index, and the index itself has later changes. So each commit can update the index,
// however many documents there are.
type splitIndex struct {
	shared  []byte            // checksum of the shared index
	paths   []string          // of the shared index, in ascending order
	changed map[string]change // since it was written
}

// updateIndex adds the changes of a commit to the index, so that git status compares with HEAD. If
// it fails, the commit was made nevertheless, and the next one writes the whole index, as Close
// does.
func (b *backend) updateIndex(changes []change) {
	if b.index != nil {
		for _, c := range changes {
			b.index.changed[c.path] = change{path: c.path, hash: c.hash, mode: c.mode}
		}
	}
	if b.index == nil || len(b.index.changed) > maxSplit {
		index, err := b.shareIndex()
		if b.index = index; err != nil {
			return
		}
	}
	if err := b.replaceUnsynced(indexFile, b.index.encode()); err != nil {
		b.index = nil
	}
}

// shareIndex writes a shared index that is equal to HEAD.
func (b *backend) shareIndex() (*splitIndex, error) {
	entries, err := b.headEntries()
	if err != nil {
		return nil, err
	}
	data, sum := encodeIndex(entries, nil)
	name := sharedPrefix + hex.EncodeToString(sum)
	if err := b.replaceUnsynced(name, data); err != nil {
		return nil, err
	}
	index := &splitIndex{shared: sum, changed: map[string]change{}}
	for _, e := range entries {
		index.paths = append(index.paths, e.path)
	}
	if err := b.replaceUnsynced(indexFile, index.encode()); err != nil {
		return nil, err
	}
	return index, b.removeShared(name)
}

// encode returns the content of the index: entries that replace entries of the shared index,
// without their names, and then new ones. The extension link has the checksum of the shared index,
// and for each of its entries whether it was deleted and whether it was replaced.
func (s *splitIndex) encode() []byte {
	deleted, replaced := make(bitmap, (len(s.paths)+63)/64), make(bitmap, (len(s.paths)+63)/64)
	var entries, added []change
	for _, path := range slices.Sorted(maps.Keys(s.changed)) {
		c := s.changed[path]
		at, shared := slices.BinarySearch(s.paths, path)
		switch {
		case shared && c.isDelete():
			deleted.set(at)
		case shared:
			replaced.set(at)
			c.path = ""
			entries = append(entries, c)
		case !c.isDelete():
			added = append(added, c)
		}
	}
	link := append([]byte{}, s.shared...)
	link = replaced.append(deleted.append(link))
	data, _ := encodeIndex(append(entries, added...), link)
	return data
}

// bitmap is a set of bits, as git's EWAH bitmaps have them.
type bitmap []uint64

func (m bitmap) set(i int) { m[i/64] |= 1 << (i % 64) }

// append appends the bitmap in the form of a file: the number of bits, the number of words, the
// words, and the place of the last word that is a header. It has one header, followed by
// uncompressed words.
func (m bitmap) append(data []byte) []byte {
	data = binary.BigEndian.AppendUint32(data, uint32(64*len(m)))
	data = binary.BigEndian.AppendUint32(data, uint32(1+len(m)))
	data = binary.BigEndian.AppendUint64(data, uint64(len(m))<<33)
	for _, word := range m {
		data = binary.BigEndian.AppendUint64(data, word)
	}
	return binary.BigEndian.AppendUint32(data, 0)
}

// encodeIndex returns the content of an index, and its checksum, which is its end. link is the
// extension of that name, or nil. Entries have no times and sizes of files, so that git status
// compares contents. The version is 2, or 3 if there are absent entries: git status does not look
// for their files (skip-worktree).
func encodeIndex(entries []change, link []byte) (data, sum []byte) {
	data = append(data, "DIRC"...)
	version := uint32(2)
	if slices.ContainsFunc(entries, func(c change) bool { return c.absent }) {
		version = 3
	}
	data = binary.BigEndian.AppendUint32(data, version)
	data = binary.BigEndian.AppendUint32(data, uint32(len(entries)))
	for _, e := range entries {
		begin := len(data)
		data = append(data, make([]byte, 24)...)
		data = binary.BigEndian.AppendUint32(data, uint32(e.mode))
		data = append(data, make([]byte, 12)...)
		data = append(data, e.hash[:]...)
		const extended, skipWorktree = 1 << 14, 1 << 14
		flags := uint16(min(len(e.path), 0xfff))
		if e.absent {
			data = binary.BigEndian.AppendUint16(data, flags|extended)
			flags = skipWorktree
		}
		data = binary.BigEndian.AppendUint16(data, flags)
		data = append(data, e.path...)
		data = append(data, make([]byte, 8-(len(data)-begin)%8)...)
	}
	if link != nil {
		data = append(data, "link"...)
		data = binary.BigEndian.AppendUint32(data, uint32(len(link)))
		data = append(data, link...)
	}
	digest := sha1.Sum(data)
	return append(data, digest[:]...), digest[:]
}
