// Package inputfile opens files of others: files that users name on the command line, and files
// found in folders. It opens only regular files, up to a size that the caller names, so that a
// named pipe cannot hang a command and a device cannot fill the memory. Its errors have the path
// and nothing of the content.
package inputfile

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
)

// The limits of files that have none of their own, in bytes.
const (
	// Small is for files that people write: settings, mappings, prices, keys.
	Small = 16 << 20
	// Large is for files that are read as a whole.
	Large = 1 << 30
	// Streamed is for files that are read a part at a time: results, journals, datasets.
	Streamed = 64 << 30
)

// ErrNotRegular means that a path is not a regular file.
var ErrNotRegular = errors.New("is not a regular file")

// ErrFolder is the error of a folder.
var ErrFolder = fmt.Errorf("%w but a folder", ErrNotRegular)

// ErrTooLarge is the error of a file above its limit.
var ErrTooLarge = errors.New("is too large")

// Open opens a regular file of at most most bytes. Links are followed.
func Open(path string, most int64) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|nonblocking, 0)
	if err != nil {
		return nil, err
	}
	return checked(f, path, most, false)
}

// OpenIn opens a regular file of a folder. A link that leads out of the folder is an error.
func OpenIn(root *os.Root, name string, most int64) (*os.File, error) {
	f, err := root.OpenFile(name, os.O_RDONLY|nonblocking, 0)
	if err != nil {
		return nil, err
	}
	return checked(f, filepath.Join(root.Name(), name), most, false)
}

// OpenStream is Open for a file that is read once from its beginning to its end. It may also be a
// pipe without a name, such as <(COMMAND) of a shell, or the standard input of this process by its
// name /dev/stdin. Reading more than most bytes is ErrTooLarge.
func OpenStream(path string, most int64) (*Stream, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|nonblocking, 0)
	if err != nil {
		return nil, err
	}
	if f, err = checked(f, path, most, true); err != nil {
		return nil, err
	}
	return &Stream{file: f, path: path, most: most, left: most}, nil
}

// Read reads what OpenStream opens.
func Read(path string, most int64) ([]byte, error) {
	s, err := OpenStream(path, most)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	return io.ReadAll(s)
}

// ReadText is Read without a byte order mark.
func ReadText(path string, most int64) ([]byte, error) {
	data, err := Read(path, most)
	return Text(data), err
}

// ReadIn reads what OpenIn opens.
func ReadIn(root *os.Root, name string, most int64) ([]byte, error) {
	f, err := OpenIn(root, name, most)
	if err != nil {
		return nil, err
	}
	path := filepath.Join(root.Name(), name)
	s := &Stream{file: f, path: path, most: most, left: most}
	defer s.Close()
	return io.ReadAll(s)
}

// Text returns a text without a byte order mark.
func Text(data []byte) []byte { return bytes.TrimPrefix(data, []byte("\xef\xbb\xbf")) }

// Table returns the text of a table whose rows end with LF, even if they ended with CR alone, as
// old programs write them. If marks is set, text between quotation marks is unchanged.
func Table(text []byte, marks bool) []byte {
	if bytes.IndexByte(text, '\r') < 0 {
		return text
	}
	out := bytes.Clone(text)
	quoted := false
	for i, c := range out {
		switch {
		case c == '"' && marks:
			quoted = !quoted
		case c == '\r' && !quoted && (i+1 == len(out) || out[i+1] != '\n'):
			out[i] = '\n'
		}
	}
	return out
}

// quotedCell matches a cell of TSV in quotation marks with its end, which may have tabs and line
// ends. markedCell also matches any other cell with a quotation mark.
const quotedCell = `"(?:[^"]|"")*"(?:\t|\r?\n|\z)`

var (
	markedCell    = regexp.MustCompile(quotedCell + `|[^\t\r\n]*"[^\t\r\n]*`)
	isQuotedCell  = regexp.MustCompile(`\A` + quotedCell + `\z`)
	quotationMark = []byte(`"`)
)

// TSV returns the text of a table with tabs between its cells as csv.Reader reads it, with rows
// as in Table. A quotation mark is text, also at the beginning of a cell, unless the cell ends
// with another one and has only doubled ones between them.
func TSV(text []byte) []byte {
	return markedCell.ReplaceAllFunc(Table(text, false), func(cell []byte) []byte {
		if isQuotedCell.Match(cell) {
			return cell
		}
		cell = bytes.ReplaceAll(cell, quotationMark, []byte(`""`))
		return slices.Concat(quotationMark, cell, quotationMark)
	})
}

// Within returns an error unless a path that was found below dir is a file of it: a link may not
// lead out of it.
func Within(dir, path string, most int64) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	name, err := filepath.Rel(dir, path)
	if err != nil {
		return err
	}
	f, err := OpenIn(root, name, most)
	if err != nil {
		return err
	}
	return f.Close()
}

// Check returns an error unless Open would open the file.
func Check(path string, most int64) error {
	f, err := Open(path, most)
	if err != nil {
		return err
	}
	return f.Close()
}

// checked returns an open file, or closes it if it may not be read. The error has its path, like
// errors of package os.
func checked(f *os.File, path string, most int64, pipes bool) (*os.File, error) {
	info, err := f.Stat()
	if err == nil {
		err = check(f, info, most, pipes)
	}
	if err != nil {
		return nil, errors.Join(&fs.PathError{Op: "open", Path: path, Err: err}, f.Close())
	}
	return f, nil
}

func check(f *os.File, info fs.FileInfo, most int64, pipes bool) error {
	switch mode := info.Mode(); {
	case mode.IsDir():
		return ErrFolder
	case mode&fs.ModeNamedPipe != 0 && pipes && unnamed(f):
		return nil
	case mode&fs.ModeCharDevice != 0 && pipes && isStandardInput(info):
		return nil
	case mode&fs.ModeNamedPipe != 0:
		return fmt.Errorf("%w but a pipe", ErrNotRegular)
	case mode&fs.ModeSocket != 0:
		return fmt.Errorf("%w but a socket", ErrNotRegular)
	case mode&fs.ModeDevice != 0:
		return fmt.Errorf("%w but a device", ErrNotRegular)
	case !mode.IsRegular():
		return ErrNotRegular
	case ofKernel(f):
		return fmt.Errorf("%w but a virtual file of the kernel", ErrNotRegular)
	case info.Size() > most:
		return tooLarge(info.Size(), most)
	}
	return nil
}

func tooLarge(size, most int64) error {
	return fmt.Errorf("%w: it has %d bytes, and at most %d are read", ErrTooLarge, size, most)
}

// Stream is an open file or pipe. It is not safe for concurrent use.
type Stream struct {
	file       *os.File
	path       string
	most, left int64
}

// Read implements io.Reader.
func (s *Stream) Read(p []byte) (int, error) {
	if int64(len(p)) > s.left+1 {
		p = p[:s.left+1]
	}
	n, err := s.file.Read(p)
	if s.left -= int64(n); s.left < 0 {
		return 0, &fs.PathError{Op: "read", Path: s.path, Err: fmt.Errorf("%w: more than %d bytes", ErrTooLarge, s.most)}
	}
	return n, err
}

// Close implements io.Closer.
func (s *Stream) Close() error { return s.file.Close() }

// Stat describes the file.
func (s *Stream) Stat() (fs.FileInfo, error) { return s.file.Stat() }

// Digest returns the SHA-256 of a file, in hexadecimal.
func Digest(path string) (string, error) {
	f, err := Open(path, Streamed)
	if err != nil {
		return "", err
	}
	defer f.Close()
	return DigestOf(path, f)
}

// DigestOf returns the SHA-256 of the content of the file at path, in hexadecimal.
func DigestOf(path string, content io.Reader) (string, error) {
	sum := sha256.New()
	if _, err := io.Copy(sum, content); err != nil {
		return "", fmt.Errorf("read %s: %w", path, err)
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}
