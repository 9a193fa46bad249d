package mapping

import (
	"fmt"
	"strings"

	"evalctl/internal/printable"
)

// group reports whether the pattern has a group.
func (r *reply) group(name string) bool { return r.pattern != nil && r.pattern.SubexpIndex(name) >= 0 }

// text returns the whole reply for pattern matching.
func (a callReply) text() string {
	if len(a.texts) > 0 {
		return strings.Join(a.texts, "\n")
	}
	return string(a.structured)
}

// readText reads a text reply. Each text, or each part of it, is an item; with a pattern, each
// match is one.
func (r *reply) readText(texts []string) (items []foundItem, err error) {
	for _, text := range texts {
		parts := []string{text}
		if r.split != nil {
			parts = r.split.Split(text, -1)
		}
		for _, part := range parts {
			more, err := r.part(part)
			if err != nil {
				return nil, fmt.Errorf("item %d: %w", len(items)+1, err)
			}
			if items = append(items, more...); len(items) > maxItems {
				return nil, fmt.Errorf("it has more than %d items", maxItems)
			}
		}
	}
	if len(items) == 0 {
		return nil, fmt.Errorf("no part of its text %s has a form, %w", printable.Line(strings.Join(texts, "\n"), 200), errShape)
	}
	return items, nil
}

// part returns the items of a part of a text. A part such as a heading has none.
func (r *reply) part(text string) (items []foundItem, err error) {
	text = strings.TrimSpace(text)
	if text == "" {
		return nil, nil
	}
	if r.pattern == nil {
		return []foundItem{{text: text}}, nil
	}
	for _, m := range r.pattern.FindAllStringSubmatch(text, maxItems+1) {
		at := func(name string) string {
			if i := r.pattern.SubexpIndex(name); i >= 0 {
				return strings.TrimSpace(m[i])
			}
			return ""
		}
		f := foundItem{id: at("id"), text: at("text"), title: at("title"), date: at("date")}
		if !r.group("text") {
			f.text = text
		}
		if f.score, err = scoreOf(at("score")); err == nil {
			err = f.check()
		}
		if err != nil {
			return nil, err
		}
		items = append(items, f)
	}
	return items, nil
}
