package imports

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// text returns a field as text, with several values joined by "or". Of several messages, which
// only a recognised layout has in a question, the last one asks.
func (r *reader) text(field string, v any) string {
	var texts []string
	for _, n := range r.values(field, v) {
		if t := textOf(n); t != "" {
			texts = append(texts, t)
		}
	}
	if field == fieldQuestion && r.mappingSHA256 == "" {
		texts = texts[max(0, len(texts)-1):]
	}
	return strings.Join(texts, " or ")
}

// oneKey returns an error if a text of an answer has values under different keys, of which the
// layout does not say which one counts. The paths of a mapping are the user's.
func (r *reader) oneKey(v any) error {
	if r.mappingSHA256 != "" {
		return nil
	}
	for _, field := range []string{fieldQuestion, fieldGold, fieldAnswer} {
		var keys []string
		for _, at := range r.located(field, v) {
			if key := lastKey(at.Path); textOf(at.Node) != "" && !slices.Contains(keys, key) {
				keys = append(keys, key)
			}
		}
		if len(keys) > 1 {
			return fmt.Errorf("%s: it has several texts, under %s; name the right one in a mapping file (--mapping)",
				field, strings.Join(keys, " and "))
		}
	}
	return nil
}

func textOf(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case string:
		return v
	case json.Number:
		return v.String()
	case []any:
		if text := contentOf(v); text != "" {
			return text
		}
	}
	data, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return string(data)
}

// contentOf returns the texts in the parts of a message to a model, empty for another list.
func contentOf(parts []any) string {
	var texts []string
	for _, p := range parts {
		part, _ := p.(map[string]any)
		if kind, ok := part["type"].(string); !ok {
			return ""
		} else if text, ok := part["text"].(string); ok && kind == "text" {
			texts = append(texts, text)
		}
	}
	return strings.Join(texts, "\n")
}
