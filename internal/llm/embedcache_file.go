package llm

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"log/slog"
	"math"
	"os"
	"path/filepath"
	"runtime/debug"
	"syscall"
	"time"

	"go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"
)

// cacheLockTimeout is how long to wait for another process to release the file.
const cacheLockTimeout = time.Second

var (
	vectorBucket = []byte("vectors-v1")
	castagnoli   = crc32.MakeTable(crc32.Castagnoli)

	errDamaged = errors.New("the file is damaged")
)

// fileVectors is a bbolt file. A vector is stored as its float32 values followed by their CRC-32C,
// all little-endian: bbolt itself only verifies its meta pages.
type fileVectors struct {
	path string
	db   *bbolt.DB
}

func openFileVectors(path string, log *slog.Logger) (*fileVectors, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, err
	}
	db, err := openBolt(path)
	if errors.Is(err, errDamaged) {
		aside := path + ".damaged"
		if err := os.Rename(path, aside); err != nil {
			return nil, fmt.Errorf("it is damaged and cannot be renamed: %w", err)
		}
		log.Warn("the embedding cache is damaged and was replaced: its vectors are computed again when needed",
			"path", path, "moved_to", aside, "cause", err)
		db, err = openBolt(path)
	}
	if err != nil {
		return nil, err
	}
	return &fileVectors{path, db}, nil
}

// openBolt returns an error that wraps errDamaged for anything wrong inside the file.
func openBolt(path string) (*bbolt.DB, error) {
	var file *os.File
	var db *bbolt.DB
	err := panicToError(func() (err error) {
		db, err = bbolt.Open(path, 0o600, &bbolt.Options{
			Timeout: cacheLockTimeout, FreelistType: bbolt.FreelistMapType,
			OpenFile: func(name string, flag int, perm os.FileMode) (f *os.File, err error) {
				file, err = os.OpenFile(name, flag, perm)
				return file, err
			},
		})
		if err != nil {
			return err
		}
		return db.Update(func(tx *bbolt.Tx) error {
			info, err := file.Stat()
			if err != nil {
				return err
			}
			if info.Size() < tx.Size() {
				return fmt.Errorf("%w: %d bytes of %d are left", errDamaged, info.Size(), tx.Size())
			}
			_, err = tx.CreateBucketIfNotExists(vectorBucket)
			return err
		})
	})
	if err == nil {
		return db, nil
	}
	if db != nil {
		_ = db.Close() // nothing was written
	} else if file != nil {
		_ = file.Close() // bbolt panicked and left it open, or has closed it
	}
	_, system := errors.AsType[*fs.PathError](err)
	_, number := errors.AsType[syscall.Errno](err)
	switch {
	case errors.Is(err, bolterrors.ErrTimeout):
		return nil, fmt.Errorf("another process has had it open for %v: stop that process, or choose another home",
			cacheLockTimeout)
	case system || number || errors.Is(err, errDamaged):
		return nil, err
	}
	return nil, fmt.Errorf("%w: %w", errDamaged, err)
}

// panicToError calls do. The panics and memory faults that bbolt raises on a damaged file are
// returned as errors that wrap errDamaged.
func panicToError(do func() error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%w: %v", errDamaged, p)
		}
	}()
	return do()
}

func (f *fileVectors) get(keys []cacheKey) ([][]float32, error) {
	out := make([][]float32, len(keys))
	return out, f.recoverPanic(func() error {
		return f.db.View(func(tx *bbolt.Tx) error {
			kept := tx.Bucket(vectorBucket)
			for i, key := range keys {
				out[i] = decodeVector(kept.Get(key[:]))
			}
			return nil
		})
	})
}

// put writes all vectors in one transaction.
func (f *fileVectors) put(keys []cacheKey, vectors [][]float32) error {
	return f.recoverPanic(func() error {
		return f.db.Update(func(tx *bbolt.Tx) error {
			kept := tx.Bucket(vectorBucket)
			for i, key := range keys {
				if err := kept.Put(key[:], encodeVector(vectors[i])); err != nil {
					return err
				}
			}
			return nil
		})
	})
}

// recoverPanic is panicToError for an open file, which cannot be renamed out of the way.
func (f *fileVectors) recoverPanic(do func() error) error {
	err := panicToError(do)
	if errors.Is(err, errDamaged) {
		return fmt.Errorf("%w: stop the daemon and delete it; its vectors are computed again", err)
	}
	return err
}

func (f *fileVectors) close() error { return panicToError(f.db.Close) }

func encodeVector(v []float32) []byte {
	data := make([]byte, 0, 4*len(v)+4)
	for _, x := range v {
		data = binary.LittleEndian.AppendUint32(data, math.Float32bits(x))
	}
	return binary.LittleEndian.AppendUint32(data, crc32.Checksum(data, castagnoli))
}

// decodeVector returns nil for a vector that is missing or damaged. It is then computed again and
// overwritten.
func decodeVector(data []byte) []float32 {
	n := len(data)/4 - 1
	if n < 1 || len(data)%4 != 0 ||
		binary.LittleEndian.Uint32(data[4*n:]) != crc32.Checksum(data[:4*n], castagnoli) {
		return nil
	}
	v := make([]float32, n)
	for i := range v {
		v[i] = math.Float32frombits(binary.LittleEndian.Uint32(data[4*i:]))
	}
	return v
}
