package dataset

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"evalctl/internal/inputfile"
	"evalctl/internal/jsonstream"

	"github.com/kballard/go-shellquote"
)

// Format is the format of a file with questions or documents.
type Format string

// The formats that Detect distinguishes. JSONArray includes other files of JSON values that are not
// one per line.
const (
	JSONL     Format = "jsonl"
	JSONArray Format = "json"
	CSV       Format = "csv"
	TSV       Format = "tsv"
	YAML      Format = "yaml"
)

// formatNames names formats other than benchmarks in messages.
var formatNames = map[Format]string{
	JSONL: "JSONL", JSONArray: "JSON over several lines", CSV: "CSV", TSV: "TSV", YAML: "YAML",
}

// FormatError means that a dataset or corpus is not in JSONL.
type FormatError struct {
	Path   string
	Format Format
	// Output is the suggested name of the converted file.
	Output string
}

func (e *FormatError) Error() string {
	measure := ""
	if e.Format.IsBenchmark() {
		measure = fmt.Sprintf(", or measure with it as it is:\n  %s",
			shellquote.Join("evalctl", "replay", "--sdk", "go", "--dataset", e.Path))
	}
	return fmt.Sprintf("%s is %s and not JSONL, one JSON object per line; convert it:\n  %s%s",
		e.Path, e.Format.title(),
		shellquote.Join("evalctl", "dataset", "convert", e.Path, "--output", e.Output), measure)
}

// headBytes is how much of a file is read to detect its format.
const headBytes = 64 << 10

// readHead returns the beginning of r, and a reader of everything.
func readHead(r io.Reader) ([]byte, io.Reader) {
	b := bufio.NewReaderSize(r, headBytes)
	head, _ := b.Peek(headBytes) // an error is returned by the next read, too
	return head, b
}

// checkFormat returns a *FormatError if the head of a file is not JSONL.
func checkFormat(path, output string, head []byte) error {
	if f := Detect(head); f != JSONL && f != "" {
		return &FormatError{Path: path, Format: f, Output: output}
	}
	return nil
}

// convertedName suggests a name for a converted dataset.
func convertedName(path string) string {
	name := strings.TrimSuffix(path, filepath.Ext(path)) + ".jsonl"
	switch {
	case name != path:
		return name
	case filepath.Base(path) == "questions.jsonl":
		return "converted.jsonl"
	}
	return "questions.jsonl"
}

// convertedCorpus suggests a name for a converted corpus.
func convertedCorpus(path string) string {
	name := strings.TrimSuffix(strings.TrimSuffix(path, filepath.Ext(path)), ".corpus") + ".corpus.jsonl"
	if name == path {
		return "documents.corpus.jsonl"
	}
	return name
}

// Detect detects the format of a file from its first 64 KiB, or "" if it is unknown.
func Detect(head []byte) Format {
	text := bytes.TrimSpace(inputfile.Text(head))
	bare := text
	for len(bare) > 0 && bare[0] == '#' {
		_, bare, _ = bytes.Cut(bare, []byte("\n"))
		bare = bytes.TrimSpace(bare)
	}
	if len(bare) == 0 {
		return ""
	}
	if isAgentBench(bare) {
		return MemoryAgentBench
	}
	switch bare[0] {
	case '{':
		return detectObject(bare)
	case '[':
		return detectArray(bare)
	}
	return detectText(text, bare)
}

// detectObject detects the format of a text that begins with an object. A valid object that
// continues after its first line is not JSONL.
func detectObject(text []byte) Format {
	keys, _ := FirstKeys(text)
	if f := benchmarkOf(ObjectFile, keys[:min(1, len(keys))]...); f != "" {
		return f
	}
	if f := benchmarkOf(LinesFile, keys...); f != "" && f != MemoryAgentBench { // for which see isAgentBench
		return f
	}
	if isQueries(keys) {
		return BEIR
	}
	line, _, more := bytes.Cut(text, []byte("\n"))
	if !more || json.Valid(line) {
		return JSONL
	}
	err := json.NewDecoder(bytes.NewReader(text)).Decode(new(json.RawMessage))
	if err == nil || errors.Is(err, io.ErrUnexpectedEOF) { // the head may end within the object
		return JSONArray
	}
	return JSONL
}

// FirstKeys returns the keys of the object at the start of a text. With an error, such as for a
// text that is cut off, it returns the keys before it.
func FirstKeys(text []byte) (keys []string, err error) {
	r := jsonstream.New(bytes.NewReader(text), 0)
	err = r.Members(func(key string) error {
		keys = append(keys, key)
		return r.Skip()
	})
	return keys, err
}

// detectArray detects the format of an array from the keys of its first element.
func detectArray(text []byte) Format {
	if isChat(text) {
		return BEAM
	}
	keys, _ := FirstKeys(text[1:])
	for _, key := range keys {
		if f := BenchmarkOf(key); f != "" {
			return f
		}
	}
	return JSONArray
}

// yamlStart matches the first line of a YAML file.
var yamlStart = regexp.MustCompile(`^(---|%YAML |- *[\w"'{]|["']?\w[\w -]*["']?:( |\r?$))`)

// detectText detects the format of a text that is not JSON. bare is text without leading comments.
func detectText(text, bare []byte) Format {
	line, _, _ := bytes.Cut(bare, []byte("\n"))
	if !bytes.Contains(text, []byte("\x00")) && yamlStart.Match(line) {
		return YAML
	}
	header, _, _ := bytes.Cut(text, []byte("\n"))
	for _, f := range []struct {
		format    Format
		separator string
	}{{TSV, "\t"}, {CSV, ","}, {CSV, ";"}} {
		columns := strings.Split(string(bytes.TrimSpace(header)), f.separator)
		if b := benchmarkOf(TableFile, columns...); b != "" && f.separator == "," {
			return b
		}
		if isHeader(columns) {
			return f.format
		}
	}
	return ""
}

// isHeader reports whether there are at least two columns, one of them required for questions or
// documents.
func isHeader(columns []string) bool {
	if len(columns) < 2 {
		return false
	}
	needed := []field{{key: "id"}, {key: "question"}, {key: "path"}, {key: "text"}}
	questions, documents := questionKeys(), documentKeys()
	return slices.ContainsFunc(columns, func(c string) bool {
		return slices.ContainsFunc(needed, func(f field) bool {
			return slices.Contains(questions.meant(c, needed), f.key) ||
				slices.Contains(documents.meant(c, needed), f.key)
		})
	})
}

// DetectIn is Detect for the beginning of r.
func DetectIn(r io.Reader) Format {
	head, _ := readHead(r)
	return Detect(head)
}
