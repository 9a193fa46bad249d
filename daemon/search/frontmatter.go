package search

import (
	"math"
	"regexp"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
)

// MaxFrontMatter bounds what is handed to the YAML parser, in bytes.
const MaxFrontMatter = 64 << 10

// readFrontMatter moves the front matter of doc.Text into doc's fields, or
// leaves doc alone when there is none that can be read.
func readFrontMatter(doc *Document) {
	header, body, ok := CutFrontMatter(doc.Text)
	if !ok {
		return
	}
	// Decoding into nodes instead of values never expands an alias, so a
	// document of nested aliases costs no more than its own size.
	var root yaml.Node
	if yaml.Unmarshal([]byte(header), &root) != nil || len(root.Content) != 1 {
		return
	}
	fields := root.Content[0]
	if fields.Kind != yaml.MappingNode {
		return
	}
	doc.Text = body
	for i := 0; i+1 < len(fields.Content); i += 2 {
		doc.setField(fields.Content[i].Value, fields.Content[i+1])
	}
	doc.setDate(fields)
}

// CutFrontMatter splits text at the lines "---" and "---" (or "..."), the
// second at most MaxFrontMatter bytes behind the first. Whether the header is
// YAML is for the caller to find out.
func CutFrontMatter(text string) (header, body string, ok bool) {
	end := lineEnd(text, 0)
	if strings.TrimRight(text[:end], " \t\r\n") != "---" {
		return "", "", false
	}
	first := end
	for start := first; start < len(text) && start-first <= MaxFrontMatter; start = end {
		end = lineEnd(text, start)
		switch strings.TrimRight(text[start:end], " \t\r\n") {
		case "---", "...":
			return text[first:start], text[end:], true
		}
	}
	return "", "", false
}

// setField files one key of the front matter. A key with a meaning whose value
// has the wrong form is kept as metadata, so that nothing disappears silently.
func (d *Document) setField(key string, value *yaml.Node) {
	switch key {
	case "title":
		if value.Kind == yaml.ScalarNode && value.ShortTag() != "!!null" {
			d.Title = value.Value
			return
		}
	case "date", "created_at":
		if _, ok := parseDate(value); ok { // see setDate
			return
		}
	case "tags":
		if tags := parseTags(value); tags != nil {
			d.Tags = tags
			return
		}
	}
	if v, ok := scalar(value); ok {
		if key == sessionKey {
			v = value.Value // an id such as 0012 is no number
		}
		if d.Metadata == nil {
			d.Metadata = map[string]any{}
		}
		d.Metadata[key] = v
	}
}

// setDate takes the date, or else created_at, unless it is empty.
func (d *Document) setDate(fields *yaml.Node) {
	for _, key := range []string{"date", "created_at"} {
		for i := 0; i+1 < len(fields.Content); i += 2 {
			value := fields.Content[i+1]
			if fields.Content[i].Value != key || value.Kind == yaml.ScalarNode && strings.TrimSpace(value.Value) == "" || value.ShortTag() == "!!null" {
				continue
			}
			var ok bool
			d.Date, ok = parseDate(value)
			d.BadDate = !ok
			return
		}
	}
}

// dateLayouts are how dates are written: as in YAML, the commonest first, and in
// a few more ways in which day and month cannot be confused.
var dateLayouts = func() []string {
	layouts := []string{
		time.RFC3339, time.DateOnly, "20060102", "January 2, 2006", "Jan 2, 2006", "2 January 2006", "2 Jan 2006",
		"Mon, 2 Jan 2006 15:04:05", time.RFC1123Z,
	}
	for _, day := range []string{"2006-1-2", "2006/1/2", "2006/1/2 (Mon)"} {
		layouts = append(layouts, day)
		for _, clock := range []string{"T15:04:05", " 15:04:05", "T15:04", " 15:04", "t15:04:05"} {
			for _, zone := range []string{"", "Z07:00", " Z07:00", "Z0700", " Z0700", "Z07", " Z07"} {
				layouts = append(layouts, day+clock+zone)
			}
		}
	}
	return layouts
}()

// shortZone is a zone of one digit behind a time of day, which YAML allows.
var shortZone = regexp.MustCompile(`(:\d\d\S*\s*[-+])(\d)$`)

// parseDate reads a date by dateLayouts. Without a zone it is in UTC; other names
// of zones are not known.
func parseDate(n *yaml.Node) (time.Time, bool) {
	if n.Kind != yaml.ScalarNode {
		return time.Time{}, false
	}
	s := oneLine(n.Value)
	for _, name := range []string{" UTC", " GMT"} {
		s = strings.TrimSuffix(s, name)
	}
	s = shortZone.ReplaceAllString(s, "${1}0$2")
	for _, layout := range dateLayouts {
		if t, err := time.Parse(layout, s); err == nil {
			return t, true
		}
	}
	return time.Time{}, false
}

func parseTags(n *yaml.Node) []string {
	var raw []string
	switch {
	case n.Kind == yaml.ScalarNode && n.ShortTag() == "!!str":
		raw = strings.Split(n.Value, ",")
	case n.Kind == yaml.SequenceNode:
		for _, item := range n.Content {
			if item.Kind == yaml.ScalarNode && item.ShortTag() != "!!null" {
				raw = append(raw, item.Value)
			}
		}
	}
	var tags []string
	for _, tag := range raw {
		if tag = oneLine(tag); tag != "" {
			tags = append(tags, tag)
		}
	}
	return tags
}

// scalar gives the value of a scalar in a form that JSON can carry: a float
// that is not finite, a timestamp and a binary stay the text they were.
func scalar(n *yaml.Node) (any, bool) {
	if n.Kind != yaml.ScalarNode {
		return nil, false
	}
	switch n.ShortTag() {
	case "!!null":
		return nil, false
	case "!!bool", "!!int", "!!float":
		var v any
		if err := n.Decode(&v); err != nil {
			return n.Value, true
		}
		if f, ok := v.(float64); ok && (math.IsNaN(f) || math.IsInf(f, 0)) {
			return n.Value, true
		}
		return v, true
	}
	return n.Value, true
}
