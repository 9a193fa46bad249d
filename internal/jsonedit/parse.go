package jsonedit

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
)

const (
	bom    = "\ufeff"
	blanks = " \t\r\n" // of JSON
)

// document is a parsed text. Positions are the same in text and plain.
type document struct {
	text []byte
	// plain is text with blanks in place of comments, trailing commas and the byte order mark.
	plain []byte
	// trailing has the closing braces and brackets with a comma before them.
	trailing map[int]bool
	// root is nil for a text without a value.
	root *object
	// section is zero if it is missing.
	section    object
	sectionKey int
}

// object is an object in the text: the positions of its braces, and its members.
type object struct {
	open, close int
	members     []member
}

// member has the positions of its key and its value.
type member struct {
	name       string
	key        int
	start, end int
}

func parse(text []byte, section string) (*document, error) {
	d := &document{text: text, trailing: map[int]bool{}}
	if err := d.blank(); err != nil {
		return nil, err
	}
	if len(bytes.Trim(d.plain, blanks)) == 0 {
		return d, nil
	}
	if err := json.Unmarshal(d.plain, new(any)); err != nil {
		at := len(text)
		if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
			at = int(syntax.Offset)
		}
		return nil, fmt.Errorf("line %d: %w: %w", 1+bytes.Count(text[:at], []byte("\n")), ErrSyntax, err)
	}
	root, ok := d.object(0, len(d.plain))
	if !ok {
		return nil, fmt.Errorf("%w: the file is not an object", ErrShape)
	}
	d.root = &root
	found, err := find(root.members, section)
	if found == nil {
		return d, err
	}
	if d.section, ok = d.object(found.start, found.end); !ok {
		return nil, fmt.Errorf("%w: %q is not an object", ErrShape, section)
	}
	d.sectionKey = found.key
	return d, nil
}

// find returns the member called name, nil if there is none.
func find(members []member, name string) (*member, error) {
	var found *member
	for i := range members {
		if members[i].name != name {
			continue
		}
		if found != nil {
			return nil, fmt.Errorf("%w: %q is repeated", ErrShape, name)
		}
		found = &members[i]
	}
	return found, nil
}

// object returns the object that is the only value between two positions of plain, which is valid
// JSON. ok is false for another value.
func (d *document) object(from, to int) (o object, ok bool) {
	dec := json.NewDecoder(bytes.NewReader(d.plain[from:to]))
	if t, err := dec.Token(); err != nil || t != json.Delim('{') {
		return object{}, false
	}
	position := func() int { return from + int(dec.InputOffset()) }
	o.open = position() - 1
	for dec.More() {
		m := member{key: position() + bytes.IndexByte(d.plain[position():], '"')}
		t, err := dec.Token()
		if err != nil {
			return object{}, false
		}
		m.name, _ = t.(string)
		var value json.RawMessage
		if err := dec.Decode(&value); err != nil {
			return object{}, false
		}
		m.end = position()
		m.start = m.end - len(value)
		o.members = append(o.members, m)
	}
	if _, err := dec.Token(); err != nil {
		return object{}, false
	}
	o.close = position() - 1
	return o, true
}

// blank sets plain and trailing.
func (d *document) blank() error {
	p := bytes.Clone(d.text)
	d.plain = p
	if bytes.HasPrefix(p, []byte(bom)) {
		fill(p[:len(bom)])
	}
	// comma is the position of a comma that only blanks and comments follow, last the last
	// character that is neither.
	comma, last := -1, byte(0)
	for i := 0; i < len(p); i++ {
		switch c := p[i]; {
		case c == ' ' || c == '\t' || c == '\r' || c == '\n':
			continue
		case c == '"':
			i = closingQuote(p, i)
		case c == '/':
			end, ok := commentEnd(p, i)
			if !ok {
				return fmt.Errorf("line %d: %w: a comment does not end, or is none",
					1+bytes.Count(p[:i], []byte("\n")), ErrSyntax)
			}
			fill(p[i:end])
			i = end - 1
			continue
		case c == ',':
			// Without a value before it, it is an error, which the parser finds.
			if last != ',' && last != '{' && last != '[' && last != 0 {
				comma, last = i, c
				continue
			}
		case (c == '}' || c == ']') && comma >= 0:
			p[comma] = ' '
			d.trailing[i] = true
		}
		comma = -1
		if i < len(p) {
			last = p[i]
		}
	}
	return nil
}

// fill replaces a comment with blanks and keeps its line feeds.
func fill(b []byte) {
	for i := range b {
		if b[i] != '\n' && b[i] != '\r' {
			b[i] = ' '
		}
	}
}

// closingQuote returns the position of the quote that ends the string at i, or the last position.
func closingQuote(p []byte, i int) int {
	for i++; i < len(p); i++ {
		switch p[i] {
		case '\\':
			i++
		case '"':
			return i
		}
	}
	return i
}

// commentEnd returns the position behind the comment that starts at i.
func commentEnd(p []byte, i int) (int, bool) {
	switch {
	case bytes.HasPrefix(p[i:], []byte("//")):
		if n := bytes.IndexByte(p[i:], '\n'); n >= 0 {
			return i + n, true
		}
		return len(p), true
	case bytes.HasPrefix(p[i:], []byte("/*")):
		if n := bytes.Index(p[i+2:], []byte("*/")); n >= 0 {
			return i + 2 + n + 2, true
		}
	}
	return 0, false
}
