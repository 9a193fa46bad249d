package harness

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"slices"
	"time"
	"unicode/utf8"

	"evalctl/scorer"
)

// MaxLine is the longest dataset or corpus line, in bytes.
const MaxLine = 8 << 20

// MaxQuestions is how many questions a run may have.
const MaxQuestions = 10_000_000

// maxReported bounds how many bad lines one error lists.
const maxReported = 10

// Question is one line of a dataset (spec 4.4). Line is its 1-based line
// number in the file.
type Question struct {
	ID       string
	Question string
	// ExpectedSubstrings is what the exact scorer looks for.
	ExpectedSubstrings []string
	// ReferenceAnswer is what the judge compares with.
	ReferenceAnswer string
	// QuestionDate is the moment the question is asked at, RFC 3339 or
	// YYYY-MM-DD; empty for none.
	QuestionDate string
	// ExpectedPaths names the gold documents, relative to the corpus.
	ExpectedPaths []string
	Tags          []string
	Line          int
}

// Item is what a scorer sees of the question, without an answer.
func (q Question) Item() scorer.Item {
	return scorer.Item{
		ID: q.ID, Question: q.Question, QuestionDate: q.QuestionDate,
		Expected: q.ExpectedSubstrings, Reference: q.ReferenceAnswer,
	}
}

// LineError is a dataset or corpus line that cannot be used. Its text is
// file:line: reason.
type LineError struct {
	File string
	Line int
	Err  error
}

func (e *LineError) Error() string { return fmt.Sprintf("%s:%d: %v", e.File, e.Line, e.Err) }

// Unwrap gives the reason.
func (e *LineError) Unwrap() error { return e.Err }

// Dataset is a JSONL file of questions that Survey has found usable.
type Dataset struct {
	Path   string
	SHA256 string
	// Total counts the questions in the file, Selected those that a limit
	// leaves.
	Total    int
	Selected int
	// Tags counts the selected questions of each tag.
	Tags map[string]int
}

// Survey reads the whole file once and refuses it when any line is bad: broken
// JSON, a missing or wrongly typed field, a duplicate id, or a question that
// check does not accept. The error lists up to ten lines, each a *LineError.
// limit nil selects all questions.
func Survey(path string, limit *int, check func(Question) error) (Dataset, error) {
	if limit != nil && *limit < 1 {
		return Dataset{}, fmt.Errorf("limit %d: ask at least 1 question, or leave the limit out to ask all", *limit)
	}
	f, err := os.Open(path)
	if err != nil {
		return Dataset{}, fmt.Errorf("open dataset: %w", err)
	}
	defer f.Close()
	sum := sha256.New()
	d := Dataset{Path: path, Tags: map[string]int{}}
	lines := make(map[string]int)
	var bad []error
	note := func(line int, err error) {
		bad = append(bad, &LineError{File: path, Line: line, Err: err})
	}
	for q, err := range ReadQuestions(io.TeeReader(f, sum), path) {
		if err != nil {
			if _, ok := errors.AsType[*LineError](err); !ok {
				return Dataset{}, err
			}
			bad = append(bad, err)
			continue
		}
		if first, ok := lines[q.ID]; ok {
			note(q.Line, fmt.Errorf("id %q is already used on line %d; ids must be unique", q.ID, first))
		} else if err := check(q); err != nil {
			note(q.Line, err) // it names the question
		}
		lines[q.ID] = q.Line
		d.Total++
		if limit == nil || d.Selected < *limit {
			d.Selected++
			for _, t := range q.Tags {
				d.Tags[t]++
			}
		}
	}
	if len(bad) > 0 {
		return Dataset{}, joinLines(bad)
	}
	switch {
	case d.Total == 0:
		return Dataset{}, fmt.Errorf("%s: no questions; a dataset has one JSON object a line", path)
	case d.Selected > MaxQuestions:
		return Dataset{}, fmt.Errorf("%s: %d questions are more than the %d of one run; split the file or set a limit", path, d.Selected, MaxQuestions)
	}
	d.SHA256 = hex.EncodeToString(sum.Sum(nil))
	return d, nil
}

func joinLines(bad []error) error {
	if len(bad) <= maxReported {
		return errors.Join(bad...)
	}
	more := fmt.Errorf("and %d more bad lines", len(bad)-maxReported)
	return errors.Join(append(bad[:maxReported:maxReported], more)...)
}

// Questions streams the selected questions in file order. The file was checked
// by Survey, so any error ends the stream.
func (d Dataset) Questions() iter.Seq2[Question, error] {
	return func(yield func(Question, error) bool) {
		f, err := os.Open(d.Path)
		if err != nil {
			yield(Question{}, fmt.Errorf("open dataset: %w", err))
			return
		}
		defer f.Close()
		n := 0
		for q, err := range ReadQuestions(f, d.Path) {
			if n == d.Selected {
				return
			}
			n++
			if !yield(q, err) || err != nil {
				return
			}
		}
		if n < d.Selected {
			yield(Question{}, fmt.Errorf("%s changed during the run: it had %d questions and now has %d", d.Path, d.Selected, n))
		}
	}
}

// ReadQuestions streams the questions of r; name stands in errors. A byte
// order mark, CRLF line ends, blank lines and lines that start with # are
// accepted. A bad line is yielded as a *LineError and reading goes on, unless
// the line is longer than MaxLine; that and any other error end the stream.
// Memory does not grow with the file.
func ReadQuestions(r io.Reader, name string) iter.Seq2[Question, error] {
	return func(yield func(Question, error) bool) {
		for line, err := range readLines(r, name) {
			var q Question
			if err == nil {
				if q, err = parseQuestion(line.text); err != nil {
					err = &LineError{File: name, Line: line.number, Err: err}
				}
				q.Line = line.number
			}
			if !yield(q, err) {
				return
			}
		}
	}
}

const byteOrderMark = "\xef\xbb\xbf"

type textLine struct {
	number int
	text   []byte
}

// readLines yields the lines that carry data. text is valid until the next
// line.
func readLines(r io.Reader, name string) iter.Seq2[textLine, error] {
	return func(yield func(textLine, error) bool) {
		sc := bufio.NewScanner(r)
		// Room for a byte order mark, CRLF and the byte that a scanner keeps free.
		sc.Buffer(make([]byte, 0, 64<<10), MaxLine+len(byteOrderMark)+len("\r\n")+1)
		n := 0
		tooLong := func(line int) error {
			return &LineError{File: name, Line: line, Err: fmt.Errorf("line is longer than %d MiB; split it", MaxLine>>20)}
		}
		for sc.Scan() {
			n++
			text := sc.Bytes()
			if n == 1 {
				text = bytes.TrimPrefix(text, []byte(byteOrderMark))
			}
			if len(text) > MaxLine {
				yield(textLine{}, tooLong(n))
				return
			}
			text = bytes.TrimSpace(text)
			if len(text) == 0 || text[0] == '#' {
				continue
			}
			if !yield(textLine{n, text}, nil) {
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

func parseQuestion(line []byte) (Question, error) {
	var q Question
	fields := map[string]any{
		"id":                  &q.ID,
		"question":            &q.Question,
		"expected_substrings": &q.ExpectedSubstrings,
		"reference_answer":    &q.ReferenceAnswer,
		"question_date":       &q.QuestionDate,
		"expected_paths":      &q.ExpectedPaths,
		"tags":                &q.Tags,
	}
	if err := decodeObject(line, fields); err != nil {
		return q, err
	}
	switch {
	case q.ID == "":
		return q, errors.New(`"id" is missing; give the question a unique id`)
	case q.Question == "":
		return q, fmt.Errorf(`question %q: "question" is missing or empty`, q.ID)
	}
	for i, tag := range q.Tags {
		if slices.Contains(q.Tags[:i], tag) {
			return q, fmt.Errorf("question %q: tag %q is given twice", q.ID, tag)
		}
	}
	if q.QuestionDate != "" {
		if _, err := ParseDate(q.QuestionDate); err != nil {
			return q, fmt.Errorf(`question %q: "question_date": %w`, q.ID, err)
		}
	}
	return q, nil
}

// ParseDate reads an RFC 3339 time or a YYYY-MM-DD date (midnight UTC).
func ParseDate(s string) (time.Time, error) {
	if t, err := time.Parse(time.RFC3339, s); err == nil {
		return t, nil
	}
	if t, err := time.Parse(time.DateOnly, s); err == nil {
		return t, nil
	}
	return time.Time{}, fmt.Errorf("%q is neither RFC 3339 (2025-03-14T09:00:00Z) nor a date (2025-03-14)", s)
}

// decodeObject reads one JSON object into the given targets, which are
// *string or *[]string. Keys are matched exactly and only once, which
// encoding/json alone does not promise; other keys are ignored.
func decodeObject(line []byte, fields map[string]any) error {
	if !utf8.Valid(line) {
		return errors.New("the line is not valid UTF-8; save the file as UTF-8")
	}
	dec := json.NewDecoder(bytes.NewReader(line))
	if t, err := dec.Token(); err != nil {
		return fmt.Errorf("bad JSON: %w", explain(err))
	} else if t != json.Delim('{') {
		return errors.New("expected one JSON object on the line")
	}
	seen := map[string]bool{}
	for dec.More() {
		t, err := dec.Token()
		if err != nil {
			return fmt.Errorf("bad JSON: %w", explain(err))
		}
		key := t.(string)
		if seen[key] {
			return fmt.Errorf("field %q is given twice", key)
		}
		seen[key] = true
		var raw json.RawMessage
		if err := dec.Decode(&raw); err != nil {
			return fmt.Errorf("bad JSON in field %q: %w", key, explain(err))
		}
		if target, ok := fields[key]; ok {
			if err := decodeField(key, raw, target); err != nil {
				return err
			}
		}
	}
	if _, err := dec.Token(); err != nil {
		return fmt.Errorf("bad JSON: %w", explain(err))
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return errors.New("unexpected text after the JSON object; put one object on a line")
	}
	return nil
}

// explain names the usual cause of an end inside a value.
func explain(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return errors.New("the line ends inside the object; each object stands on one line")
	}
	return err
}

func decodeField(key string, raw json.RawMessage, target any) error {
	if string(raw) == "null" {
		return nil
	}
	if json.Unmarshal(raw, target) == nil {
		return nil
	}
	want := "a string"
	if _, ok := target.(*[]string); ok {
		want = "an array of strings"
	}
	return fmt.Errorf("field %q must be %s, not %s", key, want, jsonKind(raw))
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
