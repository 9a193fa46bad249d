// Package jsonedit adds an entry to a JSON file that people edit by hand: a member of one of the
// objects at its top. Every other byte stays as it was, so order, spacing and comments survive.
//
// The files may have what editors accept beyond JSON: // and /* */ comments, commas after the last
// element, and a byte order mark.
package jsonedit

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Errors of Lookup and Insert. They are wrapped in the position or the name they are about.
var (
	// ErrSyntax: the text is not JSON, even without comments and trailing commas.
	ErrSyntax = errors.New("not valid JSON")
	// ErrShape: the text is JSON, but the top or the section is not an object, or a name is repeated.
	ErrShape = errors.New("unexpected shape")
	// ErrExists: Insert found an entry of that name.
	ErrExists = errors.New("entry exists")
)

// Lookup returns the entry called name in the object called section, nil if there is none. An empty
// text has no entries. The entry is plain JSON, without comments.
func Lookup(text []byte, section, name string) (json.RawMessage, error) {
	d, err := parse(text, section)
	if err != nil {
		return nil, err
	}
	entry, err := find(d.section.members, name)
	if entry == nil {
		return nil, err
	}
	return bytes.Clone(d.plain[entry.start:entry.end]), nil
}

// Insert returns text with value as the last entry of the object called section. It adds the
// section, and the object around it, if they are missing. value must be valid JSON.
func Insert(text []byte, section, name string, value json.RawMessage) ([]byte, error) {
	d, err := parse(text, section)
	if err != nil {
		return nil, err
	}
	if entry, err := find(d.section.members, name); err != nil {
		return nil, err
	} else if entry != nil {
		return nil, fmt.Errorf("%w: %q in %q", ErrExists, name, section)
	}
	style := d.style()
	switch {
	case d.root == nil:
		kept := bytes.TrimRight(text, blanks) // comments
		if len(kept) > 0 && !bytes.Equal(kept, []byte(bom)) {
			kept = append(slices.Clip(kept), style.newline...)
		}
		body := style.object("", section, style.object(style.unit, name, style.value(style.unit+style.unit, value)))
		return slices.Concat(kept, []byte(body+style.newline)), nil
	case d.section.close == 0:
		entry := style.object(style.unit, name, style.value(style.unit+style.unit, value))
		return d.add(*d.root, style, "", style.unit, string(Text(section))+": "+entry), nil
	}
	outer := d.indentation(d.sectionKey, style.unit)
	inner := outer + style.unit
	return d.add(d.section, style, outer, inner, string(Text(name))+": "+style.value(inner, value)), nil
}

// add returns the text with a member at the end of an object, whose closing brace is indented by
// outer and whose members are indented by inner.
func (d *document) add(o object, style style, outer, inner, member string) []byte {
	// The member goes behind everything in the object, comments included, and a comma directly
	// behind the value that was the last.
	at := o.open + 1 + len(bytes.TrimRight(d.text[o.open+1:o.close], blanks))
	insert := style.newline + inner + member
	if !bytes.ContainsRune(d.text[at:o.close], '\n') {
		insert += style.newline + outer
	}
	if len(o.members) == 0 {
		return slices.Concat(d.text[:at], []byte(insert), d.text[at:])
	}
	comma, last := ",", o.members[len(o.members)-1].end
	if d.trailing[o.close] {
		comma = ""
	}
	return slices.Concat(d.text[:last], []byte(comma), d.text[last:at], []byte(insert), d.text[at:])
}

// style is how a text is laid out.
type style struct{ newline, unit string }

// style returns the layout of the text, that of a new file if it shows none.
func (d *document) style() style {
	s := style{"\n", "  "}
	if bytes.Contains(d.text, []byte("\r\n")) {
		s.newline = "\r\n"
	}
	if d.root != nil && len(d.root.members) > 0 {
		if indent := d.indentation(d.root.members[0].key, ""); indent != "" {
			s.unit = indent
		}
	}
	return s
}

// indentation returns the blanks before position at on its line, or otherwise if there is more than
// blanks.
func (d *document) indentation(at int, otherwise string) string {
	line := d.text[bytes.LastIndexByte(d.text[:at], '\n')+1 : at]
	if len(bytes.Trim(line, " \t")) > 0 {
		return otherwise
	}
	return string(line)
}

// object returns an object with one member. Its closing brace is indented by indent.
func (s style) object(indent, name, value string) string {
	return "{" + s.newline + indent + s.unit + string(Text(name)) + ": " + value + s.newline + indent + "}"
}

// value returns value with its lines after the first indented by indent.
func (s style) value(indent string, value json.RawMessage) string {
	var b bytes.Buffer
	if err := json.Indent(&b, value, indent, s.unit); err != nil {
		panic("jsonedit: the value is not JSON: " + err.Error())
	}
	return strings.ReplaceAll(b.String(), "\n", s.newline)
}

// Text encodes strings, and lists and structs of strings. Unlike json.Marshal it keeps <, > and &.
func Text(v any) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(v) // strings can be encoded
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}
