package llm

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"evalctl/internal/inputfile"
)

var errDamaged = errors.New("the file is damaged")

// maxReply limits a stored reply. It has room for the vectors of a gateway's largest answer, 64
// MiB, as JSON in JSON.
const maxReply = 128 << 20

// block is the size of the smallest file on most disks.
const block = 4 << 10

// replyFiles is the folder of a cache, of replies or of vectors.
type replyFiles struct {
	dir   string
	limit int64 // 0 for none

	mu sync.Mutex
	// size is the size of all files when they were last counted, and added the bytes added since.
	// Other processes may have changed it.
	size, added int64
	counted     bool
}

func (f *replyFiles) path(key CacheKey) string {
	name := key.String()
	return filepath.Join(f.dir, name[:2], name[2:])
}

func (f *replyFiles) has(key CacheKey) bool {
	_, err := os.Stat(f.path(key))
	return err == nil
}

// read returns nil without an error if there is no file. The error wraps errDamaged if the file was
// damaged and has been removed.
func (f *replyFiles) read(key CacheKey) ([]byte, error) {
	path := f.path(key)
	data, err := inputfile.Read(path, maxReply)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	const sumSize = 2 * sha256.Size
	if len(data) <= sumSize || sum(key, data[sumSize+1:]) != string(data[:sumSize]) {
		return nil, errors.Join(fmt.Errorf("%w: %s", errDamaged, path), os.Remove(path))
	}
	now := time.Now()
	_ = os.Chtimes(path, now, now) // on a disk that is read-only nothing is removed either
	return data[sumSize+1:], nil
}

// sum depends on the key, so that a file under another name counts as damaged.
func sum(key CacheKey, content []byte) string {
	h := sha256.New()
	h.Write(key[:])
	h.Write(content)
	return hex.EncodeToString(h.Sum(nil))
}

func (f *replyFiles) write(key CacheKey, content []byte) error {
	const sumSize = 2*sha256.Size + len("\n")
	if len(content) > maxReply-sumSize {
		return fmt.Errorf("a reply of %d bytes is too large to be stored", len(content))
	}
	data := append([]byte(sum(key, content)+"\n"), content...)
	if err := f.makeRoom(onDisk(int64(len(data)))); err != nil {
		return err
	}
	path := f.path(key)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	// No sync: a reply lost in a crash of the machine is requested again, and a sync for each reply
	// takes longer than some models do.
	temp, err := os.CreateTemp(filepath.Dir(path), ".new-*")
	if err != nil {
		return err
	}
	_, err = temp.Write(data)
	err = errors.Join(err, temp.Close())
	if err == nil {
		err = os.Rename(temp.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(temp.Name()))
	}
	return nil
}

func onDisk(bytes int64) int64 { return (bytes + block - 1) / block * block }

// makeRoom removes the files unused for longest if the limit would be exceeded. Files are counted
// again after every sixteenth of the limit, because other processes write too.
func (f *replyFiles) makeRoom(bytes int64) error {
	if f.limit <= 0 {
		return nil
	}
	if bytes > f.limit {
		return fmt.Errorf("%d bytes are more than the cache may have, %d", bytes, f.limit)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.counted || f.size+bytes > f.limit || f.added+bytes > f.limit/16 {
		if err := f.shrink(f.limit - bytes); err != nil {
			return err
		}
	}
	f.size, f.added = f.size+bytes, f.added+bytes
	return nil
}

type replyFile struct {
	path string
	size int64
	used time.Time
}

// shrink counts the files. If they take more than room, it removes those unused for longest until
// an eighth of the limit is free.
func (f *replyFiles) shrink(room int64) error {
	files, total, err := f.list()
	if err != nil {
		return err
	}
	if total > room {
		slices.SortFunc(files, func(a, b replyFile) int {
			return cmp.Or(a.used.Compare(b.used), cmp.Compare(a.path, b.path))
		})
		for _, file := range files {
			if total <= min(room, f.limit-f.limit/8) {
				break
			}
			if err := os.Remove(file.path); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
			total -= file.size
		}
	}
	f.size, f.added, f.counted = total, 0, true
	return nil
}

// list returns all files, including those that a killed process has left. Files may disappear
// meanwhile.
func (f *replyFiles) list() (files []replyFile, total int64, err error) {
	err = filepath.WalkDir(f.dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			return nil
		}
		var info fs.FileInfo
		if err == nil {
			info, err = d.Info()
		}
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		files = append(files, replyFile{path, onDisk(info.Size()), info.ModTime()})
		total += onDisk(info.Size())
		return nil
	})
	return files, total, err
}
