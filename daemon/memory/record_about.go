package memory

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"evalctl/daemon/protocol"
	"evalctl/daemon/search"
)

// Keys of front matter that are fields of a record. All others are metadata.
const (
	keyTitle   = "title"
	keyTags    = "tags"
	keySource  = "source"
	keyCreated = "created_at"
)

func isOwnField(key string) bool {
	return slices.Contains([]string{keyTitle, keyTags, keySource, keyCreated}, key)
}

// about is what the front matter of a Markdown document says for its record.
type about struct {
	source   string
	created  time.Time
	metadata map[string]any // never nil
}

// readAbout leaves out what a record cannot hold: lists and maps other than
// tags, and keys that are too long. A field whose value has the wrong form is
// metadata, as it is for search.
func readAbout(text string) about {
	a := about{metadata: map[string]any{}}
	fields, _, ok := splitFrontMatter(text)
	if !ok {
		return a
	}
	for i := 0; i+1 < len(fields.Content); i += 2 {
		a.set(fields.Content[i].Value, fields.Content[i+1])
	}
	return a
}

func (a *about) set(key string, value *yaml.Node) {
	if n := utf8.RuneCountInString(key); n == 0 || n > protocol.MaxMetadataKey {
		return
	}
	if key == keyTags && value.Kind == yaml.SequenceNode {
		var tags []string
		for _, item := range value.Content {
			if item.Kind == yaml.ScalarNode {
				tags = append(tags, item.Value)
			}
		}
		a.metadata[keyTags] = strings.Join(tags, ",")
		return
	}
	if value.Kind != yaml.ScalarNode {
		return
	}
	switch key {
	case keyTitle:
		return
	case keyTags:
		a.metadata[keyTags] = value.Value
		return
	case keySource:
		if slices.Contains([]string{protocol.SourceIngest, protocol.SourceExtract, protocol.SourceCompile, protocol.SourceReflect}, value.Value) {
			a.source = value.Value
			return
		}
	case keyCreated:
		for _, layout := range []string{time.RFC3339, time.DateOnly} {
			if t, err := time.Parse(layout, value.Value); err == nil {
				a.created = t
				return
			}
		}
	}
	a.metadata[key] = scalar(value)
}

// scalar gives a value that JSON can carry: timestamps, binaries and floats that
// are not finite stay the text they were.
func scalar(n *yaml.Node) any {
	switch n.ShortTag() {
	case "!!null":
		return nil
	case "!!bool", "!!int", "!!float":
		var v any
		if n.Decode(&v) != nil {
			return n.Value
		}
		if f, ok := v.(float64); ok && (math.IsNaN(f) || math.IsInf(f, 0)) {
			return n.Value
		}
		return v
	}
	return n.Value
}

// documentText is the content of a new document. Markdown says at its top what
// came beside its content; anything else is kept as it is.
func documentText(r protocol.CreateDocument, now time.Time) (string, error) {
	if !isMarkdown(r.Path) {
		return r.Content, nil
	}
	content := strings.TrimPrefix(r.Content, "\ufeff") // it belongs to the begin of a file
	fields, body, ok := splitFrontMatter(content)
	if !ok {
		fields, body = &yaml.Node{Kind: yaml.MappingNode}, content
	}
	if r.Title != "" {
		setField(fields, keyTitle, r.Title)
	}
	if len(r.Tags) > 0 {
		setField(fields, keyTags, strings.Join(r.Tags, ","))
	}
	if r.Source != "" && r.Source != protocol.SourceIngest {
		setField(fields, keySource, r.Source)
	}
	for _, key := range slices.Sorted(maps.Keys(r.Metadata)) {
		setField(fields, key, r.Metadata[key])
	}
	if readAbout(content).created.IsZero() {
		setField(fields, keyCreated, protocol.FormatTime(now))
	}
	header, err := yaml.Marshal(fields)
	if err != nil {
		return "", fmt.Errorf("write front matter: %w", err)
	}
	text := "---\n" + string(header) + "---\n" + body
	if _, _, ok := splitFrontMatter(text); !ok {
		return "", &ArgumentError{"metadata", fmt.Sprintf("cannot be written as front matter of at most %d bytes", search.MaxFrontMatter)}
	}
	return text, nil
}

// splitFrontMatter gives the mapping at the top of a Markdown text, by the rules
// of search.Parse. Nodes instead of values never expand an alias.
func splitFrontMatter(text string) (fields *yaml.Node, body string, ok bool) {
	header, body, ok := search.CutFrontMatter(strings.TrimPrefix(text, "\ufeff"))
	if !ok {
		return nil, "", false
	}
	var root yaml.Node
	if yaml.Unmarshal([]byte(header), &root) != nil || len(root.Content) != 1 || root.Content[0].Kind != yaml.MappingNode {
		return nil, "", false
	}
	return root.Content[0], body, true
}

// setField replaces a key wherever it stands.
func setField(fields *yaml.Node, key string, value any) {
	for i := 0; i+1 < len(fields.Content); {
		if fields.Content[i].Value == key {
			fields.Content = slices.Delete(fields.Content, i, i+2)
		} else {
			i += 2
		}
	}
	fields.Content = append(fields.Content, node(key), node(value))
}

func node(value any) *yaml.Node {
	if text, ok := value.(string); ok {
		n := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: text}
		if strings.ContainsFunc(text, unicode.IsControl) {
			// As a block, some texts of several lines could not be read again.
			n.Style = yaml.DoubleQuotedStyle
		}
		return n
	}
	var n yaml.Node
	if err := n.Encode(value); err != nil {
		panic(err) // numbers, booleans and nil can be encoded
	}
	return &n
}
