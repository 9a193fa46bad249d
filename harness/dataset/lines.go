package dataset

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"evalctl/internal/jsonobj"
)

// maxLine limits the length of a dataset or corpus line, in bytes.
const maxLine = 8 << 20

// maxReported limits the bad lines listed in an error.
const maxReported = 10

// LineError is an unusable line of a dataset, corpus or journal. Its text is file:line: reason.
type LineError struct {
	File string
	Line int
	Err  error
}

func (e *LineError) Error() string { return fmt.Sprintf("%s:%d: %v", e.File, e.Line, e.Err) }

// Unwrap returns the reason.
func (e *LineError) Unwrap() error { return e.Err }

// JoinLines joins the errors of bad lines like JoinErrors. It returns nil for none.
func JoinLines(bad []error) error { return JoinErrors(bad, "bad lines") }

// JoinErrors joins the first ten errors and the number of the rest, nil for none. what names the
// subject in the plural, such as "brains".
func JoinErrors(bad []error, what string) error {
	if len(bad) <= maxReported {
		return errors.Join(bad...)
	}
	more := fmt.Errorf("and %d more %s", len(bad)-maxReported, what)
	return errors.Join(append(bad[:maxReported:maxReported], more)...)
}

const byteOrderMark = "\xef\xbb\xbf"

// textLine is a line without surrounding blanks. at is the offset of its text.
type textLine struct {
	number int
	at     int64
	text   []byte
}

// readLines yields the lines that are neither blank nor comments. A text is valid until the next
// line.
func readLines(r io.Reader, name string) iter.Seq2[textLine, error] {
	return func(yield func(textLine, error) bool) {
		sc := bufio.NewScanner(r)
		// Leave room for a byte order mark, CRLF and one byte that the scanner keeps free.
		sc.Buffer(make([]byte, 0, 64<<10), maxLine+len(byteOrderMark)+len("\r\n")+1)
		n, at, next := 0, int64(0), int64(0) // the offsets of this line and of the next
		sc.Split(func(data []byte, atEOF bool) (int, []byte, error) {
			advance, token, err := scanLine(data, atEOF)
			at, next = next, next+int64(advance)
			return advance, token, err
		})
		tooLong := func(line int) error {
			err := fmt.Errorf("line is longer than %d MiB; split it", maxLine>>20)
			return &LineError{File: name, Line: line, Err: err}
		}
		for sc.Scan() {
			n++
			text := sc.Bytes()
			whole := len(text)
			if n == 1 {
				text = bytes.TrimPrefix(text, []byte(byteOrderMark))
			}
			if len(text) > maxLine {
				yield(textLine{}, tooLong(n))
				return
			}
			text = bytes.TrimLeftFunc(text, unicode.IsSpace)
			begin := at + int64(whole-len(text))
			text = bytes.TrimSpace(text)
			if len(text) == 0 || text[0] == '#' {
				continue
			}
			if !yield(textLine{n, begin, text}, nil) {
				return
			}
		}
		if err := sc.Err(); errors.Is(err, bufio.ErrTooLong) {
			yield(textLine{}, tooLong(n+1))
		} else if err != nil {
			yield(textLine{}, fmt.Errorf("read %s: %w", name, err))
		}
	}
}

// scanLine is bufio.ScanLines, but also accepts lines that end in a lone CR. JSON text contains no
// raw CR.
func scanLine(data []byte, atEOF bool) (advance int, token []byte, err error) {
	advance, token, err = bufio.ScanLines(data, atEOF)
	line := data[:max(advance, len(token))]
	if advance == 0 && token == nil {
		line = data
	}
	at := bytes.IndexByte(line, '\r')
	switch {
	case at < 0, at+1 < len(data) && data[at+1] == '\n':
		return advance, token, err
	case at+1 == len(data) && !atEOF:
		return 0, nil, nil // it may be followed by LF
	}
	return at + 1, data[:at], nil
}

// field is an object's key and its destination: a *string, **string, *bool, *[]string,
// *map[string]float64, or a *json.RawMessage for what the caller reads.
type field struct {
	key   string
	into  any
	given bool
}

// decodeObject decodes a JSON object into fields and returns its other keys. Unlike encoding/json
// it matches keys exactly and rejects repeated ones. A key that probably means a missing field is
// an error.
func decodeObject(line []byte, names *keyNames, fields ...field) (unknown []string, err error) {
	if !utf8.Valid(line) {
		return nil, errors.New("the line is not valid UTF-8; save the file as UTF-8")
	}
	o, err := jsonobj.Parse(line)
	if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
		return nil, badJSON(line, syntax)
	}
	if err != nil {
		return nil, errors.New("expected one JSON object on the line")
	}
	if jsonobj.HalfSurrogate(line) {
		return nil, errors.New(`the line has an escape such as \ud800 that is half of a character; write the whole character`)
	}
	var seen map[string]bool // of unknown
	for _, m := range o {
		i := slices.IndexFunc(fields, func(f field) bool { return f.key == string(m.Key) })
		if i < 0 && seen[string(m.Key)] || i >= 0 && fields[i].given {
			return nil, fmt.Errorf("field %q is given twice", m.Key)
		}
		if i < 0 {
			if seen == nil {
				seen = map[string]bool{}
			}
			unknown, seen[string(m.Key)] = append(unknown, string(m.Key)), true
			continue
		}
		fields[i].given = true
		if err := decodeField(fields[i].key, m.Value, fields[i].into); err != nil {
			return nil, err
		}
	}
	return unknown, names.check(unknown, fields)
}

// badJSON returns an error with the likely cause.
func badJSON(line []byte, err *json.SyntaxError) error {
	dec := json.NewDecoder(bytes.NewReader(line))
	switch got := dec.Decode(new(json.RawMessage)); {
	case got == nil:
		return errors.New("unexpected text after the JSON object; put one object on a line")
	case errors.Is(got, io.EOF), errors.Is(got, io.ErrUnexpectedEOF):
		return errors.New("bad JSON: the line ends inside the object; " +
			"each object must be on one line")
	}
	return fmt.Errorf("bad JSON: %w", err)
}

func decodeField(key string, raw json.RawMessage, target any) error {
	switch into := target.(type) {
	case *string:
		if s, ok := jsonobj.String(raw); ok {
			*into = s
			return nil
		}
	case *[]string:
		if list, ok := stringsOf(raw); ok {
			*into = list
			return nil
		}
	}
	want := "a string"
	switch target.(type) {
	case *[]string:
		want = "an array of strings"
	case *map[string]float64:
		want = "an object of numbers"
	case *bool:
		want = "true or false"
	}
	if string(raw) == "null" || want != "an array of strings" && json.Unmarshal(raw, target) == nil {
		return nil
	}
	got := jsonKind(raw)
	if strings.HasPrefix(want, got) {
		got = strings.Replace(got, "an ", "this ", 1)
	}
	return fmt.Errorf("field %q must be %s, not %s", key, want, got)
}

// stringsOf returns the strings of a list; ok is false for anything else, including a list with
// null.
func stringsOf(raw json.RawMessage) (list []string, ok bool) {
	if raw[0] != '[' {
		return nil, false
	}
	list = []string{}
	for element := range jsonobj.Elements(raw) {
		s, ok := jsonobj.String(element)
		if !ok {
			return nil, false
		}
		list = append(list, s)
	}
	return list, true
}

func jsonKind(raw json.RawMessage) string {
	switch raw[0] {
	case '"':
		return "a string"
	case '{':
		return "an object"
	case '[':
		return "this array"
	case 't', 'f':
		return "a boolean"
	default:
		return "a number"
	}
}
