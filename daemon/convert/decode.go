package convert

import (
	"bytes"
	"errors"
	"fmt"
	"mime"
	"slices"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/html/charset"
	"golang.org/x/text/encoding/unicode"
	"golang.org/x/text/transform"
)

var (
	markUTF8    = []byte("\xef\xbb\xbf")
	markUTF16LE = []byte("\xff\xfe")
	markUTF16BE = []byte("\xfe\xff")
	markPDF     = []byte("%PDF-")
)

// Decode returns a file as UTF-8 with a byte order mark in front if its content type names
// another known charset, and for HTML also if it names UTF-8. All kinds of text accept the mark,
// and it takes precedence over a charset declared within the data. Otherwise data is returned
// unchanged. A byte order mark in data takes precedence over the content type. Bytes that the
// charset does not define become U+FFFD.
//
// An unknown charset is ErrInvalid. PDF is binary, and its charset is ignored.
func Decode(kind Kind, contentType string, data []byte) ([]byte, error) {
	_, params, err := mime.ParseMediaType(contentType)
	label := strings.TrimSpace(params["charset"])
	if kind == PDF || err != nil || label == "" || hasMark(data) {
		return data, nil
	}
	encoding, name := charset.Lookup(label)
	if encoding == nil {
		return nil, fmt.Errorf("%w: unknown charset %.40q", ErrInvalid, label)
	}
	if name == "utf-8" {
		if kind != HTML {
			return data, nil // byte for byte: the document may be the original
		}
		return slices.Concat(markUTF8, data), nil
	}
	decoded, err := encoding.NewDecoder().Bytes(data)
	if err != nil {
		return nil, fmt.Errorf("%w: charset %s: %w", ErrInvalid, name, err)
	}
	return slices.Concat(markUTF8, decoded), nil
}

func hasMark(data []byte) bool {
	for _, mark := range [][]byte{markUTF8, markUTF16LE, markUTF16BE} {
		if bytes.HasPrefix(data, mark) {
			return true
		}
	}
	return false
}

// decodeText returns the text of a file that must be UTF-8, or UTF-16 with a byte order mark. It
// keeps a UTF-8 mark.
func decodeText(data []byte) (string, error) {
	if bytes.HasPrefix(data, markUTF16LE) || bytes.HasPrefix(data, markUTF16BE) {
		decoder := unicode.BOMOverride(transform.Nop)
		decoded, _, err := transform.Bytes(decoder, data)
		if err != nil {
			return "", fmt.Errorf("as UTF-16: %w", err)
		}
		data = decoded
	}
	switch i := bytes.IndexByte(data, 0); {
	case bytes.HasPrefix(data, markPDF):
		return "", errors.New("it is a PDF: convert it as pdf")
	case i >= 0:
		return "", fmt.Errorf("it is binary and not text: byte %d is NUL", i)
	}
	if !utf8.Valid(data) {
		at := invalidAt(data)
		return "", fmt.Errorf("line %d: byte %d is not UTF-8: save the file as UTF-8, or name its charset in the content type",
			lineOf(data, at), at)
	}
	return string(data), nil
}

// invalidAt returns the offset of the first byte that is not UTF-8.
func invalidAt(data []byte) int {
	for i := 0; i < len(data); {
		r, n := utf8.DecodeRune(data[i:])
		if r == utf8.RuneError && n == 1 {
			return i
		}
		i += n
	}
	return len(data)
}

// lineOf returns the line of an offset, from 1.
func lineOf(data []byte, offset int) int {
	return bytes.Count(data[:min(offset, len(data))], []byte{'\n'}) + 1
}
