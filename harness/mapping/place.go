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

// place says where a search reply has its results.
type place struct {
	plain                               bool
	split, pattern                      string // of a plain reply, "" for none
	columns                             bool
	items, text, id, score, date, title string // JSON paths, "" for none
	none                                string // matches a reply that has nothing
	cut                                 bool   // texts are not whole
}

// quality ranks a place by how much it provides: whole texts, fields, ids.
func (p *place) quality() (q int) {
	if p == nil {
		return 0
	}
	for _, part := range []struct {
		has    bool
		weight int
	}{{!p.cut, 8}, {!p.plain || p.pattern != "", 4}, {p.hasID(), 2}, {!p.plain, 1}} {
		if part.has {
			q += part.weight
		}
	}
	return q + 1
}

func (p *place) hasID() bool { return p.id != "" || strings.Contains(p.pattern, "(?P<id>") }

// reply returns the place in the form of a mapping.
func (p *place) reply() map[string]any {
	if p == nil {
		return map[string]any{"format": "text"}
	}
	out := map[string]any{}
	if p.plain {
		out["format"] = "text"
	}
	if p.columns {
		out["columns"] = true
	}
	for key, v := range map[string]string{
		"items": p.items, "text": p.text, "id": p.id, "score": p.score, "date": p.date, "title": p.title,
		"split": p.split, "pattern": p.pattern, "none": p.none,
	} {
		if v != "" {
			out[key] = v
		}
	}
	return out
}

// locate returns where a reply has samples, nil if it has none.
func locate(a callReply, samples []*sample) *place {
	whole := func(s *sample, text string) bool { return s.in(text) }
	if p := locateBy(a, samples, whole); p != nil {
		return p
	}
	p := locateBy(a, samples, func(s *sample, text string) bool { return strings.Contains(text, s.beginning()) })
	if p != nil {
		p.cut = true
	}
	return p
}

func locateBy(a callReply, samples []*sample, in func(*sample, string) bool) *place {
	v, err := a.value("")
	if err != nil {
		return textPlace(a.text(), samples)
	}
	var found []*sample
	var steps [][]any
	for _, s := range samples {
		if at := pathTo(v, func(text string) bool { return in(s, text) }); at != nil {
			found, steps = append(found, s), append(steps, at)
		}
	}
	if len(found) == 0 {
		return nil
	}
	if len(found) > 1 && slices.Equal(steps[0], steps[1]) { // all are in one text
		return textPlace(a.text(), samples)
	}
	return jsonPlace(v, found, steps)
}

// jsonPlace returns the place of samples whose texts are at steps.
func jsonPlace(v any, found []*sample, steps [][]any) *place {
	at := listOf(steps)
	if at < 0 {
		p := &place{text: pathText(anyIndex(steps[0]))}
		p.fields(v, found[:1], []any{v})
		return p
	}
	first := steps[0]
	p := &place{items: pathText(first[:at]) + "[*]", text: pathText(anyIndex(first[at+1:]))}
	var items []any
	for _, s := range steps {
		item := v
		for _, step := range s[:at+1] {
			item = child(item, step)
		}
		items = append(items, item)
	}
	if _, object := items[0].(map[string]any); object {
		p.fields(items[0], found, items)
		return p
	}
	if len(first) == at+1 && at > 0 { // texts side by side with other lists
		p.columnsOf(v, first[:at], found, steps)
	}
	return p
}

// listOf returns the index of the step that selects an item of a list: where the steps differ, or
// the first list index of a single path; -1 if there is none.
func listOf(steps [][]any) int {
	if len(steps) > 1 {
		for i := range steps[0] {
			for _, other := range steps[1:] {
				if i < len(other) && steps[0][i] != other[i] {
					if _, index := steps[0][i].(int); index {
						return i
					}
					return -1
				}
			}
		}
	}
	return slices.IndexFunc(steps[0], func(s any) bool { _, index := s.(int); return index })
}

// fields finds the other fields of the items. first is one of the items.
func (p *place) fields(first any, found []*sample, items []any) {
	object, ok := first.(map[string]any)
	if !ok {
		return
	}
	p.id = p.idOf(found, items)
	p.score = named(object, []string{"score", "similarity", "similarityscore", "relevance", "relevancescore", "rankscore", "distance"}, func(v any) bool { _, ok := v.(json.Number); return ok })
	if steps := pathTo(first, func(text string) bool { return text == sampleDate || strings.HasPrefix(text, sampleDate+"T") }); steps != nil {
		p.date = pathText(steps)
	}
	if steps := pathTo(first, func(text string) bool { return text == found[0].title }); steps != nil {
		p.title = pathText(steps)
	}
}

// idOf returns the path of the id in the items: a field with the ids assigned to the samples, else
// with the sent ids, else one that is named like an id and differs between items.
func (p *place) idOf(found []*sample, items []any) string {
	for _, id := range found[0].ids() {
		steps := pathTo(items[0], func(text string) bool { return text == id })
		if steps == nil {
			continue
		}
		same := true
		for i, s := range found {
			same = same && slices.Contains(s.ids(), textOf(valueAt(items[i], steps)))
		}
		if same {
			return pathText(steps)
		}
	}
	top, ok := items[0].(map[string]any)
	if !ok {
		return ""
	}
	return named(top, idArguments, func(v any) bool {
		switch v.(type) {
		case string, json.Number:
			return true
		}
		return false
	})
}

// columnsOf turns the place into parallel lists. The list of texts is at list.
func (p *place) columnsOf(v any, list []any, found []*sample, steps [][]any) {
	index, _ := steps[0][len(steps[0])-1].(int)
	id := pathTo(v, func(text string) bool { return slices.Contains(found[0].ids(), text) })
	if len(id) != len(list)+1 || id[len(id)-1] != index {
		return
	}
	p.columns, p.items = true, ""
	p.text, p.id = pathText(list)+"[*]", pathText(id[:len(id)-1])+"[*]"
}

// valueAt returns the value at steps, nil if there is none.
func valueAt(v any, steps []any) any {
	for _, s := range steps {
		switch s := s.(type) {
		case int:
			list, ok := v.([]any)
			if !ok || s >= len(list) {
				return nil
			}
			v = list[s]
		case string:
			object, ok := v.(map[string]any)
			if !ok {
				return nil
			}
			v = object[s]
		}
	}
	return v
}

// named returns the path of the first member with one of the folded names and a fitting value.
func named(item map[string]any, names []string, fits func(any) bool) string {
	for _, name := range names {
		for _, key := range slices.Sorted(maps.Keys(item)) {
			if folded(key) == name && fits(item[key]) {
				return pathText([]any{key})
			}
		}
	}
	return ""
}

// pathTo returns the steps, keys and list indexes, to the first text that satisfies is.
func pathTo(v any, is func(string) bool) []any {
	switch v := v.(type) {
	case string:
		if is(v) {
			return []any{}
		}
	case json.Number:
		if is(v.String()) {
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

// star is a step to every element of a list.
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

// plainName matches a key that a JSON path can contain unquoted.
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
