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

// The formats that Detect tells apart. JSONArray includes other files of JSON values that are not
// one per line.
const (
	JSONL     Format = "jsonl"
	JSONArray Format = "json"
	CSV       Format = "csv"
	TSV       Format = "tsv"
	YAML      Format = "yaml"
)

// formatNames are the formats other than benchmarks as they are named in messages.
var formatNames = map[Format]string{
	JSONL: "JSONL", JSONArray: "JSON over several lines", CSV: "CSV", TSV: "TSV", YAML: "YAML",
}

// FormatError is a dataset or corpus in another format than JSONL.
type FormatError struct {
	Path   string
	Format Format
	// Output is the name of a file in JSONL that the error suggests.
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

// headBytes is the size of the beginning of a file from which its format is determined.
const headBytes = 64 << 10

// readHead returns the beginning of what r reads, and a reader of everything.
func readHead(r io.Reader) ([]byte, io.Reader) {
	b := bufio.NewReaderSize(r, headBytes)
	head, _ := b.Peek(headBytes) // an error is returned by the next read, too
	return head, b
}

// checkFormat returns a *FormatError if the beginning of a file shows that it is not JSONL.
func checkFormat(path, output string, head []byte) error {
	if f := Detect(head); f != JSONL && f != "" {
		return &FormatError{Path: path, Format: f, Output: output}
	}
	return nil
}

// convertedName is the suggested name of a dataset in JSONL made from a file.
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

// convertedCorpus is the suggested name of a corpus in JSONL made from a file.
func convertedCorpus(path string) string {
	name := strings.TrimSuffix(strings.TrimSuffix(path, filepath.Ext(path)), ".corpus") + ".corpus.jsonl"
	if name == path {
		return "documents.corpus.jsonl"
	}
	return name
}

// Detect determines the format of a file from its beginning, of which 64 KiB are enough. It is ""
// if the beginning shows no format.
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

// detectObject determines the format of a text that begins with an object. One that is not complete
// on its first line, and is valid as far as it goes, is not JSONL.
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

// FirstKeys returns the keys of the object that a text begins with, and those before an error, such
// as the end of a text that is cut off.
func FirstKeys(text []byte) (keys []string, err error) {
	r := jsonstream.New(bytes.NewReader(text), 0)
	err = r.Members(func(key string) error {
		keys = append(keys, key)
		return r.Skip()
	})
	return keys, err
}

// detectArray determines the format of an array from the keys of its first element.
func detectArray(text []byte) Format {
	keys, _ := FirstKeys(text[1:])
	for _, key := range keys {
		if f := BenchmarkOf(key); f != "" {
			return f
		}
	}
	return JSONArray
}

// yamlStart matches the first line of a file in YAML.
var yamlStart = regexp.MustCompile(`^(---|%YAML |- *[\w"'{]|["']?\w[\w -]*["']?:( |\r?$))`)

// detectText determines the format of a text that is not JSON. text begins with the comments, bare
// after them.
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

// isHeader reports whether two or more columns include one that a question or document must have.
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

// DetectIn is Detect of the beginning of what r reads.
func DetectIn(r io.Reader) Format {
	head, _ := readHead(r)
	return Detect(head)
}
