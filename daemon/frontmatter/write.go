package frontmatter

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"

	"go.yaml.in/yaml/v3"

	"evalctl/daemon/protocol"
	"evalctl/internal/prose"
)

// Set writes the fields that are set in f into the front matter of text, which is added if there is
// none, and returns the new text. Other keys of the front matter keep their values, and the text
// below it keeps its bytes. Parse of the result returns the same fields, without white space around
// tags.
//
// Keys of Metadata must have 1 to 128 code points, and IsField must not hold for them. A key date
// is read back as Date if its value is a date, and session_id as a string. Values must be strings,
// numbers, booleans or nil. Set fails if the result could not be read again, because the front
// matter has more than 64 KiB or an alias in it has lost its anchor.
func Set(text string, f Fields) (string, error) {
	fields, body := split(text)
	for _, e := range f.entries() {
		if err := setKey(fields, e.key, e.value); err != nil {
			return "", err
		}
	}
	if len(fields.Content) == 0 {
		return text, nil
	}
	header, err := yaml.Marshal(fields)
	if err != nil {
		return "", fmt.Errorf("write front matter: %w", err)
	}
	text = "---\n" + string(header) + "---\n" + body
	if _, again := split(text); len(again) != len(body) {
		return "", fmt.Errorf("cannot be written as front matter of at most %d bytes", prose.MaxFrontMatter)
	}
	return text, nil
}

type entry struct {
	key   string
	value any
}

// entries returns the fields that are set, in the order in which they are written.
func (f Fields) entries() []entry {
	var out []entry
	if f.Title != "" {
		out = append(out, entry{keyTitle, f.Title})
	}
	if len(f.Tags) > 0 {
		out = append(out, entry{keyTags, strings.Join(f.Tags, ",")})
	}
	if !f.Date.IsZero() {
		out = append(out, entry{keyDate, FormatDate(f.Date)})
	}
	if f.Source != "" {
		out = append(out, entry{keySource, f.Source})
	}
	for _, key := range slices.Sorted(maps.Keys(f.Metadata)) {
		out = append(out, entry{key, f.Metadata[key]})
	}
	if !f.Created.IsZero() {
		out = append(out, entry{keyCreated, protocol.FormatTime(f.Created)})
	}
	return out
}

// setKey removes a key wherever it is, and appends it with the value.
func setKey(fields *yaml.Node, key string, value any) error {
	name, err := node(key)
	if err != nil {
		return err
	}
	content, err := node(value)
	if err != nil {
		return fmt.Errorf("write %q: %w", key, err)
	}
	for i := 0; i+1 < len(fields.Content); {
		if name := fields.Content[i]; name.Kind == yaml.ScalarNode && name.Value == key {
			fields.Content = slices.Delete(fields.Content, i, i+2)
		} else {
			i += 2
		}
	}
	fields.Content = append(fields.Content, name, content)
	return nil
}

func node(value any) (*yaml.Node, error) {
	n := &yaml.Node{}
	text, ok := value.(string)
	if !ok {
		return n, n.Encode(value)
	}
	*n = yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: text}
	if strings.ContainsFunc(text, unicode.IsControl) {
		// As a block, some texts of several lines are read back differently.
		n.Style = yaml.DoubleQuotedStyle
	}
	return n, nil
}
