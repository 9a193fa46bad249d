package journal

import (
	"bytes"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"evalctl/internal/atomicfile"
	"evalctl/internal/inputfile"
)

// Output is the file that a run or a sweep writes. It has two names: its own, which no other file
// of the folder has and which never changes, and <name>.json, which is the file that was written
// last.
type Output struct{ dir, name, own string }

// resultExt is the ending of results.
const resultExt = ".json"

var ownEnding = regexp.MustCompile(`^-[0-9]{8}T[0-9]{6}Z-[0-9a-f]{6}\.json$`)

// NewOutput returns the file <dir>/<name>-<yyyymmddThhmmssZ>-<6 hex digits>.json of what began at
// started. Nothing is written yet.
func NewOutput(dir, name string, started time.Time) Output {
	return Output{dir, name, name + "-" + started.UTC().Format("20060102T150405Z") + "-" + randomDigits() + resultExt}
}

func randomDigits() string {
	var b [3]byte
	_, _ = rand.Read(b[:]) // which never fails
	return hex.EncodeToString(b[:])
}

// Own returns the path with the file's own name.
func (o Output) Own() string { return filepath.Join(o.dir, o.own) }

// Latest returns the path of <name>.json.
func (o Output) Latest() string { return filepath.Join(o.dir, o.name+resultExt) }

// Write replaces the file by what content writes, and makes it the latest. A reader finds a
// complete file under both names at any time, also after a crash. An older evalctl gave its files
// no name of their own: such a <name>.json is kept as a backup.
func (o Output) Write(content func(io.Writer) error) error {
	if err := o.keepForeign(); err != nil {
		return fmt.Errorf("keep %s: %w", o.Latest(), err)
	}
	if err := atomicfile.Write(o.Own(), 0o644, content); err != nil {
		return err
	}
	return atomicfile.Link(o.Own(), o.Latest())
}

// keepForeign keeps the latest file as a backup if it has no name of its own.
func (o Output) keepForeign() error {
	own, err := ownPath(o.Latest())
	if err != nil || own != "" {
		return err
	}
	_, err = atomicfile.Keep(o.Latest())
	return err
}

// Names returns the two paths of the result file at path, which is either of them. latest is empty
// if the file is not the latest; own is path if the file has no name of its own.
func Names(path string) (own, latest string) {
	dir, base := filepath.Split(path)
	if i := len(base) - len("-20060102T150405Z-000000.json"); i > 0 && ownEnding.MatchString(base[i:]) {
		latest = filepath.Join(dir, base[:i]+resultExt)
		if same, err := sameContent(path, latest); err != nil || !same {
			latest = ""
		}
		return path, latest
	}
	if own, err := ownPath(path); err == nil && own != "" {
		return own, path
	}
	return path, ""
}

// SecondNames returns which of the paths are another name of a result file before them, with the
// name that came first. A path that is given twice is none.
func SecondNames(paths []string) map[string]string {
	first, again := map[string]string{}, map[string]string{} // first by own name
	for _, path := range paths {
		own, latest := Names(path)
		own = filepath.Clean(own)
		if other, ok := first[own]; ok && latest != "" && other != path {
			again[path] = other
			continue
		}
		first[own] = path
	}
	return again
}

// ownPath returns the own name of the file <name>.json at path, or an empty string.
func ownPath(path string) (string, error) {
	if _, err := os.Stat(path); err != nil {
		return "", ignoreMissing(err)
	}
	dir, base := filepath.Dir(path), filepath.Base(path)
	entries, err := os.ReadDir(dir)
	if err != nil {
		return "", err
	}
	name := strings.TrimSuffix(base, resultExt)
	for i := range entries {
		e := entries[len(entries)-1-i] // the newest first
		ending, ok := strings.CutPrefix(e.Name(), name)
		if !ok || !ownEnding.MatchString(ending) {
			continue
		}
		if own := filepath.Join(dir, e.Name()); own != path {
			if same, err := sameContent(path, own); err != nil || same {
				return own, ignoreMissing(err)
			}
		}
	}
	return "", nil
}

func ignoreMissing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// sameContent reports whether two files are one file, or copies.
func sameContent(a, b string) (bool, error) {
	infoA, errA := os.Stat(a)
	infoB, errB := os.Stat(b)
	if err := errors.Join(errA, errB); err != nil {
		return false, err
	}
	if os.SameFile(infoA, infoB) {
		return true, nil
	}
	if infoA.Size() != infoB.Size() {
		return false, nil
	}
	fileA, err := inputfile.Open(a, inputfile.Streamed)
	if err != nil {
		return false, err
	}
	defer fileA.Close()
	fileB, err := inputfile.Open(b, inputfile.Streamed)
	if err != nil {
		return false, err
	}
	defer fileB.Close()
	return sameBytes(fileA, fileB)
}

func sameBytes(a, b io.Reader) (bool, error) {
	bufA, bufB := make([]byte, 64<<10), make([]byte, 64<<10)
	for {
		n, errA := io.ReadFull(a, bufA)
		m, errB := io.ReadFull(b, bufB)
		if !bytes.Equal(bufA[:n], bufB[:m]) {
			return false, nil
		}
		if errA != nil || errB != nil {
			atEnd := func(err error) bool { return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) }
			if atEnd(errA) && atEnd(errB) {
				return true, nil
			}
			return false, errors.Join(errA, errB)
		}
	}
}
