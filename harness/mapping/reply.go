package mapping

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/theory/jsonpath"

	"evalctl/harness/result"
	"evalctl/harness/target"
	"evalctl/internal/decimal"
	"evalctl/internal/httpclient"
	"evalctl/internal/intake"
	"evalctl/internal/printable"
)

// answered is what a call came back with: structured content or the body of a response, or texts.
type answered struct {
	structured json.RawMessage
	texts      []string
}

// found is one item of a reply. A field that the reply does not have is empty.
type found struct {
	id, text, title, date string
	score                 float64
}

const (
	// maxItems limits the items of one reply.
	maxItems = 10_000
	// maxItemName limits the id, the title and the date of an item, in bytes.
	maxItemName = 16 << 10
)

// check returns an error for an item with a name that is too long.
func (f found) check() error {
	for _, field := range [][2]string{{"id", f.id}, {"title", f.title}, {"date", f.date}} {
		if n := len(field[1]); n > maxItemName {
			return fmt.Errorf("its %s has %d bytes, the limit is %d", field[0], n, maxItemName)
		}
	}
	return nil
}

// bounded draws what the JSON of a reply takes once it is decoded.
func (a answered) bounded(ctx context.Context) error {
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

// read returns the items of a reply and the mode that it reports, "" for none. called names what was
// called. The error is a *target.Failure.
func (r *reply) read(ctx context.Context, a answered, called string) (items []found, mode string, err error) {
	if r.plain {
		items, err := r.readText(a.texts)
		if err != nil {
			return nil, "", refused(called, err)
		}
		return items, "", nil
	}
	if err := a.bounded(ctx); err != nil {
		return nil, "", refused(called, err)
	}
	value, err := a.value(called)
	if err != nil {
		return nil, "", err
	}
	nodes := []any{value}
	if r.items != nil {
		nodes = r.items.Select(value)
	}
	if len(nodes) > maxItems {
		return nil, "", refused(called, fmt.Errorf("it has %d items, the limit is %d", len(nodes), maxItems))
	}
	for i, n := range nodes {
		f := found{id: firstAt(r.id, n), text: textAt(r.text, n), title: firstAt(r.title, n), date: firstAt(r.date, n)}
		if f.score, err = numberAt(r.score, n); err == nil {
			err = f.check()
		}
		if err != nil {
			return nil, "", refused(called, fmt.Errorf("item %d: %w", i+1, err))
		}
		items = append(items, f)
	}
	if r.items == nil && len(items) == 1 && items[0] == (found{}) {
		items = nil
	}
	return items, firstAt(r.mod, value), nil
}

// refused returns the failure of a reply that may not be used.
func refused(called string, err error) error {
	if errors.Is(err, intake.ErrWaited) {
		return err // of the cause of the context
	}
	return target.NewFailure(result.KindProtocol, fmt.Sprintf("the reply of %s: %v", called, err))
}

// value returns the JSON of a reply: the structured content, or the only text, or a list of the texts
// if there are several.
func (a answered) value(called string) (any, error) {
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
			return nil, unreadable(called, "its text is no JSON; the mapping needs format: text for it", text)
		}
		values[i] = v
	}
	if len(values) == 1 {
		return values[0], nil
	}
	return values, nil
}

// repeated returns the JSON in the only text if the structured content is no more than that text as a
// string: servers that declare no form of their results wrap them so, under the key "result".
func (a answered) repeated(v any) (any, bool) {
	object, ok := v.(map[string]any)
	text, isText := object["result"].(string)
	if !ok || !isText || len(object) != 1 || len(a.texts) != 1 || a.texts[0] != text {
		return nil, false
	}
	inner, err := decode(strings.NewReader(text))
	return inner, err == nil
}

// unreadable returns the failure of a reply that has another form than the mapping says.
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

// textAt returns the text that a path selects, several values in lines of their own.
func textAt(p *jsonpath.Path, v any) string { return strings.Join(textsAt(p, v), "\n") }

// firstAt returns the first text that a path selects.
func firstAt(p *jsonpath.Path, v any) string {
	if all := textsAt(p, v); len(all) > 0 {
		return all[0]
	}
	return ""
}

func textsAt(p *jsonpath.Path, v any) (lines []string) {
	if p == nil {
		return nil
	}
	for _, n := range p.Select(v) {
		switch n := n.(type) {
		case nil:
		case string:
			lines = append(lines, n)
		case json.Number:
			lines = append(lines, n.String())
		default:
			data, err := json.Marshal(n)
			if err == nil {
				lines = append(lines, string(data))
			}
		}
	}
	return lines
}

// numberAt returns the score that a path selects, 0 if there is none.
func numberAt(p *jsonpath.Path, v any) (float64, error) {
	if p == nil {
		return 0, nil
	}
	return scoreOf(firstAt(p, v))
}

// scoreOf returns the number that a text begins with, such as "0.87 (cosine)", and 0 for a blank
// one.
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

// group reports whether the pattern has a group.
func (r *reply) group(name string) bool { return r.pattern != nil && r.pattern.SubexpIndex(name) >= 0 }

// readText reads a reply that is text: each text, or each part of it, is an item. With a pattern,
// a part that it does not match is none, such as a heading.
func (r *reply) readText(texts []string) (items []found, err error) {
	for _, text := range texts {
		if r.none != nil && r.none.MatchString(text) {
			continue
		}
		parts := []string{text}
		if r.split != "" {
			parts = strings.Split(text, r.split)
		}
		for _, part := range parts {
			f, ok, err := r.part(part)
			if err == nil && ok {
				err = f.check()
			}
			if err != nil {
				return nil, fmt.Errorf("item %d: %w", len(items)+1, err)
			}
			if ok {
				items = append(items, f)
			}
			if len(items) > maxItems {
				return nil, fmt.Errorf("it has more than %d items", maxItems)
			}
		}
	}
	return items, nil
}

func (r *reply) part(text string) (f found, ok bool, err error) {
	text = strings.TrimSpace(text)
	if text == "" {
		return f, false, nil
	}
	if r.pattern == nil {
		return found{text: text}, true, nil
	}
	m := r.pattern.FindStringSubmatch(text)
	if m == nil {
		return f, false, nil
	}
	at := func(name string) string {
		if i := r.pattern.SubexpIndex(name); i >= 0 {
			return strings.TrimSpace(m[i])
		}
		return ""
	}
	f = found{id: at("id"), text: at("text"), title: at("title"), date: at("date")}
	if !r.group("text") {
		f.text = text
	}
	f.score, err = scoreOf(at("score"))
	return f, true, err
}

// chunk returns an item as a passage of the document with a path, "" if that is not known.
func (f found) chunk(path string) result.Chunk {
	return result.Chunk{ChunkID: f.id, Path: path, Title: f.title, Date: f.date, Score: f.score, Text: f.text}
}
