package convert

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"

	"evalctl/daemon/convert/budget"
)

const (
	// jsonBlock is the size from which a value is divided into several blocks, in bytes. It is half
	// a chunk of search, so that chunks begin and end between values.
	jsonBlock = 800
	// jsonSplits bounds the levels of values that are divided into several blocks.
	jsonSplits = 4
	// jsonLevels bounds the levels that are shown as indented lines. Deeper values are shown as
	// JSON on one line.
	jsonLevels = 16
	// jsonPath bounds the path in the first line of a block, in code points.
	jsonPath = 200
)

// fromJSON shows a JSON value, or several on separate lines, as fenced blocks of indented lines
// "key: value". Strings are decoded, because search looks for their words. Numbers are not changed.
func fromJSON(ctx context.Context, m *budget.Meter, data []byte) (Document, error) {
	text, err := decodeText(data)
	if err != nil {
		return Document{}, err
	}
	value := bytes.TrimSpace([]byte(strings.TrimPrefix(text, "\ufeff")))
	w := jsonWriter{ctx: ctx, meter: m}
	title := ""
	if err := jsonError(value); err == nil {
		w.value("", value, 0)
		title = jsonTitle(value)
	} else {
		if err := checkLines(ctx, value, err); err != nil {
			return Document{}, err
		}
		w.elements("", jsonLines(value), 0)
	}
	return Document{Title: title, Markdown: w.out.String()}, w.err
}

// checkLines checks that each line of data that is not blank is a JSON value. whole is the error of
// data as a single value. It is returned if the first line is not JSON, because data is then not
// meant as lines.
func checkLines(ctx context.Context, data []byte, whole error) error {
	number := 0
	for line := range bytes.SplitSeq(data, []byte{'\n'}) {
		if number++; number%1024 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		if line = bytes.TrimSpace(line); len(line) == 0 {
			continue
		}
		err := jsonError(line)
		if err == nil {
			continue
		}
		if number == 1 {
			err = whole
			if syntax, ok := errors.AsType[*json.SyntaxError](whole); ok {
				number = lineOf(data, int(syntax.Offset)-1)
			}
		}
		return fmt.Errorf("line %d: not JSON: %w", number, err)
	}
	if number < 2 {
		return fmt.Errorf("line 1: not JSON: %w", whole)
	}
	return nil
}

func jsonError(data []byte) error {
	if json.Valid(data) {
		return nil
	}
	var raw json.RawMessage
	return json.Unmarshal(data, &raw)
}

// jsonTitle returns the title that an object gives itself.
func jsonTitle(value []byte) string {
	if value[0] == '{' {
		for m := range jsonMembers(value) {
			if m.key == "title" && m.value[0] == '"' {
				return jsonString(m.value)
			}
		}
	}
	return ""
}

// jsonWriter collects the blocks of a document.
type jsonWriter struct {
	ctx   context.Context
	meter *budget.Meter
	err   error
	out   strings.Builder
	block strings.Builder
	lines int
}

// value writes a value in as many blocks as its size needs. path is the value's path.
func (w *jsonWriter) value(path string, value []byte, splits int) {
	switch {
	case w.err != nil:
		return
	case len(value) > jsonBlock && isContainer(value) && splits < jsonSplits:
		w.elements(path, jsonMembers(value), splits)
		return
	case path == "":
		w.show("", value, 0)
	default:
		w.line(path+":", "")
		w.show("  ", value, 1)
	}
	w.endBlock()
}

// elements writes the members of a value. Small ones share a block.
func (w *jsonWriter) elements(path string, members iter.Seq[jsonMember], splits int) {
	var few []jsonMember
	size := 0
	for m := range members {
		if w.err != nil {
			return
		}
		if len(m.value) > jsonBlock && isContainer(m.value) {
			w.few(path, few)
			few, size = few[:0], 0
			w.value(memberPath(path, m), m.value, splits+1)
			continue
		}
		if size > 0 && size+len(m.key)+len(m.value) > jsonBlock {
			w.few(path, few)
			few, size = few[:0], 0
		}
		few, size = append(few, m), size+len(m.key)+len(m.value)
	}
	w.few(path, few)
}

// few writes small members of one value as a block.
func (w *jsonWriter) few(path string, members []jsonMember) {
	if len(members) == 0 || w.err != nil {
		return
	}
	indent := ""
	if path != "" {
		w.line(path+":", "")
		indent = "  "
	}
	w.members(indent, indent, slices.Values(members), len(indent)/2)
	w.endBlock()
}

func memberPath(path string, m jsonMember) string {
	switch {
	case m.isElement():
		path += "[" + strconv.Itoa(m.index) + "]"
	case path == "":
		path = jsonKey(m.key)
	default:
		path += "." + jsonKey(m.key)
	}
	return oneLine(path, jsonPath)
}

// show writes a value that is not on the line of its key.
func (w *jsonWriter) show(indent string, value []byte, level int) {
	if text, short := jsonInline(value, level); short {
		w.line(indent, text)
		return
	}
	if isContainer(value) {
		w.members(indent, indent, jsonMembers(value), level)
		return
	}
	for line := range strings.SplitSeq(cleanText(jsonString(value)), "\n") {
		w.line(indent, line)
	}
}

// members writes members on separate lines. The first line begins with first, the others with the
// indentation.
func (w *jsonWriter) members(first, indent string, members iter.Seq[jsonMember], level int) {
	for m := range members {
		if w.err != nil {
			return
		}
		lead := first + m.label()
		first = indent
		text, short := jsonInline(m.value, level)
		switch {
		case short && m.isElement():
			w.line(lead, text)
		case short:
			w.line(lead, " "+text)
		case m.isElement() && isContainer(m.value):
			w.members(lead, indent+"  ", jsonMembers(m.value), level+1)
		case m.isElement():
			w.line(lead, "|")
			w.show(indent+"  ", m.value, level+1)
		case isContainer(m.value):
			w.line(lead, "")
			w.show(indent+"  ", m.value, level+1)
		default:
			w.line(lead, " |")
			w.show(indent+"  ", m.value, level+1)
		}
	}
}

func (w *jsonWriter) line(lead, text string) {
	w.block.WriteString(lead)
	w.block.WriteString(text)
	w.block.WriteByte('\n')
	if w.lines++; w.lines%1024 == 0 {
		w.err = w.ctx.Err()
	}
	if err := w.meter.Hold(perText * int64(len(lead)+len(text)+1)); err != nil && w.err == nil {
		w.err = err
	}
}

func (w *jsonWriter) endBlock() {
	if w.out.Len() > 0 {
		w.out.WriteByte('\n')
	}
	writeFenced(&w.out, "", w.block.String())
	w.block.Reset()
}
