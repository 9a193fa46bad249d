package frontmatter

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"evalctl/daemon/protocol"
)

// The keys with a meaning of their own.
const (
	keyTitle   = "title"
	keyTags    = "tags"
	keyDate    = "date"
	keySource  = "source"
	keyCreated = "created_at"
	keySession = "session_id"
)

// IsField reports whether a key is a field of a document record: title, tags, source or created_at.
// Such a key cannot be set as metadata.
func IsField(key string) bool {
	return slices.Contains([]string{keyTitle, keyTags, keySource, keyCreated}, key)
}

var sources = []string{
	protocol.SourceIngest, protocol.SourceExtract, protocol.SourceCompile, protocol.SourceReflect,
}

// read converts a mapping to a Document without a Body.
func read(fields *yaml.Node) Document {
	var (
		doc        Document
		badCreated bool
		dated      bool // there is a date, readable or not
		seen       = map[string]bool{}
	)
	for i := 0; i+1 < len(fields.Content); i += 2 {
		name, value := fields.Content[i], fields.Content[i+1]
		key := name.Value
		n := utf8.RuneCountInString(key)
		if name.Kind != yaml.ScalarNode || n == 0 || n > protocol.MaxMetadataKey || seen[key] {
			continue
		}
		seen[key] = true
		if key == keyTitle && value.Kind != yaml.ScalarNode {
			doc.BadTitle = true
		}
		if value.Kind == yaml.AliasNode {
			continue // its Value is the name of its anchor
		}
		switch key {
		case keyTitle:
			if !isNull(value) && strings.TrimSpace(value.Value) != "" {
				doc.Title = value.Value
			}
			continue
		case keyTags:
			doc.Tags = tags(value)
			continue
		case keySource:
			if value.Kind == yaml.ScalarNode && slices.Contains(sources, value.Value) {
				doc.Source = value.Value
				continue
			}
		case keyDate:
			var form dateForm
			doc.Date, form = parseDate(value)
			dated, doc.BadDate = form != noDate, form == badDate
			if form == goodDate {
				continue
			}
		case keyCreated:
			var form dateForm
			doc.Created, form = parseDate(value)
			badCreated = form == badDate
			if form == goodDate {
				continue
			}
		}
		doc.keep(key, value)
	}
	doc.BadDate = doc.BadDate || badCreated && !dated
	return doc
}

// keep adds a key to the metadata if its value is a scalar.
func (f *Fields) keep(key string, value *yaml.Node) {
	if value.Kind != yaml.ScalarNode {
		return
	}
	if f.Metadata == nil {
		f.Metadata = map[string]any{}
	}
	f.Metadata[key] = scalar(value)
	if key == keySession && !isNull(value) {
		f.Metadata[key] = value.Value // an id is not a number, even if it is 12
	}
}

// tags reads a list, or one string of tags with commas between them. A comma in an item of a list
// also separates tags, because they are comma-joined on the wire.
func tags(n *yaml.Node) []string {
	items := n.Content
	if n.Kind == yaml.ScalarNode {
		items = []*yaml.Node{n}
	} else if n.Kind != yaml.SequenceNode {
		return nil
	}
	var tags []string
	for _, item := range items {
		if item.Kind != yaml.ScalarNode || isNull(item) {
			continue
		}
		for tag := range strings.SplitSeq(item.Value, ",") {
			if tag = strings.TrimSpace(tag); tag != "" {
				tags = append(tags, tag)
			}
		}
	}
	return tags
}

func isNull(n *yaml.Node) bool {
	return n.Kind == yaml.ScalarNode && n.ShortTag() == "!!null" &&
		slices.Contains([]string{"", "~", "null", "Null", "NULL"}, n.Value)
}

// scalar returns the value of a scalar as Fields.Metadata describes it.
func scalar(n *yaml.Node) any {
	if isNull(n) {
		return nil
	}
	switch n.ShortTag() {
	case "!!bool":
		if n.Value == "true" || n.Value == "false" {
			return n.Value == "true"
		}
	case "!!int", "!!float":
		if v, ok := number(n.Value); ok {
			return v
		}
	}
	return n.Value
}

// maxInt bounds the integers that every JSON parser reads exactly.
const maxInt = 1 << 53

// number reads a number that is written as the YAML encoder writes it.
func number(text string) (any, bool) {
	i, err := strconv.Atoi(text)
	if err == nil && strconv.Itoa(i) == text && -maxInt <= int64(i) && int64(i) <= maxInt {
		return i, true
	}
	f, err := strconv.ParseFloat(text, 64)
	finite := err == nil && !math.IsInf(f, 0) && !math.IsNaN(f)
	return f, finite && strconv.FormatFloat(f, 'g', -1, 64) == text
}
