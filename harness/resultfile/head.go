package resultfile

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"evalctl/harness/result"
	"evalctl/internal/jsonstream"
)

// ErrSweep is wrapped by the error of Open for a sweep file.
var ErrSweep = errors.New("it is a sweep file, written by evalctl run sweep; name the result file of a run")

// member is a key of a result file with its value.
type member struct {
	name string // as in the file
	key  string // the name without the differences that encoding/json ignores
	at   int64  // of the value
	text []byte
}

// head has the members of a result file in file order. Of the questions it has an empty list.
type head []member

// get returns the value of a key, nil if it is missing.
func (h head) get(key string) []byte {
	if i := slices.IndexFunc(h, func(m member) bool { return m.key == key }); i >= 0 {
		return h[i].text
	}
	return nil
}

// readHead reads the whole file and decodes everything except the questions.
func (r *Reader) readHead() error {
	stream := jsonstream.New(io.NewSectionReader(r.file, 0, 1<<62), 0)
	var h head
	first := make([]byte, 8)
	n, _ := r.file.ReadAt(first, 0) // the next read returns an error too
	kind, _ := kindOf(first[:n])
	err := begins(stream, kind)
	if err == nil {
		h, err = r.split(stream)
	}
	if err == nil {
		err = h.check()
	}
	if err == nil {
		err = stream.End()
	}
	if err == nil && r.questions == 0 {
		err = errors.New("it is not a whole result file: it has no list of questions")
	}
	for _, m := range h {
		if err == nil && plain(m.key) {
			// Decode one member at a time, so that an error has an offset.
			start := fmt.Appendf(nil, `{"%s":`, m.key)
			err = jsonstream.Decode(fmt.Appendf(start, "%s}", m.text), m.at-int64(len(start)), &r.res)
		}
	}
	r.head = h
	return err
}

// keys lists the first keys of the file.
func (h head) keys() string {
	var keys []string
	for _, m := range h[:min(len(h), 4)] {
		keys = append(keys, fmt.Sprintf("%.40q", m.name))
	}
	if len(keys) == 0 {
		return "its first object has no keys"
	}
	return "its first object has the keys " + strings.Join(keys, ", ")
}

// begins returns an error for a file without a JSON object.
func begins(stream *jsonstream.Reader, kind Kind) error {
	c, err := stream.Peek()
	switch {
	case errors.Is(err, jsonstream.ErrTruncated):
		return errors.New("the file is empty: copy it again, or name another one")
	case err != nil:
		return err
	case kind != otherFile:
		return fmt.Errorf("it is %s: %s", kind, remedies[kind])
	case c != '{':
		return fmt.Errorf("it is not a result file: it begins with %q, and a result is one JSON object", c)
	}
	return nil
}

// split returns the members, and counts the questions.
func (r *Reader) split(stream *jsonstream.Reader) (h head, err error) {
	seen := map[string]bool{}
	err = stream.Members(func(name string) error {
		key := fold(name)
		if seen[key] {
			return jsonstream.At(stream.Offset(), fmt.Errorf("the key %q is repeated", name))
		}
		seen[key] = true
		c, err := stream.Peek()
		if err != nil {
			return err
		}
		at := stream.Offset()
		if key == "questions" && c == '[' {
			r.questions = at
			h = append(h, member{name, key, at, []byte("[]")})
			return stream.Elements(func() error { r.count++; return stream.Skip() })
		}
		text, err := stream.Value()
		if err != nil {
			return err
		}
		h = append(h, member{name, key, at, slices.Clone(text)})
		if plain(key) {
			return nil
		}
		return jsonstream.Decode(text, at, new(json.RawMessage))
	})
	return h, err
}

// fold removes the differences between keys that encoding/json ignores.
func fold(key string) string { return strings.ToLower(strings.ToUpper(key)) }

// plain reports whether a key may be one of Result's.
func plain(key string) bool { return strings.Trim(key, "abcdefghijklmnopqrstuvwxyz_") == "" }

// check returns an error unless the members form a result file of this version.
func (h head) check() error {
	var id struct {
		SchemaVersion *int `json:"schema_version"`
	}
	broken := json.Unmarshal(h.get("identity"), &id) // a file without a version is not a result file
	switch kind := kindBy(h.get); {
	case kind == Sweep:
		return ErrSweep
	case kind == journalFile:
		return errors.New("it is the journal of a run that has not finished; resume that with evalctl run --resume")
	case kind == conformanceFile:
		return errors.New("it is a report of evalctl conformance, which has no questions; name the result file of a run")
	case kind != Run && kind != otherFile:
		return fmt.Errorf("it is %s; expected the result file of a run; %s", kind, remedies[kind])
	case h.get("identity") == nil:
		return fmt.Errorf("it is not a result file: %s; evalctl run, replay, rescore and import write result files", h.keys())
	case h.get("identity") != nil && broken != nil:
		return fmt.Errorf("its identity cannot be read: %w", broken)
	case id.SchemaVersion == nil:
		return errors.New("it is not a result file: identity.schema_version is missing")
	case *id.SchemaVersion > result.SchemaVersion:
		return fmt.Errorf("it has schema version %d and was written by a newer evalctl: use that version or a newer one; this one reads version %d",
			*id.SchemaVersion, result.SchemaVersion)
	case *id.SchemaVersion < result.SchemaVersion:
		return fmt.Errorf("it has schema version %d and was written by an older evalctl: evaluate again, or use that version; this one reads version %d",
			*id.SchemaVersion, result.SchemaVersion)
	}
	for _, key := range []string{"planned", "counts", "settings", "gate"} {
		if v := h.get(key); v == nil || string(v) == "null" {
			return fmt.Errorf("it is not a whole result file: the key %s is missing", key)
		}
	}
	return nil
}
