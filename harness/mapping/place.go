package mapping

import (
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// place is where a reply of a search has what was found.
type place struct {
	plain                        bool
	items, text, id, score, date string // JSON paths, "" for none
}

// reply returns the place as a mapping has it.
func (p *place) reply() map[string]any {
	if p == nil || p.plain {
		return map[string]any{"format": "text"}
	}
	out := map[string]any{}
	for key, path := range map[string]string{"items": p.items, "text": p.text, "id": p.id, "score": p.score, "date": p.date} {
		if path != "" {
			out[key] = path
		}
	}
	return out
}

// locate returns where a reply has the text with a mark, nil if it has none. sent and given are the
// ids that the text was given.
func locate(a answered, mark, sent, given string) *place {
	v, err := a.value("")
	if err != nil {
		if strings.Contains(strings.Join(a.texts, "\n"), mark+" keeps") {
			return &place{plain: true}
		}
		return nil
	}
	steps := pathTo(v, func(text string) bool { return strings.Contains(text, mark+" keeps") })
	if steps == nil {
		return nil
	}
	p := &place{}
	last := slices.IndexFunc(steps, func(s any) bool { _, index := s.(int); return index })
	item := v
	if last >= 0 {
		p.items = pathText(steps[:last]) + "[*]"
		for _, s := range steps[:last+1] {
			item = child(item, s)
		}
	}
	p.text = pathText(anyIndex(steps[last+1:]))
	object, ok := item.(map[string]any)
	if !ok {
		return p
	}
	p.id = p.idOf(object, sent, given)
	p.score = named(object, []string{"score", "similarity", "relevance", "rank_score"}, func(v any) bool { _, ok := v.(json.Number); return ok })
	p.date = named(object, []string{"date", "created_at", "createdAt", "timestamp", "time"}, func(v any) bool { _, ok := v.(string); return ok })
	return p
}

// idOf returns the path of the id in an item: what has the id that the text was given, else what is
// called like one.
func (p *place) idOf(item map[string]any, sent, given string) string {
	for _, id := range []string{sent, given} {
		if steps := pathTo(item, func(text string) bool { return id != "" && text == id }); steps != nil {
			return pathText(steps)
		}
	}
	return named(item, []string{"id", "memory_id", "document_id", "key", "path", "permalink", "uri"}, func(v any) bool {
		switch v.(type) {
		case string, json.Number:
			return true
		}
		return false
	})
}

func named(item map[string]any, names []string, fits func(any) bool) string {
	for _, name := range names {
		if v, ok := item[name]; ok && fits(v) {
			return pathText([]any{name})
		}
	}
	return ""
}

// pathTo returns the steps to the first text for which is returns true: keys, and indexes of lists.
func pathTo(v any, is func(string) bool) []any {
	switch v := v.(type) {
	case string:
		if is(v) {
			return []any{}
		}
	case []any:
		for i, one := range v {
			if steps := pathTo(one, is); steps != nil {
				return append([]any{i}, steps...)
			}
		}
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			if steps := pathTo(v[key], is); steps != nil {
				return append([]any{key}, steps...)
			}
		}
	}
	return nil
}

func child(v any, step any) any {
	if i, ok := step.(int); ok {
		return v.([]any)[i]
	}
	return v.(map[string]any)[step.(string)]
}

// star is a step to every item of a list.
type star struct{}

func anyIndex(steps []any) []any {
	out := slices.Clone(steps)
	for i, s := range out {
		if _, index := s.(int); index {
			out[i] = star{}
		}
	}
	return out
}

// plainName is a key that a JSON path has without quotes.
var plainName = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)
})

// pathText returns steps as a JSON path.
func pathText(steps []any) string {
	var b strings.Builder
	b.WriteString("$")
	for _, s := range steps {
		switch s := s.(type) {
		case int:
			b.WriteString("[" + strconv.Itoa(s) + "]")
		case star:
			b.WriteString("[*]")
		case string:
			if plainName().MatchString(s) {
				b.WriteString("." + s)
				continue
			}
			quoted, _ := json.Marshal(s) // a string: cannot fail
			b.WriteString("[" + string(quoted) + "]")
		}
	}
	return b.String()
}
