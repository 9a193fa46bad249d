package source

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"hash/maphash"
	"io"
	"os"

	"evalctl/internal/inputfile"
)

// ErrChanged means that a file has changed since it was opened.
var ErrChanged = errors.New("the file changed while it was in use; restore it and resume, " +
	"or start again")

// blockSize is the size of the blocks whose digests are kept.
const blockSize = 64 << 10

// headSize is how much of a file is read to detect its format.
const headSize = 64 << 10

// file is read twice: first in order while it is hashed, then in parts, which are compared with the
// hashes.
type file struct {
	*os.File
	size   int64
	sha    hash.Hash
	read   int64
	block  maphash.Hash
	inside int // the bytes in block
	blocks []uint64
}

func openFile(path string) (*file, error) {
	f, err := inputfile.Open(path, inputfile.Streamed)
	if errors.Is(err, inputfile.ErrNotRegular) {
		return nil, fmt.Errorf("%s is not a regular file; a benchmark is read more than once", path)
	}
	if err != nil {
		return nil, fmt.Errorf("open benchmark: %w", err)
	}
	info, err := f.Stat()
	if err != nil {
		f.Close()
		return nil, err
	}
	return &file{File: f, size: info.Size(), sha: sha256.New()}, nil
}

// head returns the beginning of the file.
func (f *file) head() ([]byte, error) {
	head := make([]byte, min(headSize, f.size))
	n, err := f.ReadAt(head, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	return head[:n], nil
}

// sequential returns a reader of the whole file, which hashes what it reads and fails once ctx
// ends. It must be called once.
func (f *file) sequential(ctx context.Context) (io.Reader, error) {
	_, err := f.Seek(0, io.SeekStart)
	return readFunc(func(p []byte) (int, error) {
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		n, err := f.Read(p)
		f.hash(p[:n])
		return n, err
	}), err
}

// readFunc implements io.Reader.
type readFunc func(p []byte) (int, error)

func (r readFunc) Read(p []byte) (int, error) { return r(p) }

func (f *file) hash(p []byte) {
	f.sha.Write(p)
	f.read += int64(len(p))
	for len(p) > 0 {
		n := min(len(p), blockSize-f.inside)
		f.block.Write(p[:n])
		p = p[n:]
		if f.inside += n; f.inside == blockSize {
			f.endBlock()
		}
	}
}

func (f *file) endBlock() {
	f.blocks = append(f.blocks, f.block.Sum64())
	f.block.Reset()
	f.inside = 0
}

// sum ends the sequential reading and returns the file's SHA-256.
func (f *file) sum() (string, error) {
	if f.inside > 0 {
		f.endBlock()
	}
	if f.read != f.size {
		return "", fmt.Errorf("%s: %w", f.Name(), ErrChanged)
	}
	return hex.EncodeToString(f.sha.Sum(nil)), nil
}

// rehash returns the SHA-256 of the whole file. It ends sequential reading.
func (f *file) rehash(ctx context.Context) (string, error) {
	f.sha.Reset()
	f.read = 0
	src, err := f.sequential(ctx)
	if err == nil {
		_, err = io.Copy(io.Discard, src)
	}
	if err != nil {
		return "", err
	}
	return f.sum()
}

// part returns a part of the file, or an error if its bytes differ from those hashed before.
func (f *file) part(offset, length int64) ([]byte, error) {
	first := offset / blockSize
	start := first * blockSize
	end := min((offset+length+blockSize-1)/blockSize*blockSize, f.size)
	data := make([]byte, end-start)
	if _, err := f.ReadAt(data, start); errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%s: %w", f.Name(), ErrChanged)
	} else if err != nil {
		return nil, err
	}
	for i, rest := first, data; len(rest) > 0; i++ {
		n := min(len(rest), blockSize)
		if maphash.Bytes(f.block.Seed(), rest[:n]) != f.blocks[i] {
			return nil, fmt.Errorf("%s: %w", f.Name(), ErrChanged)
		}
		rest = rest[n:]
	}
	return data[offset-start:][:length], nil
}
