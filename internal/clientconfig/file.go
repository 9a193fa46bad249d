package clientconfig

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"evalctl/internal/atomicfile"
	"evalctl/internal/inputfile"
)

// maxSize is the largest configuration that is read, in bytes.
const maxSize = 16 << 20

// file is the configuration file of a client.
type file struct {
	// path is the file itself, behind symbolic links.
	path string
	text []byte
	mode fs.FileMode
	// missing reports that the file does not exist, noFolder that its folder does not either.
	missing, noFolder bool
}

// readFile reads a configuration. A file that does not exist has no text.
func readFile(path string) (*file, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	target, err := filepath.EvalSymlinks(path)
	if errors.Is(err, fs.ErrNotExist) {
		if _, err := os.Lstat(path); err == nil {
			return nil, fmt.Errorf("%s is a symbolic link to a file that does not exist", path)
		}
		c := &file{path: path, mode: 0o600, missing: true}
		if _, err := os.Stat(filepath.Dir(path)); errors.Is(err, fs.ErrNotExist) {
			c.noFolder = true
		} else if err != nil {
			return nil, err
		}
		return c, nil
	}
	if err != nil {
		return nil, err
	}
	info, err := os.Stat(target)
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular(): // opening a pipe would wait for a writer
		return nil, fmt.Errorf("%s is not a regular file", path)
	case info.Size() > maxSize:
		return nil, fmt.Errorf("%s has %d bytes, and at most %d are expected", path, info.Size(), maxSize)
	}
	text, err := inputfile.Read(target, maxSize)
	return &file{path: target, text: text, mode: info.Mode().Perm()}, err
}

// replace writes a new text and returns the path of a copy of the old one, "" if there was none.
func (c *file) replace(text []byte) (backup string, err error) {
	switch {
	case c.noFolder:
		return "", fmt.Errorf("folder %s does not exist: install the client and start it once, or set --file",
			filepath.Dir(c.path))
	case c.mode&0o200 == 0:
		return "", fmt.Errorf("%s is read-only", c.path)
	}
	f, err := atomicfile.Create(c.path, c.mode)
	if err != nil {
		return "", err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, f.Discard())
		}
	}()
	if _, err := f.Write(text); err != nil {
		return "", err
	}
	if !c.missing {
		if backup, err = c.backUp(); err != nil {
			return "", err
		}
	}
	if err := f.Sync(); err != nil {
		return "", err
	}
	// Clients write these files themselves.
	now, err := readFile(c.path)
	if err != nil {
		return "", err
	}
	if now.missing != c.missing || !bytes.Equal(now.text, c.text) {
		return "", fmt.Errorf("%s was changed by another program at the same time: try again", c.path)
	}
	return backup, f.Commit()
}

// backUp copies the file to one of a new name next to it.
func (c *file) backUp() (string, error) {
	path := fmt.Sprintf("%s.%s.bak", c.path, time.Now().UTC().Format("20060102T150405.000000"))
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, c.mode)
	if err != nil {
		return "", fmt.Errorf("keep a copy: %w", err)
	}
	_, err = io.Copy(f, bytes.NewReader(c.text))
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return "", errors.Join(fmt.Errorf("keep a copy: %w", err), os.Remove(path))
	}
	return path, nil
}
