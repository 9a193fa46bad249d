package mapping

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/theory/jsonpath"

	"evalctl/harness/result"
	"evalctl/harness/target"
	"evalctl/internal/decimal"
	"evalctl/internal/httpclient"
	"evalctl/internal/intake"
	"evalctl/internal/printable"
)

// callReply is the result of a call: structured content, or texts such as a response body.
type callReply struct {
	structured  json.RawMessage
	texts       []string
	contentType string // of a response body
}

// inUTF8 returns an error for a text in another encoding. Decoded as JSON, its characters would be
// replaced, and what the service has found would count as missed.
func (a callReply) inUTF8() error {
	for _, text := range a.texts {
		if !utf8.ValidString(text) {
			return fmt.Errorf("it is not in UTF-8; its Content-Type is %q", printable.Line(a.contentType, 100))
		}
	}
	return nil
}

// foundItem is one item of a reply. Fields missing from the reply are empty.
type foundItem struct {
	id, text, title, date string
	numeric               bool // the id is a number in JSON
	score                 float64
}

// sentID returns the id as it is sent: a service of numbers may refuse texts.
func (f foundItem) sentID() any {
	if f.numeric {
		return json.Number(f.id)
	}
	return f.id
}

// setID sets the id to a JSON value.
func (f *foundItem) setID(v any) {
	f.id = textOf(v)
	_, f.numeric = v.(json.Number)
}

const (
	// maxItems limits the items per reply.
	maxItems = 10_000
	// maxItemName limits the id, the title and the date of an item, in bytes.
	maxItemName = 16 << 10
)

// check returns an error if the id, title or date is too long.
func (f foundItem) check() error {
	for _, field := range [][2]string{{"id", f.id}, {"title", f.title}, {"date", f.date}} {
		if n := len(field[1]); n > maxItemName {
			return fmt.Errorf("its %s has %d bytes, the limit is %d", field[0], n, maxItemName)
		}
	}
	return nil
}

// bounded charges the memory that decoding a reply's JSON takes.
func (a callReply) bounded(ctx context.Context) error {
	if err := httpclient.Decodable(ctx, a.structured); err != nil {
		return err
	}
	for _, text := range a.texts {
		if err := httpclient.Decodable(ctx, text); err != nil {
			return err
		}
	}
	return nil
}

// page is the content of a reply: the items, the mode, empty if missing, and the cursor of the next
// page as JSON, nil if there is none.
type page struct {
	items []foundItem
	mode  string
	next  any
}

// read reads a reply. called names the tool or route. The error is a *target.Failure. A reply that
// does not match the mapping is never treated as empty.
func (r *reply) read(ctx context.Context, a callReply, called string) (p page, err error) {
	if err := a.inUTF8(); err != nil {
		return page{}, refused(called, err)
	}
	if r.none != nil && r.none.MatchString(a.text()) {
		return page{}, nil
	}
	if r.plain {
		if p.items, err = r.readText(a.texts); err != nil {
			return page{}, refused(called, err)
		}
		return p, nil
	}
	if err := a.bounded(ctx); err != nil {
		return page{}, refused(called, err)
	}
	value, err := a.value(called)
	if err != nil {
		return page{}, err
	}
	read := r.readItems
	if r.columns {
		read = r.readColumns
	}
	if p.items, err = read(value); err != nil {
		return page{}, refused(called, err)
	}
	p.mode, p.next = textOf(firstAt(r.mod, value)), firstAt(r.next, value)
	if p.next == "" {
		p.next = nil
	}
	return p, nil
}

// errShape means that a reply lacks a part that the mapping requires.
var errShape = errors.New("where the mapping expects a value; if such a reply means that nothing was found, add none: REGEXP to the mapping")

// readItems reads a reply with one object or string per item.
func (r *reply) readItems(value any) (items []foundItem, err error) {
	nodes := []any{value}
	if r.items != nil {
		if !shaped(r.items, value) {
			return nil, fmt.Errorf("there is nothing at %s (%s), %w", r.items, keysOf(value), errShape)
		}
		nodes = r.items.Select(value)
	}
	if len(nodes) > maxItems {
		return nil, fmt.Errorf("it has %d items, the limit is %d", len(nodes), maxItems)
	}
	if r.text != nil && len(nodes) > 0 && !slices.ContainsFunc(nodes, func(n any) bool { return shaped(r.text, n) }) {
		return nil, fmt.Errorf("item 1 has nothing at %s (%s), %w", r.text, keysOf(nodes[0]), errShape)
	}
	for i, n := range nodes {
		f := foundItem{text: textAt(r.text, n), title: textOf(firstAt(r.title, n)), date: textOf(firstAt(r.date, n))}
		f.setID(firstAt(r.id, n))
		if f.score, err = numberAt(r.score, n); err == nil {
			err = f.check()
		}
		if err != nil {
			return nil, fmt.Errorf("item %d: %w", i+1, err)
		}
		items = append(items, f)
	}
	if r.items == nil && len(items) == 1 && items[0] == (foundItem{}) {
		items = nil
	}
	return items, nil
}

// readColumns reads a reply with one list per field.
func (r *reply) readColumns(value any) ([]foundItem, error) {
	var items []foundItem
	for _, column := range []struct {
		path *jsonpath.Path
		set  func(f *foundItem, v any) error
	}{
		{r.text, func(f *foundItem, v any) error { f.text = textOf(v); return nil }},
		{r.id, func(f *foundItem, v any) error { f.setID(v); return nil }},
		{r.title, func(f *foundItem, v any) error { f.title = textOf(v); return nil }},
		{r.date, func(f *foundItem, v any) error { f.date = textOf(v); return nil }},
		{r.score, func(f *foundItem, v any) (err error) { f.score, err = scoreOf(textOf(v)); return err }},
	} {
		if column.path == nil {
			continue
		}
		nodes := column.path.Select(value)
		switch {
		case !shaped(column.path, value):
			return nil, fmt.Errorf("there is nothing at %s (%s), %w", column.path, keysOf(value), errShape)
		case items == nil && len(nodes) > maxItems:
			return nil, fmt.Errorf("it has %d items, the limit is %d", len(nodes), maxItems)
		case items == nil:
			items = make([]foundItem, len(nodes))
		case len(nodes) != len(items):
			return nil, fmt.Errorf("%s has %d values, and the lists beside it have %d", column.path, len(nodes), len(items))
		}
		for i, n := range nodes {
			if err := column.set(&items[i], n); err != nil {
				return nil, fmt.Errorf("item %d: %w", i+1, err)
			}
		}
	}
	for i, f := range items {
		if err := f.check(); err != nil {
			return nil, fmt.Errorf("item %d: %w", i+1, err)
		}
	}
	return items, nil
}

// refused returns the failure for a reply that must not be used.
func refused(called string, err error) error {
	switch {
	case errors.Is(err, intake.ErrWaited):
		return err // of the cause of the context
	case errors.Is(err, errShape):
		return target.ShapeFailure(fmt.Sprintf("the reply of %s: %v", called, err))
	}
	return target.NewFailure(result.KindProtocol, fmt.Sprintf("the reply of %s: %v", called, err))
}

// value returns the JSON of a reply: the structured content, else the only text, else a list of the
// texts.
func (a callReply) value(called string) (any, error) {
	if len(a.structured) > 0 && string(a.structured) != "null" {
		v, err := decode(bytes.NewReader(a.structured))
		if err != nil {
			return nil, unreadable(called, err.Error(), string(a.structured))
		}
		if inner, ok := a.repeated(v); ok {
			return inner, nil
		}
		return v, nil
	}
	if len(a.texts) == 0 {
		return nil, unreadable(called, "it has neither structured content nor a text", "")
	}
	values := make([]any, len(a.texts))
	for i, text := range a.texts {
		v, err := decode(strings.NewReader(text))
		if err != nil {
			return nil, unreadable(called, "its text is not JSON; if the tool returns plain text, set format: text in the mapping", text)
		}
		values[i] = v
	}
	if len(values) == 1 {
		return values[0], nil
	}
	return values, nil
}

// repeated decodes the only text if the structured content merely repeats it as a string under the
// key "result". Servers without a declared output schema wrap their results this way.
func (a callReply) repeated(v any) (any, bool) {
	object, ok := v.(map[string]any)
	text, isText := object["result"].(string)
	if !ok || !isText || len(object) != 1 || len(a.texts) != 1 || a.texts[0] != text {
		return nil, false
	}
	inner, err := decode(strings.NewReader(text))
	return inner, err == nil
}

// unreadable returns the failure for a reply that does not match the mapping.
func unreadable(called, why, text string) error {
	message := fmt.Sprintf("the reply of %s cannot be read: %s", called, why)
	if text != "" {
		message += ": " + printable.Line(text, 300)
	}
	return target.ShapeFailure(message)
}

// decode parses one JSON value. Numbers keep their digits.
func decode(text io.Reader) (any, error) {
	d := json.NewDecoder(text)
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return nil, err
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, fmt.Errorf("something follows the JSON value")
	}
	return v, nil
}

// textAt returns the values that a path selects as texts, joined by line ends.
func textAt(p *jsonpath.Path, v any) string {
	var lines []string
	for _, n := range valuesAt(p, v) {
		lines = append(lines, textOf(n))
	}
	return strings.Join(lines, "\n")
}

// firstAt returns the first value that a path selects, nil if there is none.
func firstAt(p *jsonpath.Path, v any) any {
	if all := valuesAt(p, v); len(all) > 0 {
		return all[0]
	}
	return nil
}

// valuesAt returns the values that a path selects, without null.
func valuesAt(p *jsonpath.Path, v any) []any {
	if p == nil {
		return nil
	}
	return slices.DeleteFunc([]any(p.Select(v)), func(n any) bool { return n == nil })
}

// textOf returns a JSON value as text, "" for null.
func textOf(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case string:
		return v
	case json.Number:
		return v.String()
	}
	data, err := json.Marshal(v)
	if err != nil {
		return ""
	}
	return string(data)
}

// numberAt returns the score that a path selects, 0 if there is none.
func numberAt(p *jsonpath.Path, v any) (float64, error) {
	if p == nil {
		return 0, nil
	}
	return scoreOf(textOf(firstAt(p, v)))
}

// scoreOf returns the number at the start of a text, such as "0.87 (cosine)", 0 for a blank one.
func scoreOf(text string) (float64, error) {
	fields := strings.Fields(text)
	if len(fields) == 0 {
		return 0, nil
	}
	score, err := decimal.Parse(strings.TrimRight(fields[0], "%,;:)]"))
	if err != nil {
		return 0, fmt.Errorf("its score %w", err)
	}
	return score, nil
}

// chunk converts an item to a passage of the document at path, "" if unknown.
func (f foundItem) chunk(path string) result.Chunk {
	return result.Chunk{ChunkID: f.id, Path: path, Title: f.title, Date: f.date, Score: f.score, Text: f.text}
}
