package imports

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/csv"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"evalctl/harness/resultfile"
	"evalctl/internal/inputfile"
)

// maxFile limits the unpacked size of a file, in bytes.
const maxFile = 1 << 30

// content is a decoded file of answers. JSON lines and tables are decoded as an array.
type content struct {
	path, sha256 string
	bytes        int64
	value        any
}

// readFile reads a JSON, JSON lines or CSV file, which may be compressed with gzip.
func readFile(path string) (*content, error) {
	f, err := inputfile.Open(path, inputfile.Streamed)
	if errors.Is(err, inputfile.ErrNotRegular) {
		return nil, fmt.Errorf("%s is not a regular file: name the files of answers in it", path)
	}
	if err != nil {
		return nil, fmt.Errorf("open the answers: %w", err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, fmt.Errorf("read the answers: %w", err)
	}
	sum := sha256.New()
	data, err := io.ReadAll(io.TeeReader(io.LimitReader(f, maxFile+1), sum))
	if err == nil && bytes.HasPrefix(data, []byte("\x1f\x8b")) {
		data, err = unpack(data)
	}
	switch {
	case err != nil:
		return nil, fmt.Errorf("read %s: %w", path, err)
	case len(data) > maxFile:
		return nil, fmt.Errorf("%s has more than %d MiB: divide it", path, maxFile>>20)
	}
	if bytes.HasPrefix(data, []byte("PK\x03\x04")) {
		c := &content{path: path, sha256: hex.EncodeToString(sum.Sum(nil)), bytes: info.Size()}
		if c.value, err = readInspect(data); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		return c, nil
	}
	if err := resultfile.UnexpectedHead(data[:min(len(data), 64<<10)], "the answers of another harness"); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	data = inputfile.Text(data)
	if !utf8.Valid(data) {
		return nil, fmt.Errorf("%s is not valid UTF-8: save it as UTF-8", path)
	}
	c := &content{path: path, sha256: hex.EncodeToString(sum.Sum(nil)), bytes: info.Size()}
	if c.value, err = decode(data); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return c, nil
}

func unpack(data []byte) ([]byte, error) {
	z, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	return io.ReadAll(io.LimitReader(z, maxFile+1))
}

// decode decodes a text, whose format is detected from its beginning.
func decode(data []byte) (any, error) {
	text := bytes.TrimSpace(data)
	switch {
	case len(text) == 0:
		return nil, errors.New("the file is empty")
	case text[0] == '[' || text[0] == '{':
		return decodeJSON(data)
	}
	return decodeTable(data)
}

// decodeJSON decodes one JSON value, or several, such as lines, as an array.
func decodeJSON(data []byte) (any, error) {
	data = finite(data)
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	var values []any
	for {
		var v any
		err := dec.Decode(&v)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			at := dec.InputOffset()
			if e, ok := errors.AsType[*json.SyntaxError](err); ok {
				at = e.Offset
			}
			if at = min(at, int64(len(data))); errors.Is(err, io.ErrUnexpectedEOF) {
				at = int64(len(data))
			}
			return nil, atByte(data, at, err)
		}
		values = append(values, v)
	}
	if err := keysOnce(data); err != nil {
		return nil, err
	}
	if len(values) == 1 {
		if object, ok := values[0].(map[string]any); ok && flat(object) {
			return values, nil // a single line
		}
		return values[0], nil
	}
	return values, nil
}

// atByte adds a place in a text to an error.
func atByte(data []byte, at int64, err error) error {
	return fmt.Errorf("line %d (byte %d): %w", 1+bytes.Count(data[:at], []byte("\n")), at, err)
}

// keysOnce returns an error if an object in valid JSON has a key twice: decoders take the last
// value without a word.
func keysOnce(data []byte) error {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	var open []map[string]bool // the keys so far in each object around, nil for a list
	for isKey := false; ; {
		token, err := dec.Token()
		if err != nil {
			return nil // the end
		}
		switch d, _ := token.(json.Delim); {
		case d == '{':
			open, isKey = append(open, map[string]bool{}), true
			continue
		case d == '[':
			open = append(open, nil)
		case d != 0:
			open = open[:len(open)-1]
		case isKey:
			key, _ := token.(string)
			keys := open[len(open)-1]
			if keys[key] {
				return atByte(data, dec.InputOffset(), fmt.Errorf("the key %.80q is given twice in an object", key))
			}
			keys[key], isKey = true, false
			continue
		}
		isKey = len(open) > 0 && open[len(open)-1] != nil
	}
}

// notFinite matches a text, or a number that is not finite as Python writes it, outside of JSON.
var notFinite = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`"(?:[^"\\]|\\.)*"|-?\b(?:NaN|Infinity)\b`)
})

// finite replaces numbers that are not finite by null: a score that is NaN is no score.
func finite(data []byte) []byte {
	if !bytes.Contains(data, []byte("NaN")) && !bytes.Contains(data, []byte("Infinity")) {
		return data
	}
	return notFinite().ReplaceAllFunc(data, func(found []byte) []byte {
		if found[0] == '"' {
			return found
		}
		return []byte("null")
	})
}

// flat reports whether an object is a single answer rather than a container: it contains no list of
// objects.
func flat(object map[string]any) bool {
	for _, member := range object {
		switch member := member.(type) {
		case map[string]any:
			if !flat(member) {
				return false
			}
		case []any:
			for _, one := range member {
				if _, object := one.(map[string]any); object {
					return false
				}
			}
		}
	}
	return true
}

// cell decodes a table field, which some exports write in JSON.
func cell(text string) any {
	if strings.HasPrefix(text, "{") {
		if v, err := decodeJSON([]byte(text)); err == nil {
			if list, ok := v.([]any); ok && len(list) == 1 {
				return list[0]
			}
			return v
		}
	}
	return text
}

// decodeTable decodes a table with a header and commas, tabs or semicolons as separators.
func decodeTable(data []byte) (any, error) {
	data = inputfile.Table(data, true)
	header, _, _ := bytes.Cut(data, []byte("\n"))
	r := csv.NewReader(bytes.NewReader(data))
	for _, separator := range "\t;" {
		if bytes.ContainsRune(header, separator) && !bytes.ContainsRune(header, r.Comma) {
			r.Comma = separator
		}
	}
	keys, err := r.Read()
	if err != nil {
		return nil, err // it has the line
	}
	if len(keys) < 2 {
		return nil, errors.New("it is neither JSON, JSON lines nor a table with a header")
	}
	for i, key := range keys {
		keys[i] = strings.TrimSpace(key)
		if first := slices.Index(keys[:i], keys[i]); first >= 0 && keys[i] != "" {
			return nil, fmt.Errorf("the columns %d and %d are both called %.80q: rename one", first+1, i+1, keys[i])
		}
	}
	var rows []any
	for {
		fields, err := r.Read()
		if errors.Is(err, io.EOF) {
			return rows, nil
		}
		if err != nil {
			return nil, err
		}
		row := map[string]any{}
		for i, key := range keys {
			row[key] = cell(fields[i])
		}
		rows = append(rows, row)
	}
}
