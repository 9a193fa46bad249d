package resultfile

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

// Kind is the kind of a file: one of evalctl's, one that is not text, or unknown.
type Kind string

// The kinds of files, as named in messages.
const (
	otherFile       Kind = ""
	Run             Kind = "a result file of evalctl"
	Sweep           Kind = "a sweep file of evalctl"
	Bench           Kind = "the file of an evalctl bench"
	conformanceFile Kind = "a report of evalctl conformance"
	journalFile     Kind = "the journal of a run of evalctl that has not finished"
	ledgerFile      Kind = "the ledger of a replay of evalctl"
	folder          Kind = "a folder"
	packedFile      Kind = "compressed"
	utf16File       Kind = "in UTF-16"
)

// remedies say what to do with a file of an unexpected kind.
var remedies = map[Kind]string{
	Run:             "use evalctl show, compare, verify or rescore with it",
	Sweep:           "use evalctl show or evalctl verify with it",
	Bench:           "use evalctl show or evalctl verify with it, or --baseline of evalctl bench",
	conformanceFile: "use evalctl show with it",
	journalFile:     "continue that with evalctl run --resume",
	ledgerFile:      "continue that with evalctl replay --resume",
	folder:          "name a file in it",
	packedFile:      "unpack it first",
	utf16File:       "save it as UTF-8",
}

// sniffed is the number of bytes at the beginning of a file that decide its kind.
const sniffed = 64 << 10

// magic has the first bytes of files that are not text.
var magic = []struct {
	bytes string
	kind  Kind
}{
	{"\x1f\x8b", packedFile}, {"PK\x03\x04", packedFile}, {"\x28\xb5\x2f\xfd", packedFile}, {"\xfd7zXZ", packedFile}, {"BZh", packedFile},
	{"\xff\xfe", utf16File}, {"\xfe\xff", utf16File}, {"{\x00", utf16File}, {"\x00{", utf16File}, {"[\x00", utf16File}, {"\x00[", utf16File},
}

// KindOf returns the kind of the file at a path, "" if it is unknown or cannot be read.
func KindOf(path string) Kind {
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

func unexpected(what, expected string, kind Kind, version int) error {
	if kind == otherFile {
		return nil
	}
	schema := ""
	if version > 0 {
		schema = fmt.Sprintf(" (schema %d)", version)
	}
	return fmt.Errorf("%s is %s%s; expected %s; %s", what, kind, schema, expected, remedies[kind])
}

func sniff(path string) (Kind, int) {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return otherFile, 0
	case info.IsDir():
		return folder, 0
	case !info.Mode().IsRegular():
		return otherFile, 0 // the bytes read from it are lost
	}
	f, err := inputfile.Open(path, inputfile.Streamed)
	if err != nil {
		return otherFile, 0
	}
	defer f.Close()
	head := make([]byte, sniffed)
	n, err := io.ReadFull(f, head)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return otherFile, 0
	}
	return kindOf(head[:n])
}

// kindOf returns the kind of a file from its beginning, and its schema version. 64 KiB suffice.
func kindOf(head []byte) (kind Kind, version int) {
	for _, m := range magic {
		if bytes.HasPrefix(head, []byte(m.bytes)) {
			return m.kind, 0
		}
	}
	text := bytes.TrimSpace(inputfile.Text(head))
	if len(text) == 0 || text[0] != '{' {
		return otherFile, 0
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
	if kind == Run {
		var id struct {
			SchemaVersion int `json:"schema_version"`
		}
		_ = json.Unmarshal(get("identity"), &id) // which may be cut off
		return kind, id.SchemaVersion
	}
	if kind != otherFile {
		_ = json.Unmarshal(get("schema_version"), &version) // which some kinds do not have
	}
	return kind, version
}

// kindBy returns the kind of a file with these members. get returns nil for a missing member.
func kindBy(get func(key string) []byte) Kind {
	has := func(keys ...string) bool {
		return !slices.ContainsFunc(keys, func(key string) bool { return get(key) == nil })
	}
	switch kind := string(get("kind")); {
	case has("cells"):
		return Sweep
	case kind == `"run"`:
		return journalFile
	case kind == `"replay"` && has("version", "started_at"):
		return ledgerFile
	case kind == `"bench"` && has("schema_version"):
		return Bench
	case has("endpoint", "results"):
		return conformanceFile
	case has("sdk", "scorer", "total", "passed", "pass_rate"), has("identity", "counts"):
		return Run
	}
	return otherFile
}
