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

// Output is the output file of a run or a sweep. It has two names: a unique, permanent one, and
// <name>.json, which is always the latest file.
type Output struct{ dir, name, own string }

// resultExt is the file extension of results.
const resultExt = ".json"

var ownEnding = regexp.MustCompile(`^-[0-9]{8}T[0-9]{6}Z-[0-9a-f]{6}\.json$`)

// NewOutput returns the file <dir>/<name>-<yyyymmddThhmmssZ>-<6 hex digits>.json for a run started
// at this time. It writes nothing.
func NewOutput(dir, name string, started time.Time) Output {
	return Output{dir, name, name + "-" + started.UTC().Format("20060102T150405Z") + "-" + randomDigits() + resultExt}
}

func randomDigits() string {
	var b [3]byte
	_, _ = rand.Read(b[:]) // which never fails
	return hex.EncodeToString(b[:])
}

// Own returns the path with the permanent name.
func (o Output) Own() string { return filepath.Join(o.dir, o.own) }

// Latest returns the path of <name>.json.
func (o Output) Latest() string { return filepath.Join(o.dir, o.name+resultExt) }

// Write atomically replaces the file with the output of content, and makes it the latest. A reader
// always finds a complete file under both names, even after a crash. A <name>.json without a
// permanent name, from an older version, is kept as a backup.
func (o Output) Write(content func(io.Writer) error) error {
	if err := o.keepForeign(); err != nil {
		return fmt.Errorf("keep %s: %w", o.Latest(), err)
	}
	if err := atomicfile.Write(o.Own(), 0o644, content); err != nil {
		return err
	}
	return atomicfile.Link(o.Own(), o.Latest())
}

// keepForeign backs up the latest file if it has no permanent name.
func (o Output) keepForeign() error {
	own, err := ownPath(o.Latest())
	if err != nil || own != "" {
		return err
	}
	_, err = atomicfile.Keep(o.Latest())
	return err
}

// Names returns the permanent and the latest path of a result file, given either of them. latest is
// empty if the file is not the latest; own is path if the file has no permanent name.
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

// SecondNames maps each path that is another name of an earlier one to that earlier path. A
// repeated path does not count.
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

// ownPath returns the permanent name of <name>.json at path, or "".
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

// sameContent reports whether two paths are the same file or copies.
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
