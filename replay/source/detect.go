package source

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"

	"evalctl/harness/dataset"
	"evalctl/harness/result"
	"evalctl/internal/jsonstream"
)

const byteOrderMark = "\xef\xbb\xbf"

// formatOf returns the format whose first object has a key, "" if the key does not tell. A replay
// has no other files with question_id, so that one that breaks off after it is still recognised.
func formatOf(key string) Format {
	if key == "question_id" {
		return LongMemEval
	}
	return Format(dataset.BenchmarkOf(key))
}

// readable says what can be read, for errors.
var readable = "a benchmark is " + titles(" or ", func(b dataset.Benchmark) string { return b.Title }) +
	", a JSON array, or questions in JSONL"

// titles joins what name returns of each benchmark.
func titles(separator string, name func(dataset.Benchmark) string) string {
	var names []string
	for _, b := range dataset.Benchmarks() {
		names = append(names, name(b))
	}
	return strings.Join(names, separator)
}

// detect determines the format of a file from its beginning.
func detect(head []byte) (Format, error) {
	if err := result.UnexpectedHead(head, "a benchmark, or questions in JSONL"); err != nil {
		return "", err
	}
	text := bytes.TrimSpace(bytes.TrimPrefix(head, []byte(byteOrderMark)))
	switch {
	case len(text) == 0:
		return "", errors.New("the file is empty; " + readable)
	case dataset.Detect(head) == dataset.MemoryAgentBench:
		return MemoryAgentBench, nil
	case text[0] == '[':
		return detectArray(text)
	case text[0] == '{' || text[0] == '#' && bytes.Contains(text, []byte("\n{")):
		return detectLines(text)
	}
	if f := dataset.Detect(head); f.IsBenchmark() {
		return Format(f), nil
	}
	return "", fmt.Errorf("the file is not JSON: it begins with %q; %s; "+
		"for CSV, TSV and YAML use evalctl dataset convert", firstLine(text), readable)
}

// firstLine returns the beginning of the first line.
func firstLine(text []byte) string {
	line, _, _ := bytes.Cut(text, []byte("\n"))
	return strings.ToValidUTF8(string(line[:min(len(line), 40)]), "\ufffd")
}

// detectArray determines the format of an array from the keys of its first element.
func detectArray(text []byte) (Format, error) {
	var keys []string
	r := jsonstream.New(bytes.NewReader(text), 0)
	err := r.Elements(func() error {
		if c, err := r.Peek(); err != nil {
			return err
		} else if c != '{' {
			return fmt.Errorf("the first element of the array begins with %q and must be an object; %s",
				c, readable)
		}
		var err error
		keys, err = firstKeys(r)
		if err == nil {
			err = errFirst
		}
		return err
	})
	for _, k := range keys {
		if f := formatOf(k); f != "" {
			return f, nil
		}
	}
	switch {
	case err == nil:
		return "", errors.New("the array is empty; there are no questions")
	case slices.Contains(keys, "question"):
		return "", errors.New("the file is a JSON array of questions; " +
			"make it JSONL with evalctl dataset convert")
	case len(keys) > 0:
		known := titles(", and ", func(b dataset.Benchmark) string { return b.Title + " has " + b.Keys[0] })
		return "", fmt.Errorf("the first element of the array has the keys %s; %s", quoted(keys), known)
	}
	return "", err
}

// detectLines determines the format of a file that begins with an object or a comment.
func detectLines(text []byte) (Format, error) {
	for len(text) > 0 && text[0] == '#' {
		_, rest, _ := bytes.Cut(text, []byte("\n"))
		text = bytes.TrimSpace(rest)
	}
	if len(text) == 0 || text[0] != '{' {
		return "", fmt.Errorf("the first line that is no comment begins with %q; %s",
			firstLine(text), readable)
	}
	keys, err := firstKeys(jsonstream.New(bytes.NewReader(text), 0))
	if f := dataset.Detect(text); f.IsBenchmark() {
		return Format(f), nil
	}
	for _, k := range keys {
		if f := formatOf(k); f != "" {
			return "", fmt.Errorf("the file begins with an object that has the key %q of %s; "+
				"a file of %s is a JSON array of such objects", k, f, f)
		}
	}
	if err != nil && len(keys) == 0 {
		return "", err
	}
	return JSONL, nil
}

// errFirst ends the reading of an array after its first element.
var errFirst = errors.New("only the first element is needed")

// firstKeys returns the keys of an object, those before the end of the text if it is cut off.
func firstKeys(r *jsonstream.Reader) (keys []string, err error) {
	err = r.Members(func(key string) error {
		keys = append(keys, key)
		return r.Skip()
	})
	return keys, err
}

// quoted returns the first of keys in quotes.
func quoted(keys []string) string {
	const most = 8
	list := make([]string, 0, most)
	for _, k := range keys[:min(len(keys), most)] {
		list = append(list, fmt.Sprintf("%.40q", k))
	}
	if len(keys) > most {
		list = append(list, "…")
	}
	return strings.Join(list, ", ")
}
