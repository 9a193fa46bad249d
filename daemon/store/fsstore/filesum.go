package fsstore

import (
	"crypto/sha256"
	"io"

	"evalctl/daemon/store"
)

// fileSum says what the file of a document was before an operation. A file that is still the same
// after a crash was not changed by anybody else.
type fileSum struct {
	kind fileKind
	sum  [sumSize]byte // of the content, if kind is hashedFile
}

type fileKind byte

const (
	unknownFile fileKind = 0   // it could not be read, or the log is of an older version
	noFile      fileKind = '-' // there was none
	loggedFile  fileKind = 'l' // an earlier operation of the logs says what it was
	hashedFile  fileKind = 'h'

	sumSize = 16 // bytes of SHA-256
)

// append appends the encoded sum.
func (s fileSum) append(data []byte) []byte {
	data = append(data, byte(s.kind))
	if s.kind == hashedFile {
		data = append(data, s.sum[:]...)
	}
	return data
}

// decodeSum decodes what append has appended, and returns what follows it.
func decodeSum(data []byte) (s fileSum, rest []byte, ok bool) {
	if len(data) == 0 {
		return s, data, false
	}
	s.kind, rest = fileKind(data[0]), data[1:]
	switch s.kind {
	case unknownFile, noFile, loggedFile:
		return s, rest, true
	case hashedFile:
		n := copy(s.sum[:], rest)
		return s, rest[n:], n == sumSize
	}
	return s, rest, false
}

// sumOf returns the sum of a content of about size bytes.
func sumOf(content io.Reader, size int64) (s fileSum, err error) {
	hash := sha256.New()
	// Without the struct, the file would allocate a larger buffer.
	_, err = io.CopyBuffer(hash, struct{ io.Reader }{content}, make([]byte, min(max(size, 512), 64<<10)))
	if err != nil {
		return s, err
	}
	s.kind = hashedFile
	copy(s.sum[:], hash.Sum(nil))
	return s, nil
}

func sumOfBytes(data []byte) fileSum {
	s := fileSum{kind: hashedFile}
	sum := sha256.Sum256(data)
	copy(s.sum[:], sum[:])
	return s
}

// before returns what the files of documents are before a commit. What cannot be read is unknown,
// and no reason to reject the commit. It requires mu.
func (b *backend) before(ops []store.Op) []fileSum {
	sums := make([]fileSum, len(ops))
	for i, op := range ops {
		sums[i] = b.sumBefore(op.Path)
	}
	return sums
}

func (b *backend) sumBefore(path string) fileSum {
	b.files.RLock()
	defer b.files.RUnlock()
	doc, waits := b.pending.Docs[path]
	switch {
	case !waits:
		return b.sumFile(path)
	case doc.log == b.active:
		return fileSum{kind: loggedFile}
	case doc.deleted:
		return fileSum{kind: noFile}
	}
	// The other log is emptied before the active one, so its record can be missing.
	data, err := doc.content()
	if err != nil {
		return fileSum{}
	}
	return sumOfBytes(data)
}

func (b *backend) sumFile(path string) fileSum {
	info, err := b.files.Root.Lstat(path)
	if err != nil && store.IsNotFound(store.NoFile(err)) {
		return fileSum{kind: noFile}
	}
	if err != nil || !info.Mode().IsRegular() {
		return fileSum{}
	}
	file, err := b.files.Root.Open(path)
	if err != nil {
		return fileSum{}
	}
	defer file.Close()
	s, err := sumOf(file, info.Size())
	if err != nil {
		return fileSum{}
	}
	return s
}
