package source

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"

	"evalctl/harness/dataset"
	"evalctl/harness/resultfile"
	"evalctl/internal/figure"
	"evalctl/internal/inputfile"
)

const byteOrderMark = "\xef\xbb\xbf"

// formatOf returns the format whose first object has this key, "" if unknown. Only LongMemEval
// begins with question_id, so a file that is cut off after it is still recognised.
func formatOf(key string) dataset.Format {
	if key == "question_id" {
		return dataset.LongMemEval
	}
	return dataset.BenchmarkOf(key)
}

// readable lists the readable formats, for errors.
var readable = "a benchmark is " + titles(" or ", func(b dataset.Benchmark) string { return b.Title }) +
	", a JSON array, or questions in JSONL"

// titles joins the names of all benchmarks.
func titles(separator string, name func(dataset.Benchmark) string) string {
	var names []string
	for _, b := range dataset.Benchmarks() {
		names = append(names, name(b))
	}
	return strings.Join(names, separator)
}

// detect detects the format of a file from its beginning.
func detect(head []byte) (dataset.Format, error) {
	if err := resultfile.UnexpectedHead(head, "a benchmark, or questions in JSONL"); err != nil {
		return "", err
	}
	text := bytes.TrimSpace(inputfile.Text(head))
	switch f := dataset.Detect(head); {
	case len(text) == 0:
		return "", errors.New("the file is empty; " + readable)
	case f == dataset.MemoryAgentBench || f == dataset.BEAM:
		return f, nil
	case text[0] == '[':
		return detectArray(text)
	case text[0] == '{' || text[0] == '#' && bytes.Contains(text, []byte("\n{")):
		return detectLines(text)
	}
	if f := dataset.Detect(head); f.IsBenchmark() {
		return f, nil
	}
	return "", errors.New("the file is not JSON; " + readable +
		"; for CSV, TSV and YAML use evalctl dataset convert")
}

// detectArray detects the format of an array from the keys of its first element.
func detectArray(text []byte) (dataset.Format, error) {
	first := bytes.TrimSpace(text[1:])
	switch {
	case len(first) > 0 && first[0] == ']':
		return "", errors.New("the array is empty; there are no questions")
	case len(first) > 0 && first[0] != '{':
		return "", fmt.Errorf("the first element of the array begins with %q and must be an object; %s", first[0], readable)
	}
	keys, err := dataset.FirstKeys(first)
	for _, k := range keys {
		if f := formatOf(k); f != "" {
			return f, nil
		}
	}
	switch {
	case slices.Contains(keys, "question"):
		return "", errors.New("the file is a JSON array of questions; " +
			"make it JSONL with evalctl dataset convert")
	case len(keys) > 0:
		known := titles(", and ", func(b dataset.Benchmark) string { return b.Title + " has " + b.Keys[0] })
		return "", fmt.Errorf("the first element of the array has the keys %s; %s", quoted(keys), known)
	case err == nil:
		return "", errors.New("the first element of the array is an empty object; " + readable)
	}
	return "", err
}

// detectLines detects the format of a file that begins with an object or a comment.
func detectLines(text []byte) (dataset.Format, error) {
	for len(text) > 0 && text[0] == '#' {
		_, rest, _ := bytes.Cut(text, []byte("\n"))
		text = bytes.TrimSpace(rest)
	}
	if len(text) == 0 || text[0] != '{' {
		return "", errors.New("the first line that is not a comment is not a JSON object; " + readable)
	}
	keys, err := dataset.FirstKeys(text)
	if f := dataset.Detect(text); f.IsBenchmark() {
		return f, nil
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
	return dataset.JSONL, nil
}

// quoted returns the first few keys in quotes.
func quoted(keys []string) string {
	return figure.List(keys, 8, func(k string) string { return fmt.Sprintf("%.40q", k) })
}
