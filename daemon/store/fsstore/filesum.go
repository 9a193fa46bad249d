package fsstore

import (
	"crypto/sha256"
	"io"

	"evalctl/daemon/store"
)

// fileSum identifies the content of a document's file before an operation. A file that still has
// the sum after a crash was not changed by anybody else. There is no sum if there was no file, if
// it cannot be read, or if the log has its content.
type fileSum struct {
	known bool
	sum   [sumSize]byte
}

const sumSize = 16 // bytes of SHA-256

// append appends the encoded sum: 1 and the sum, or 0.
func (s fileSum) append(data []byte) []byte {
	if !s.known {
		return append(data, 0)
	}
	return append(append(data, 1), s.sum[:]...)
}

// decodeSum decodes the output of append, and returns the rest.
func decodeSum(data []byte) (s fileSum, rest []byte, ok bool) {
	if len(data) == 0 || data[0] > 1 {
		return s, data, false
	}
	s.known, rest = data[0] == 1, data[1:]
	if !s.known {
		return s, rest, true
	}
	n := copy(s.sum[:], rest)
	return s, rest[n:], n == sumSize
}

// sumOf returns the sum of a content of about size bytes.
func sumOf(content io.Reader, size int64) (s fileSum, err error) {
	hash := sha256.New()
	// Without the struct, the file would allocate a larger buffer.
	_, err = io.CopyBuffer(hash, struct{ io.Reader }{content}, make([]byte, min(max(size, 512), 64<<10)))
	if err != nil {
		return s, err
	}
	s.known = true
	copy(s.sum[:], hash.Sum(nil))
	return s, nil
}

func sumOfBytes(data []byte) fileSum {
	s := fileSum{known: true}
	sum := sha256.Sum256(data)
	copy(s.sum[:], sum[:])
	return s
}

// before returns the sums of the files of documents before a commit. An unreadable file is not a
// reason to reject the commit. The caller holds mu.
func (b *backend) before(ops []store.Op) []fileSum {
	sums := make([]fileSum, len(ops))
	for i, op := range ops {
		if !op.New {
			sums[i] = b.sumBefore(op.Path)
		}
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
	case doc.log == b.active, doc.deleted:
		return fileSum{}
	}
	// The other log is emptied before the active one. Then only this sum identifies the written
	// content.
	data, err := doc.content()
	if err != nil {
		return fileSum{}
	}
	return sumOfBytes(data)
}

func (b *backend) sumFile(path string) fileSum {
	name, info, err := b.files.Lookup(path)
	if err != nil || !info.Mode().IsRegular() {
		return fileSum{}
	}
	file, err := b.files.Root.Open(name)
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
