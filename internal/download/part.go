package download

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"

	"evalctl/internal/atomicfile"
	"evalctl/internal/inputfile"
)

// part is the beginning of the file.
type part struct {
	file     *os.File
	size     int64
	received int64 // in this call, restarts included
	state    state
}

// state identifies the file and the version that a part belongs to.
type state struct {
	URL string `json:"url"`
	// Validator is the value of an If-Range header, "" if the server gave none.
	Validator string `json:"validator"`
	// Synced is how many bytes of the part are on the disk.
	Synced int64 `json:"synced"`
}

// syncAfter is how many bytes of a part are received between two syncs. A process that is killed
// loses them.
const syncAfter = 32 << 20

// openPart opens the part, which may be empty. It empties a part that cannot be continued: from
// another URL, too long, or without both a validator and a checksum of the whole file. It drops
// what was not synced, which may be zeros after a crash of the machine.
func openPart(c Config) (*part, error) {
	f, err := os.OpenFile(c.Path+partSuffix, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, fmt.Errorf("download to %s: %w", c.Path, err)
	}
	p := &part{file: f}
	if p.size, err = f.Seek(0, io.SeekEnd); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	data, err := inputfile.Read(c.Path+stateSuffix, inputfile.Small)
	if err != nil || json.Unmarshal(data, &p.state) != nil {
		p.state = state{}
	}
	if p.state.URL != c.URL || c.Size > 0 && p.size > c.Size ||
		p.state.Validator == "" && c.SHA256 == "" {
		p.state = state{}
	}
	p.state.Synced = max(0, min(p.size, p.state.Synced))
	if err := p.cut(p.state.Synced); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return p, nil
}

// restart empties the part.
func (p *part) restart() error {
	p.state = state{}
	return p.cut(0)
}

// cut drops what follows the first bytes of the part.
func (p *part) cut(size int64) error {
	p.size = size
	if err := p.file.Truncate(size); err != nil {
		return err
	}
	_, err := p.file.Seek(size, io.SeekStart)
	return err
}

func (p *part) write(data []byte) error {
	n, err := p.file.Write(data)
	p.size += int64(n)
	p.received += int64(n)
	if err == nil && p.size-p.state.Synced >= syncAfter {
		err = p.save()
	}
	return err
}

// save syncs the part and writes the state. A part is continued only if its state was written
// before its first byte.
func (p *part) save() error {
	if err := p.file.Sync(); err != nil {
		// The next sync would succeed without what the disk has refused.
		return errors.Join(err, p.cut(p.state.Synced))
	}
	p.state.Synced = p.size
	data, err := json.Marshal(p.state)
	if err != nil {
		return err
	}
	name := p.file.Name()
	return atomicfile.WriteData(name[:len(name)-len(partSuffix)]+stateSuffix, 0o644, data)
}

// sum returns the SHA-256 of the part.
func (p *part) sum() (string, error) {
	if _, err := p.file.Seek(0, io.SeekStart); err != nil {
		return "", err
	}
	return sumOf(p.file)
}

func sumOf(r io.Reader) (string, error) {
	h := sha256.New()
	if _, err := io.Copy(h, r); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// finish makes the part the target.
func (p *part) finish(target string) error {
	if err := errors.Join(p.file.Sync(), p.file.Close()); err != nil {
		return err
	}
	if err := os.Rename(target+partSuffix, target); err != nil {
		return err
	}
	if err := os.Remove(target + stateSuffix); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// present returns the target if it exists. A target with unexpected content is an error.
func (c Config) present() (File, error) {
	f, err := inputfile.Open(c.Path, math.MaxInt64)
	if err != nil {
		return File{}, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return File{}, err
	}
	if !info.Mode().IsRegular() {
		return File{}, fmt.Errorf("%s is not a regular file; remove it", c.Path)
	}
	if c.Size > 0 && info.Size() != c.Size {
		return File{}, fmt.Errorf("%s exists with %d bytes and must have %d; "+
			"remove it to download it again", c.Path, info.Size(), c.Size)
	}
	sum, err := sumOf(f)
	if err != nil {
		return File{}, err
	}
	if c.SHA256 != "" && sum != c.SHA256 {
		return File{}, fmt.Errorf("%s exists with the sha256 %s, which must be %s; "+
			"remove it to download it again", c.Path, sum, c.SHA256)
	}
	return File{Path: c.Path, Size: info.Size(), SHA256: sum, Present: true}, nil
}
