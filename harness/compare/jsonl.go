package compare

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"unicode/utf8"

	"evalctl/harness/result"
	"evalctl/internal/jsonobj"
)

// maxLine is the maximum length of a JSON line, in bytes.
const maxLine = 8 << 20

// readLines yields a record for each non-blank line and counts unknown keys in ignored. The
// sequence ends at the first error, which names file and line and comes with a zero Record.
func readLines(r io.Reader, path string, ignored map[string]int) iter.Seq2[result.Record, error] {
	return func(yield func(result.Record, error) bool) {
		sc := bufio.NewScanner(r)
		sc.Buffer(make([]byte, 0, 64<<10), maxLine+1)
		lines := map[string]int{} // of the ids
		n := 0
		for sc.Scan() {
			n++
			text := bytes.TrimSpace(trimMark(sc.Bytes()))
			if len(text) == 0 {
				continue
			}
			rec, err := parseLine(text, ignored)
			if first := lines[rec.ID]; err == nil && first > 0 {
				err = fmt.Errorf("duplicate id %q, first used on line %d; each question may have one line",
					rec.ID, first)
			}
			if err != nil {
				yield(result.Record{}, fmt.Errorf("%s:%d: %w", path, n, err))
				return
			}
			rec.Line = n
			lines[rec.ID] = n
			if !yield(rec, nil) {
				return
			}
		}
		switch err := sc.Err(); {
		case errors.Is(err, bufio.ErrTooLong):
			yield(result.Record{}, fmt.Errorf("%s:%d: the line is longer than %d MiB", path, n+1, maxLine>>20))
		case err != nil:
			yield(result.Record{}, fmt.Errorf("read %s: %w", path, err))
		}
	}
}

// parseLine parses one question. A question without a score still counts as scored, by its passed
// value.
func parseLine(text []byte, ignored map[string]int) (result.Record, error) {
	if !utf8.Valid(text) {
		return result.Record{}, errors.New("the line is not valid UTF-8; save the file as UTF-8")
	}
	o, err := jsonobj.Parse(text)
	if errors.Is(err, jsonobj.ErrNotObject) {
		return result.Record{}, errors.New("expected one JSON object on the line")
	}
	if err != nil {
		return result.Record{}, fmt.Errorf("bad JSON: %w; put one whole object on each line", err)
	}
	rec := result.Record{Outcome: result.Scored, Reply: result.Reply{Untimed: true}}
	given := map[string]bool{}
	var latency *float64
	fields := map[string]any{
		"id": &rec.ID, "passed": &rec.Passed, "question": &rec.Question, "answer": &rec.Answer,
		"score": &rec.Score, "tags": &rec.Tags, "latency_ms": &latency, "first_delta_ms": &rec.FirstDeltaMS,
	}
	for _, m := range o {
		key := string(m.Key)
		if given[key] {
			return result.Record{}, fmt.Errorf("the key %q is given twice", key)
		}
		given[key] = true
		into := fields[key]
		if into == nil {
			ignored[key]++
			continue
		}
		required := key == "id" || key == "passed"
		if err := json.Unmarshal(m.Value, into); err != nil || required && string(m.Value) == "null" {
			return result.Record{}, fmt.Errorf("%q must be %s", key, kinds[key])
		}
	}
	if latency != nil {
		rec.LatencyMS, rec.Untimed = *latency, false
	}
	return rec, checkLine(&rec, given)
}

var kinds = map[string]string{
	"id": "a string", "passed": "true or false", "question": "a string", "answer": "a string",
	"score": "a number from 0 to 1", "tags": "a list of strings",
	"latency_ms": "a number of milliseconds", "first_delta_ms": "a number of milliseconds",
}

func checkLine(rec *result.Record, given map[string]bool) error {
	switch {
	case !given["id"] || rec.ID == "":
		return errors.New(`the question needs an "id" that is not empty`)
	case !given["passed"]:
		return errors.New(`the question needs "passed", true or false; a dataset has none: measure it with evalctl run`)
	case rec.Score != nil && !(*rec.Score >= 0 && *rec.Score <= 1):
		return fmt.Errorf("score %v is not between 0 and 1", *rec.Score)
	case rec.LatencyMS < 0 || rec.FirstDeltaMS != nil && *rec.FirstDeltaMS < 0:
		return errors.New("a latency is below 0")
	}
	return nil
}
