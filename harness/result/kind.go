package result

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"evalctl/internal/inputfile"
	"evalctl/internal/jsonstream"
)

// FileKind is the kind of a file: one of evalctl's, one that is not text, or unknown.
type FileKind string

// The kinds of files, as named in messages.
const (
	OtherFile       FileKind = ""
	RunFile         FileKind = "a result file of evalctl"
	SweepFile       FileKind = "a sweep file of evalctl"
	BenchFile       FileKind = "the file of an evalctl bench"
	ConformanceFile FileKind = "a report of evalctl conformance"
	JournalFile     FileKind = "the journal of a run of evalctl that has not finished"
	LedgerFile      FileKind = "the ledger of a replay of evalctl"
	Folder          FileKind = "a folder"
	PackedFile      FileKind = "compressed"
	UTF16File       FileKind = "in UTF-16"
)

// remedies say what to do with a file of an unexpected kind.
var remedies = map[FileKind]string{
	RunFile:         "use evalctl show, diff, compare, report or rescore with it",
	SweepFile:       "use evalctl show or evalctl verify with it",
	BenchFile:       "use evalctl show or evalctl verify with it, or --baseline of evalctl bench",
	ConformanceFile: "use evalctl show with it",
	JournalFile:     "continue that with evalctl run --resume",
	LedgerFile:      "continue that with evalctl replay --resume",
	Folder:          "name a file in it",
	PackedFile:      "unpack it first",
	UTF16File:       "save it as UTF-8",
}

// sniffed is the number of bytes at the beginning of a file that decide its kind.
const sniffed = 64 << 10

// magic has the first bytes of files that are not text.
var magic = []struct {
	bytes string
	kind  FileKind
}{
	{"\x1f\x8b", PackedFile}, {"PK\x03\x04", PackedFile}, {"\x28\xb5\x2f\xfd", PackedFile}, {"\xfd7zXZ", PackedFile}, {"BZh", PackedFile},
	{"\xff\xfe", UTF16File}, {"\xfe\xff", UTF16File}, {"{\x00", UTF16File}, {"\x00{", UTF16File}, {"[\x00", UTF16File}, {"\x00[", UTF16File},
}

// KindOf returns the kind of a file from its beginning. 64 KiB suffice.
func KindOf(head []byte) FileKind {
	kind, _ := kindOf(head)
	return kind
}

// KindOfFile is KindOf for the file at a path, OtherFile if it cannot be read.
func KindOfFile(path string) FileKind {
	kind, _ := sniff(path)
	return kind
}

// Unexpected returns an error for a file of a known kind, which cannot be the expected one. It
// returns nil for any other file, and for an empty or unreadable one, for which the caller's own
// reading reports an error. expected completes "expected".
func Unexpected(path, expected string) error {
	kind, version := sniff(path)
	return unexpected(path, expected, kind, version)
}

// UnexpectedHead is Unexpected for the beginning of a file, which the error calls "it".
func UnexpectedHead(head []byte, expected string) error {
	kind, version := kindOf(head)
	return unexpected("it", expected, kind, version)
}

func unexpected(what, expected string, kind FileKind, version int) error {
	if kind == OtherFile {
		return nil
	}
	schema := ""
	if version > 0 {
		schema = fmt.Sprintf(" (schema %d)", version)
	}
	return fmt.Errorf("%s is %s%s; expected %s; %s", what, kind, schema, expected, remedies[kind])
}

func sniff(path string) (FileKind, int) {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return OtherFile, 0
	case info.IsDir():
		return Folder, 0
	case !info.Mode().IsRegular():
		return OtherFile, 0 // the bytes read from it are lost
	}
	f, err := inputfile.Open(path, inputfile.Streamed)
	if err != nil {
		return OtherFile, 0
	}
	defer f.Close()
	head := make([]byte, sniffed)
	n, err := io.ReadFull(f, head)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return OtherFile, 0
	}
	return kindOf(head[:n])
}

func kindOf(head []byte) (kind FileKind, version int) {
	for _, m := range magic {
		if bytes.HasPrefix(head, []byte(m.bytes)) {
			return m.kind, 0
		}
	}
	text := bytes.TrimSpace(inputfile.Text(head))
	if len(text) == 0 || text[0] != '{' {
		return OtherFile, 0
	}
	members := map[string][]byte{}
	stream := jsonstream.New(bytes.NewReader(text), 0)
	_ = stream.Members(func(key string) error {
		members[key] = []byte{} // its value may be cut off
		value, err := stream.Value()
		if err == nil {
			members[key] = slices.Clone(value)
		}
		return err
	})
	get := func(key string) []byte { return members[key] }
	kind = kindBy(get)
	if kind == RunFile {
		var id struct {
			SchemaVersion int `json:"schema_version"`
		}
		_ = json.Unmarshal(get("identity"), &id) // which may be cut off
		return kind, id.SchemaVersion
	}
	if kind != OtherFile {
		_ = json.Unmarshal(get("schema_version"), &version) // which some kinds do not have
	}
	return kind, version
}

// kindBy returns the kind of a file with these members. get returns nil for a missing member.
func kindBy(get func(key string) []byte) FileKind {
	has := func(keys ...string) bool {
		return !slices.ContainsFunc(keys, func(key string) bool { return get(key) == nil })
	}
	switch kind := string(get("kind")); {
	case has("cells"):
		return SweepFile
	case kind == `"run"`:
		return JournalFile
	case kind == `"replay"` && has("version", "started_at"):
		return LedgerFile
	case kind == `"bench"` && has("schema_version"):
		return BenchFile
	case has("endpoint", "results"):
		return ConformanceFile
	case has("sdk", "scorer", "total", "passed", "pass_rate"), has("identity", "counts"):
		return RunFile
	}
	return OtherFile
}
